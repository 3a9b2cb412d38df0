from itertools import pairwise

import h11
import pytest
from hypothesis import given
from hypothesis import strategies as st

from yourtool.providers.transports.http_messages import (
    MalformedMessageError,
    build_body,
    build_request_head,
    parse_response_head,
)

CHUNKED = b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n"


def head_of(*lines):
    return parse_response_head(b"\r\n".join((*lines, b"", b"")))


def chunked_body():
    return build_body(parse_response_head(CHUNKED))


def pieces_of(data, cuts):
    places = sorted({0, len(data), *(cut % (len(data) + 1) for cut in cuts)})
    return [data[start:end] for start, end in pairwise(places)]


def test_request_head_has_its_headers_without_spaces_around_values():
    head = build_request_head("POST", "/v1/x?a=b", {"host": "h:1", "x-key": " k "})
    assert head == b"POST /v1/x?a=b HTTP/1.1\r\nhost: h:1\r\nx-key: k\r\n\r\n"


@pytest.mark.parametrize("value", ["a\r\nx-other: b", "a\nb", "a\0b"])
def test_header_with_a_line_end_is_refused(value):
    with pytest.raises(MalformedMessageError):
        build_request_head("GET", "/", {"x-team": value})


def test_response_head_has_lower_case_names_and_joined_values():
    head = head_of(b"HTTP/1.1 429", b"Retry-After:  3 ", b"X-A: 1", b"x-a: 2", b"X-B: caf\xe9")
    assert head.status == 429
    assert head.headers == {"retry-after": "3", "x-a": "1, 2", "x-b": "caf\xe9"}


@pytest.mark.parametrize(
    "lines",
    [
        [b"HTTP/2 200"],
        [b"HTTP/1.1 20"],
        [b"HTTP/1.1 200 OK", b"no colon"],
        [b"HTTP/1.1 200 OK", b" folded: line"],
        [b"HTTP/1.1 200 OK", b"space : x"],
        [b""],
    ],
)
def test_malformed_head_is_an_error(lines):
    with pytest.raises(MalformedMessageError):
        head_of(*lines)


@pytest.mark.parametrize(
    "header",
    [
        b"content-length: -1",
        b"content-length: 1_0",
        b"content-length: 1, 2",
        b"content-length: 9999999999999999999",
        b"transfer-encoding: gzip, chunked",
    ],
)
def test_body_of_unclear_length_is_an_error(header):
    with pytest.raises(MalformedMessageError):
        build_body(head_of(b"HTTP/1.1 200 OK", header))


@pytest.mark.parametrize(
    ("version", "connection", "keeps"),
    [
        (b"1.1", b"", True),
        (b"1.1", b"Keep-Alive", True),
        (b"1.1", b"x, Close", False),
        (b"1.0", b"", False),
        (b"1.0", b"keep-alive", True),
    ],
)
def test_whether_a_connection_continues_depends_on_version_and_header(version, connection, keeps):
    head = head_of(b"HTTP/" + version + b" 200 OK", b"connection: " + connection)
    assert head.keeps_connection is keeps


@given(st.binary(max_size=50), st.binary(max_size=9), st.lists(st.integers(0, 100)))
def test_body_with_a_length_has_so_many_bytes(content, surplus, cuts):
    body = build_body(head_of(b"HTTP/1.1 200 OK", b"content-length: %d" % len(content)))
    read = b"".join(map(body.feed, pieces_of(content, cuts)))
    assert (read, body.is_complete, body.has_surplus) == (content, True, False)
    assert body.feed(surplus) == b""
    assert body.has_surplus == bool(surplus)


@given(
    st.lists(st.binary(min_size=1, max_size=20)),
    st.booleans(),
    st.booleans(),
    st.lists(st.integers(0, 500), max_size=8),
)
def test_chunks_are_joined_however_they_arrive(chunks, has_extension, has_trailer, cuts):
    extension = b' ;name="value"' if has_extension else b""
    trailer = b"x-sum: 1\r\n" if has_trailer else b""
    sent = b"".join(b"%X%s\r\n%s\r\n" % (len(each), extension, each) for each in chunks)
    body = chunked_body()
    read = b"".join(map(body.feed, pieces_of(sent + b"0\r\n" + trailer + b"\r\n", cuts)))
    assert (read, body.is_complete, body.has_surplus) == (b"".join(chunks), True, False)


@pytest.mark.parametrize(
    "sent",
    [
        b"x\r\n",
        b"-1\r\n",
        b"0x1\r\n",
        b"\r\n",
        b"1\r\nab\r\n",
        b"1" * 20_000,
        b"0\r\n" + b"a: b\r\n" * 5_000,
    ],
)
def test_malformed_chunk_is_an_error(sent):
    with pytest.raises(MalformedMessageError):
        chunked_body().feed(sent)


@pytest.mark.parametrize("sent", [b"", b"5\r\nhal", b"5\r\nwhole\r\n", b"0\r\n"])
def test_chunks_without_their_end_are_not_complete(sent):
    body = chunked_body()
    body.feed(sent)
    with pytest.raises(MalformedMessageError):
        body.end()


@given(st.binary(max_size=60))
def test_bytes_that_another_parser_reads_as_a_response_have_the_same_content(data):
    """The other one is h11; ours may refuse more."""
    sent = CHUNKED + data
    client = h11.Connection(h11.CLIENT)
    client.send(h11.Request(method="GET", target="/", headers=[("host", "x")]))
    client.send(h11.EndOfMessage())
    client.receive_data(sent)
    theirs, ours = b"", chunked_body()
    try:
        read = ours.feed(data)
    except MalformedMessageError:
        return
    if ours.is_complete:
        while not isinstance(event := client.next_event(), h11.EndOfMessage):
            theirs += bytes(event.data) if isinstance(event, h11.Data) else b""
        assert read == theirs
