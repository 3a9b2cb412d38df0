"""Every byte of a terminal is classified; only what was typed or pasted becomes text."""

import itertools
import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.doubling import LINEAR, growth
from yourtool.process.terminal_input.items import Key, Paste, Reply, Text, Unknown, to_bytes
from yourtool.process.terminal_input.reader import Reader

LATE = 100.0
"""A time at which nothing is waited for any more."""
START, END = "\x1b[200~", "\x1b[201~"
PIECES = st.sampled_from(
    [
        *"ab1~;:?[]OPM<u\x07\r\n\t\x03\x1b\x7fé日\x9b",
        START,
        END,
        "\x1b[",
        "\x1b]11;",
        "\x1b\\",
        "1;2",
    ]
)
REPLIES = {
    "primary attributes": "\x1b[?62;22c",
    "secondary attributes": "\x1b[>1;4000;19c",
    "tertiary attributes": "\x1bP!|7E565445\x1b\\",
    "name": "\x1bP>|term 1\x1b\\",
    "palette": "\x1b]4;1;rgb:11/11/11\x1b\\",
    "foreground": "\x1b]10;rgb:dddd/dddd/dddd\x1b\\",
    "background": "\x1b]11;rgb:1616/1818/1d1d\x07",
    "colour scheme": "\x1b[?997;1n",
    "keyboard": "\x1b[?0u",
    "graphics": "\x1b_Gi=31;OK\x1b\\",
    "terminfo": "\x1bP1+r544e=78\x1b\\",
    "size in pixels": "\x1b[4;600;800t",
    "size in cells": "\x1b[8;24;80t",
    "mode": "\x1b[?2026;2$y",
    "cursor": "\x1b[24;80R",
    "status": "\x1b[0n",
    "clipboard": "\x1b]52;c;aGVsbG8=\x07",
    "eight bits": "\x9b?62;22c",
}


def read(*pieces, step=0.0, end=LATE):
    """Return the items of pieces, each `step` seconds after the one before."""
    reader, now, items = Reader(), 0.0, []
    for piece in pieces:
        items += reader.feed(piece if isinstance(piece, bytes) else piece.encode(), now)
        now += step
        items += reader.tick(now)
    return items + reader.tick(now + end)


def typed(items):
    """Return the text of keys and pastes, and the names of the other keys in `<>`."""
    parts = []
    for item in items:
        if isinstance(item, Text):
            parts.append(item.source)
        elif isinstance(item, Paste):
            parts.append(f"«{item.text}»")
        elif isinstance(item, Key):
            parts.append(item.text if item.text.isprintable() and item.text else f"<{item.name}>")
    return "".join(parts)


def cut(text, places):
    edges = [0, *sorted(place % (len(text) + 1) for place in places), len(text)]
    return [text[begin:end] for begin, end in itertools.pairwise(edges)]


# ── every byte ──────────────────────────────────────────────────────────────────────────────────


def without_marks(text):
    """Return the text without the marks of pastes, which are part of no item."""
    return text.replace(START, "").replace(END, "")


@given(st.lists(PIECES).map("".join), st.lists(st.integers(0, 99), max_size=4))
def test_no_byte_is_lost_and_none_counts_twice(text, cuts):
    text = text.replace("\x9b", "")
    items = read(*cut(text.encode(), cuts))
    sources = "".join(item.source for item in items)
    assert without_marks(sources) == without_marks(text)


@given(st.lists(PIECES).map("".join), st.lists(st.integers(0, 99), max_size=4))
def test_text_contains_nothing_that_controls_a_terminal(text, cuts):
    for item in read(*cut(text.encode(), cuts)):
        if isinstance(item, Text):
            assert all(c >= " " and c != "\x7f" for c in item.source)


def feed_noise(seed, count):
    """Feed random bytes, with many starts of sequences, at random times; return how many."""
    chance, reader, now, fed = random.Random(seed), Reader(), 0.0, 0
    starts = [b"\x1b[", b"\x1b]", b"\x1bP", b"\x1b_", b"\x1bO", b"\x9b", b"\x1b[<", b"\x1b[M"]
    starts += [START.encode(), END.encode(), b"\x1b[1;", b"\x1b[27;", b"u", b"~", b"\x07"]
    while fed < count:
        noise = b"".join(
            chance.choice((chance.randbytes(chance.randrange(9)), chance.choice(starts)))
            for _ in range(64)
        )
        for item in (*reader.feed(noise, now), *reader.tick(now + 0.01)):
            assert not isinstance(item, Text) or "\x1b" not in item.source
            assert not isinstance(item, Paste) or "\x1b" not in item.text
        fed += len(noise)
        now += chance.choice((0.0, 0.02, 0.2, 2.0))
    reader.tick(now + LATE)
    assert not reader.is_waiting
    assert typed(reader.feed(b"x", now + 2 * LATE)) == "x"
    return fed


@pytest.mark.parametrize("seed", range(2))
def test_noise_neither_raises_nor_locks_the_keyboard(seed):
    assert feed_noise(seed, 100_000) >= 100_000


@pytest.mark.soak
@pytest.mark.parametrize("seed", range(100, 110))
def test_ten_million_bytes_of_noise_neither_raise_nor_lock_the_keyboard(seed):
    assert feed_noise(seed, 1_000_000) >= 1_000_000


@pytest.mark.parametrize(
    "sequence",
    ["\x1b[97:65;2u" + "9" * 9, "\x1b[" + "9" * 200_000, "\x1b]" + "x" * 200_000, "\x1bP" * 50_000],
)
def test_sequence_of_any_length_ends(sequence):
    assert typed(read(sequence, "\x07", "A", step=3.0)).endswith("A")


# ── replies ─────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("reply", REPLIES.values(), ids=REPLIES)
def test_reply_of_the_terminal_is_not_typed_wherever_it_is_cut(reply):
    data = f"a{reply}b".encode()
    for place in range(1, len(data)):
        items = read(data[:place], data[place:], step=0.02)
        assert typed(items) == "ab", place
        assert any(isinstance(item, Reply) for item in items), place


def test_end_of_a_reply_that_comes_half_a_minute_late_is_not_typed():
    reply = REPLIES["background"]
    for place in range(4, len(reply)):
        assert typed(read(reply[:place], reply[place:], "b", step=30.0)) == "b", place


def test_keys_after_a_reply_without_an_end_are_keys():
    for place in range(6, 20):
        assert (
            typed(read(REPLIES["background"][:place], *"hello", "\r", step=2.0)) == "hello<enter>"
        )


def test_reply_that_nothing_follows_ends_at_a_key_that_cannot_be_part_of_it():
    assert typed(read("\x1b]11;rgb:ff", "\x03")) == "<ctrl+c>"
    assert typed(read("\x1b[?62;", "\x1b[A")) == "<up>"


# ── keys in time ────────────────────────────────────────────────────────────────────────────────


def test_escape_is_a_key_after_a_moment_and_the_start_of_a_sequence_before():
    reader = Reader()
    assert reader.feed(b"\x1b", 0.0) == [] == reader.tick(0.05)
    assert typed(reader.tick(0.2)) == "<escape>"
    assert typed(reader.feed(b"[", 0.3)) == "["
    assert typed(read("\x1b", "[A")) == "<up>"
    assert typed(read("\x1b", "b", step=0.2)) == "<escape>b"
    assert typed(read("\x1b\x1b")) == "<escape><escape>"
    assert typed(read("\x1b\x1b[A")) == "<escape><up>"


def test_escape_waits_longer_where_the_key_has_another_form():
    reader = Reader()
    reader.has_sure_escape = True
    reader.feed(b"\x1b", 0.0)
    assert reader.tick(0.3) == []
    assert typed(reader.feed(b"[A", 0.4)) == "<up>"


def test_characters_are_complete_however_their_bytes_arrive():
    data = "aé日🎉".encode()
    assert typed(read(*(data[at : at + 1] for at in range(len(data))))) == "aé日🎉"


def test_bytes_that_are_not_utf_8_are_no_text():
    items = read(b"a\xffb\xc3", b"c")
    assert typed(items) == "abc"
    assert [item.source for item in items if isinstance(item, Unknown)] == ["\udcff", "\udcc3"]


# ── pastes ──────────────────────────────────────────────────────────────────────────────────────


@given(
    st.text(st.sampled_from("\x1b[31m\n\ra~20Oé")).filter(lambda t: END not in f"{t}{END}"[:-1]),
    st.lists(st.integers(0, 99)),
)
def test_paste_is_one_item_for_any_content_and_chunking(text, cuts):
    items = read(*cut(f"x{START}{text}{END}yz".encode(), cuts), step=0.01)
    [pasted] = [item for item in items if isinstance(item, Paste)]
    assert pasted.source == text and "\x1b" not in pasted.text
    assert typed(items) == f"x«{pasted.text}»yz"


def test_escapes_in_a_paste_are_visible():
    assert typed(read(f"{START}a\x1b[31mb{END}")) == "«a␛[31mb»"


@pytest.mark.parametrize(
    "end",
    ["", "[201~", "\x1b[20~", "\x1b[201", "\x1b"],
    ids=["none", "cut", "other", "half", "esc"],
)
def test_paste_whose_end_is_lost_ends_by_quiet_time(end):
    items = read(f"{START}partial{end}", "x", "\x1b[A", step=2.0)
    assert isinstance(items[0], Paste) and items[0].text.startswith("partial")
    assert typed(items[1:]) == "x<up>"


@pytest.mark.parametrize("interrupt", ["\x03", "\x1b[99;5u", "\x1b[1089::99;5u", "\x1b[27;5;99~"])
def test_ctrl_c_alone_ends_a_paste_at_once(interrupt):
    assert typed(read(f"{START}partial", interrupt, "x")) == "«partial»<ctrl+c>x"
    assert typed(read(f"{START}par\x03tial{END}")) == "«par\x03tial»"


@pytest.mark.parametrize("enter", ["\x1b[13u", "\x1b[13;1u", "\x1b[106;5u", "\x1b[27;5;106~", "\r"])
def test_keys_for_enter_and_tab_in_a_paste_are_its_text(enter):
    [item] = read(f"{START}a{enter}\x1b[9ub{END}")
    assert item.text.replace("\r", "\n") == "a\n\tb"


def test_late_end_of_a_paste_is_no_text():
    assert typed(read(END, "a")) == "a"


def test_time_grows_with_the_length_of_a_paste_or_a_burst():
    def feed(pieces):
        reader = Reader()
        for piece in pieces:
            reader.feed(piece, 0.0)
        return reader.tick(LATE)

    line = b"The quick brown fox.\r" * 20
    assert growth(feed, lambda size: [line] * size) < LINEAR
    assert growth(feed, lambda size: [START.encode(), *[line + b"\x1b"] * size]) < LINEAR
    assert growth(feed, lambda size: [b"\x1b]", *[b"0123456789"] * size]) < LINEAR


# ── lines that were not typed ───────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    "burst",
    ["first\rsecond\rthird", "first\r\nsecond", "look\r!touch x\rnext", "!touch x\r", "y\r",
     "\ny\n", "a\x1b[13u", "\x1b[121u\x1b[13u"],
)  # fmt: skip
def test_lines_that_arrive_in_one_piece_are_a_paste(burst):
    text = typed(read(burst))
    assert text.startswith("«") and text.endswith("»")
    assert "enter" not in text


def test_line_end_soon_after_many_characters_is_part_of_their_paste():
    assert typed(read("x" * 4_000, "\r", step=0.001)) == "x" * 4_000 + "«\r»"
    assert typed(read("first\rsec", "ond\r", "third", step=0.001)) == "«first\rsecond\rthird»"
    assert typed(read("x" * 4_000, "\r", step=0.2)) == "x" * 4_000 + "<enter>"


def test_other_keys_in_a_burst_keep_their_place():
    assert typed(read("ab\x1b[Dc\rd")) == "«ab»<left>«c\rd»"


def test_typed_keys_are_no_paste():
    assert (
        typed(read(*"hello", "\r", "\r", *"!ls", "\r", step=0.04))
        == "hello<enter><enter>!ls<enter>"
    )
    assert typed(read("\r\r")) == "<enter><enter>"
    assert typed(read("\rnext")) == "<enter>next"
    assert typed(read("hello world")) == "hello world"
    assert typed(read("\x1b\r")) == "<alt+enter>"


def test_line_end_right_behind_a_paste_is_part_of_it():
    assert typed(read(f"{START}text{END}\r")) == "«text»«\r»"


def ahead(data, *, is_checked=False):
    return typed(Reader().feed_ahead(data.encode(), 0.0, is_checked=is_checked))


def test_one_line_before_the_first_read_can_be_typed_but_not_several():
    assert ahead("hello\r") == "hello<enter>"
    assert ahead(f"{START}two\nlines{END}\r") == "«two\nlines»<enter>"
    assert ahead("look\r!touch x\rnext") == "«look\r!touch x\rnext»"
    assert ahead("look\rnext", is_checked=True) == "look<enter>next"


@given(st.lists(PIECES).map("".join), st.lists(st.integers(0, 99), max_size=4))
def test_checked_input_is_read_again_as_the_same_keys_and_pastes(text, cuts):
    items = read(*cut(text.encode(), cuts))
    again = Reader()
    found = again.feed_ahead(to_bytes(items), 0.0, is_checked=True)
    assert typed(found + again.tick(LATE)) == typed(items)


def test_pending_input_is_complete_for_another_reader():
    for text in ("x\x1b[A", f"{START}abc{END}", "é日"):
        whole = text.encode()
        for place in range(1, len(whole)):
            reader, other = Reader(), Reader()
            items = reader.feed(whole[:place], 0.0)
            found = other.feed_ahead(to_bytes(items) + reader.pending, 0.0, is_checked=True)
            found += other.feed(whole[place:], 0.01)
            assert typed(found) == typed(read(text)), place
