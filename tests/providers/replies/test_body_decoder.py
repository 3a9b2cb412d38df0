import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from yourtool.errors import NetworkError
from yourtool.providers.replies import body_decoder as module
from yourtool.providers.replies.body_decoder import BodyDecoder, SseDecoder, SseEvent


def decode(*chunks):
    decoder = SseDecoder()
    return [event for chunk in chunks for event in decoder.feed(chunk)] + decoder.end()


@pytest.mark.parametrize("end", [b"\n", b"\r\n", b"\r"])
def test_lines_end_in_any_of_three_ways(end):
    lines = [b"event: a", b"data: 1", b"data: 2", b"", b": note", b"data:3", b"", b""]
    assert decode(end.join(lines)) == [SseEvent("a", b"1\n2"), SseEvent("", b"3")]


@pytest.mark.parametrize("inside", ["\u2028", "\u2029", "\x0b", "\x0c", "\x1c", "\x85"])
def test_no_other_character_ends_a_line(inside):
    text = f'{{"t": "a{inside}b"}}'
    assert decode(f"data: {text}\n\n".encode()) == [SseEvent("", text.encode())]


def test_comments_other_fields_and_events_without_data_are_skipped():
    assert decode(b": ping\nid: 7\nretry: 1\nnonsense\nevent: x\n\ndata: 1\n\n") == [
        SseEvent("", b"1")
    ]


def test_one_space_after_the_colon_is_not_data():
    assert decode(b"data:  1\n\n") == [SseEvent("", b" 1")]


MARKED = b"\n\xef\xbb\xbf \n"


@pytest.mark.parametrize("size", [1, 2, 3, 5, 100])
@pytest.mark.parametrize("document", [b'{"a": 1}', b"[1]"])
@pytest.mark.req("D16")
def test_byte_order_mark_before_a_document_is_skipped(document, size):
    framing, body = BodyDecoder(), MARKED + document
    for at in range(0, len(body), size):
        assert framing.feed(body[at : at + size]) == []
    assert framing.is_document
    assert framing.document == document
    assert framing.end() == []


@pytest.mark.parametrize("size", [1, 2, 3, 5, 100])
@pytest.mark.req("D16")
def test_byte_order_mark_before_a_stream_or_page_is_skipped(size):
    stream, page, body = BodyDecoder(), BodyDecoder(), MARKED + b"data: 1\n\n"
    pieces = [body[at : at + size] for at in range(0, len(body), size)]
    assert [event for piece in pieces for event in stream.feed(piece)] == [SseEvent("", b"1")]
    for at in range(0, 20, size):
        page.feed((MARKED + b"<p>gone</p>")[at : at + size])
    assert page.page == b"<p>gone</p>"


@pytest.mark.parametrize("chunks", [[b" \r\n data: 1\n\n"], [b" ", b"\r\n", b" ", b"data: 1\n\n"]])
def test_whitespace_before_the_first_event_is_skipped(chunks):
    framing = BodyDecoder()
    assert [event for chunk in chunks for event in framing.feed(chunk)] == [SseEvent("", b"1")]


@pytest.mark.parametrize("end", [b"", b"\n"])
def test_last_event_needs_no_blank_line(end):
    assert decode(b"data: [DONE]" + end) == [SseEvent("", b"[DONE]")]


BODY = "event: é\r\ndata: äöü 🦊\r\n\r\n: c\r\rdata: 1\ndata: 2\n\n\r\ndata: end\n\n".encode()


@given(st.lists(st.integers(0, len(BODY)), max_size=12))
def test_chunk_boundaries_do_not_change_events(cuts):
    edges = [0, *sorted(cuts), len(BODY)]
    chunks = [BODY[a:b] for a, b in itertools.pairwise(edges)]
    assert decode(*chunks) == decode(BODY) == decode(*(bytes([byte]) for byte in BODY))


def test_event_over_the_limit_is_an_error(monkeypatch):
    monkeypatch.setattr(module, "LINE_LIMIT", 1_000)
    for chunks in ([b"data: x"] + [b"x" * 10] * 200, [b"data: x\n"] * 2_000):
        with pytest.raises(NetworkError, match="more than"):
            decode(*chunks)


def test_event_with_many_empty_lines_reaches_the_limit(monkeypatch):
    monkeypatch.setattr(module, "LINE_LIMIT", 1_000)
    with pytest.raises(NetworkError, match="event of more than"):
        decode(*[b"data:\n"] * 1_001)


def test_many_events_do_not_reach_the_event_limit(monkeypatch):
    monkeypatch.setattr(module, "LINE_LIMIT", 1_000)
    assert len(decode(*[b"data: x\n\n: pong\n\n"] * 2_000)) == 2_000


def test_document_over_the_limit_is_an_error(monkeypatch):
    monkeypatch.setattr(module, "DOCUMENT_LIMIT", 1_000)
    framing = BodyDecoder()
    with pytest.raises(NetworkError, match="larger than"):
        for _ in range(200):
            framing.feed(b"{         ")


def test_events_come_out_of_chunks_as_they_arrive():
    decoder = SseDecoder()
    assert decoder.feed(b"data: 1\n\nda") == [SseEvent("", b"1")]
    assert decoder.feed(b"ta: 2") == []
    assert decoder.end() == [SseEvent("", b"2")]
