"""Indexes that no git has written; those of git are in `tests/tools/git/test_git_index.py`."""

import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from yourtool.git import index
from yourtool.git.index import parse_index

HEADER = struct.pack(">4sLL", b"DIRC", 4, 2)
FIELDS = bytes(40 + 20) + struct.pack(">H", 1)
FIRST = FIELDS + b"\0" + b"name\0"
LIKE_THE_FIRST = FIELDS + b"\0" + b"\0"


def test_short_name_repeats_the_one_before():
    read = parse_index(HEADER + FIRST + LIKE_THE_FIRST)
    assert [each.name for each in read.entries] == [b"name", b"name"]


def test_names_that_repeat_a_long_one_without_end_are_refused(monkeypatch):
    monkeypatch.setattr(index, "_MAX_NAMES_BYTES", 7)
    with pytest.raises(ValueError, match="too many names"):
        parse_index(HEADER + FIRST + LIKE_THE_FIRST)


@given(st.binary(max_size=200), st.sampled_from([2, 3, 4]), st.integers(0, 2**32 - 1))
def test_any_other_content_is_damaged(rest, version, count):
    header = struct.pack(">4sLL", b"DIRC", version, count)
    try:
        entries = parse_index(header + rest).entries
    except ValueError:
        return
    assert len(entries) == count


@given(st.binary(max_size=100))
def test_content_without_a_header_is_refused(data):
    with pytest.raises(ValueError, match="index"):
        parse_index(b"X" + data)
