"""Words that answer a question."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.tui.fakes import approval_request
from yourtool.tui.keys.active_keys import get_keymap
from yourtool.tui.questions.answer_words import find_answer, is_answer_word, starts_answer
from yourtool.tui.questions.approval_text import approval_options

LETTERS = get_keymap().answers
OPTIONS = approval_options(approval_request())
NAMES = [each.letter for each in OPTIONS]


def find(typed):
    at = find_answer(typed, OPTIONS, LETTERS)
    return None if at is None else NAMES[at]


@pytest.mark.parametrize(
    ("typed", "answer"),
    [
        *(
            (word, "a")
            for word in ("a", "y", "Y", "yes", "Yes", "ok", "okay", "1", "11", "yy", "aa")
        ),
        *((word, "d") for word in ("d", "n", "N", "no", "NO", "deny", "3", "nn", "33", "dd")),
        *((word, "w") for word in ("w", "2", "22")),
        *((word, None) for word in ("", "4", "9", "x", "ww", "ss", "ye", "yess", "1.", " y", "12")),
    ],
)
def test_word_gives_the_answer_that_people_mean_with_it(typed, answer):
    assert find(typed) == answer


@given(st.text("ynao1d s", min_size=1, max_size=6))
def test_every_answer_is_reached_by_texts_that_start_one(typed):
    if find(typed) is not None:
        assert all(starts_answer(typed[:end], OPTIONS, LETTERS) for end in range(1, len(typed) + 1))


@given(st.text(max_size=8))
def test_every_answer_is_no_message(typed):
    if find(typed) is not None:
        assert is_answer_word(typed, LETTERS)
        assert is_answer_word(f" {typed}.\n", LETTERS)


@pytest.mark.parametrize(
    "text", ["yes please", "no, wait", "11 tests", "ss", "dry", "", "?", "x y"]
)
def test_message_with_more_than_an_answer_is_a_message(text):
    assert not is_answer_word(text, LETTERS)


def test_keys_of_letters_work_in_other_layouts_and_those_of_words_do_not():
    assert [find(key) for key in "\u0444\u0432\u0446"] == ["a", "d", "w"], "Russian"
    assert [find(key) for key in "\u03b1\u03b4\u05e9\u05d2"] == ["a", "d", "a", "d"]
    assert find("\u043d") is None, "the key of y is the first letter of a Russian no"
    assert is_answer_word("\u0444", LETTERS) and not is_answer_word("\u043d\u0435\u0442", LETTERS)
