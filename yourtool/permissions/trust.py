"""Trust in folders: `trust.toml`, outside every workspace.

    schema_version = 1
    [[folder]]
    path = "/home/me/project"     # the real path
    trusted = true
    answered_at = 2026-01-02T03:04:05Z
    sandboxed_commands_allowed_at = 2026-01-02T03:04:05Z
    [folder.files]
    "AGENTS.md" = "…"             # SHA-256 of the content that the user was shown

The files of a folder that configure the program (`PROJECT_FILES`) are used only if the user trusts
the folder and their contents are those of the answer. A folder is a git repository with all its
directories, but not the repositories in it; without a repository, it is a directory with all below
it. An invalid file trusts nothing.
"""

import os
import stat
from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from enum import StrEnum
from pathlib import Path
from typing import Any, TypeVar

import msgspec
from msgspec import Struct
from msgspec.structs import asdict

from yourtool.errors import ConfigError
from yourtool.foundation.files import (
    expand_home,
    lock_directory,
    may_exist,
    real_path,
    replace_file,
)
from yourtool.settings.tables import parse_toml

SCHEMA_VERSION = 1
CONTAINED_COMMANDS = "commands in the sandbox"
"""In place of a rule: all commands of a folder that stay in the full sandbox."""


class ProjectFileKind(Struct, frozen=True):
    """Files of a project that configure the program."""

    names: tuple[str, ...]
    """In order of precedence; the first that exists in a directory is used."""
    purpose: str
    """What they do, for the user."""
    folders: tuple[str, ...] = ()
    """Directories, least important first, that have the files in directories of any name."""
    suffix: str = ""
    """Of the files in `folders` and one level below, in place of `names`."""
    is_sent: bool = True
    """Whether models get the content, which must then not be that of a credential file."""


INSTRUCTIONS = ProjectFileKind(("AGENTS.md", "CLAUDE.md"), "instructions")
IMPORTED = ProjectFileKind((), "imported instructions")
"""Files that instructions name as `@path`."""
CHECKS = ProjectFileKind((".yourtool/config.toml",), "commands after edits, hooks", is_sent=False)
HOOK_PROGRAMS = ProjectFileKind((), "the program of a hook", is_sent=False)
"""Files that the commands of hooks of a project name."""
ROUTING = ProjectFileKind((".yourtool/routing.toml",), "rules that choose models", is_sent=False)
MCP_SERVERS = ProjectFileKind((".mcp.json",), "MCP servers", is_sent=False)
_SKILL_FOLDERS = (".claude/skills", ".agents/skills", ".yourtool/skills")
SKILLS = ProjectFileKind(("SKILL.md",), "a skill", _SKILL_FOLDERS)
_COMMAND_FOLDERS = (".claude/commands", ".yourtool/commands")
COMMANDS = ProjectFileKind((), "a command", _COMMAND_FOLDERS, ".md")
PROJECT_FILES = (INSTRUCTIONS, CHECKS, ROUTING, MCP_SERVERS, SKILLS, COMMANDS)
"""All files of a project that configure, except for rules, which can only ask and deny."""


class Trust(StrEnum):
    """The answer of the user about a folder and its present files."""

    UNKNOWN = "unknown"
    """The user has not answered yet."""
    CHANGED = "changed"
    """A file that configures is new or has changed since the answer."""
    DECLINED = "declined"
    TRUSTED = "trusted"


class TrustAnswer(Struct, frozen=True, kw_only=True):
    """The stored answer about the files of one folder."""

    path: str
    trusted: bool
    answered_at: datetime
    files: dict[str, str] = {}
    """The SHA-256 of each file that was shown, by its path relative to the folder."""

    def has(self, file: Path, digest: str) -> bool:
        """Whether the user has seen this content of a file."""
        return self.files.get(os.path.relpath(file, self.path)) == digest

    def has_other(self, file: Path) -> bool:
        """Whether the user has seen a content of a file, perhaps another one."""
        return os.path.relpath(file, self.path) in self.files


class ContainedFolder(Struct, frozen=True):
    """A folder in which commands that stay in the full sandbox need no approval."""

    path: str
    allowed_at: datetime


class _Folder(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """All answers about one folder."""

    path: str
    trusted: bool | None = None
    answered_at: datetime | None = None
    sandboxed_commands_allowed_at: datetime | None = None
    files: dict[str, str] = {}

    def __post_init__(self) -> None:
        if (self.trusted is None) != (self.answered_at is None):
            raise ValueError("`trusted` and `answered_at` belong together")
        if self.trust is None and self.contained is None:
            raise ValueError("a folder without an answer")

    @property
    def trust(self) -> TrustAnswer | None:
        if self.trusted is None or self.answered_at is None:
            return None
        return TrustAnswer(
            path=self.path, trusted=self.trusted, answered_at=self.answered_at, files=self.files
        )

    @property
    def contained(self) -> ContainedFolder | None:
        allowed_at = self.sandboxed_commands_allowed_at
        return None if allowed_at is None else ContainedFolder(self.path, allowed_at)


_Answer = TypeVar("_Answer", TrustAnswer, ContainedFolder)


class _File(Struct, frozen=True, forbid_unknown_fields=True):
    schema_version: int = SCHEMA_VERSION
    folder: tuple[_Folder, ...] = ()


def is_repository_root(directory: Path) -> bool:
    """Whether a directory is, or could be, the root of a git repository or worktree."""
    return may_exist(directory / ".git")


def find_folder(workspace: Path) -> Path:
    """Return the folder that an answer about `workspace` is about, as a real path."""
    real = real_path(workspace)
    return next(filter(is_repository_root, (real, *real.parents)), real)


class TrustStore:
    """The stored answers; every method blocks on the file system."""

    def __init__(self, file: Path) -> None:
        self.file = file

    def load(self) -> tuple[TrustAnswer, ...]:
        """Return all answers about files; none if the file does not exist.

        Raises:
            ConfigError: the file is invalid, or others can change it.
        """
        return tuple(filter(None, (each.trust for each in self._load())))

    def load_contained(self) -> tuple[ContainedFolder, ...]:
        """Return the folders in which commands in the full sandbox need no approval.

        Raises:
            ConfigError: as `load`.
        """
        return tuple(filter(None, (each.contained for each in self._load())))

    def find(self, workspace: Path) -> TrustAnswer | None:
        """Return the answer for the nearest folder that contains a workspace.

        Raises:
            ConfigError: as `load`.
        """
        return _find_nearest(self.load(), real_path(workspace))

    def status(self, workspace: Path, digests: Mapping[Path, str]) -> Trust:
        """Return the trust in a workspace whose configuring files have these contents.

        Raises:
            ConfigError: as `load`.
        """
        answer = self.find(workspace)
        if answer is None:
            return Trust.UNKNOWN
        if not all(answer.has(file, digest) for file, digest in digests.items()):
            return Trust.CHANGED
        return Trust.TRUSTED if answer.trusted else Trust.DECLINED

    def answer(self, workspace: Path, digests: Mapping[Path, str], *, trusted: bool) -> Path:
        """Store the answer about the folder of a workspace, and return the folder.

        The answer to an enclosing folder is extended by the files if it was the same.

        Raises:
            ConfigError: the file is invalid or cannot be written.
        """
        real, folder = real_path(workspace), find_folder(workspace)
        with self._locked():
            nearest = _find_nearest(self.load(), real)
            seen: dict[str, str] = {}
            if nearest is not None and nearest.trusted is trusted:
                folder, seen = Path(nearest.path), nearest.files
            new = {os.path.relpath(file, folder): digest for file, digest in digests.items()}
            self._change(folder, trusted=trusted, answered_at=_now(), files={**seen, **new})
        return folder

    def remove(self, directory: Path) -> Path | None:
        """Forget the answers about the folder of a directory whose files the user answered about.

        Returns the folder, or None.

        Raises:
            ConfigError: the file is invalid or cannot be written.
        """
        with self._locked():
            if (nearest := _find_nearest(self.load(), real_path(directory))) is None:
                return None
            self._write([each for each in self._load() if each.path != nearest.path])
            return Path(nearest.path)

    def find_contained(self, workspace: Path) -> ContainedFolder | None:
        """Return the answer about commands for the nearest folder that contains a workspace.

        Raises:
            ConfigError: as `load`.
        """
        return _find_nearest(self.load_contained(), real_path(workspace))

    def allow_contained(self, folder: Path) -> None:
        """Allow the commands that stay in the full sandbox in a folder, as `find_folder` has it.

        Raises:
            ConfigError: the file is invalid or cannot be written.
        """
        with self._locked():
            self._change(folder, sandboxed_commands_allowed_at=_now())

    def forget_contained(self, workspace: Path) -> Path | None:
        """Take the answer about commands back; return the folder that had it, or None.

        Raises:
            ConfigError: the file is invalid or cannot be written.
        """
        with self._locked():
            if (nearest := self.find_contained(workspace)) is None:
                return None
            self._change(Path(nearest.path), sandboxed_commands_allowed_at=None)
            return Path(nearest.path)

    def _load(self) -> tuple[_Folder, ...]:
        try:
            with self.file.open("rb") as file:
                mode = stat.S_IMODE(os.fstat(file.fileno()).st_mode)
                content = file.read()
        except FileNotFoundError:
            return ()
        except OSError as error:
            raise self._invalid_file_error(error.strerror or str(error)) from error
        if mode & 0o022:
            raise self._invalid_file_error(
                f"others can change it (mode {mode:04o}); run `chmod 600 {self.file}`"
            )
        try:
            found = msgspec.convert(parse_toml(content.decode("utf-8-sig")), _File)
        except ValueError as error:
            raise self._invalid_file_error(f"{error}; correct it or delete it") from error
        if found.schema_version != SCHEMA_VERSION:
            raise self._invalid_file_error(f"its `schema_version` is {found.schema_version}, not 1")
        return found.folder

    def _change(self, folder: Path, **fields: Any) -> None:
        """Store other values of some fields of a folder."""
        folders = {each.path: each for each in self._load()}
        before = folders.pop(str(folder), None)
        values: dict[str, Any] = {**(asdict(before) if before else {"path": str(folder)}), **fields}
        if values.get("answered_at") or values.get("sandboxed_commands_allowed_at"):
            folders[str(folder)] = _Folder(**values)
        self._write([*folders.values()])

    @contextmanager
    def _locked(self) -> Generator[None, None, None]:
        """Exclude other processes, so that a removed answer does not come back."""
        try:
            lock = lock_directory(self.file.parent)
        except OSError as error:
            raise self._unwritable_error(error) from error
        try:
            yield
        finally:
            os.close(lock)

    def _write(self, folders: Sequence[_Folder]) -> None:
        try:
            replace_file(self.file, _encode(folders).encode())
        except OSError as error:
            raise self._unwritable_error(error) from error
        except UnicodeEncodeError as error:
            raise ConfigError("a folder whose path is not UTF-8 cannot be trusted") from error

    def _invalid_file_error(self, reason: str) -> ConfigError:
        return ConfigError(f"`{self.file}` is not used, so no folder is trusted: {reason}")

    def _unwritable_error(self, error: OSError) -> ConfigError:
        return ConfigError(f"`{self.file}` cannot be written: {error.strerror}")


def _now() -> datetime:
    return datetime.now(UTC).replace(microsecond=0)


def _find_nearest(answers: Sequence[_Answer], real: Path) -> _Answer | None:
    """Return the answer for the innermost folder around a directory.

    Answers about folders around its repository do not count, and neither do those about the home
    directory and the directories above it, unless it is that directory.
    """
    by_path = {each.path: each for each in answers}
    home = real_path(expand_home(Path("~")))
    for directory in (real, *real.parents):
        is_too_wide = directory != real and home.is_relative_to(directory)
        if (found := by_path.get(str(directory))) is not None and not is_too_wide:
            return found
        if is_repository_root(directory):
            return None
    return None


def _encode(folders: Sequence[_Folder]) -> str:
    lines = ["# Your answers about folders; written by `yourtool trust` and approval prompts."]
    lines.append(f"schema_version = {SCHEMA_VERSION}")
    for each in sorted(folders, key=lambda folder: folder.path):
        lines += ["", "[[folder]]", f"path = {_quote(each.path)}"]
        if (trust := each.trust) is not None:
            lines.append(f"trusted = {'true' if trust.trusted else 'false'}")
            lines.append(f"answered_at = {trust.answered_at.isoformat()}")
        if (contained := each.contained) is not None:
            allowed_at = contained.allowed_at.isoformat()
            lines.append(f"sandboxed_commands_allowed_at = {allowed_at}")
        lines.append("[folder.files]")
        lines += [f"{_quote(file)} = {_quote(sha)}" for file, sha in sorted(each.files.items())]
    return "\n".join(lines) + "\n"


def _quote(text: str) -> str:
    # A JSON string is a TOML basic string, except for DEL.
    return msgspec.json.encode(text).decode().replace("\x7f", "\\u007f")
