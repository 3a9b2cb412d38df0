"""The commits of refs, read without git.

https://git-scm.com/docs/gitrepository-layout. A file is read again only if it changed.
"""

import itertools
import os
import re
from collections import deque
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from yourtool.git.repositories import Repository
from yourtool.tools.protection.reading import Stamp, get_stamp, is_settled

_ID = re.compile(rb"[0-9a-f]{40}(?:[0-9a-f]{24})?")
_HEADS = ("HEAD", "ORIG_HEAD", "MERGE_HEAD", "CHERRY_PICK_HEAD", "REBASE_HEAD", "FETCH_HEAD")
_LOGS = ("logs/HEAD", "logs/refs/stash")
_MAX_REFS = 20_000
_MAX_PACKED_BYTES = 16 * 2**20
_MAX_LOG_BYTES = 256 * 1024
_READ = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC


class RefReader:
    """Reads refs, heads and reflogs; not thread-safe."""

    def __init__(self, repository: Repository) -> None:
        self._repository = repository
        self._loose: dict[str, tuple[Stamp | None, str | None]] = {}
        """The stamp and the id of each file below `refs`."""
        self._packed: tuple[Stamp | None, frozenset[str]] = None, frozenset()
        self._logs: dict[Path, Stamp | None] = {}

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

    def read_new_logs(self) -> frozenset[str]:
        """Return the ids in the reflogs of the head and the stash, the latest up to a limit.

        Those of a reflog that did not change since the last call are not repeated.
        """
        ids = set[str]()
        for name in _LOGS:
            for path in {self._repository.common / name, self._repository.directory / name}:
                with suppress(OSError):
                    stamp = get_stamp(path.lstat())
                    if self._logs.get(path) != stamp:
                        self._logs[path] = stamp if is_settled(stamp) else None
                        for line in _read_file(path, _MAX_LOG_BYTES).split(b"\n"):
                            ids.update(found.decode() for found in _ID.findall(line[:140]))
        return frozenset(each for each in ids if each.strip("0"))

    def _read_loose(self, top: str) -> Iterator[str]:
        known, self._loose = self._loose, {}
        waiting = deque([top])
        for _ in range(_MAX_REFS):
            if not waiting or len(self._loose) >= _MAX_REFS:
                break
            with suppress(OSError), os.scandir(waiting.popleft()) as entries:
                for entry in itertools.islice(entries, _MAX_REFS):
                    if entry.is_dir(follow_symlinks=False):
                        waiting.append(entry.path)
                    elif (found := self._read_ref(entry, known.get(entry.path))) is not None:
                        yield found

    def _read_ref(
        self, entry: os.DirEntry[str], known: tuple[Stamp | None, str | None] | None
    ) -> str | None:
        stamp = get_stamp(entry.stat(follow_symlinks=False))
        if known is None or known[0] != stamp:
            stamp = stamp if is_settled(stamp) else None
            known = stamp, next(_find_ids(_read_file(Path(entry.path))), None)
        self._loose[entry.path] = known
        return known[1]

    def _read_packed(self) -> frozenset[str]:
        path = self._repository.common / "packed-refs"
        try:
            stamp = get_stamp(path.lstat())
        except OSError:
            return frozenset()
        if self._packed[0] != stamp:
            stamp = stamp if is_settled(stamp) else None
            content = _read_file(path, _MAX_PACKED_BYTES)
            lines = (line for line in content.split(b"\n") if not line.startswith(b"#"))
            ids = frozenset(found[0].decode() for line in lines if (found := _ID.search(line)))
            self._packed = stamp, ids
        return self._packed[1]

    def _find_packed(self, name: str) -> str | None:
        packed = _read_file(self._repository.common / "packed-refs", _MAX_PACKED_BYTES)
        for commit, _, found in (line.partition(b" ") for line in packed.split(b"\n")):
            if found == os.fsencode(name):
                return commit.decode()
        return None


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
