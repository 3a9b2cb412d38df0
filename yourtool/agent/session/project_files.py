"""The files of a project that configure the program, and whether the user trusts them."""

import hashlib
import os
from functools import partial
from pathlib import Path

from msgspec import Struct

from yourtool.amounts import format_size
from yourtool.effects import TrustOffer
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

    @property
    def description(self) -> str:
        """The size, how many characters are hidden, and the purpose."""
        size = f"more than {format_size(MAX_BYTES)}" if self.is_truncated else ""
        parts = [size or format_size(len(self.content))]
        if hidden := self.hidden_characters:
            parts.append(f"{hidden:,} hidden character{'' if hidden == 1 else 's'}")
        return ", ".join((*parts, self.kind.purpose))


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
    def is_changed(self) -> bool:
        """Whether the user has answered for other contents."""
        return self.status is Trust.CHANGED

    @property
    def needs_answer(self) -> bool:
        """Whether there is something to ask the user, and the answer can be stored."""
        is_open = self.status in (Trust.UNKNOWN, Trust.CHANGED)
        return is_open and bool(self.files) and not self.problem

    @property
    def files_by_importance(self) -> list[ProjectFile]:
        """The files: new and changed ones first, then those with hidden characters."""
        answer = self.answer
        return sorted(
            self.files,
            key=lambda file: (
                answer is not None and answer.has(file.path, file.digest),
                -file.hidden_characters,
            ),
        )

    @property
    def summary(self) -> str:
        """What is used and what is not, in a line; empty without files that configure."""
        names = ", ".join(each.name for each in self.files)
        if self.status is Trust.TRUSTED:
            return f"{names} loaded" if names else ""
        return f"{names} ignored; /trust changes that" if names else ""

    def describe(self, file: ProjectFile) -> str:
        """Return what a file is, and whether it is new or changed since the last answer."""
        if self.answer is None or not self.is_changed:
            return file.description
        state = "changed" if self.answer.has_other(file.path) else "new"
        if self.answer.has(file.path, file.digest):
            state = "unchanged"
        return f"{state}: {file.description}"


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

    def find_notice(self, found: FolderTrust, is_interactive: bool) -> str | None:
        """Return which files are not used and how to use them, unless the user chose that."""
        is_chosen = is_interactive and found.status is Trust.DECLINED
        if not (found.files and self.asks) or is_chosen or found.status is Trust.TRUSTED:
            return None
        names = ", ".join(f"`{each.name}`" for each in found.files)
        why = "changed since you were asked" if found.is_changed else "the folder is not trusted"
        way = "`/trust`" if is_interactive else "`yourtool trust`"
        return f"{names} not used: {found.problem or f'{why}; {way} trusts it'}."

    def find_offer(self) -> TrustOffer | None:
        """Return what trusting the folder would allow; None if the user has declined it."""
        found = self.examine()
        if not self.asks or found.problem or found.status not in (Trust.UNKNOWN, Trust.CHANGED):
            return None
        files = tuple(f"{each.name} ({found.describe(each)})" for each in found.files_by_importance)
        return TrustOffer(
            folder=str(found.folder), files=files, accept=partial(self._accept_offer, found)
        )

    def _accept_offer(self, shown: FolderTrust) -> bool:
        self.answer(shown, trusted=True)
        return self.examine().status is Trust.TRUSTED

    def answer(self, shown: FolderTrust, *, trusted: bool) -> Path:
        """Store the answer about the contents in `shown`; return the folder.

        Raises:
            ConfigError: the answer cannot be stored.
        """
        digests = {each.path: each.digest for each in shown.files}
        return self._store.answer(self._workspace, digests, trusted=trusted)


def trust_store(paths: Paths) -> TrustStore:
    """Return the store of the user's answers."""
    return TrustStore(paths.home / "trust.toml")


def is_trusted(workspace: Path, paths: Paths | None = None) -> bool:
    """Whether the user trusts a workspace with its present files; blocks on the file system."""
    return ProjectTrust(workspace, paths).examine().status is Trust.TRUSTED


def read_project_files(workspace: Path) -> tuple[ProjectFile, ...]:
    """Return the files that configure, from the outermost directory inwards.

    The directories are those from the root of the git repository down to the workspace; links that
    lead out of it are ignored. So are files for models that a tool could not read without approval:
    nothing is sent to a provider that the user did not allow.
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
        if data := _read_if_allowed(readable, str(path.relative_to(root)), kind):
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


def _read_if_allowed(readable: Workspace, path: str, kind: ProjectFileKind) -> bytes:
    try:
        if kind.is_sent and readable.is_credential_file(path):
            return b""
        with readable.open(path) as file:
            return file.read(MAX_BYTES + 1)
    except (ToolError, OSError):
        return b""
