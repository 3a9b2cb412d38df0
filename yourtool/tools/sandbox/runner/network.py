"""Loopback network of an enclosure.

It has the port for host names and watches answers to connections.

The runner makes the network itself, because it may only set up one that belongs to its own user
namespace, and bubblewrap can have put it into another one.

https://man7.org/linux/man-pages/man7/netdevice.7.html
https://docs.kernel.org/networking/filter.html
"""

import ctypes
import fcntl
import socket
import struct

import kernel

_GET_FLAGS, _SET_FLAGS, _UP = 0x8913, 0x8914, 1
_NAME_PORT = 53
_IPV4 = 0x0800
_ATTACH_FILTER = 26
_ANSWERS = (
    (0x30, 0, 0, 9),  # the protocol
    (0x15, 0, 6, 6),  # TCP
    (0xB1, 0, 0, 0),  # the length of the head of IPv4
    (0x50, 0, 0, 13),  # the flags of TCP
    (0x54, 0, 0, 0x16),  # of which ACK, RST and SYN
    (0x15, 1, 0, 0x14),  # ACK and RST: refused
    (0x15, 0, 1, 0x12),  # ACK and SYN: accepted
    (0x06, 0, 0, 128),
    (0x06, 0, 0, 0),
)
"""The filter: instruction, steps if it is equal and if not, operand."""


def set_up() -> dict[str, socket.socket]:
    """Make the network; return the sockets for names and for answers, without those that fail.

    Raises:
        OSError: the loopback device cannot be used.
    """
    try:
        kernel.unshare(kernel.NEW_NETWORK)
    except OSError:
        return {}  # the one of bubblewrap, which is as separate
    made: dict[str, socket.socket] = {}
    names = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    _bring_up(names, b"lo")
    try:
        names.bind(("127.0.0.1", _NAME_PORT))
        made["names"] = names
    except OSError:
        names.close()
    try:
        made["answers"] = _watch_answers()
    except OSError:
        pass  # this right is missing, or the kernel has no such sockets
    return made


def _watch_answers() -> socket.socket:
    """Return a socket with the packets that accept or refuse a connection over IPv4."""
    made = socket.socket(socket.AF_PACKET, socket.SOCK_DGRAM, socket.htons(_IPV4))
    code = b"".join(struct.pack("=HBBI", *each) for each in _ANSWERS)
    held = ctypes.create_string_buffer(code, len(code))
    program = struct.pack("@HP", len(_ANSWERS), ctypes.addressof(held))
    try:
        made.setsockopt(socket.SOL_SOCKET, _ATTACH_FILTER, program)
        made.bind(("lo", _IPV4))
    except OSError:
        made.close()
        raise
    return made


def _bring_up(using: socket.socket, device: bytes) -> None:
    found = fcntl.ioctl(using, _GET_FLAGS, struct.pack("16sH14x", device, 0))
    _, flags = struct.unpack("16sH14x", found)
    if not flags & _UP:
        fcntl.ioctl(using, _SET_FLAGS, struct.pack("16sH14x", device, flags | _UP))
