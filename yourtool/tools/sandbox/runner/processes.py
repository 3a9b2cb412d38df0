"""The processes of a call, and their ports.

https://man7.org/linux/man-pages/man5/proc_pid_stat.5.html
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


def list_others() -> list[int]:
    """Return all processes but the first one of this number space."""
    return [int(each) for each in os.listdir("/proc") if each.isdigit() and each != "1"]


def list_descendants(ancestor: int) -> list[int]:
    """Return the children of a process, their children, and so on."""
    children: dict[int, list[int]] = {}
    for each in list_others():
        children.setdefault(_read_parent(each), []).append(each)
    found: list[int] = []
    parents = [ancestor]
    while parents:
        parents = [child for parent in parents for child in children.get(parent, ())]
        found += parents
    return found


def find_ports(processes: list[int]) -> list[int]:
    """Return the ports of the sockets that processes have open."""
    ports = _read_tables()
    if not ports:
        return []
    found = {ports[each] for each in _list_sockets(processes) if each in ports}
    return sorted(found)[:_MAX_PORTS]


def _read_parent(process: int) -> int:
    """Return the parent of a process; 0 if it has ended."""
    try:
        with open(f"/proc/{process}/stat", "rb") as file:
            return int(file.read().rpartition(b")")[2].split()[1])
    except OSError:
        return 0


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
