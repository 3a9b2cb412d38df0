"""Read responses of HTTP/1.1 with h11, which is imported while the first one is on its way."""

from collections.abc import Mapping
from typing import NamedTuple

import h11

from yourtool.providers.transports.http_client import MalformedError

_MAX_HEAD_BYTES = 128 * 1024
_ANY_REQUEST = h11.Request(method="POST", target="/", headers=[("host", "any")])
"""A request that was sent, for h11; the framing of a response depends on no more of it."""


class ResponseHead(NamedTuple):
    """Status and headers."""

    status: int
    headers: Mapping[str, str]
    """By lower-case name, with the values of a repeated one joined by commas."""


class ResponseReader:
    """Takes the bytes of one connection and returns the responses in them, one after the other."""

    def __init__(self) -> None:
        self._http = h11.Connection(h11.CLIENT, max_incomplete_event_size=_MAX_HEAD_BYTES)

    def expect(self) -> None:
        """Note that a request, neither `HEAD` nor `CONNECT`, was sent."""
        self._http.send(_ANY_REQUEST)
        self._http.send(h11.EndOfMessage())

    def feed(self, data: bytes) -> None:
        """Take bytes that have arrived; none: the connection has ended."""
        self._http.receive_data(data)

    def read_head(self) -> ResponseHead | None:
        """Return the head of the response, or None if more bytes are needed.

        Raises:
            MalformedError: it is no head, or the connection has ended before it.
        """
        while True:
            match self._next_event():
                case h11.Response() as head:
                    return ResponseHead(head.status_code, _join_headers(head))
                case h11.NEED_DATA:
                    return None
                case h11.InformationalResponse():
                    pass
                case _:
                    raise MalformedError

    def read_content(self) -> bytes | None:
        """Return content that has arrived; empty at the end, None if more bytes are needed.

        Raises:
            MalformedError: the bytes are malformed, or the body is not complete.
        """
        pieces: list[bytes] = []
        while self._http.their_state in (h11.SEND_BODY, h11.ERROR):
            try:
                event = self._next_event()
            except MalformedError:
                if pieces:
                    break  # the next call raises it again
                raise
            if isinstance(event, h11.Data):
                pieces.append(event.data)
            elif event is h11.NEED_DATA and not pieces:
                return None
            else:
                break
        return b"".join(pieces)

    def try_next_cycle(self) -> bool:
        """Prepare for the next response; False if this one is incomplete or the last."""
        is_complete = self._http.their_state is h11.DONE and not self._http.trailing_data[0]
        if is_complete and self._http.our_state is h11.DONE:
            self._http.start_next_cycle()
            return True
        return False

    def _next_event(self) -> object:
        try:
            return self._http.next_event()
        except h11.RemoteProtocolError as error:
            raise MalformedError from error


def _join_headers(head: h11.Response) -> Mapping[str, str]:
    headers: dict[str, str] = {}
    for name, value in head.headers:
        key, text = name.decode("ascii"), _decode(value)
        headers[key] = f"{headers[key]}, {text}" if key in headers else text
    return headers


def _decode(value: bytes) -> str:
    try:
        return value.decode()
    except UnicodeDecodeError:
        return value.decode("latin-1")
