"""The files that git tracks, and their committed or staged content.

The index is parsed here, and content comes from `git cat-file`, which runs nothing that the
configuration of a repository names. Format: https://git-scm.com/docs/index-format.
"""

import os
import stat
import struct
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path

from msgspec import Struct, field

from yourtool.files import read_small_file
from yourtool.tools.git_program import find_git, find_git_directory

_MAX_INDEX_BYTES = 2**26
_MAX_ATTRIBUTE_BYTES = 2**18
_MAX_ATTRIBUTE_FILES = 200
_ENTRY = struct.Struct(">10L20sH")
_EXTENDED, _STAGE, _NAME_LENGTH = 0x4000, 0x3000, 0x0FFF
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
    for root in (workspace, *workspace.parents):
        if (directory := find_git_directory(root / ".git")) is not None:
            break
    else:
        return GitIndex()
    try:
        index = directory / "index"
        written = index.stat()
        if not stat.S_ISREG(written.st_mode) or written.st_size > _MAX_INDEX_BYTES:
            return GitIndex()
        prefix = "" if root == workspace else f"{workspace.relative_to(root)}/"
        entries = _parse_index(index.read_bytes(), prefix, written.st_mtime_ns)
    except (OSError, ValueError, struct.error, IndexError):
        return GitIndex()
    if _has_conversions(workspace, root, directory, entries):
        return GitIndex()
    return GitIndex(directory, entries)


def _parse_index(data: bytes, prefix: str, written_ns: int) -> dict[str, IndexEntry]:
    signature, version, count = struct.unpack_from(">4sLL", data)
    if signature != b"DIRC" or version not in (2, 3, 4):
        return {}
    entries, at, name = dict[str, IndexEntry](), 12, b""
    start = os.fsencode(prefix)
    for _ in range(count):
        fields = _ENTRY.unpack_from(data, at)
        begin, flags = at, fields[11]
        at += _ENTRY.size + (2 if flags & _EXTENDED else 0)
        if version == 4:
            removed, at = _parse_offset(data, at)
            end = data.index(b"\0", at)
            name = name[: len(name) - removed] + data[at:end]
            at = end + 1
        else:
            length = flags & _NAME_LENGTH
            end = at + length if length < _NAME_LENGTH else data.index(b"\0", at)
            name = data[at:end]
            at = begin + ((end - begin + 8) & ~7)
        mtime_ns = fields[2] * 10**9 + fields[3]
        # A file that changed as late as the index was written can differ without a trace:
        # https://git-scm.com/docs/racy-git.
        if (
            stat.S_ISREG(fields[6])
            and not flags & _STAGE
            and name.startswith(start)
            and mtime_ns < written_ns
        ):
            ctime_ns = fields[0] * 10**9 + fields[1]
            entries[os.fsdecode(name[len(start) :])] = IndexEntry(
                fields[10].hex(), mtime_ns, ctime_ns, fields[5], fields[9]
            )
    return entries


def _parse_offset(data: bytes, at: int) -> tuple[int, int]:
    """Return a number of variable width and the position after it."""
    byte = data[at]
    value = byte & 0x7F
    while byte & 0x80:
        at += 1
        byte = data[at]
        value = ((value + 1) << 7) | (byte & 0x7F)
    return value, at + 1


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
