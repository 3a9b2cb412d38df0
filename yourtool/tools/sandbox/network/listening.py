"""Listening TCP ports of other programs here.

https://docs.kernel.org/networking/proc_net_tcp.html
"""

from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path

_TABLES = ("/proc/self/net/tcp", "/proc/self/net/tcp6")
_OWN_FILES = Path("/proc/self/fd")
_MAX_TABLE_BYTES = 262_144
"""Listening sockets are the first in a table."""
_LISTENING = "0A"
_ADDRESS, _STATE, _INODE = 1, 3, 9
_MAPPED = "0000000000000000FFFF0000"
"""The start of an IPv4 address among those of IPv6."""
_LOOPBACK_V6 = "00000000000000000000000001000000"
_ENDS_WITH_127 = "7F"
"""The first part of an IPv4 address is the last in a table."""


def find_listening(tables: Sequence[str] = _TABLES) -> frozenset[int]:
    """Return the ports, without those of this process; blocks."""
    rows = [row for table in tables for row in _iter_rows(table)]
    own = _find_own_sockets() if rows else frozenset[str]()
    return frozenset(port for port, inode in rows if inode not in own)


def _iter_rows(table: str) -> Iterator[tuple[int, str]]:
    """Yield the port and the inode of each socket that listens on the loopback address."""
    with suppress(OSError), Path(table).open(encoding="ascii") as file:
        for fields in map(str.split, file.read(_MAX_TABLE_BYTES).splitlines()[1:]):
            if len(fields) > _INODE and fields[_STATE] == _LISTENING:
                address, _, port = fields[_ADDRESS].partition(":")
                if _is_loopback(address):
                    yield int(port, 16), fields[_INODE]


def _is_loopback(address: str) -> bool:
    """Whether a connection to the loopback address reaches what listens on an address."""
    short = address.removeprefix(_MAPPED)
    is_v4 = len(short) == 8 and short.endswith(_ENDS_WITH_127)
    return is_v4 or address == _LOOPBACK_V6 or not address.strip("0")


def _find_own_sockets() -> frozenset[str]:
    """Return the inodes of the sockets of this process, such as those of offered servers."""
    found = set[str]()
    for each in _OWN_FILES.iterdir():
        with suppress(OSError):
            found.add(str(each.readlink()).removeprefix("socket:[").removesuffix("]"))
    return frozenset(found)
