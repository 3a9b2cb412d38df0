"""Trust in folders: `trust.toml`, outside every workspace.

    schema_version = 1
    [[folder]]
    path = "/home/me/project"     # the real path
    trusted = true
    answered_at = 2026-01-02T03:04:05Z
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

import msgspec
from msgspec import Struct

from yourtool.errors import ConfigError
from yourtool.files import lock_directory, replace_file
from yourtool.tables import parse_toml

SCHEMA_VERSION = 1


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


class TrustAnswer(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The stored answer about one folder."""

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


class _File(Struct, frozen=True, forbid_unknown_fields=True):
    schema_version: int = SCHEMA_VERSION
    folder: tuple[TrustAnswer, ...] = ()


def is_repository_root(directory: Path) -> bool:
    """Whether a directory is the root of a git repository or worktree."""
    return (directory / ".git").exists()


def find_folder(workspace: Path) -> Path:
    """Return the folder that an answer about `workspace` is about, as a real path."""
    real = workspace.resolve()
    return next(filter(is_repository_root, (real, *real.parents)), real)


class TrustStore:
    """The stored answers; every method blocks on the file system."""

    def __init__(self, file: Path) -> None:
        self.file = file

    def load(self) -> tuple[TrustAnswer, ...]:
        """Return all answers; none if the file does not exist.

        Raises:
            ConfigError: the file is invalid, or others can change it.
        """
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

    def find(self, workspace: Path) -> TrustAnswer | None:
        """Return the answer for the nearest folder that contains a workspace.

        Raises:
            ConfigError: as `load`.
        """
        return _find_nearest(self.load(), workspace.resolve())

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
        real, folder = workspace.resolve(), find_folder(workspace)
        with self._locked():
            answers = self.load()
            nearest = _find_nearest(answers, real)
            seen: dict[str, str] = {}
            if nearest is not None and nearest.trusted is trusted:
                folder, seen = Path(nearest.path), nearest.files
            new = {os.path.relpath(file, folder): digest for file, digest in digests.items()}
            now = datetime.now(UTC).replace(microsecond=0)
            changed = TrustAnswer(
                path=str(folder), trusted=trusted, answered_at=now, files={**seen, **new}
            )
            self._write([*(each for each in answers if each.path != str(folder)), changed])
        return folder

    def remove(self, directory: Path) -> Path | None:
        """Forget the answer for a directory; return the folder that had it, or None.

        Raises:
            ConfigError: the file is invalid or cannot be written.
        """
        with self._locked():
            answers = self.load()
            if (nearest := _find_nearest(answers, directory.resolve())) is None:
                return None
            self._write([each for each in answers if each != nearest])
            return Path(nearest.path)

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

    def _write(self, answers: Sequence[TrustAnswer]) -> None:
        try:
            replace_file(self.file, _encode(answers).encode())
        except OSError as error:
            raise self._unwritable_error(error) from error
        except UnicodeEncodeError as error:
            raise ConfigError("a folder whose path is not UTF-8 cannot be trusted") from error

    def _invalid_file_error(self, reason: str) -> ConfigError:
        return ConfigError(f"`{self.file}` is not used, so no folder is trusted: {reason}")

    def _unwritable_error(self, error: OSError) -> ConfigError:
        return ConfigError(f"`{self.file}` cannot be written: {error.strerror}")


def _find_nearest(answers: Sequence[TrustAnswer], real: Path) -> TrustAnswer | None:
    """Return the answer for the innermost folder around a directory.

    Answers about folders around its repository do not count, and neither do those about the home
    directory and the directories above it, unless it is that directory.
    """
    by_path = {each.path: each for each in answers}
    home = Path.home().resolve()
    for directory in (real, *real.parents):
        is_too_wide = directory != real and home.is_relative_to(directory)
        if (found := by_path.get(str(directory))) is not None and not is_too_wide:
            return found
        if is_repository_root(directory):
            return None
    return None


def _encode(answers: Sequence[TrustAnswer]) -> str:
    lines = ["# Folders whose files you trust or not; written by `yourtool trust`."]
    lines.append(f"schema_version = {SCHEMA_VERSION}")
    for each in sorted(answers, key=lambda answer: answer.path):
        lines += ["", "[[folder]]", f"path = {_quote(each.path)}"]
        lines.append(f"trusted = {'true' if each.trusted else 'false'}")
        lines.append(f"answered_at = {each.answered_at.isoformat()}")
        lines.append("[folder.files]")
        lines += [f"{_quote(file)} = {_quote(sha)}" for file, sha in sorted(each.files.items())]
    return "\n".join(lines) + "\n"


def _quote(text: str) -> str:
    # A JSON string is a TOML basic string, except for DEL.
    return msgspec.json.encode(text).decode().replace("\x7f", "\\u007f")
