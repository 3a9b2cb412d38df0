"""Trust in the configuring files of a project."""

from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

from yourtool.agent.session.project.project_files import (
    ProjectFile,
    find_folder_instructions,
    find_unreadable_files,
    read_project_files,
)
from yourtool.effects import SandboxOffer, SubjectKind, TrustOffer
from yourtool.errors import ConfigError
from yourtool.paths import Paths, resolve_paths
from yourtool.permissions.gate import Gate, open_gate
from yourtool.permissions.grants import FILE_NAME, Grants
from yourtool.permissions.trust import ROUTING, Trust, TrustAnswer, TrustStore, find_folder
from yourtool.settings.config import Mode, RunOptions
from yourtool.settings.problems import Problem

_MAX_NAMED = 5
"""Files that a line names."""


class FolderTrust(Struct, frozen=True):
    """The files of a workspace that configure, and the answer of the user about them."""

    folder: Path
    files: tuple[ProjectFile, ...]
    """Those that count for the `status`."""
    status: Trust
    answer: TrustAnswer | None = None
    problem: str = ""
    """Why the stored answers are not used."""
    allows_contained: bool = False
    """Whether the user allows the commands that stay in the full sandbox."""
    below: tuple[ProjectFile, ...] = ()
    """Instructions of directories below the workspace; each is used if the user has seen it."""
    unreadable: tuple[str, ...] = ()
    """Names of files that configure, but cannot be opened."""

    def apply_to(self, gate: Gate) -> None:
        """Let the gate decide by these answers."""
        gate.is_trusted = self.status is Trust.TRUSTED
        gate.allows_contained = self.allows_contained

    @property
    def used_files(self) -> tuple[ProjectFile, ...]:
        """The files that are used: all or none."""
        return self.files if self.status is Trust.TRUSTED else ()

    @property
    def routing_file(self) -> tuple[str, str] | None:
        """Name and text of the file of routing rules, if there is one that is used."""
        found = (each for each in self.used_files if each.kind is ROUTING)
        return next(((each.name, each.text) for each in found), None)

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
    def all_files(self) -> tuple[ProjectFile, ...]:
        """All files that an answer is about."""
        return (*self.files, *self.below)

    @property
    def files_by_importance(self) -> list[ProjectFile]:
        """All files: new and changed ones first, then those with hidden characters."""
        answer = self.answer
        return sorted(
            self.all_files,
            key=lambda file: (
                answer is not None and answer.has(file.path, file.digest),
                -file.hidden_characters,
            ),
        )

    @property
    def summary(self) -> str:
        """What is used and what is not, in a line; empty without files that configure."""
        names = ", ".join(_shorten_names(self.files))
        if self.status is Trust.TRUSTED:
            return f"{names} loaded" if names else ""
        return f"{names} ignored; /trust changes that" if names else ""

    @property
    def unreadable_notice(self) -> str | None:
        """The files that cannot be opened, in a line, unless the user has declined all."""
        if not self.unreadable or self.status is Trust.DECLINED:
            return None
        names = ", ".join(f"`{each}`" for each in self.unreadable[:_MAX_NAMED])
        return f"{names} not used: cannot be opened; correct the owner, the mode or the link."

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
        self.store = trust_store(paths or resolve_paths())

    def examine_all(self) -> FolderTrust:
        """Return what `examine` does, with the files that count when their directory is used."""
        return replace(self.examine(), below=find_folder_instructions(self._workspace))

    def find_used_below(self, files: Sequence[ProjectFile]) -> tuple[ProjectFile, ...]:
        """Return those of the instructions below the workspace that the user trusts."""
        try:
            answer = self.store.find(self._workspace) if self.asks and files else None
        except ConfigError:
            return ()
        if answer is None or not answer.trusted:
            return ()
        return tuple(each for each in files if answer.has(each.path, each.digest))

    def examine(self) -> FolderTrust:
        """Return the files that configure and whether they are trusted."""
        files, folder = read_project_files(self._workspace), find_folder(self._workspace)
        digests = {each.path: each.digest for each in files}
        try:
            status = self.store.status(self._workspace, digests)
            answer = self.store.find(self._workspace)
            allows = self.store.find_contained(self._workspace) is not None
            closed = find_unreadable_files(self._workspace)
            return FolderTrust(
                folder, files, status, answer, allows_contained=allows, unreadable=closed
            )
        except ConfigError as error:
            return FolderTrust(folder, files, Trust.UNKNOWN, problem=str(error))

    def find_notice(self, found: FolderTrust, is_interactive: bool) -> str | None:
        """Return which files are not used and how to use them, unless the user chose that."""
        is_chosen = is_interactive and found.status is Trust.DECLINED
        if not (found.files and self.asks) or is_chosen or found.status is Trust.TRUSTED:
            return None
        names = ", ".join(f"`{each}`" for each in _shorten_names(found.files))
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

    def find_sandbox_offer(self) -> SandboxOffer | None:
        """Return the folder whose commands the user could allow in the full sandbox."""
        found = self.examine()
        if not self.asks or found.problem or found.allows_contained:
            return None
        return SandboxOffer(
            folder=str(found.folder), accept=partial(self.store.allow_contained, found.folder)
        )

    def _accept_offer(self, shown: FolderTrust) -> bool:
        self.answer(shown, trusted=True)
        return self.examine().status is Trust.TRUSTED

    def answer(self, shown: FolderTrust, *, trusted: bool) -> Path:
        """Store the answer about the contents in `shown`; return the folder.

        Raises:
            ConfigError: the answer cannot be stored.
        """
        digests = {each.path: each.digest for each in shown.all_files}
        return self.store.answer(self._workspace, digests, trusted=trusted)


def _shorten_names(files: Sequence[ProjectFile]) -> list[str]:
    """Return the names of files, the first ones and how many more there are."""
    names = [each.name for each in files[:_MAX_NAMED]]
    more = len(files) - len(names)
    return [*names, f"{more} more"] if more else names


def trust_store(paths: Paths) -> TrustStore:
    """Return the store of the user's answers."""
    return TrustStore(paths.home / "trust.toml")


def open_trusted_gate(
    paths: Paths,
    options: RunOptions,
    mode: Mode,
    workspace: Path,
    kinds: Mapping[str, SubjectKind],
    session_id: str,
) -> tuple[Gate, tuple[Problem, ...]]:
    """Return the gate of a session with the stored rules and the trust, and their mistakes.

    Blocks on the file system; raises as `open_gate`.
    """
    grants = Grants(paths.home / FILE_NAME, workspace, kinds, session_id)
    found = ProjectTrust(workspace, paths).examine()
    return open_gate(
        options,
        mode,
        grants,
        is_trusted=found.status is Trust.TRUSTED,
        allows_contained=found.allows_contained,
    )


def is_trusted(workspace: Path, paths: Paths | None = None) -> bool:
    """Whether the user trusts a workspace with its present files; blocks on the file system."""
    return ProjectTrust(workspace, paths).examine().status is Trust.TRUSTED
