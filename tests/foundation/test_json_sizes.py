"""Values are counted in JSON that another program sent."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.doubling import LINEAR, growth
from tests.strategies import json_values
from yourtool.foundation.json_sizes import MAX_PARTS, has_too_many_parts

MANY = MAX_PARTS + 1


TOO_MANY = {
    "open lists": b"[" * MANY,
    "empty lists": b"[" + b"[]," * MANY,
    "numbers": b"[" + b"1," * MANY,
    "an object": b"{" + b'"":0,' * (MAX_PARTS // 2 + 1),
    "quotes": b'"' * 2 * MANY,
    "texts": b'["\\"",' + b'"",' * MANY,
    "a huge text": b'{"a": "' + b"," * 9 * 2**20,
}


@pytest.mark.parametrize("data", TOO_MANY.values(), ids=TOO_MANY)
def test_many_values_are_too_many(data):
    assert has_too_many_parts(data)


@pytest.mark.parametrize("text", [",", "[{", '"', "\\", '\\",', '{"a": 1}\n'])
def test_text_with_many_marks_is_one_value(text):
    assert not has_too_many_parts(json.dumps([text * MANY, 1]).encode())


def test_large_image_is_one_value():
    assert not has_too_many_parts(json.dumps({"data": "QUJD" * 2**22}).encode())


@given(json_values, st.integers(0, 3))
def test_small_values_are_not_too_many_wherever_they_are_cut(value, missing):
    data = json.dumps(value).encode()
    assert not has_too_many_parts(data[: len(data) - missing])


@pytest.mark.parametrize("piece", [b'\\"', b'"\\', b'",', b'"', b"[],"])
def test_time_is_linear(piece):
    assert growth(has_too_many_parts, lambda size: b'"' + piece * size) < LINEAR
