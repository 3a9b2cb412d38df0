"""Hosts in the lock and settings files."""

import itertools
import os
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path

from yourtool.permissions.hosts import is_host_spec, parse_host
from yourtool.tools.sandbox.network.user_proxy import is_user_proxy

MAX_HOSTS = 4
"""Of one program; the most frequent ones."""
_MAX_BYTES = 256 * 1024
"""Of each file; what follows is not looked at."""
_MAX_FILES = 8
_ADDRESS = re.compile(r"https://([^\s\"'<>()\[\]{},;|\\#?]{1,500})")
_NOT_ASKED = re.compile(
    r'"(?:funding|support|homepage)"\s{0,4}:\s{0,4}'
    r'(?:\[[^\]]{0,1000}\]|\{[^}]{0,1000}\}|"[^"]{0,500}")'
)
"""Addresses for people."""


def find_hosts(files: Sequence[str], directory: Path) -> tuple[str, ...]:
    """Return the hosts that files of a directory name, the most frequent first. Blocks.

    `files`: their names, which can have `*`.
    """
    found = Counter[str]()
    for file in itertools.islice(_iter_files(files, directory), _MAX_FILES):
        text = _NOT_ASKED.sub("", _read_start(file))
        found.update(filter(None, (_get_host(each[1]) for each in _ADDRESS.finditer(text))))
    return tuple(host for host, _ in found.most_common(MAX_HOSTS))


def _iter_files(files: Sequence[str], directory: Path) -> Iterator[Path]:
    for file in files:
        if "*" in file:
            yield from sorted(itertools.islice(directory.glob(file), _MAX_FILES))
        else:
            yield directory / file


def _read_start(file: Path) -> str:
    """Return the start of a file; empty if it cannot be read. No pipe is waited for."""
    try:
        descriptor = os.open(file, os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC)
        with os.fdopen(descriptor, "rb") as opened:
            return os.fsdecode(opened.read(_MAX_BYTES) or b"")
    except OSError:
        return ""


def _get_host(address: str) -> str | None:
    """Return the host of an address without its scheme, as in rules."""
    if (found := parse_host(f"https://{address}")) is None:
        return None
    host, subject = found
    is_elsewhere = "." in host and not host.replace(".", "").isdigit()
    is_offered = is_elsewhere and is_host_spec(subject) and not is_user_proxy(host)
    return subject if is_offered else None
