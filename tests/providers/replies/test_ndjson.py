import pytest

from yourtool.errors import NetworkError
from yourtool.providers.replies.body_decoder import LINE_LIMIT
from yourtool.providers.replies.ndjson import NdjsonDecoder


def lines(*chunks):
    framing = NdjsonDecoder()
    events = [event for chunk in chunks for event in framing.feed(chunk)]
    assert not framing.is_document
    return [event.data for event in events + framing.end()]


def test_each_line_is_an_event_and_empty_lines_are_skipped():
    assert lines(b'{"a":1}\n\n \r\n{"b":2}\r\n') == [b'{"a":1}', b'{"b":2}\r']


def test_last_line_needs_no_line_end():
    assert lines(b'{"a":1}') == [b'{"a":1}']


def test_line_is_joined_from_any_chunks():
    body = '{"a":"ü\u2028"}\n{"b":2}\n'.encode()
    expected = lines(body)
    assert len(expected) == 2
    assert lines(*(body[at : at + 1] for at in range(len(body)))) == expected


def test_line_over_the_limit_is_an_error():
    framing = NdjsonDecoder()
    framing.feed(b"x" * LINE_LIMIT)
    with pytest.raises(NetworkError, match="a line of more than 8 MiB") as caught:
        framing.feed(b"x")
    assert not caught.value.retryable
