"""Layout of plain text."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from yourtool.tui.lines.verbatim import VerbatimStream, plain_lines


def rows(lines):
    return ["".join(text for text, _ in line.spans) for line in lines]


def lay_out(*pieces, width=10):
    stream = VerbatimStream(width, "dim")
    for piece in pieces:
        stream.feed(piece)
    return stream


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("", [""]), ("a", ["a"]), ("a\nb", ["a", "b"]), ("a\n", ["a"]), ("a\n\n", ["a"]),
        ("a\n\nb", ["a", "", "b"]),
        ("a\r\nb\r", ["a", "b"]), ("one two three", ["one two", "three"]),
        ("0123456789ab", ["0123456789", "ab"]), ("\tx", ["    x"]), ("a\x1bb", ["a␛b"]),
    ],
)  # fmt: skip
def test_lines_are_wrapped_at_words_and_controls_are_visible(text, shown):
    assert rows(plain_lines(text, "dim", 10)) == shown


def test_row_is_settled_when_the_next_one_starts():
    stream = lay_out("one ", "two thr", "ee\nfo")
    assert rows(stream.settled) == ["one two", "three"]
    assert rows(stream.tail) == ["fo"]
    stream.feed("\n")
    assert (rows(stream.settled), stream.tail) == (["one two", "three", "fo"], [])
    stream.finish()
    assert rows(stream.settled) == ["one two", "three", "fo"]


def test_finish_settles_the_rest():
    stream = lay_out("one two three")
    assert rows(stream.tail) == ["one two", "three"]
    stream.finish()
    assert (rows(stream.settled), stream.tail) == (["one two", "three"], [])


def test_rows_of_a_line_share_its_source_and_know_what_was_between_them():
    first, second, third, fourth = plain_lines("one two three45678\nx", "dim", 8)
    assert (first.source, third.source.text) == (second.source, "one two three45678")
    assert (fourth.source.text, fourth.separator) == ("x", "\n")
    assert (first.separator, second.separator, third.separator) == ("\n", " ", "")
    assert first.spans == (("one two", "dim"),)


@settings(deadline=None, max_examples=60)
@given(
    st.lists(st.text(st.sampled_from("ab \n\r\té日\x1b"), max_size=30), max_size=6),
    st.integers(4, 12),
)
def test_pieces_are_laid_out_like_the_whole_text(pieces, width):
    stream, whole = lay_out(*pieces, width=width), lay_out("".join(pieces), width=width)
    stream.finish()
    whole.finish()
    assert rows(stream.settled) == rows(whole.settled)
    shared = [line.source.text for line in stream.settled]
    assert shared == [line.source.text for line in whole.settled]


@pytest.mark.parametrize("length", [1_999, 2_000, 2_001, 4_000, 6_001])
def test_long_line_is_laid_out_in_slices_like_a_short_one(length):
    line = "word " * (length // 5) + "x" * (length % 5)
    found = plain_lines(line, "", 40)
    assert rows(found)[:-1] == [("word " * 8)[:-1]] * (len(found) - 1)
    joined = "".join(each.separator + row for each, row in zip(found, rows(found), strict=True))
    assert joined.removeprefix("\n") == line
