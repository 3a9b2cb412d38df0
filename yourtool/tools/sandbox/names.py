"""The name server of an enclosure.

A program learns at once that there is no network, and it is known what it looked for. Names of
this machine have the loopback address.

https://www.rfc-editor.org/rfc/rfc1035.html#section-4
"""

import asyncio
import re
import socket
from collections.abc import AsyncGenerator, Callable, Collection
from contextlib import asynccontextmanager
from typing import Any

from msgspec import Struct

RESOLVER_FILE = "/etc/resolv.conf"
RESOLVER = b"nameserver 127.0.0.1\nsearch .\noptions timeout:1 attempts:1\n"
"""The content of that file in an enclosure."""

_HEAD_BYTES = 12
_MAX_BYTES = 1_024
_MAX_NAME = 253
_IS_ANSWER, _OPERATION, _RECURSION = 0x8000, 0x7800, 0x0100
_ANSWERED = _IS_ANSWER | 0x0400 | 0x0080
"""An answer of the server that decides about the name, which also asks others."""
_NOT_FOUND = 3
_ADDRESSES = {1: bytes((127, 0, 0, 1)), 28: bytes(15) + b"\x01"}
"""The loopback address for each kind of question about addresses."""
_INTERNET = b"\0\1"
_POINTER = b"\xc0\x0c"
"""The name of the question."""
_SECONDS = bytes(4)
_LABEL = re.compile(rb"[A-Za-z0-9_-]{1,63}")


class NameQuestion(Struct, frozen=True):
    """A question for the address of a name."""

    head: bytes
    """Number and flags."""
    name: str
    """In lower case, without a dot at its end."""
    kind: int
    asked: bytes
    """The question itself, which its answer repeats."""


def parse_question(data: bytes) -> NameQuestion | None:
    """Return the question of a message; None if it is not exactly one about a usual name."""
    if not _HEAD_BYTES < len(data) <= _MAX_BYTES or data[4:6] != b"\0\1":
        return None
    if int.from_bytes(data[2:4], "big") & (_IS_ANSWER | _OPERATION):
        return None
    at, labels = _HEAD_BYTES, list[bytes]()
    while at < len(data) and (length := data[at]):
        label = data[at + 1 : at + 1 + length]
        if len(label) != length or _LABEL.fullmatch(label) is None:
            return None
        labels.append(label)
        at += 1 + length
    name, end = b".".join(labels), at + 5
    if not 0 < len(name) <= _MAX_NAME or end > len(data) or data[end - 2 : end] != _INTERNET:
        return None
    kind = int.from_bytes(data[at + 1 : at + 3], "big")
    return NameQuestion(data[:4], name.decode().lower(), kind, data[_HEAD_BYTES:end])


def build_answer(question: NameQuestion, *, is_local: bool) -> bytes:
    """Return the answer: the loopback address, or that there is no such name."""
    flags = _ANSWERED | int.from_bytes(question.head[2:], "big") & _RECURSION
    address = _ADDRESSES.get(question.kind) if is_local else None
    records = b""
    if address is not None:
        kind = question.kind.to_bytes(2, "big")
        length = len(address).to_bytes(2, "big")
        records = _POINTER + kind + _INTERNET + _SECONDS + length + address
    elif not is_local:
        flags |= _NOT_FOUND
    counts = b"\0\1" + (b"\0\1" if records else b"\0\0") + bytes(4)
    return b"".join((question.head[:2], flags.to_bytes(2, "big"), counts, question.asked, records))


class _NameProtocol(asyncio.DatagramProtocol):
    """Answers the questions of one enclosure."""

    def __init__(self, note: Callable[[str], None], local: Collection[str]) -> None:
        self._note = note
        self._local = local
        self._transport: asyncio.DatagramTransport | None = None

    def connection_made(self, transport: Any) -> None:
        self._transport = transport

    def datagram_received(self, data: bytes, addr: tuple[str, int]) -> None:
        if self._transport is None or (question := parse_question(data)) is None:
            return
        is_local = question.name.rpartition(".")[2] == "localhost" or question.name in self._local
        if not is_local:
            self._note(question.name)
        self._transport.sendto(build_answer(question, is_local=is_local), addr)


@asynccontextmanager
async def serve(listener: socket.socket, note: Callable[[str], None]) -> AsyncGenerator[None, None]:
    """Answer the questions that a socket gets; `note` gets each name that is not of this machine.

    The socket is closed at the end.
    """
    own = socket.gethostname().lower()
    local = frozenset(each for each in (own, own.partition(".")[0]) if each)
    listener.setblocking(False)
    transport, _ = await asyncio.get_running_loop().create_datagram_endpoint(
        lambda: _NameProtocol(note, local), sock=listener
    )
    try:
        yield
    finally:
        transport.close()
