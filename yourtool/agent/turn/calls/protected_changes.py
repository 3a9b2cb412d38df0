"""Questions about changes at protected places.

The changes by commands were taken back; the user can allow them.
"""

import asyncio
import os
from collections.abc import Sequence
from typing import TYPE_CHECKING

from yourtool.agent.turn.calls.change_journal import CallJournal
from yourtool.agent.turn.calls.second_questions import request_change
from yourtool.agent.turn.calls.tool_call import RunningCall
from yourtool.agent.turn.turn import Turn
from yourtool.effects import Preview
from yourtool.errors import ToolError
from yourtool.events.deltas import Notice
from yourtool.foundation.text import escape_line

if TYPE_CHECKING:
    from yourtool.tools.protection.changes import Change

_ALLOWED = "[The user allowed these changes, which were made: {}.]"
_FAILED = "[Taken back, and not made although the user allowed it: {}: {}.]"
_DECLINED = "[Taken back, because the user declined it: {}.]"
_UNATTENDED = "[Taken back, because no user is present to allow it: {}.]"
_NOTICE = "A command changed protected places; this was taken back: {}."
_STAYS = "A command changed protected places; this could not be taken back: {}."
_FACT = "Protected places after a command: {}."
_MAX_NAMED = 5
_MAX_STAYING = 100
"""Named changes that could not be taken back: nothing else shows them."""


async def settle_changes(running: RunningCall, turn: Turn) -> None:
    """Ask about changes that were taken back, make them if the user allows it, and note it.

    What could not be compared or taken back is shown to the user and to the model.

    Raises:
        Interrupted: the turn was stopped before the user answered.
    """
    if (sandbox := turn.env.place.sandbox) is None:
        return
    report, (changes, facts) = running.call.report, sandbox.places.take()
    texts = [_FACT.format(escape_line(each)) for each in facts]
    await turn.emit(*turn.env.user.new_notices(*texts))
    allowed = [each for each in changes if _was_allowed(running, each)]
    changes = [each for each in changes if each not in allowed]
    if stays := [each for each in changes if not each.is_taken_back]:
        texts.append(_STAYS.format(_describe(stays, _MAX_STAYING)))
        await turn.emit(Notice(level="warning", text=texts[-1]))  # each time
    report.note(*(f"[{each}]" for each in texts))
    if wanted := [each for each in allowed if not each.is_made]:
        await _make(wanted, _describe(wanted), running, turn)
    changes = [each for each in changes if not each.is_made]
    if not changes:
        return
    named = _describe(changes)
    if not turn.env.user.interactive:
        report.note(_UNATTENDED.format(named))
        await turn.emit(*turn.env.user.new_notices(_NOTICE.format(named)))
        return
    try:
        await request_change(_preview(changes), named, running.decided, turn)
    except ToolError as error:
        report.note(_DECLINED.format(named), f"[{error}]")
        return
    await _make(changes, named, running, turn)


def _was_allowed(running: RunningCall, change: "Change") -> bool:
    """Return whether the user allowed the command, whose question named all of this change."""
    if running.decided.runs_unasked:
        return False
    named = {os.path.normpath(each) for each in running.decided.decision.protected_writes}
    files = () if change.original else change.files
    return change.path in named or (bool(files) and named.issuperset(files))


async def _make(changes: "Sequence[Change]", named: str, running: RunningCall, turn: Turn) -> None:
    """Make changes that the user allowed, and record them."""
    assert turn.env.place.sandbox is not None, "it took them back"
    try:
        async with CallJournal(turn, running.call.block.id, running.call.parent).watching():
            await turn.env.place.sandbox.places.apply(changes)
    except ToolError as error:
        running.call.report.note(_FAILED.format(named, error))
    else:
        running.call.report.note(_ALLOWED.format(named))


def _preview(changes: "Sequence[Change]") -> Preview:
    return Preview(
        kind="diff",
        body="\n".join(each.diff for each in changes),
        paths=tuple(dict.fromkeys(each.path for each in changes)),
        protected=True,
    )


def _describe(changes: "Sequence[Change]", most: int = _MAX_NAMED) -> str:
    """Return the places with why each is a question, the first of them only."""
    named = list(dict.fromkeys(f"`{escape_line(each.path)}` ({each.reason})" for each in changes))
    more = len(named) - most
    return ", ".join(named[:most]) + (f" and {more} more" if more > 0 else "")


async def accept_writes(paths: Sequence[str], turn: Turn) -> None:
    """Let what a tool wrote with an approval stay, while commands run in the background."""
    if turn.env.place.sandbox is not None:
        await asyncio.shield(turn.env.place.sandbox.places.accept(paths))
