import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.doubling import LINEAR, growth
from yourtool.tui.diff.word_marks import find_changed_words

WORDS = st.lists(st.sampled_from(["a", "b", " ", "foo", "(", "字", "_x"]), max_size=40).map("".join)


def marked(old, new):
    return tuple(
        [text[begin:end] for begin, end in ranges]
        for text, ranges in zip((old, new), find_changed_words(old, new), strict=True)
    )


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        ("return a + b", "return a + c", (["b"], ["c"])),
        ("x = f(a)", "x = f(a, b)", ([], [", b"])),
        ("call(one, 2)", "call(2, one)", (["one", "2"], ["2", "one"])),
        ("the quick brown fox", "the slow red fox", (["quick brown"], ["slow red"])),
        ("import os", "class Different:", ([], [])),
        ("", "x", ([], [])),
        ("same", "same", ([], [])),
    ],
)
def test_only_changed_words_are_marked(old, new, expected):
    assert marked(old, new) == expected


@given(WORDS, WORDS)
def test_text_outside_of_the_marks_is_equal(old, new):
    ranges = find_changed_words(old, new)
    if not any(ranges):
        return
    rests = []
    for text, found in zip((old, new), ranges, strict=True):
        assert all(0 <= begin < end <= len(text) for begin, end in found)
        assert all(one[1] < other[0] for one, other in itertools.pairwise(found))
        rest = text
        for begin, end in reversed(found):
            rest = rest[:begin] + rest[end:]
        rests.append("".join(rest.split()))
    assert rests[0] == rests[1]


@pytest.mark.parametrize("word", ["a ", "(", "ab1 cd2 "])
def test_words_of_long_lines_are_compared_in_linear_time(word):
    def sized(length):
        line = word * (length // len(word))
        return f"x{line}y{line}z", f"X{line}Y{line}Z"

    assert growth(lambda lines: find_changed_words(*lines), sized, 5_000) < LINEAR
