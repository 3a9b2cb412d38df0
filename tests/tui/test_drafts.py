import hypothesis.strategies as st
import pytest
from hypothesis import given

from yourtool.tui.drafts import (
    FOLD_CHARACTERS,
    Draft,
    chip,
    chip_before,
    folded,
    folds,
    line_feeds,
)


@pytest.mark.req("R-TUI-01")
def test_a_folded_paste_is_sent_in_full():
    paste = "\n".join(f"line {n}" for n in range(10_000))
    shown = chip(1, paste)
    assert shown == "[Pasted text #1: 10,000 lines]"
    assert Draft(f"look: {shown} please", (paste,)).full == f"look: {paste} please"


@given(st.lists(st.text(), max_size=4))
def test_any_pastes_unfold_once_and_in_place(pastes):
    text = " | ".join(chip(at, paste) for at, paste in enumerate(pastes, 1))
    assert Draft(text, tuple(pastes)).full == " | ".join(pastes)


def test_a_chip_inside_a_paste_is_not_unfolded():
    inner = chip(1, "secret")
    assert Draft(chip(2, inner), ("secret", inner)).full == inner


def test_a_chip_that_was_edited_is_ordinary_text():
    edited = "[Pasted text #1: 2 line]"
    assert Draft(edited, ("a\nb",)).full == edited
    assert Draft("[Pasted text #7: 1 line]", ("a",)).full == "[Pasted text #7: 1 line]"


def test_long_pastes_fold_and_short_ones_do_not():
    assert not folds("two\nlines")
    assert folds("\n" * 10)
    assert folds("x" * 1_001)


def test_line_ends_of_terminals_become_line_feeds():
    assert line_feeds("a\r\nb\rc\n") == "a\nb\nc\n"


def test_the_chip_before_the_cursor_is_found():
    shown = chip(1, "a\nb")
    assert chip_before(f"see {shown}") == len(shown)
    assert chip_before(f"{shown} x") == 0


@given(st.text(max_size=50), st.sampled_from([1, 100]))
def test_a_long_text_is_folded_and_comes_back_whole(text, times):
    draft = folded(text * times)
    assert draft.full == text * times and len(draft.text) <= FOLD_CHARACTERS
