"""Messages of HTTP/1.1, without the network: heads of requests and responses, and bodies.

Only what a client with one request at a time needs: no pipelining and no upgrade. Anything that
could be read in two ways is an error. Source: RFC 9112.
"""

import re
from collections.abc import Mapping
from typing import NamedTuple

_LINE_END = b"\r\n"
_STATUS_LINE = re.compile(rb"HTTP/1\.([01]) ([1-9][0-9]{2})(?: [^\r\n\0]*)?")
_NAME = re.compile(rb"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
_MAX_LINE_BYTES = 8 * 1024
"""Limit for the line before a chunk, and for all lines after the last one."""
_NO_BODY = (204, 304)


class MalformedMessageError(Exception):
    """The bytes are not a message of HTTP/1.1."""


class ResponseHead(NamedTuple):
    """The head of a response."""

    minor_version: int
    status: int
    headers: Mapping[str, str]
    """By lower-case name; the values of a repeated header are joined by commas."""

    @property
    def keeps_connection(self) -> bool:
        """Whether the server expects another request on the connection."""
        tokens = _list_tokens(self.headers.get("connection", ""))
        return "close" not in tokens if self.minor_version else "keep-alive" in tokens


def build_request_head(method: str, target: str, headers: Mapping[str, str]) -> bytes:
    """Return the head of a request.

    Raises:
        UnicodeError: a header has characters beyond ASCII.
        MalformedMessageError: a header has control characters.
    """
    lines = [f"{method} {target} HTTP/1.1"]
    for name, value in headers.items():
        stripped = value.strip(" \t")
        if any(char < " " and char != "\t" for char in name + stripped):
            raise MalformedMessageError("a header has control characters")
        lines.append(f"{name}: {stripped}")
    return "\r\n".join((*lines, "", "")).encode("ascii")


def parse_response_head(data: bytes) -> ResponseHead:
    """Return a head, which ends with an empty line.

    Raises:
        MalformedMessageError: it is malformed.
    """
    first, *lines = data.removesuffix(_LINE_END * 2).split(_LINE_END)
    if (status_line := _STATUS_LINE.fullmatch(first)) is None:
        raise MalformedMessageError("the status line is malformed")
    headers = dict[str, str]()
    for line in lines:
        name, colon, value = line.partition(b":")
        if not colon or _NAME.fullmatch(name) is None:
            raise MalformedMessageError("a header is malformed")
        key, text = name.decode("ascii").lower(), _decode(value.strip(b" \t"))
        headers[key] = f"{headers[key]}, {text}" if key in headers else text
    return ResponseHead(int(status_line[1]), int(status_line[2]), headers)


def _decode(value: bytes) -> str:
    try:
        return value.decode()
    except UnicodeDecodeError:
        return value.decode("latin-1")


def _list_tokens(value: str) -> list[str]:
    return [each.strip().lower() for each in value.split(",")]


class Body:
    """Finds the content of a body, and its end, in the bytes after a head."""

    is_complete = False
    has_surplus = False
    """Whether bytes follow the end, which belong to no request."""

    def feed(self, data: bytes) -> bytes:
        """Return the content in the next bytes.

        Raises:
            MalformedMessageError: they are malformed.
        """
        raise NotImplementedError

    def end(self) -> None:
        """The connection has ended.

        Raises:
            MalformedMessageError: the body is not complete.
        """
        if not self.is_complete:
            raise MalformedMessageError("the body is not complete")


def build_body(head: ResponseHead) -> Body:
    """Return the body that follows a head.

    Raises:
        MalformedMessageError: its length is not clear.
    """
    if head.status in _NO_BODY:
        return _SizedBody(0)
    if (encoding := head.headers.get("transfer-encoding")) is not None:
        if encoding.lower() != "chunked":
            raise MalformedMessageError("the transfer encoding is not supported")
        return _ChunkedBody()
    if (length := head.headers.get("content-length")) is None:
        return _OpenBody()
    sizes = set(_list_tokens(length))  # the same length may be repeated
    if len(sizes) > 1 or not re.fullmatch("[0-9]{1,18}", size := sizes.pop()):
        raise MalformedMessageError("the content length is malformed")
    return _SizedBody(int(size))


class _SizedBody(Body):
    def __init__(self, size: int) -> None:
        self._left = size
        self.is_complete = size == 0

    def feed(self, data: bytes) -> bytes:
        content = data[: self._left]
        self._left -= len(content)
        self.is_complete = self._left == 0
        self.has_surplus = len(data) > len(content)
        return content


class _OpenBody(Body):
    """A body that ends with the connection."""

    def feed(self, data: bytes) -> bytes:
        return data

    def end(self) -> None:
        self.is_complete = True


class _ChunkedBody(Body):
    def __init__(self) -> None:
        self._rest = b""
        """The beginning of a line."""
        self._left = 0
        """Bytes of content before the end of the chunk."""
        self._ends_chunk = False
        """Whether the line end after a chunk comes next."""
        self._is_after_last = False
        self._trailer_size = 0

    def feed(self, data: bytes) -> bytes:
        data, at, pieces = self._rest + data, 0, list[bytes]()
        while not self.is_complete:
            if self._left:
                piece = data[at : at + self._left]
                pieces.append(piece)
                at += len(piece)
                self._left -= len(piece)
                if self._left:
                    break
                self._ends_chunk = True
            if (stop := data.find(_LINE_END, at)) < 0:
                break
            self._read_line(data[at:stop])
            at = stop + len(_LINE_END)
        self._rest = data[at:]
        self.has_surplus = self.is_complete and bool(self._rest)
        if not self.is_complete and len(self._rest) > _MAX_LINE_BYTES:
            raise MalformedMessageError("a line is too long")
        return b"".join(pieces)

    def _read_line(self, line: bytes) -> None:
        if self._ends_chunk:
            if line:
                raise MalformedMessageError("a chunk is longer than its size")
            self._ends_chunk = False
        elif self._is_after_last:
            self.is_complete = not line
            self._trailer_size += len(line)
            if self._trailer_size > _MAX_LINE_BYTES:
                raise MalformedMessageError("the trailer is too long")
        else:
            size = line.partition(b";")[0].rstrip(b" \t")
            if not re.fullmatch(rb"[0-9A-Fa-f]{1,15}", size):
                raise MalformedMessageError("the size of a chunk is malformed")
            self._left = int(size, 16)
            self._is_after_last = self._left == 0
