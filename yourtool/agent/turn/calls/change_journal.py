"""Journal of the files that a call changes.

The content is stored by its SHA-256, and is on the disk before the fact that names it. A file tool
replaces a file only after its fact is stored.
"""

import asyncio
import logging
from collections.abc import AsyncGenerator, Awaitable, Generator
from contextlib import asynccontextmanager, contextmanager
from functools import partial
from pathlib import Path
from typing import TypeVar

from msgspec.structs import replace

from yourtool.agent.turn.turn import Turn
from yourtool.effects import SideEffects
from yourtool.errors import BlobError, StoreError, ToolError
from yourtool.events.catalog import AnyFact
from yourtool.events.files import FileChangeFailed, FilesChanged
from yourtool.foundation.file_images import FileImage, FileState, Hunk, RecordedChange, find_hunks
from yourtool.messages.blobs import get_blob_size, store_blob
from yourtool.tools.changes.workspace_watch import CommandChanges
from yourtool.tools.protection.safety_copies import SafetyCopy
from yourtool.tools.toolset import Tool
from yourtool.tools.workspace.file_states import MAX_STORED_BYTES

T = TypeVar("T")
_log = logging.getLogger(__name__)


class CallJournal:
    """Records the changes of one call."""

    def __init__(self, turn: Turn, tool_use_id: str, parent: str) -> None:
        self._turn = turn
        self._tool_use_id = tool_use_id
        self._parent = parent
        self._blobs = turn.env.place.blobs / "files"
        self._loop = asyncio.get_running_loop()
        self.edited: list[str] = []
        """The files that the tool wrote, by their real paths relative to the workspace."""
        self.changes: list[RecordedChange] = []
        """All recorded changes."""

    @contextmanager
    def changing(
        self,
        path: str,
        before: FileState,
        after: FileState,
        directories: tuple[str, ...] = (),
    ) -> Generator[None, None, None]:
        """Record the change of a file, which happens in the context; call it in a thread.

        Raises:
            ToolError: the change cannot be recorded, so it must not happen.
        """
        try:
            if self._turn.env.place.workspace.is_credential_file(f"./{path}"):
                before, after = _without_content(before), _without_content(after)
            if earlier := self._turn.env.place.watch.take_file(path):
                self._record_in_thread(self._store_all(earlier))
            change = self._store(path, before, after, directories)
            fact = self._record_in_thread(
                FilesChanged(tool_use_id=self._tool_use_id, changes=(change,))
            )
            self._store_again(change.before, before)
            self._store_again(change.after, after)
        except (BlobError, StoreError) as error:
            raise ToolError(
                f"`{path}` was not changed, because its present content cannot be stored for undo:"
                f" {error}; ask the user to free disk space"
            ) from error
        try:
            with self._turn.env.place.watch.writing(path):
                yield
            if after.image.kind == "file":
                self.edited.append(path)
        except BaseException:
            self._record_in_thread(
                FileChangeFailed(tool_use_id=self._tool_use_id, changed_event_id=fact.id)
            )
            raise

    @asynccontextmanager
    async def watching(
        self, copy: SafetyCopy | None = None, *, only_reads: bool = False
    ) -> AsyncGenerator[None, None]:
        """Record the files that change in the context, by a command.

        `copy`: the safety copy that was made just before; `only_reads`: it is known to write
        nothing.
        """
        watch = self._turn.env.place.watch
        try:
            begin = partial(watch.begin, only_reads=True) if only_reads else watch.begin
            await _finish(asyncio.to_thread(begin, copy.index if copy else None))
            yield
        finally:
            await self.add(await _finish(asyncio.to_thread(watch.end)))

    async def add(self, found: CommandChanges) -> None:
        """Record changes that were found afterwards."""
        if found:
            fact = await _finish(asyncio.to_thread(self._store_all, found))
            await self._record(fact)

    def _store_all(self, found: CommandChanges) -> FilesChanged:
        changes = list[RecordedChange]()
        for each in found.changes:
            try:
                changes.append(self._store(each.path, each.before, each.after, each.directories))
            except BlobError as error:
                _log.warning("a change by a command cannot be undone: %s", error)
                before, after = _without_content(each.before), _without_content(each.after)
                changes.append(self._store(each.path, before, after))
        return FilesChanged(
            tool_use_id=self._tool_use_id, changes=tuple(changes), omitted=found.omitted
        )

    def _store(
        self,
        path: str,
        before: FileState,
        after: FileState,
        directories: tuple[str, ...] = (),
    ) -> RecordedChange:
        """Store the content of both states and return the change."""
        return RecordedChange(
            path=path,
            before=_store_content(self._blobs, before),
            after=_store_content(self._blobs, after),
            directories=directories,
            hunks=_find_hunks(before, after),
        )

    def _store_again(self, image: FileImage, state: FileState) -> None:
        """Store content that another process deleted before the fact that names it was stored."""
        if image.stored and state.content is not None:
            try:
                get_blob_size(self._blobs, f"sha256:{image.digest}")
            except OSError:
                store_blob(self._blobs, state.content)

    def _record_in_thread(self, fact: AnyFact) -> AnyFact:
        recording = asyncio.run_coroutine_threadsafe(self._record(fact), self._loop)
        return recording.result()

    async def _record(self, fact: AnyFact) -> AnyFact:
        recorded = await self._turn.record(fact, parent=self._parent)
        if isinstance(recorded, FilesChanged):
            self.changes += recorded.changes
        return recorded


async def _finish(work: Awaitable[T]) -> T:
    """Wait for `work`, also if the caller is cancelled meanwhile."""
    task = asyncio.ensure_future(work)
    try:
        return await asyncio.shield(task)
    except asyncio.CancelledError:
        await asyncio.gather(task, return_exceptions=True)
        raise


def _store_content(blobs: Path, state: FileState) -> FileImage:
    """Store the content of a state, if it is known, and return the image."""
    if state.content is None or len(state.content) > MAX_STORED_BYTES:
        return state.image
    store_blob(blobs, state.content)
    return replace(state.image, stored=True)


def _without_content(state: FileState) -> FileState:
    if state.image.kind == "absent":
        return state
    return FileState(FileImage(state.image.kind, mode=state.image.mode, size=state.image.size))


def _find_hunks(before: FileState, after: FileState) -> tuple[Hunk, ...]:
    """Return the changed lines; none if one of the contents is unknown."""
    contents = [b"" if state.image.kind == "absent" else state.content for state in (before, after)]
    match contents:
        case [bytes(old), bytes(new)]:
            return find_hunks(old, new)
        case _:
            return ()


def changes_files_unrecorded(tool: Tool) -> bool:
    """Return whether only a comparison of the workspace shows which files a tool changes."""
    definition = tool.definition
    effects = (SideEffects.WRITE, SideEffects.EXECUTE)
    return definition.side_effects in effects and not definition.records_changes
