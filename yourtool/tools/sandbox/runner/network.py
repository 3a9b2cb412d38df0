"""The loopback network of an enclosure, and the port on which names are asked for.

The runner makes the network itself, because it may only set up one that belongs to its own user
namespace, and bubblewrap can have put it into another one.

https://man7.org/linux/man-pages/man7/netdevice.7.html
"""

import fcntl
import socket
import struct

import kernel

_GET_FLAGS, _SET_FLAGS, _UP = 0x8913, 0x8914, 1
_NAME_PORT = 53


def set_up() -> socket.socket | None:
    """Make the network; return the socket of the name server, or None if there can be none.

    Raises:
        OSError: the loopback device cannot be used.
    """
    try:
        kernel.unshare(kernel.NEW_NETWORK)
    except OSError:
        return None  # the one of bubblewrap, which is as separate
    made = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    _bring_up(made, b"lo")
    try:
        made.bind(("127.0.0.1", _NAME_PORT))
    except OSError:
        made.close()
        return None
    return made


def _bring_up(using: socket.socket, device: bytes) -> None:
    found = fcntl.ioctl(using, _GET_FLAGS, struct.pack("16sH14x", device, 0))
    _, flags = struct.unpack("16sH14x", found)
    if not flags & _UP:
        fcntl.ioctl(using, _SET_FLAGS, struct.pack("16sH14x", device, flags | _UP))
