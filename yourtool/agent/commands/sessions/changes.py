"""Command `/diff`.

It shows the files that calls changed, commands included, from the journal of the session.
"""

import asyncio
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

from msgspec import Struct
from msgspec.structs import replace

from yourtool.agent.commands.base import (
    CallChanges,
    CommandResults,
    FileChange,
    ShowChanges,
    SlashCommand,
)
from yourtool.errors import BlobError, UsageError
from yourtool.events.catalog import AnyFact
from yourtool.events.deltas import Notice
from yourtool.events.files import FileChangeFailed, FilesChanged, FilesRestored, FilesRestoring
from yourtool.events.model_calls import LlmCallCompleted
from yourtool.events.tools import ToolCompleted
from yourtool.events.turns import TurnStarted
from yourtool.foundation.file_images import (
    FileImage,
    FileRestore,
    RecordedChange,
    find_hunks,
    format_diff,
)
from yourtool.messages.blobs import read_blob
from yourtool.messages.blocks import ToolUseBlock

if TYPE_CHECKING:
    from yourtool.agent.runtime import Runtime
    from yourtool.agent.session.session import Session

_TURN = "turn"
_MAX_FILES = 1_000
_MAX_BYTES = 16 * 2**20
"""Size of the contents that are compared; later files are only named."""
_MAX_COMMAND_CHARACTERS = 400

_Change: TypeAlias = RecordedChange | FileRestore


class _Call(Struct, frozen=True):
    """What a call, or a command such as `/undo`, changed."""

    title: str = ""
    changes: tuple[_Change, ...] = ()
    omitted: int = 0
    """Number of further files that changed."""


async def show_changes(session: "Session", _runtime: "Runtime", argument: str) -> CommandResults:
    """`/diff`: show what the calls of the session or of its last turn changed."""
    if argument not in ("", _TURN):
        raise UsageError(f"`/diff` takes `{_TURN}` or nothing, not `{argument}`.")
    facts = await session.stored.read_all()
    calls, title = await asyncio.to_thread(
        _build_changes, _last_turn(facts) if argument else facts, session.files.blobs
    )
    if calls:
        yield ShowChanges(title, calls)
    else:
        where = "the last turn" if argument else "this session"
        yield Notice(level="info", text=f"No call has changed a file in {where}.")


def _last_turn(facts: Sequence[AnyFact]) -> Sequence[AnyFact]:
    """Return the facts since the last prompt."""
    for at in range(len(facts) - 1, -1, -1):
        fact = facts[at]
        if isinstance(fact, TurnStarted) and fact.message is not None:
            return facts[at:]
    return facts


def _build_changes(facts: Sequence[AnyFact], blobs: Path) -> tuple[tuple[CallChanges, ...], str]:
    """Return the changes by call, and their title; blocks on the file system."""
    reader, shown, found = _Reader(blobs), list[CallChanges](), _find_calls(facts)
    for call in found:
        files = [reader.build(change) for change in call.changes]
        if call.omitted:
            files.append(FileChange(f"{call.omitted:,} more files", note="too many at once"))
        shown.append(CallChanges(call.title, tuple(files)))
    omitted = sum(call.omitted for call in found)
    count = sum(len(call.changes) for call in found) + omitted
    files = len({change.path for call in found for change in call.changes}) + omitted
    return tuple(shown), f"{_count(count, 'change')} of {_count(files, 'file')}"


def _count(number: int, noun: str) -> str:
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def _find_calls(facts: Sequence[AnyFact]) -> list[_Call]:
    """Return the calls that changed files, in the order of their first changes."""
    failed = {fact.changed_event_id for fact in facts if isinstance(fact, FileChangeFailed)}
    titles, calls = dict[str, str](), dict[str, _Call]()
    restoring: FilesRestoring | None = None
    for fact in facts:
        match fact:
            case LlmCallCompleted(message=message):
                titles.update({block.id: _describe(block) for block in message.tool_uses})
            case ToolCompleted(command_executed=str(command)):
                titles[fact.tool_use_id] = _describe_command(command)
            case FilesChanged(tool_use_id=key) if fact.id not in failed:
                call = calls.get(key, _Call())
                changes, omitted = call.changes + fact.changes, call.omitted + fact.omitted
                calls[key] = _Call("", changes, omitted)
            case FilesRestoring():
                restoring = fact
            case FilesRestored() if restoring is not None:
                files = tuple(file for file in restoring.files if file.path in fact.paths)
                if files:
                    calls[fact.id] = _Call(f"/{fact.kind}", files)
                restoring = None
            case _:
                pass
    return [replace(call, title=call.title or titles.get(key, "")) for key, call in calls.items()]


def _describe(block: ToolUseBlock) -> str:
    command = block.input.get("command")
    return _describe_command(command) if isinstance(command, str) else block.name


def _describe_command(command: str) -> str:
    return f"$ {command[:_MAX_COMMAND_CHARACTERS]}"


class _Reader:
    """Compares stored contents until there are too many of them."""

    def __init__(self, blobs: Path) -> None:
        self._blobs = blobs
        self._files = _MAX_FILES
        self._bytes = _MAX_BYTES

    def build(self, change: _Change) -> FileChange:
        """Return the diff of a change, and what it does not show."""
        notes = list(_describe_images(change.before, change.after))
        diff, problem = self._compare(change)
        return FileChange(change.path, diff, "; ".join((*notes, *filter(None, (problem,)))))

    def _compare(self, change: _Change) -> tuple[str, str]:
        """Return the diff, and why it is empty."""
        before, after = change.before, change.after
        size = before.size + after.size
        self._files -= 1
        if self._files < 0 or self._bytes < size:
            return "", "not compared, because the changes are too large"
        self._bytes -= size
        old, new = self._read(before), self._read(after)
        if old is None or new is None:
            unknown = [when for when, each in (("before", old), ("after", new)) if each is None]
            return "", f"content {' and '.join(unknown)} unknown"
        hunks = change.hunks if isinstance(change, RecordedChange) else find_hunks(old, new)
        if not hunks:
            is_same = old == new
            return "", "" if is_same else "not text, too large, or only the ends of lines differ"
        name = change.path if change.path.isprintable() else ascii(change.path)
        names = (
            "/dev/null" if before.kind == "absent" else f"a/{name}",
            "/dev/null" if after.kind == "absent" else f"b/{name}",
        )
        return format_diff(names, old, new, hunks), ""

    def _read(self, image: FileImage) -> bytes | None:
        """Return the content of a file or the target of a link; None if it is unknown."""
        if image.kind == "absent":
            return b""
        if not image.is_restorable:
            return None
        try:
            return read_blob(self._blobs, f"sha256:{image.digest}", _MAX_BYTES)
        except BlobError:
            return None


def _describe_images(before: FileImage, after: FileImage) -> Iterator[str]:
    """Yield what changed besides the content."""
    if before.kind == "absent":
        yield "created a link" if after.kind == "link" else "created"
    elif after.kind == "absent":
        yield "removed a link" if before.kind == "link" else "removed"
    elif {before.kind, after.kind} == {"file", "link"}:
        yield f"a {before.kind} before, a {after.kind} now"
    elif before.mode != after.mode and before.digest and after.digest:
        yield f"mode {before.mode:o} to {after.mode:o}"


COMMANDS = (
    SlashCommand(
        name="diff",
        run=show_changes,
        argument="[turn]",
        keywords=((_TURN, "of the last turn only"),),
        summary="show the changes to files by call, commands included",
    ),
)
