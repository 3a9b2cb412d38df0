"""Command changes in a git directory.

A reference is a file with its value, whether it is loose or packed. A log counts if it lost lines,
the list of stashes if it changed. Of an index only the entries count. All of a deleted repository
is one file, `.git`.
"""

import re
import zlib
from collections.abc import Iterable, Iterator, Mapping
from functools import lru_cache

import msgspec
from msgspec import Struct

from yourtool.foundation.file_images import ABSENT_FILE, FileImage, FileState
from yourtool.tools.git.git_files import GitFile, GitFiles
from yourtool.tools.git.git_index_entries import strip_index
from yourtool.tools.workspace.file_states import MAX_STORED_BYTES, file_state
from yourtool.tools.workspace.replacing import digest

REPOSITORY = ".git"
"""The path of a whole repository; also before the paths of its files, with a slash."""
STASHES = "logs/refs/stash"
STASH = "refs/stash"
"""The last stash."""
_REMOTES = "refs/remotes/"
_REFTABLE = "reftable/"
_PASSING = re.compile(
    r"packed-refs|[A-Z]+_EDITMSG|(?:FETCH|ORIG|REBASE)_HEAD|AUTO_MERGE|gc\.(?:pid|log)"
    r"|objects/.*|fsmonitor--daemon.*|info/refs|info/commit-graphs?/.*"
)
"""Files without the work of a user."""
_VALUE = re.compile(rb"(?:ref: refs/[^\0-\x20\x7f]+|[0-9a-f]{40}|[0-9a-f]{64})\n?")
_NOUNS = {
    "refs/heads/": "the branch",
    "refs/tags/": "the tag",
    _REMOTES: "the remote branch",
}
_NAMES = {STASH: "the stash", "HEAD": "the branch that is checked out", "index": "what is staged"}
_MAX_ARCHIVE_BYTES = 256 * 2**20

GitChange = tuple[str, FileState, FileState]
"""The path of a file below the git directory, with its states before and after."""


class StoredFile(Struct, frozen=True, array_like=True):
    """A file of an archive."""

    path: str
    mode: int
    content: bytes


class Archive(Struct, frozen=True, array_like=True):
    """A whole repository, without its objects."""

    directory: str
    """Relative to the workspace."""
    files: tuple[StoredFile, ...]


def is_git_path(path: str) -> bool:
    """Whether a path of the journal is that of a repository or below it."""
    return path == REPOSITORY or path.startswith(f"{REPOSITORY}/")


def describe_paths(paths: Iterable[str]) -> tuple[str, ...]:
    """Return paths of the journal, with the names that git has for parts of a repository."""
    return tuple(dict.fromkeys(map(describe_path, paths)))


def describe_path(path: str) -> str:
    """Return a path of the journal, or the name that git has for a part of a repository."""
    if not path.startswith(f"{REPOSITORY}/"):
        return path
    name = path.removeprefix(f"{REPOSITORY}/").removeprefix("logs/")
    for start, noun in _NOUNS.items():
        if name.startswith(start):
            return f"{noun} {name.removeprefix(start)}"
    return _NAMES.get(name, path)


def find_changes(before: GitFiles, after: GitFiles, private: str) -> list[GitChange]:
    """Return what a command changed.

    `private`: the path of the files of a linked worktree, with a slash at the end, or empty.
    """
    names = [
        name
        for name in sorted({*before.files, *after.files})
        if before.files.get(name) is not after.files.get(name)
    ]
    found = list[GitChange]()
    if any(name == "packed-refs" or name.startswith("refs/") for name in names):
        found += _compare_references(before, after)
    for name in names:
        old, new = before.files.get(name), after.files.get(name)
        if (change := _compare_file(name, old, new, private)) is not None:
            found.append((name, *change))
    return found


def _compare_references(before: GitFiles, after: GitFiles) -> Iterator[GitChange]:
    old, new = read_references(before.files), read_references(after.files)
    if before.files.get(STASHES) is not after.files.get(STASHES):
        for found in (old, new):
            found.pop(STASH, None)  # the list of stashes has it
    for name in sorted({*old, *new}):
        was, now = old.get(name), new.get(name)
        is_fetched = name.startswith(_REMOTES) and now is not None
        if was != now and not is_fetched:
            yield name, reference_state(was), reference_state(now)


def _compare_file(
    name: str, old: GitFile | None, new: GitFile | None, private: str
) -> tuple[FileState, FileState] | None:
    """Return the states of a file if they have to be noted."""
    own = name.removeprefix(private)
    if name.startswith("refs/") or _PASSING.fullmatch(own):
        return None
    if own.startswith(_REFTABLE):
        return FileState(FileImage("other")), FileState(FileImage("other"))
    if own.startswith(("worktrees/", "modules/")):
        return None if new is not None else (to_state(old), to_state(new))
    if own == "index":
        return _compare_indexes(old, new)
    if own.startswith("logs/") and not _is_lossy(own, old, new):
        return None
    states = to_state(old), to_state(new)
    is_same = states[0].image.is_same(states[1].image)
    return None if is_same else states


def _compare_indexes(
    old: GitFile | None, new: GitFile | None
) -> tuple[FileState, FileState] | None:
    states = index_state(old), index_state(new)
    is_known = all(each.image.kind == "absent" or each.image.digest for each in states)
    return states if is_known and not states[0].image.is_same(states[1].image) else None


def _is_lossy(name: str, old: GitFile | None, new: GitFile | None) -> bool:
    if old is None:
        return name == STASHES
    now = b"" if new is None else new.content
    if old.content is None or now is None:
        return new is None
    return name == STASHES or bool(find_lost_lines(old.content, now))


def get_log_key(line: bytes) -> bytes:
    """Return a line of a log without the id before, which changes when others are removed."""
    return line.partition(b" ")[2]


def find_lost_lines(old: bytes, new: bytes) -> list[bytes]:
    """Return the lines of a log that a newer version of it does not have."""
    if new.startswith(old):
        return []
    found = {get_log_key(line) for line in new.splitlines()}
    return [line for line in old.splitlines() if get_log_key(line) not in found]


# ── states ──────────────────────────────────────────────────────────────────────────────────────


def to_state(file: GitFile | None) -> FileState:
    """Return a file as it is."""
    if file is None:
        return FileState(ABSENT_FILE)
    if file.content is None:
        return FileState(FileImage("file", mode=file.mode, size=file.size))
    return file_state(file.content, file.mode)


def index_state(file: GitFile | None) -> FileState:
    """Return the entries of an index."""
    if file is None or file.content is None:
        return to_state(file)
    if (stripped := strip_index(file.content)) is None:
        return FileState(FileImage("file", mode=file.mode, size=file.size))
    return file_state(stripped, file.mode)


def reference_state(value: str | None) -> FileState:
    """Return the state of a reference: an id, or `ref: ` with another one."""
    return FileState(ABSENT_FILE) if value is None else file_state(f"{value}\n".encode(), 0o644)


def read_references(files: Mapping[str, GitFile]) -> dict[str, str]:
    """Return the value of each reference by its name."""
    packed = files.get("packed-refs")
    found = dict(_read_packed(packed.content)) if packed and packed.content else {}
    for name, file in files.items():
        if name.startswith("refs/") and file.content and _VALUE.fullmatch(file.content):
            found[name] = file.content.decode().rstrip("\n")
    return found


@lru_cache(maxsize=2)
def _read_packed(content: bytes) -> Mapping[str, str]:
    found = dict[str, str]()
    for line in content.decode("utf-8", "surrogateescape").splitlines():
        value, _, name = line.partition(" ")
        if name.startswith("refs/") and value[:1] not in "#^":
            found[name] = value
    return found


# ── a whole repository ──────────────────────────────────────────────────────────────────────────


def repository_state(files: GitFiles, directory: str, *, has_objects: bool) -> FileState:
    """Return the state of a repository, with all of its files.

    `directory`: its path relative to the workspace; `has_objects`: whether its objects are saved.
    """
    stored = tuple(
        StoredFile(name, file.mode, file.content)
        for name, file in files.files.items()
        if file.content is not None
    )
    is_whole = files.is_complete and len(stored) == len(files.files) and has_objects
    if not is_whole:
        return FileState(FileImage("repository"))
    content = zlib.compress(msgspec.msgpack.encode(Archive(directory, stored)), 1)
    if len(content) > MAX_STORED_BYTES:
        return FileState(FileImage("repository"))
    return FileState(FileImage("repository", digest(content), size=len(content)), content)


def read_archive(content: bytes) -> Archive:
    """Return a repository.

    Raises:
        ValueError: it is not one.
    """
    try:
        packed = zlib.decompressobj().decompress(content, _MAX_ARCHIVE_BYTES)
        return msgspec.msgpack.decode(packed, type=Archive)
    except (zlib.error, msgspec.MsgspecError) as error:
        raise ValueError(f"the stored repository cannot be read: {error}") from error
