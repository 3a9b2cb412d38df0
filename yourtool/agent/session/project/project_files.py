"""Project files that configure the program.

A file that instructions import as `@path` is one of them, so it is shown, counted and bound to its
content, too.
"""

import hashlib
import os
import re
import stat
import threading
from collections.abc import Iterable, Iterator
from contextlib import suppress
from itertools import chain, islice
from pathlib import Path
from typing import Any

from msgspec import Struct

from yourtool.agent.hooks.hook import MAX_PROGRAM_BYTES
from yourtool.errors import ToolError
from yourtool.foundation.amounts import format_size
from yourtool.foundation.files import is_file, may_exist, real_path
from yourtool.foundation.text import count_hidden_characters
from yourtool.paths import Paths, own_directories, resolve_paths
from yourtool.permissions.credential_files import is_credential_file
from yourtool.permissions.trust import (
    CHECKS,
    HOOK_PROGRAMS,
    IMPORTED,
    INSTRUCTIONS,
    PROJECT_FILES,
    ProjectFileKind,
    find_folder,
    is_repository_root,
)
from yourtool.settings.tables import is_list, is_table, parse_toml
from yourtool.tools.commands.workspace_programs import find_programs
from yourtool.tools.workspace import directory_walk
from yourtool.tools.workspace.workspace import Workspace

MAX_BYTES = 32_768
"""Longer files are truncated."""
_MAX_IN_FOLDER, _MAX_LISTED = 100, 200
"""Skills or commands of a directory, and names among which they are searched."""
_MAX_IMPORTS = 20
"""Files that the instructions of a project can import, directly and through each other."""
_MAX_BELOW, _MAX_SEARCHED = 50, 20_000
"""Instructions in directories below the workspace, and the files among which they are searched."""
_CODE = re.compile(r"^(```|~~~).*?(^\1|\Z)|`[^`\n]*`", re.DOTALL | re.MULTILINE)
_IMPORT = re.compile(r"(?<!\S)[(]?@([\w./+-]{1,500})")


class ProjectFile(Struct, frozen=True):
    """A file that configures, with the content that would be used."""

    path: Path
    """Below the real path of the folder."""
    name: str
    """Relative to the workspace."""
    kind: ProjectFileKind
    content: bytes
    """The first `MAX_BYTES`, and more of the program of a hook."""
    is_truncated: bool

    @property
    def text(self) -> str:
        """The content as text."""
        return self.content.decode("utf-8-sig", "replace")

    @property
    def digest(self) -> str:
        """SHA-256 of the content."""
        return hashlib.sha256(self.content).hexdigest()

    @property
    def hidden_characters(self) -> int:
        """The number of characters that a person does not see."""
        return count_hidden_characters(self.text)

    @property
    def description(self) -> str:
        """The size, how many characters are hidden, and the purpose."""
        size = f"more than {format_size(MAX_BYTES)}" if self.is_truncated else ""
        parts = [size or format_size(len(self.content))]
        if hidden := self.hidden_characters:
            parts.append(f"{hidden:,} hidden character{'' if hidden == 1 else 's'}")
        return ", ".join((*parts, self.kind.purpose))


class _Reader:
    """Reads files of one folder, each real file once."""

    def __init__(self, workspace: Path) -> None:
        self._real, self.root = real_path(workspace), find_folder(workspace)
        self._readable: Workspace | None = None
        self._seen = set[tuple[str, bool]]()
        self._imports = 0

    def read(self, path: Path, kind: ProjectFileKind) -> Iterator[ProjectFile]:
        """Yield a file, then what it imports; nothing if it is not allowed, or was read before."""
        waiting = [(path, kind)]
        while waiting:
            path, kind = waiting.pop(0)
            if (file := self._read_file(path, kind)) is None:
                continue
            if kind is IMPORTED:
                self._imports += 1
            yield file
            if kind is CHECKS:
                waiting[:0] = [(each, HOOK_PROGRAMS) for each in _find_programs(file, self._real)]
            if kind in (INSTRUCTIONS, IMPORTED) and self._imports < _MAX_IMPORTS:
                waiting[:0] = [(each, IMPORTED) for each in _find_imports(file)]

    def _read_file(self, path: Path, kind: ProjectFileKind) -> ProjectFile | None:
        """Return a file with its content; None if it is empty or a tool could not read it."""
        if kind is IMPORTED and self._imports >= _MAX_IMPORTS:
            return None
        with suppress(ToolError, OSError, ValueError):
            if self._readable is None:
                own = own_directories(resolve_paths())
                self._readable = Workspace(self.root, (self._real,), own)
            name = os.path.relpath(path, self.root)
            real = self._readable.locate(name), kind.is_sent
            if real in self._seen or (kind.is_sent and _is_closed(self._readable, name, kind)):
                return None
            with self._readable.open(name) as file:
                limit = MAX_PROGRAM_BYTES if kind is HOOK_PROGRAMS else MAX_BYTES
                data = file.read(limit + 1)
            if data and not (kind is IMPORTED and b"\0" in data):
                self._seen.add(real)
                shown, is_truncated = os.path.relpath(path, self._real), len(data) > limit
                return ProjectFile(path, shown, kind, data[:limit], is_truncated)
        return None


def read_project_files(workspace: Path) -> tuple[ProjectFile, ...]:
    """Return the files that configure, from the outermost directory inwards.

    The directories are those from the root of the git repository down to the workspace; links that
    lead out of it are ignored. So are files for models that a tool could not read without approval:
    nothing is sent to a provider that the user did not allow.
    """
    reader = _Reader(workspace)
    found = [
        (path, kind)
        for directory in _list_directories(workspace)
        for kind in PROJECT_FILES
        for path in _find_files(directory, kind)
    ]
    return tuple(file for path, kind in found for file in reader.read(path, kind))


def find_unreadable_files(workspace: Path) -> tuple[str, ...]:
    """Return the files of `read_project_files` that exist, or could, but cannot be opened.

    Only those with a fixed place. The names are relative to the workspace.
    """
    real = real_path(workspace)
    paths = (
        directory / name
        for directory in _list_directories(workspace)
        for kind in PROJECT_FILES
        if not kind.folders
        for name in kind.names
    )
    closed = (path for path in paths if may_exist(path) and not os.access(path, os.R_OK))
    return tuple(os.path.relpath(path, real) for path in closed)


def _list_directories(workspace: Path) -> list[Path]:
    """Return the directories from the root of the folder down to the workspace."""
    real, root = real_path(workspace), find_folder(workspace)
    parents = [each for each in real.parents if each.is_relative_to(root)]
    return [*reversed(parents), real]


def read_folder_instructions(
    workspace: Path, directories: Iterable[str]
) -> tuple[ProjectFile, ...]:
    """Return the instructions in directories below a workspace, from the outermost inwards.

    `directories`: relative to the workspace, as `Workspace.locate` returns them. The directories
    between them and the workspace count, too, but not those of another repository.
    """
    real, nested = real_path(workspace), dict[Path, None]()
    for each in directories:
        directory = real
        for part in Path(each).parts:
            directory = directory / part
            if part == ".." or is_repository_root(directory):
                break
            nested[directory] = None
    found = [path for each in sorted(nested) if (path := _find_first(each, INSTRUCTIONS))]
    if not found:
        return ()
    reader = _Reader(workspace)
    return tuple(file for path in found for file in reader.read(path, INSTRUCTIONS))


def find_folder_instructions(workspace: Path) -> tuple[ProjectFile, ...]:
    """Return the instructions in all directories below a workspace that git does not ignore."""
    opened = Workspace(real_path(workspace), (), own_directories(resolve_paths()))
    files = directory_walk.iter_files(opened, ".", threading.Event())
    with suppress(ToolError):  # the workspace is a directory of this program
        directories = dict.fromkeys(
            str(path.parent)
            for path in map(Path, islice(files, _MAX_SEARCHED))
            if path.name in INSTRUCTIONS.names and path.parent != Path()
        )
        return read_folder_instructions(workspace, islice(directories, _MAX_BELOW))
    return ()


def read_user_instructions(paths: Paths) -> tuple[Path, bytes] | None:
    """Return the file of the user's own instructions, which need no trust, and its content.

    The content has up to a byte more than `MAX_BYTES`.
    """
    for name in INSTRUCTIONS.names:
        if (data := read_capped_file(paths.home / name)) is not None:
            return paths.home / name, data
    return None


def get_instructions(files: Iterable[ProjectFile]) -> tuple[ProjectFile, ...]:
    """Return the files with instructions for the model."""
    return tuple(each for each in files if each.kind in (INSTRUCTIONS, IMPORTED))


def read_capped_file(path: Path) -> bytes | None:
    """Return up to a byte more than `MAX_BYTES` of a regular file of the user, or None."""
    with suppress(OSError):
        if stat.S_ISREG(path.stat().st_mode):
            with path.open("rb") as file:
                return file.read(MAX_BYTES + 1)
    return None


def _is_closed(readable: Workspace, name: str, kind: ProjectFileKind) -> bool:
    """Whether a file may contain credentials.

    The directory `.yourtool` is closed to tools, except for the files of a kind that are there
    themselves, not through a link.
    """
    _, inside, rest = f"/{name}".rpartition("/.yourtool/")
    is_ours = any(f".yourtool/{rest}".startswith(f"{each}/") for each in kind.folders)
    if not (inside and is_ours and readable.locate(name) == name):
        return readable.is_credential_file(name)
    with readable.open(name) as file:
        return os.fstat(file.fileno()).st_nlink > 1 or is_credential_file(rest)


def _find_files(directory: Path, kind: ProjectFileKind) -> list[Path]:
    """Return the files of a kind in a directory, the least important ones first."""
    if not kind.folders:
        path = _find_first(directory, kind)
        return [path] if path is not None else []
    return [path for each in kind.folders for path in find_named_files(directory / each, kind)]


def find_named_files(folder: Path, kind: ProjectFileKind) -> list[Path]:
    """Return the files of a kind in one of its folders, sorted, at most `_MAX_IN_FOLDER`."""
    entries = _list_names(folder)
    if not kind.suffix:
        inner = (_find_first(folder / name, kind) for name in entries)
        return list(islice(filter(None, inner), _MAX_IN_FOLDER))
    below = (f"{each}/{name}" for each in entries for name in _list_names(folder / each))
    paths = (folder / name for name in chain(entries, below) if name.endswith(kind.suffix))
    return list(islice(filter(is_file, paths), _MAX_IN_FOLDER))


def _list_names(folder: Path) -> list[str]:
    with suppress(OSError), os.scandir(folder) as entries:
        return sorted(each.name for each in islice(entries, _MAX_LISTED))
    return []


def _find_first(directory: Path, kind: ProjectFileKind) -> Path | None:
    return next(filter(is_file, map(directory.joinpath, kind.names)), None)


def _find_programs(file: ProjectFile, workspace: Path) -> list[Path]:
    """Return the files of the workspace that the hooks in a file of settings name."""
    try:
        hooks: Any = parse_toml(file.text).get("hooks", ())
    except ValueError:
        return []
    tables: list[Any] = [each for each in hooks if is_table(each)] if is_list(hooks) else []
    commands = (str(each.get("command", "")) for each in tables)
    return [path for each in commands for path in find_programs(each, workspace)]


def _find_imports(file: ProjectFile) -> list[Path]:
    """Return the regular files that a text names as `@path`, relative to its directory."""
    found = list[Path]()
    for match in islice(_IMPORT.finditer(_CODE.sub("", file.text)), 10 * _MAX_IMPORTS):
        path = Path(os.path.normpath(file.path.parent / match[1].rstrip(".")))
        with suppress(OSError, ValueError):
            if stat.S_ISREG(path.stat().st_mode):
                found.append(path)
    return found
