"""Search for credential files below a directory.

Trees of dependencies do not count: their files are published, and the keys in them are those of
tests. Neither do files of certificates without a private key.
"""

import itertools
import os
import re
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from operator import itemgetter
from pathlib import Path
from typing import Literal

from msgspec import Struct

from yourtool.foundation.files import read_small_file
from yourtool.foundation.ignore_rules import IGNORE_FILE, MAX_IGNORE_FILE_BYTES, IgnoreRules
from yourtool.git.index import MAX_INDEX_BYTES, parse_index
from yourtool.git.repositories import find_repository
from yourtool.permissions.credential_files import credential_names
from yourtool.permissions.globs import matches_glob

_DEPENDENCIES = frozenset({"node_modules", "site-packages", "dist-packages"})
_DEPENDENCIES_IN = frozenset({("vendor", "bundle")})
_MARKED = {
    "vendor": ("autoload.php", "modules.txt"),
    **dict.fromkeys((".venv", "venv", "env", ".env"), ("pyvenv.cfg",)),
}
"""Directories that contain dependencies if they have one of these files."""
_INSIDE_GIT = frozenset({(".git", "objects"), (".git", "refs"), (".git", "logs")})
"""Directories of git whose names are hashes and branches."""
_FILES_THAT_INCLUDE = (".ignore", ".rgignore")
"""Files of ripgrep that can include what `.gitignore` ignores."""
_MAX_FILES = 100_000
"""Files and directories below one directory that are searched, which takes half a second."""
_MAX_CERTIFICATE_BYTES = 2**20
_LABEL = re.compile(rb"-----BEGIN ([A-Z0-9 ]{1,40})-----")
_PUBLIC = frozenset(
    {b"CERTIFICATE", b"TRUSTED CERTIFICATE", b"X509 CERTIFICATE", b"X509 CRL", b"PUBLIC KEY"}
)


class FilesBelow(Struct, frozen=True):
    """The files below a directory that a command reads without naming them."""

    path: str
    """Of the directory, or of a file; the last part can have wildcards of the shell."""
    kind: Literal["all", "visible", "tracked"] = "all"
    """`visible`: neither hidden nor ignored, as for ripgrep; `tracked`: in the index of git."""
    names: tuple[str, ...] = ()
    """Patterns of names, of which a file has to match one; none: every name."""

    def __str__(self) -> str:
        kind = "" if self.kind == "all" else f"{self.kind}:"
        return " ".join((f"{kind}{self.path}", *self.names))


def find_unreadable(files: FilesBelow, start: Path, root: Path) -> str | None:
    """Return the reason why reading files below `start` needs an approval, or None.

    `start`, a real path in the workspace `root`, is that of `files`, of which `path` is not used.
    """
    try:
        found = _iter_found(files, start, root)
        path = next((each for each in found if not has_only_certificates(root / each)), None)
    except _TooManyFilesError as error:
        return f"it has to be searched for credential files, and {error}"
    return None if path is None else f"it reads `{path}`, which may contain credentials"


def find_withheld(folder: Path, names: Sequence[str], root: Path) -> set[str]:
    """Return the names of credential files in a directory, which searches of `root` withhold."""
    found = credential_names(str(folder), names)
    if found and folder.is_relative_to(root) and is_in_dependencies(folder, root):
        return set()
    return {name for name in found if not has_only_certificates(folder / name)}


def has_only_certificates(path: Path) -> bool:
    """Whether a `.pem` file contains certificates and no private key, as a bundle of CAs does."""
    if path.suffix.lower() != ".pem":
        return False
    try:
        data = read_small_file(path, _MAX_CERTIFICATE_BYTES)
    except OSError:
        return False
    labels = set(_LABEL.findall(data))
    return bool(labels) and labels <= _PUBLIC and b"PRIVATE" not in data


class _TooManyFilesError(Exception):
    """More files than are searched; the message is a clause."""


def _iter_found(files: FilesBelow, start: Path, root: Path) -> Iterator[str]:
    """Yield the paths of credential files, relative to the workspace."""
    if is_in_dependencies(start, root):
        return
    tracked = _read_tracked(start) if files.kind == "tracked" else None
    if tracked is None:
        folders = _walk(start, root, skips=files.kind == "visible")
    else:
        folders = _group(tracked, os.path.relpath(start, root), root)
    for folder, names in folders:
        for name in sorted(credential_names(folder, names)):
            path = os.path.normpath(f"{folder}/{name}")
            if _is_named(path, files.names):
                yield path


def _group(paths: Iterable[str], start: str, root: Path) -> Iterator[tuple[str, list[str]]]:
    """Yield the directories of paths below `start`, without those of dependencies."""
    parts = (path.rpartition("/") for path in paths)
    for folder, group in itertools.groupby(parts, key=itemgetter(0)):
        relative = os.path.normpath(f"{start}/{folder}")
        if not is_in_dependencies(root / relative, root):
            yield relative, [name for _, _, name in group]


def _is_named(path: str, names: Sequence[str]) -> bool:
    name = path.rpartition("/")[2]
    return not names or any(matches_glob(each, name) for each in names)


def is_in_dependencies(directory: Path, root: Path) -> bool:
    """Whether a directory of a workspace is a tree of dependencies, or in one."""
    parts = directory.relative_to(root).parts
    above = root
    for outer, name in zip(("", *parts), parts, strict=False):
        if _is_dependencies(above, outer, name):
            return True
        above /= name
    return False


def _is_dependencies(folder: str | Path, outer: str, name: str) -> bool:
    """Whether a directory is a tree of dependencies; `outer`: the name of its `folder`."""
    if name in _DEPENDENCIES or (outer, name) in _DEPENDENCIES_IN:
        return True
    return any(os.path.lexists(f"{folder}/{name}/{each}") for each in _MARKED.get(name, ()))


def _walk(start: Path, root: Path, *, skips: bool) -> Iterator[tuple[str, list[str]]]:
    """Yield each directory, relative to the workspace, with the names of its files.

    `skips`: hidden and ignored files are omitted, but not `start` itself.
    """
    relative = os.path.relpath(start, root)
    if not os.path.isdir(start):  # noqa: PTH112 - `Path.is_dir` raises if it may not look
        folder, _, name = relative.rpartition("/")
        yield folder or ".", [name]
        return
    waiting = [(relative, _find_rules_above(start, root) if skips else None)]
    count = 0
    while waiting:
        folder, rules = waiting.pop()
        names, directories = list[str](), list[str]()
        with suppress(OSError), os.scandir(root / folder) as entries:
            for entry in itertools.islice(entries, _MAX_FILES + 1 - count):
                count += 1
                is_directory = entry.is_dir(follow_symlinks=False)
                (directories if is_directory else names).append(entry.name)
        if count > _MAX_FILES:
            raise _TooManyFilesError(f"`{relative}` has more than {_MAX_FILES:,} files")
        if skips:
            prefix = "" if folder == "." else f"{folder}/"
            rules = _enter(rules, root / folder, prefix, (*names, *directories))
            names = [each for each in names if not _is_skipped(rules, prefix, each, False)]
            directories = [
                each for each in directories if not _is_skipped(rules, prefix, each, True)
            ]
        yield folder, names
        outer = folder.rpartition("/")[2]
        waiting += (
            (os.path.normpath(f"{folder}/{name}"), rules)
            for name in directories
            if (outer, name) not in _INSIDE_GIT and not _is_dependencies(root / folder, outer, name)
        )


def _is_skipped(rules: IgnoreRules | None, prefix: str, name: str, is_directory: bool) -> bool:
    if name.startswith("."):
        return True
    return rules is not None and rules.is_ignored(prefix, name, is_directory=is_directory)


def _find_rules_above(start: Path, root: Path) -> IgnoreRules | None:
    """Return the rules of the directories above `start`; None: nothing counts as ignored there.

    Those above the workspace are not read, so that less is ignored.
    """
    above = (start, *start.parents)
    top = next((each for each in above if os.path.lexists(each / ".git")), None)
    rules = None if top is None else IgnoreRules()
    for each in reversed(start.parents):
        names = [name for name in _FILES_THAT_INCLUDE if os.path.lexists(each / name)]
        if top is not None and each.is_relative_to(top) and each.is_relative_to(root):
            names += [IGNORE_FILE] if os.path.lexists(each / IGNORE_FILE) else []
        relative = os.path.relpath(each, root)
        rules = _enter(rules, each, "" if relative == "." else f"{relative}/", names)
    return rules


def _enter(
    rules: IgnoreRules | None, directory: Path, prefix: str, names: Sequence[str]
) -> IgnoreRules | None:
    """Return the rules in a directory with these names; a repository in another has its own."""
    if rules is None:
        return None
    try:
        included = (_read(directory / each) for each in _FILES_THAT_INCLUDE if each in names)
        if any(b"!" in each for each in included):
            return None
        rules = IgnoreRules() if ".git" in names else rules
        if IGNORE_FILE not in names:
            return rules
        entered, is_whole = rules.enter(prefix, _read(directory / IGNORE_FILE))
    except OSError:
        return None
    return entered if is_whole else None


def _read(file: Path) -> bytes:
    return read_small_file(file, MAX_IGNORE_FILE_BYTES)


def _read_tracked(start: Path) -> list[str] | None:
    """Return the tracked files below `start`, relative to it; None: they cannot be read."""
    if (repository := find_repository(start)) is None:
        return None
    try:
        index = parse_index(read_small_file(repository.directory / "index", MAX_INDEX_BYTES))
    except (OSError, ValueError):
        return None
    if not index.is_whole:
        return None
    names = [each.name for each in index.entries]
    inside = os.fsencode(os.path.relpath(start, repository.top))
    if inside == b".":
        return list(map(os.fsdecode, names))
    below = inside + b"/"
    return [os.fsdecode(each[len(below) :]) for each in names if each.startswith(below)]
