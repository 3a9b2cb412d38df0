"""The files of a project that configure the program, and whether the user trusts them."""

import hashlib
import os
from pathlib import Path

from msgspec import Struct

from yourtool.errors import ConfigError, ToolError
from yourtool.paths import Paths, own_directories, resolve_paths
from yourtool.permissions.trust import (
    INSTRUCTIONS,
    PROJECT_FILES,
    ProjectFileKind,
    Trust,
    TrustAnswer,
    TrustStore,
    find_folder,
)
from yourtool.text import count_hidden_characters
from yourtool.tools.workspace import Workspace

MAX_BYTES = 32_768
"""Longer files are truncated."""


class ProjectFile(Struct, frozen=True):
    """A file that configures, with the content that would be used."""

    path: Path
    """Below the real path of the folder."""
    name: str
    """Relative to the workspace."""
    kind: ProjectFileKind
    content: bytes
    """The first `MAX_BYTES`."""
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


class FolderTrust(Struct, frozen=True):
    """The files of a workspace that configure, and the answer of the user about them."""

    folder: Path
    files: tuple[ProjectFile, ...]
    status: Trust
    answer: TrustAnswer | None = None
    problem: str = ""
    """Why the stored answers are not used."""

    @property
    def used_files(self) -> tuple[ProjectFile, ...]:
        """The files that are used: all or none."""
        return self.files if self.status is Trust.TRUSTED else ()

    @property
    def unused_files(self) -> tuple[ProjectFile, ...]:
        """The files that are not used, for lack of trust."""
        return () if self.status is Trust.TRUSTED else self.files

    def is_new(self, file: ProjectFile) -> bool:
        """Whether the user has never been asked about a file."""
        name = os.path.relpath(file.path, self.folder if self.answer is None else self.answer.path)
        return self.answer is None or name not in self.answer.files

    def is_changed(self, file: ProjectFile) -> bool:
        """Whether a file has changed since the answer."""
        seen = self.answer is not None and self.answer.has(file.path, file.digest)
        return not seen and not self.is_new(file)


class ProjectTrust:
    """The trust in one workspace; every method blocks on the file system."""

    def __init__(self, workspace: Path, paths: Paths | None = None, *, asks: bool = True) -> None:
        """`asks`: whether to ask the user about the workspace; if not, its files are never used."""
        self.asks = asks
        self._workspace = workspace
        self._store = trust_store(paths or resolve_paths())

    def examine(self) -> FolderTrust:
        """Return the files that configure and whether they are trusted."""
        files, folder = read_project_files(self._workspace), find_folder(self._workspace)
        digests = {each.path: each.digest for each in files}
        try:
            status = self._store.status(self._workspace, digests)
            return FolderTrust(folder, files, status, self._store.find(self._workspace))
        except ConfigError as error:
            return FolderTrust(folder, files, Trust.UNKNOWN, problem=str(error))

    def find_notice(self, is_interactive: bool) -> str | None:
        """Return which files are not used and how to use them, unless the user chose that."""
        found = self.examine()
        names = ", ".join(f"`{each.name}`" for each in found.unused_files)
        if not names or not self.asks or (is_interactive and found.status is Trust.DECLINED):
            return None
        why = f"the folder is not trusted; {_ways_to_trust(is_interactive)} trusts it"
        if found.status is Trust.CHANGED:
            why = f"changed since you were asked; {_ways_to_trust(is_interactive)} shows what"
        return f"{names} not used: {found.problem or why}."

    def answer(self, shown: FolderTrust, *, trusted: bool) -> Path:
        """Store the answer about the contents in `shown`; return the folder.

        Raises:
            ConfigError: the answer cannot be stored.
        """
        digests = {each.path: each.digest for each in shown.files}
        return self._store.answer(self._workspace, digests, trusted=trusted)


def _ways_to_trust(is_interactive: bool) -> str:
    return "`/trust`" if is_interactive else "`yourtool trust`"


def trust_store(paths: Paths) -> TrustStore:
    """Return the store of the user's answers."""
    return TrustStore(paths.home / "trust.toml")


def is_trusted(workspace: Path, paths: Paths | None = None) -> bool:
    """Whether the user trusts a workspace with its present files; blocks on the file system."""
    return ProjectTrust(workspace, paths).examine().status is Trust.TRUSTED


def read_project_files(workspace: Path) -> tuple[ProjectFile, ...]:
    """Return the files that configure, from the outermost directory inwards.

    The directories are those from the root of the git repository down to the workspace; links that
    lead out of it are ignored. Files that a tool could not read without approval are ignored too,
    so that nothing is sent to a provider that the user did not allow.
    """
    real, root = workspace.resolve(), find_folder(workspace)
    parents = [each for each in real.parents if each.is_relative_to(root)]
    found = [
        (path, kind)
        for directory in (*reversed(parents), real)
        for kind in PROJECT_FILES
        if (path := next(filter(Path.is_file, map(directory.joinpath, kind.names)), None))
    ]
    if not found:
        return ()
    readable = Workspace(root, (real,), own_directories(resolve_paths()))
    files: list[ProjectFile] = []
    for path, kind in found:
        if data := _read_if_allowed(readable, str(path.relative_to(root))):
            name = os.path.relpath(path, real)
            is_truncated = len(data) > MAX_BYTES
            files.append(ProjectFile(path, name, kind, data[:MAX_BYTES], is_truncated))
    return tuple(files)


def read_user_instructions(paths: Paths) -> str | None:
    """Return the user's own instructions for every project, which need no trust."""
    try:
        with (paths.home / INSTRUCTIONS.names[0]).open("rb") as file:
            text = file.read(MAX_BYTES).decode("utf-8-sig", "replace").strip()
    except OSError:
        return None
    return text or None


def get_instructions(files: tuple[ProjectFile, ...]) -> tuple[ProjectFile, ...]:
    """Return the files with instructions for the model."""
    return tuple(each for each in files if each.kind is INSTRUCTIONS)


def _read_if_allowed(readable: Workspace, path: str) -> bytes:
    try:
        if readable.is_credential_file(path):
            return b""
        with readable.open(path) as file:
            return file.read(MAX_BYTES + 1)
    except (ToolError, OSError):
        return b""
