"""The TCP ports on which the processes of a call listen.

https://docs.kernel.org/networking/proc_net_tcp.html
"""

import os

_TABLES = ("/proc/net/tcp", "/proc/net/tcp6")
_MAX_TABLE_BYTES = 262_144
"""Listening sockets are the first in a table."""
_MAX_FILES = 20_000
"""Open files that are looked at."""
_MAX_PORTS = 64
_LISTENING = "0A"
_ADDRESS, _STATE, _INODE = 1, 3, 9


def find_ports(processes: list[int]) -> list[int]:
    """Return the ports of the sockets that processes have open."""
    ports = _read_tables()
    if not ports:
        return []
    found = {ports[each] for each in _list_sockets(processes) if each in ports}
    return sorted(found)[:_MAX_PORTS]


def _read_tables() -> dict[str, int]:
    """Return the port of each socket that listens in the enclosure."""
    ports: dict[str, int] = {}
    for path in _TABLES:
        try:
            with open(path, encoding="ascii") as file:
                lines = file.read(_MAX_TABLE_BYTES).splitlines()[1:]
        except OSError:
            continue
        for fields in map(str.split, lines):
            if len(fields) > _INODE and fields[_STATE] == _LISTENING:
                port = int(fields[_ADDRESS].rpartition(":")[2], 16)
                ports[f"socket:[{fields[_INODE]}]"] = port
    return ports


def _list_sockets(processes: list[int]) -> set[str]:
    found: set[str] = set()
    left = _MAX_FILES
    for process in processes:
        try:
            with os.scandir(f"/proc/{process}/fd") as entries:
                for entry in entries:
                    if (left := left - 1) < 0:
                        return found
                    found.add(os.readlink(entry.path))
        except OSError:
            continue  # it has ended, or hides its files
    return found
