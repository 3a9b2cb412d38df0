import hypothesis.strategies as st
import pytest
from hypothesis import given

from yourtool.messages.blocks import DocumentBlock, ImageBlock, ImageSource
from yourtool.tui.input.drafts import (
    FOLD_CHARACTERS,
    ChipAttachment,
    Draft,
    fold_text,
    fold_unless_displayable,
    format_attachment_chip,
    format_chip,
    normalize_newlines,
    should_fold,
    trailing_chip_length,
)


@pytest.mark.req("R-TUI-01")
def test_folded_paste_is_sent_in_full():
    paste = "\n".join(f"line {n}" for n in range(10_000))
    shown = format_chip(1, paste)
    assert shown == "[Pasted text #1: 10,000 lines]"
    assert Draft(f"look: {shown} please", (paste,)).full_text == f"look: {paste} please"


@given(st.lists(st.text(), max_size=4))
def test_pastes_are_expanded_once_and_in_place(pastes):
    text = " | ".join(format_chip(at, paste) for at, paste in enumerate(pastes, 1))
    assert Draft(text, tuple(pastes)).full_text == " | ".join(pastes)


def test_chip_inside_a_paste_is_not_expanded():
    inner = format_chip(1, "secret")
    assert Draft(format_chip(2, inner), ("secret", inner)).full_text == inner


def test_edited_chip_is_ordinary_text():
    edited = "[Pasted text #1: 2 line]"
    assert Draft(edited, ("a\nb",)).full_text == edited
    assert Draft("[Pasted text #7: 1 line]", ("a",)).full_text == "[Pasted text #7: 1 line]"


def test_only_long_pastes_are_folded():
    assert not should_fold("two\nlines")
    assert should_fold("\n" * 10)
    assert should_fold("x" * 1_001)


def test_line_ends_are_normalized():
    assert normalize_newlines("a\r\nb\rc\n") == "a\nb\nc\n"


def test_chip_before_the_cursor_is_found():
    shown = format_chip(1, "a\nb")
    assert trailing_chip_length(Draft(), f"see {shown}") == len(shown)
    assert trailing_chip_length(Draft(), f"{shown} x") == 0


@given(st.text(max_size=50), st.sampled_from([1, 100]))
def test_long_text_is_folded_and_expanded_unchanged(text, times):
    draft = fold_text(text * times)
    assert draft.full_text == text * times and len(draft.text) <= FOLD_CHARACTERS


def test_short_plain_text_is_displayed_as_it_is():
    assert fold_unless_displayable(Draft("a\tb\nc")) == Draft("a\tb\nc")


@pytest.mark.parametrize("text", ["x" * 30_000, "\x1b[31mred"], ids=["long", "controls"])
def test_text_that_the_prompt_cannot_display_becomes_one_more_chip(text):
    chip = format_chip(1, "a\nb")
    folded = fold_unless_displayable(Draft(f"{chip} {text}", ("a\nb",)))
    assert folded.text.startswith("[Pasted text #2: ")
    assert folded.full_text == f"a\nb {text}"


def test_folding_the_prompt_preserves_its_attachments():
    image = ImageBlock(ImageSource("file_ref", "sha256:0"), "image/png")
    attachment = ChipAttachment("[Image #1: cat.png, 9 bytes]", image)
    folded = fold_unless_displayable(Draft(f"{attachment.chip}\x1b", (), (attachment,)))
    assert folded.visible_attachments == (attachment,)


def test_attachments_are_sent_only_while_their_chips_are_unchanged():
    source = ImageSource("file_ref", "sha256:0")
    cat, dog = (ImageBlock(source, f"image/{kind}") for kind in ("png", "gif"))
    chips = [format_attachment_chip(n, cat, "cat.png", 2_048) for n in (1, 2)]
    assert chips[0] == "[Image #1: cat.png, 2.0 KiB]"
    attachments = (ChipAttachment(chips[0], cat), ChipAttachment(chips[1], dog))
    both = Draft(f"a {chips[1]} b {chips[0]}", (), attachments)
    assert both.visible_attachments == attachments
    assert Draft(f"a {chips[1][:-1]}", (), attachments).visible_attachments == ()
    assert Draft(f"a {chips[1]}", (), attachments).visible_attachments == attachments[1:]
    draft = Draft(chips[0], (), attachments)
    assert draft.full_text == chips[0]
    assert trailing_chip_length(draft, f"x {chips[0]}") == len(chips[0])


def test_long_names_are_shortened_in_chips():
    block = DocumentBlock(ImageSource("file_ref", "sha256:0"), "application/pdf")
    chip = format_attachment_chip(1, block, f"{'x' * 300}.pdf", 1)
    assert chip == f"[Document #1: {'x' * 32}…xxx.pdf, 1 byte]"
