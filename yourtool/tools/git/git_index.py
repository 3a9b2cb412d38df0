"""Tracked files and their content.

The content comes from `git cat-file`, which runs nothing that the configuration of a repository
names.
"""

import os
import stat
import subprocess
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from msgspec import Struct, field

from yourtool.foundation.files import read_small_file
from yourtool.git.index import MAX_INDEX_BYTES, Entry, parse_index
from yourtool.git.repositories import find_repository
from yourtool.tools.git.git_program import find_git

_MAX_ATTRIBUTE_BYTES = 2**18
_MAX_ATTRIBUTE_FILES = 200
_CONVERSIONS = (b"filter", b"ident", b"working-tree-encoding")
"""Attributes by which a file can differ from the object with the same size."""
_TIMEOUT_SECONDS = 20
_SAFE = ("core.fsmonitor=false", "core.hooksPath=/dev/null", "core.alternateRefsCommand=")


class IndexEntry(Struct, frozen=True):
    """A tracked file as git last saw it."""

    object_id: str
    mtime_ns: int
    ctime_ns: int
    inode: int
    size: int

    def is_clean(self, status: os.stat_result) -> bool:
        """Whether a file is unchanged since then."""
        return (
            stat.S_ISREG(status.st_mode)
            and self.size == status.st_size & 0xFFFFFFFF
            and self.mtime_ns == status.st_mtime_ns
            and self.ctime_ns == status.st_ctime_ns
            and self.inode == status.st_ino & 0xFFFFFFFF
        )


class GitIndex(Struct, frozen=True):
    """The tracked files of a workspace; empty without a repository."""

    directory: Path | None = None
    """The git directory."""
    entries: Mapping[str, IndexEntry] = field(default_factory=dict[str, IndexEntry])
    """By path relative to the workspace."""

    def join(self, other: "GitIndex | None") -> "GitIndex":
        """Return the files of both; if a path is in both, `other` wins."""
        if other is None:
            return self
        return GitIndex(other.directory, {**self.entries, **other.entries})

    def read_objects(self, object_ids: Sequence[str], limit: int) -> dict[str, bytes]:
        """Return the content of objects of at most `limit` bytes; missing ones are omitted."""
        program = find_git()
        if self.directory is None or program is None or not object_ids:
            return {}
        options = (part for each in _SAFE for part in ("-c", each))
        command = (program, f"--git-dir={self.directory}", *options, "cat-file")
        sizes = _run((*command, "--batch-check"), object_ids).decode("ascii", "replace")
        small = [
            words[0]
            for line in sizes.splitlines()
            if len(words := line.split()) == 3 and words[1] == "blob" and int(words[2]) <= limit
        ]
        return _parse_batch(_run((*command, "--batch"), small)) if small else {}


def read_index(workspace: Path) -> GitIndex:
    """Read the index of the repository that contains a workspace."""
    if (repository := find_repository(workspace)) is None:
        return GitIndex()
    directory, root = repository.directory, repository.top
    try:
        index = directory / "index"
        written = index.stat()
        prefix = "" if root == workspace else f"{workspace.relative_to(root)}/"
        read = parse_index(read_small_file(index, MAX_INDEX_BYTES)).entries
    except (OSError, ValueError):
        return GitIndex()
    entries = _choose_entries(read, prefix, written.st_mtime_ns)
    if _has_conversions(workspace, root, directory, entries):
        return GitIndex()
    return GitIndex(directory, entries)


def _choose_entries(read: Iterable[Entry], prefix: str, written_ns: int) -> dict[str, IndexEntry]:
    start = os.fsencode(prefix)
    # A file that changed as late as the index was written can differ without a trace:
    # https://git-scm.com/docs/racy-git.
    return {
        os.fsdecode(each.name[len(start) :]): IndexEntry(
            each.object_id, each.mtime_ns, each.ctime_ns, each.inode, each.size
        )
        for each in read
        if stat.S_ISREG(each.mode)
        and not each.is_conflict
        and each.name.startswith(start)
        and each.mtime_ns < written_ns
    }


def _has_conversions(
    workspace: Path, root: Path, directory: Path, entries: Mapping[str, IndexEntry]
) -> bool:
    """Whether an attribute file converts content; then objects are not used."""
    names = [name for name in entries if name.rpartition("/")[2] == ".gitattributes"]
    if len(names) > _MAX_ATTRIBUTE_FILES:
        return True
    files = {directory / "info" / "attributes", *(workspace / name for name in names)}
    files |= {above / ".gitattributes" for above in (workspace, *workspace.parents)
              if above.is_relative_to(root)}  # fmt: skip
    for file in files:
        try:
            text = read_small_file(file, _MAX_ATTRIBUTE_BYTES - 1)
        except (FileNotFoundError, NotADirectoryError):
            continue
        except OSError:
            return True
        if any(each in text for each in _CONVERSIONS):
            return True
    return False


def _run(command: Sequence[str], object_ids: Sequence[str]) -> bytes:
    environment = {
        "PATH": "/usr/local/bin:/usr/bin:/bin",
        "HOME": "/nonexistent",
        "GIT_CONFIG_NOSYSTEM": "1",
        "GIT_NO_LAZY_FETCH": "1",
        "GIT_ALLOW_PROTOCOL": "none",
        "GIT_TERMINAL_PROMPT": "0",
    }
    try:
        done = subprocess.run(
            command,
            input="".join(f"{each}\n" for each in object_ids).encode(),
            capture_output=True,
            env=environment,
            timeout=_TIMEOUT_SECONDS,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired):
        return b""
    return done.stdout


def _parse_batch(output: bytes) -> dict[str, bytes]:
    found, at = dict[str, bytes](), 0
    while (end := output.find(b"\n", at)) >= 0:
        words = output[at:end].split()
        at = end + 1
        if len(words) == 3 and words[1] == b"blob":
            size = int(words[2])
            found[words[0].decode()] = output[at : at + size]
            at += size + 1
    return found
