"""The commits that the refs of a repository name, read without git.

https://git-scm.com/docs/gitrepository-layout. A directory is read again only if it changed.
"""

import os
import re
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from yourtool.git.repositories import Repository

_ID = re.compile(rb"[0-9a-f]{40}(?:[0-9a-f]{24})?")
_HEADS = ("HEAD", "ORIG_HEAD", "MERGE_HEAD", "CHERRY_PICK_HEAD", "REBASE_HEAD", "FETCH_HEAD")
_LOGS = ("logs/HEAD", "logs/refs/stash")
_MAX_REFS = 20_000
_MAX_PACKED_BYTES = 16 * 2**20
_MAX_LOG_BYTES = 256 * 1024
_CLOCK_TICK_NS = 20_000_000
_READ = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC


class RefReader:
    """Reads refs, heads and reflogs; not thread-safe."""

    def __init__(self, repository: Repository) -> None:
        self._repository = repository
        self._directories: dict[str, tuple[int, dict[str, str], tuple[str, ...]]] = {}
        """For each directory its time of change, the ids of its refs, and its directories."""
        self._packed: tuple[tuple[int, int, int], frozenset[str]] = (0, 0, 0), frozenset()

    def read(self) -> frozenset[str]:
        """Return the ids that all refs and heads have now."""
        ids = set(self._read_packed())
        ids.update(self._read_loose(f"{self._repository.common}/refs"))
        for directory in {self._repository.common, self._repository.directory}:
            for name in _HEADS:
                ids.update(_find_ids(_read_file(directory / name)))
        return frozenset(ids)

    def read_head(self) -> str | None:
        """Return the commit that is checked out."""
        content = _read_file(self._repository.directory / "HEAD").strip()
        if content.startswith(b"ref: "):
            name = os.fsdecode(content.removeprefix(b"ref: ")).strip()
            if ".." in name or not name.startswith("refs/"):
                return None
            loose = next(_find_ids(_read_file(self._repository.common / name)), None)
            return loose or self._find_packed(name)
        return next(_find_ids(content), None)

    def read_logs(self) -> frozenset[str]:
        """Return the ids in the reflogs of the head and the stash, the latest up to a limit."""
        ids = set[str]()
        for name in _LOGS:
            for directory in {self._repository.common, self._repository.directory}:
                for line in _read_file(directory / name, _MAX_LOG_BYTES).split(b"\n"):
                    ids.update(found.decode() for found in _ID.findall(line[:140]))
        return frozenset(each for each in ids if each.strip("0"))

    def get_log_stamp(self) -> tuple[tuple[int, int], ...]:
        """Return what changes when a reflog changes."""
        stamps = list[tuple[int, int]]()
        for name in _LOGS:
            for directory in (self._repository.common, self._repository.directory):
                with suppress(OSError):
                    status = (directory / name).lstat()
                    stamps.append((status.st_size, status.st_mtime_ns))
        return tuple(stamps)

    def _read_loose(self, top: str) -> Iterator[str]:
        known, count = self._directories, 0
        self._directories = {}
        waiting = [top]
        while waiting and count < _MAX_REFS:
            path = waiting.pop()
            with suppress(OSError):
                changed = os.lstat(path).st_mtime_ns
                found = known.get(path)
                if found is None or found[0] != changed:
                    is_settled = changed < time.time_ns() - _CLOCK_TICK_NS
                    found = changed if is_settled else 0, *_list_refs(path)
                self._directories[path] = found
                count += len(found[1]) + 1
                yield from found[1].values()
                waiting += (f"{path}/{name}" for name in found[2])

    def _read_packed(self) -> frozenset[str]:
        path = self._repository.common / "packed-refs"
        try:
            status = path.lstat()
        except OSError:
            return frozenset()
        stamp = status.st_ino, status.st_size, status.st_mtime_ns
        if self._packed[0] != stamp:
            content = _read_file(path, _MAX_PACKED_BYTES)
            lines = (line for line in content.split(b"\n") if not line.startswith(b"#"))
            ids = frozenset(found[0].decode() for line in lines if (found := _ID.search(line)))
            self._packed = stamp, ids
        return self._packed[1]

    def _find_packed(self, name: str) -> str | None:
        for line in _read_file(self._repository.common / "packed-refs", _MAX_PACKED_BYTES).split(
            b"\n"
        ):
            commit, _, found = line.partition(b" ")
            if found == os.fsencode(name):
                return commit.decode()
        return None


def _list_refs(directory: str) -> tuple[dict[str, str], tuple[str, ...]]:
    """Return the ids of the refs directly in a directory, and the names of its directories."""
    ids, names = dict[str, str](), list[str]()
    with os.scandir(directory) as entries:
        for count, entry in enumerate(entries):
            if count >= _MAX_REFS:
                break
            if entry.is_dir(follow_symlinks=False):
                names.append(entry.name)
            elif (found := next(_find_ids(_read_file(Path(entry.path))), None)) is not None:
                ids[entry.name] = found
    return ids, tuple(names)


def _find_ids(content: bytes) -> Iterator[str]:
    return (found.decode() for found in _ID.findall(content))


def _read_file(path: Path, size: int = 65_536) -> bytes:
    """Return the end of a regular file; nothing if it cannot be read."""
    with suppress(OSError):
        descriptor = os.open(path, _READ)
        try:
            length = os.fstat(descriptor).st_size
            return os.pread(descriptor, size, max(0, length - size))
        finally:
            os.close(descriptor)
    return b""
