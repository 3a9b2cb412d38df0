"""The processes that are seen here.

https://man7.org/linux/man-pages/man5/proc_pid_stat.5.html
"""

import os


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


def _read_parent(process: int) -> int:
    """Return the parent of a process; 0 if it has ended."""
    try:
        with open(f"/proc/{process}/stat", "rb") as file:
            return int(file.read().rpartition(b")")[2].split()[1])
    except OSError:
        return 0
