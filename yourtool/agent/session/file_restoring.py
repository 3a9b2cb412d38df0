"""Files restored by `/undo`, `/redo` and `/rewind`.

The fact that files are being restored is stored first. If the program dies in the middle, each file
is in its old or its new state, and the next call finishes.
"""

import asyncio
from collections.abc import Callable, Iterable, Sequence

from msgspec import UNSET, Struct
from msgspec.structs import replace

from yourtool.agent.history.channel import Channel, shows_events
from yourtool.agent.history.file_history import FileHistory, RestorePlan
from yourtool.agent.history.recorder import Recorder
from yourtool.agent.session_environment import Place
from yourtool.errors import BlobError, ToolError, UsageError
from yourtool.events.deltas import Notice
from yourtool.events.files import FilesRestored, FilesRestoring, RestoreKind
from yourtool.foundation.file_images import FileRestore, FileState, LeftFile
from yourtool.foundation.text import storable
from yourtool.ids import new_id
from yourtool.messages.blobs import read_blob
from yourtool.messages.blocks import TextBlock
from yourtool.messages.message import PromptMessage, now
from yourtool.messages.metadata import Audience, Origin, PromptMetadata
from yourtool.tools.git.git_program import GitError
from yourtool.tools.git.git_restoring import GitRestorer, is_of_repository, sort_for_restoring
from yourtool.tools.git.git_state import describe_path, is_git_path
from yourtool.tools.workspace.file_states import (
    describe_difference,
    find_missing_directories,
    read_state,
    restore_file,
)
from yourtool.tools.workspace.replacing import is_partial

_MAX_NAMED = 100
"""Files that the message to the model names."""


class FileRestoring:
    """Restores the files of a session between its turns."""

    def __init__(
        self,
        session_id: str,
        history: FileHistory,
        record: Recorder,
        place: Place,
        is_busy: Callable[[], bool],
    ) -> None:
        self.history = history
        self.blobs = place.blobs / "files"
        """The directory of stored file contents, next to that of saved git objects."""

        self._session_id = session_id
        self.record = record
        self._place = place
        self._workspace = place.workspace
        self._is_busy = is_busy
        self._refused: set[str] = set()
        """Turns of which an undo could restore nothing, so that the next one passes them over."""

    @shows_events
    async def undo(self, channel: Channel) -> None:
        """Take back the changes of the last turn that has any.

        If nothing of it can be taken back, a second call takes back the turn before. Each call
        tries the later turns again first.

        Raises:
            UsageError: a turn is running.
        """
        plan, passed, git = self.history.plan_undo(), list[str](), self._open_git()
        while plan is not None and self.history.unfinished is None and not self._is_busy():
            passed += plan.turns
            checked = await asyncio.to_thread(self._check_files, plan, git)
            earlier = self.history.plan_undo(passed)
            if checked.files or (not is_empty(checked) and earlier is None):
                break
            if not is_empty(checked):  # otherwise it only made commits, which stay
                left = describe_left(checked.left)
                if self._refused.isdisjoint(plan.turns):
                    self._refused |= set(plan.turns)
                    text = f"No file was restored.{left} The next /undo takes back the turn before."
                    await channel.emit(Notice(level="warning", text=text))
                    return
                text = f"Went on to the turn before.{left}"
                await channel.emit(Notice(level="info", text=text))
            plan = earlier
        problem = "There is no change of a file to take back."
        await self._run(channel, plan, problem, git)

    @shows_events
    async def redo(self, channel: Channel) -> None:
        """Make the changes again that were taken back last.

        Raises:
            UsageError: a turn is running.
        """
        problem = "Nothing was taken back since the last change of a file."
        await self._run(channel, self.history.plan_redo(), problem, self._open_git())

    @shows_events
    async def rewind(self, channel: Channel, plan: RestorePlan) -> None:
        """Restore the files of a plan from `FileHistory.plan_rewind`.

        Raises:
            UsageError: a turn is running.
        """
        await self._run(channel, plan, "", self._open_git())

    async def check(self, plan: RestorePlan) -> RestorePlan:
        """Return the plan without the files that differ from what the agent left."""
        return await asyncio.to_thread(self._check_files, plan, self._open_git())

    async def _run(
        self, channel: Channel, plan: RestorePlan | None, problem: str, git: GitRestorer
    ) -> None:
        if self._is_busy():
            raise UsageError("A turn is running; wait until it ends or stop it.")
        if (unfinished := self.history.unfinished) is not None:
            await channel.emit(Notice(level="info", text="Finishing what was interrupted."))
            await channel.emit(await self._restore(unfinished, git))
            return
        if plan is None:
            await channel.emit(Notice(level="info", text=problem))
            return
        plan = await asyncio.to_thread(self._check_files, plan, git)
        if not plan.files:
            text = f"No file was restored.{describe_left(plan.left)}"
            await channel.emit(Notice(level="warning", text=text))
            return
        started = await channel.record(
            FilesRestoring(
                kind=plan.kind,
                turns=plan.turns,
                files=plan.files,
                left=plan.left,
                through=plan.through,
            )
        )
        await channel.emit(await self._restore(started, git))

    async def _restore(self, started: FilesRestoring, git: GitRestorer) -> FilesRestored:
        restoring = asyncio.ensure_future(self._change_files(started, git))
        try:
            result = await asyncio.shield(restoring)
        except asyncio.CancelledError:
            await asyncio.wait([restoring])
            raise
        paths = result.paths
        tells = started.through is UNSET  # otherwise the conversation is of that time, too
        return FilesRestored(
            kind=started.kind,
            paths=paths,
            left=(*started.left, *result.left),
            message=self._build_message(started.kind, paths) if paths and tells else None,
        )

    async def _change_files(self, started: FilesRestoring, git: GitRestorer) -> "_Result":
        """Restore files, also for the places that are compared around running processes."""
        result = await asyncio.to_thread(self._restore_files, started.files, started.kind, git)
        if (sandbox := self._place.sandbox) is not None:
            await sandbox.places.accept(result.paths)
        return result

    def _restore_files(
        self, files: Sequence[FileRestore], kind: RestoreKind, git: GitRestorer
    ) -> "_Result":
        paths, left = list[str](), list[LeftFile]()
        for item in sort_for_restoring(files):
            try:
                content = self._read_content(item)
                if is_of_repository(item):
                    git.restore(item, content, is_undo=kind != "redo")
                else:
                    restore_file(self._workspace, item, content)
            except (ToolError, BlobError) as error:
                left.append(LeftFile(item.path, str(error)))
            else:
                paths.append(item.path)
        return _Result(tuple(paths), tuple(left))

    def _read_content(self, item: FileRestore) -> bytes | None:
        if item.after.kind == "absent":
            return None
        return read_blob(self.blobs, f"sha256:{item.after.digest}")

    def _check_files(self, plan: RestorePlan, git: GitRestorer) -> RestorePlan:
        in_git = [item for item in plan.files if is_of_repository(item)]
        files, left = self._check_repository(in_git, plan.kind, git)
        for item in plan.files:
            if is_of_repository(item):
                continue
            try:
                state = read_state(self._workspace, item.path)
                found = state.image
                missing = find_missing_directories(self._workspace, item.path)
            except ToolError as error:
                left.append(LeftFile(item.path, str(error)))
                continue
            if found.is_same(item.before):
                creates = item.after.kind != "absent"
                files.append(replace(item, directories=missing) if creates else item)
            elif self._is_partial(item, state):
                files.append(replace(item, before=found))
            elif not found.is_same(item.after):
                left.append(LeftFile(item.path, describe_difference(found, item.before)))
        named = {each.path for each in left}
        others = (each for each in plan.left if each.path not in named)
        return RestorePlan(plan.kind, plan.turns, tuple(files), (*others, *left), plan.through)

    def _is_partial(self, item: FileRestore, state: FileState) -> bool:
        """True if a kill has interrupted the write of a file that cannot be replaced."""
        if state.content is None or not item.after.stored or not item.before.stored:
            return False
        try:
            old, new = (
                read_blob(self.blobs, f"sha256:{each.digest}") for each in (item.after, item.before)
            )
        except BlobError:
            return False
        return is_partial(state.content, old, new)

    def _check_repository(
        self, items: Sequence[FileRestore], kind: RestoreKind, git: GitRestorer
    ) -> tuple[list[FileRestore], list[LeftFile]]:
        try:
            return git.check(items, kind, self._read_content) if items else ([], [])
        except (GitError, BlobError, OSError) as error:
            return [], [LeftFile(item.path, str(error)) for item in items]

    def _open_git(self) -> GitRestorer:
        """Return the repository for one call of a verb, whose time is limited."""
        return GitRestorer(self._workspace.root, self.blobs.with_name("repositories"))

    def _build_message(self, kind: RestoreKind, paths: Sequence[str]) -> PromptMessage:
        """Return a message to the model, which would otherwise rely on what it wrote."""
        what = (
            "made your changes to these files again"
            if kind == "redo"
            else ("took back your changes to these files")
        )
        described = {describe_path(path): path for path in paths}
        named = [each if is_git_path(path) else f"`{each}`" for each, path in described.items()]
        names = ", ".join(named[:_MAX_NAMED])
        more = f" and {len(named) - _MAX_NAMED:,} more" if len(named) > _MAX_NAMED else ""
        text = f"[The user {what}: {names}{more}. Read them again before you edit them.]"
        return PromptMessage(
            id=new_id(),
            session_id=self._session_id,
            content=(TextBlock(storable(text)),),
            metadata=PromptMetadata(origin=Origin.FILES_RESTORED, audience=Audience.MODEL),
            created_at=now(),
        )


class _Result(Struct, frozen=True):
    paths: tuple[str, ...]
    left: tuple[LeftFile, ...]


def is_empty(plan: RestorePlan) -> bool:
    """Whether a plan, after `FileRestoring.check`, neither restores nor leaves a file."""
    return not (plan.files or plan.left)


def describe_left(left: Iterable[LeftFile], limit: int = 5) -> str:
    """Return a sentence about files that were left as they are, with a space before it."""
    names = [f"{describe_path(each.path)} ({each.reason})" for each in left]
    if not names:
        return ""
    more = f", and {len(names) - limit:,} more" if len(names) > limit else ""
    return f" Left as they are: {', '.join(names[:limit])}{more}."
