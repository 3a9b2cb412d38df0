"""Safe runs of git.

Git never runs what the repository of a workspace names: hooks, filters, monitors. The repository is
passed explicitly, with a copy of its harmless settings. The user's own configuration applies,
because it has the list of ignored files.
"""

import os
import shutil
import subprocess
import time
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryFile
from typing import BinaryIO, TypeAlias

from yourtool.errors import YourtoolError
from yourtool.git.repositories import Repository
from yourtool.tools.git.harmless_git_directory import open_harmless

_SETTINGS = (
    ("core.fsmonitor", "false"),
    ("core.hooksPath", "/dev/null"),
    ("core.alternateRefsCommand", ""),
    ("core.untrackedCache", "false"),
    ("core.quotePath", "false"),
    ("core.splitIndex", "false"),
    ("gc.auto", "0"),
    ("maintenance.auto", "false"),
    ("submodule.recurse", "false"),
    ("diff.ignoreSubmodules", "dirty"),
    ("diff.renames", "false"),
    ("status.renames", "false"),
    ("status.relativePaths", "false"),
    ("log.showSignature", "false"),
)
_PASSED = ("HOME", "XDG_CONFIG_HOME", "TMPDIR")
_NO_FILTER = (("required", "false"), ("clean", ""), ("smudge", ""), ("process", ""))
MAX_OUTPUT_BYTES = 64 * 2**20
"""Maximum size of what one command prints."""

Settings: TypeAlias = Sequence[tuple[str, str]]


class GitError(YourtoolError):
    """Git failed, is missing, or took too long."""


def find_git() -> str | None:
    """Return the path of git, from a system directory."""
    return shutil.which("git", path="/usr/local/bin:/usr/bin:/bin:/opt/homebrew/bin")


class GitRunner:
    """Runs git commands on one repository until a deadline; all methods block."""

    def __init__(self, repository: Repository, seconds: float, objects: Path | None = None) -> None:
        """`objects`: where new objects are written; None: into the repository."""
        self.repository = repository
        self._objects = objects
        self._deadline = time.monotonic() + seconds
        self._settings: Settings | None = None

    def run(
        self,
        *arguments: str,
        data: bytes = b"",
        index: Path | None = None,
        directory: Path | None = None,
    ) -> bytes:
        """Return what a command prints.

        `data` is its input, `index` is used instead of the index of the repository, and it runs in
        `directory` instead of the root of the work tree.

        Raises:
            GitError: it failed, printed too much, or the deadline passed.
        """
        if self._settings is None:
            self._settings = (*_SETTINGS, *self._disable_filters())
        return self._run(self._settings, arguments, data, index, directory)

    def succeeds(self, *arguments: str) -> bool:
        """Whether a command succeeds."""
        try:
            self.run(*arguments)
        except GitError:
            return False
        return True

    def _disable_filters(self) -> Settings:
        """Return settings that replace the commands of the user's filters by nothing."""
        try:
            names = self._run(
                _SETTINGS, ("config", "--null", "--name-only", "--get-regexp", r"^filter\."), b""
            )
        except GitError:
            return ()  # there are none
        filters = {name.rpartition(".")[0] for name in os.fsdecode(names).split("\0")}
        return [
            (f"{each}.{name}", value)
            for each in sorted(filters - {"", "filter"})
            for name, value in _NO_FILTER
        ]

    def _run(
        self,
        settings: Settings,
        arguments: Sequence[str],
        data: bytes,
        index: Path | None = None,
        directory: Path | None = None,
    ) -> bytes:
        if (program := find_git()) is None:
            raise GitError("git is not installed in a system directory")
        if (seconds := self._deadline - time.monotonic()) <= 0:
            raise GitError("it took too long")
        try:
            with (
                TemporaryFile() as output,
                TemporaryFile() as errors,
                open_harmless(self.repository) as common,
            ):
                done = subprocess.run(
                    (program, *arguments),
                    input=data,
                    stdout=output,
                    stderr=errors,
                    cwd=directory or self.repository.top,
                    env=self._build_environment(settings, index, common),
                    timeout=seconds,
                    check=False,
                )
                printed, problem = _read_start(output), _read_start(errors, 10_000)
        except subprocess.TimeoutExpired as error:
            raise GitError("it took too long") from error
        except OSError as error:
            raise GitError(f"git could not be started: {error.strerror}") from error
        if done.returncode != 0:
            lines = problem.decode("utf-8", "replace").strip().splitlines()
            raise GitError(lines[-1][:200] if lines else f"git ended with {done.returncode}")
        if len(printed) > MAX_OUTPUT_BYTES:
            raise GitError(f"git printed more than {MAX_OUTPUT_BYTES:,} bytes")
        return printed

    def _build_environment(
        self, settings: Settings, index: Path | None, common: Path
    ) -> dict[str, str]:
        environment = {
            "PATH": "/usr/local/bin:/usr/bin:/bin",
            "LC_ALL": "C",
            "GIT_DIR": str(self.repository.directory),
            "GIT_COMMON_DIR": str(common),
            "GIT_WORK_TREE": str(self.repository.top),
            "GIT_OPTIONAL_LOCKS": "0",
            "GIT_TERMINAL_PROMPT": "0",
            "GIT_NO_LAZY_FETCH": "1",
            "GIT_ALLOW_PROTOCOL": "none",
            "GIT_NO_REPLACE_OBJECTS": "1",
            "GIT_CONFIG_COUNT": str(len(settings)),
        }
        environment |= {name: os.environ[name] for name in _PASSED if name in os.environ}
        for number, (name, value) in enumerate(settings):
            environment[f"GIT_CONFIG_KEY_{number}"] = name
            environment[f"GIT_CONFIG_VALUE_{number}"] = value
        if self._objects is not None:
            environment["GIT_OBJECT_DIRECTORY"] = str(self._objects)
        if index is not None:
            environment["GIT_INDEX_FILE"] = str(index)
        return environment


def _read_start(file: BinaryIO, size: int = MAX_OUTPUT_BYTES + 1) -> bytes:
    file.seek(0)
    return file.read(size)
