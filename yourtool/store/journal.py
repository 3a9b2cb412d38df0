"""Queries about changed files.

They search the changes of calls by file, lines, call, prompt and session.
"""

from collections.abc import Iterable, Sequence
from datetime import datetime

from msgspec import Struct

from yourtool.events.catalog import AnyFact
from yourtool.events.files import FileChangeFailed, FilesChanged
from yourtool.events.sessions import SessionForked, SessionImported
from yourtool.events.turns import TurnStarted
from yourtool.foundation.file_images import Hunk, RecordedChange


class StoredChange(Struct, frozen=True, kw_only=True):
    """A change of a file by a call."""

    event_id: str
    session_id: str
    prompt_id: str
    """Id of the message that started the turn; empty if unknown."""
    tool_use_id: str
    timestamp: datetime
    is_copy: bool
    """Whether a fork or an import copied it from another session."""
    change: RecordedChange


class ChangeFilter(Struct, frozen=True, kw_only=True):
    """Which changes to return; those that match every field that is not None."""

    workspace: str | None = None
    """The directory of the session. Copies are then omitted."""
    path: str | None = None
    session_id: str | None = None
    prompt_id: str | None = None
    tool_use_id: str | None = None

    def matches(self, change: StoredChange, workspace: str) -> bool:
        """Whether a change in a workspace matches."""
        wanted = (
            (self.workspace, workspace),
            (self.path, change.change.path),
            (self.session_id, change.session_id),
            (self.prompt_id, change.prompt_id),
            (self.tool_use_id, change.tool_use_id),
        )
        is_shown = self.workspace is None or not change.is_copy
        return is_shown and all(value is None or value == found for value, found in wanted)


def find_changes(facts: Iterable[AnyFact]) -> tuple[StoredChange, ...]:
    """Return the changes of files in the facts of a session, in order."""
    found, prompt, copied_through = list[tuple[FilesChanged, str]](), "", ""
    for fact in facts:
        match fact:
            case TurnStarted(message=message) if message is not None:
                prompt = message.id
            case FilesChanged():
                found.append((fact, prompt))
            case FileChangeFailed():
                found = [each for each in found if each[0].id != fact.changed_event_id]
            case SessionForked() | SessionImported():
                copied_through = fact.id
            case _:
                pass
    return tuple(
        StoredChange(
            event_id=fact.id,
            session_id=fact.session_id,
            prompt_id=prompt_id,
            tool_use_id=fact.tool_use_id,
            timestamp=fact.timestamp,
            is_copy=fact.id <= copied_through,
            change=change,
        )
        for fact, prompt_id in found
        for change in fact.changes
    )


def changes_of_lines(
    changes: Sequence[StoredChange], first: int, last: int
) -> tuple[StoredChange, ...]:
    """Return the changes of one file that touched the lines `first` to `last`, newest first.

    `changes`: those of the file in order; the lines are those after the last change. Changes by
    others in between shift lines, so the search ends there.
    """
    found, later = list[StoredChange](), None
    for each in reversed(changes):
        if later is not None and not each.change.after.is_same(later.before):
            break
        later = each.change
        hunks = later.hunks
        if any(_overlaps(hunk, first, last) for hunk in hunks):
            found.append(each)
        first, last = (
            _earlier_line(hunks, first, is_end=False),
            _earlier_line(hunks, last, is_end=True),
        )
        if first > last or later.before.kind == "absent":
            break
    return tuple(found)


def _overlaps(hunk: Hunk, first: int, last: int) -> bool:
    """Whether a hunk replaced one of the lines, or removed lines between them."""
    if hunk.new_count == 0:
        return first < hunk.new_start <= last
    return hunk.new_start <= last and first < hunk.new_start + hunk.new_count


def _earlier_line(hunks: Sequence[Hunk], line: int, *, is_end: bool) -> int:
    """Return the number of a line before a change; in a hunk, the first or last line of it."""
    shift = 0
    for hunk in hunks:
        if line < hunk.new_start:
            break
        if line < hunk.new_start + hunk.new_count:
            return hunk.old_start + hunk.old_count - 1 if is_end else hunk.old_start
        shift = (hunk.old_start + hunk.old_count) - (hunk.new_start + hunk.new_count)
    return line + shift
