"""Arguments that can be read in one way are read, and no others."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from yourtool.providers.replies.spoilt_arguments import read_arguments

OBJECT = {"path": "a.txt", "n": 1}
TEXT = json.dumps(OBJECT)


@pytest.mark.parametrize(
    "raw",
    [
        TEXT,
        f"{TEXT}\n</tool_call>",
        f"{TEXT}</function></tool_call>\n",
        f"{TEXT}<|im_end|>",
        f"```json\n{TEXT}\n```",
        f"```\n{TEXT}\n```\n",
        json.dumps(TEXT),
        f"  {json.dumps(TEXT)}</tool_call>",
    ],
)
def test_object_with_marks_around_it_is_read(raw):
    assert read_arguments(raw) == (OBJECT, None)


def test_line_ends_in_strings_are_read():
    raw = '{"path": "n.txt", "content": "l1\nl2\n\tl3\r\n"}'
    assert read_arguments(raw) == ({"path": "n.txt", "content": "l1\nl2\n\tl3\r\n"}, None)


@pytest.mark.parametrize(
    "raw",
    [
        '{"path": "a.txt"',
        f"{TEXT}{TEXT}",
        f"{TEXT}\n{TEXT}",
        f"{TEXT} and then the rest",
        f"Here it is: {TEXT}",
        f"```json\n{TEXT}",
        f"```json\n{TEXT[:-1]}\n```",
        json.dumps(json.dumps(TEXT)),
        json.dumps([OBJECT]),
        f"{json.dumps(TEXT)} and more",
        '{"a": "b\0c"\n}',
        '"{\\"path\\": \\"a.t"',
        "</tool_call>",
        "[" * 100_000,
    ],
)
def test_arguments_that_are_cut_or_have_another_reading_stay_an_error(raw):
    assert read_arguments(raw)[1] is not None


@given(st.dictionaries(st.text(), st.none() | st.booleans() | st.integers() | st.text()), st.data())
def test_no_prefix_of_an_object_is_read(value, data):
    raw = json.dumps(value, ensure_ascii=False)
    cut = raw[: data.draw(st.integers(1, len(raw) - 1))]
    assert read_arguments(cut)[1] is not None
