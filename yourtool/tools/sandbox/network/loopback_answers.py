"""Answers of the loopback address to connections.

The runner has filtered the packets: they accept or refuse a connection over IPv4, which programs
that try IPv6 first try as well.

https://www.rfc-editor.org/rfc/rfc9293.html#section-3.1
"""

import socket
from collections.abc import Iterator

from msgspec import Struct

_MAX_PACKET, _MAX_PACKETS = 128, 10_000
_PORT, _NUMBER, _FLAGS, _END = slice(0, 2), slice(4, 8), 13, 14
_FLAG_BITS = 0x16
"""ACK, RST and SYN."""
_NO_NUMBER = bytes(4)
"""The sequence number of an answer where nothing listens."""


class PortAnswer(Struct, frozen=True):
    """A connection to a port was accepted or refused."""

    port: int
    is_refused: bool


def read_answers(packets: socket.socket) -> Iterator[PortAnswer]:
    """Yield what has arrived on a socket that does not block."""
    for _ in range(_MAX_PACKETS):
        try:
            answer = parse_packet(packets.recv(_MAX_PACKET))
        except OSError:
            return
        if answer is not None:
            yield answer


def parse_packet(packet: bytes) -> PortAnswer | None:
    """Return the answer in a packet of IPv4; None: it answers no attempt to connect."""
    head = packet[(packet[0] & 0xF) * 4 :] if packet else b""
    if len(head) < _END:
        return None
    port = int.from_bytes(head[_PORT], "big")
    match head[_FLAGS] & _FLAG_BITS:
        case 0x14 if head[_NUMBER] == _NO_NUMBER:  # RST and ACK
            return PortAnswer(port, is_refused=True)
        case 0x12:  # SYN and ACK
            return PortAnswer(port, is_refused=False)
        case _:
            return None
