"""Checks after the edits of a reply.

They run once per reply, when its last edit is done, over all files that it wrote. The result of
this edit has their output, so it is recorded after them. The files that they change belong to the
same call, and undo takes them back.
"""

import asyncio
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress

from yourtool.agent.turn.calls.call_context import build_context
from yourtool.agent.turn.calls.change_journal import CallJournal
from yourtool.agent.turn.calls.tool_call import ToolCall, load_mask
from yourtool.agent.turn.turn import Turn
from yourtool.errors import ToolError
from yourtool.events.deltas import ToolOutputDelta
from yourtool.foundation.file_images import RecordedChange
from yourtool.foundation.text import storable
from yourtool.interrupt import Interrupted
from yourtool.settings.agent_config import CheckConfig
from yourtool.tools.commands.check import CheckResult, format_results, matching_files, run_check


class EditChecks:
    """The checks of one reply."""

    def __init__(self, turn: Turn, calls: Iterable[ToolCall]) -> None:
        self.turn = turn
        self._open = {each.message_id for each in calls if _is_edit(each, turn)}
        self._files: dict[str, None] = {}
        self._results: list[CheckResult] = []

    async def finish(self, call: ToolCall, edited: Sequence[str]) -> None:
        """Note the end of a call; after the last edit, run the checks and add their results to it.

        A stop ends the checks, not the call, whose edit is made.
        """
        if call.message_id not in self._open:
            return
        self._open.remove(call.message_id)
        self._files |= dict.fromkeys(edited)
        if self._open or not self._files:
            return
        journal, problem = CallJournal(self.turn, call.block.id, call.parent), ""
        try:
            checks = await asyncio.to_thread(self.turn.env.find_checks)
            if checks:
                await self._run(call, checks, journal)
        except asyncio.CancelledError:
            problem = "[The checks after the edit were stopped.]"
        except ToolError as error:
            problem = f"[The checks after the edit did not run: {error}]"
        await self._add_results(call, journal.changes, problem)

    async def finish_refused(self, call: ToolCall) -> None:
        """Do what `finish` does for a call that does not run."""
        with suppress(Interrupted):  # raised again after the result of the call is recorded
            await self.turn.interrupt.guard(self.finish(call, ()))

    async def _run(
        self, call: ToolCall, checks: Mapping[str, CheckConfig], journal: CallJournal
    ) -> None:
        context = build_context(call, await load_mask(self.turn), self.turn)
        try:
            async with journal.watching():
                for name, check in checks.items():
                    if files := matching_files(check, self._files):
                        text = storable(f"check {name}: running\n")
                        await self.turn.emit(ToolOutputDelta(tool_use_id=call.block.id, text=text))
                        try:
                            result = await run_check(name, check, files, context)
                        except asyncio.CancelledError:
                            self._results.append(CheckResult(name, "stopped by the user", ""))
                            raise
                        self._results.append(result)
        finally:
            accept_changes(self.turn, journal.changes)

    async def _add_results(
        self, call: ToolCall, changes: Sequence[RecordedChange], problem: str
    ) -> None:
        """Add the results to that of the call: their text for the model, and each status."""
        mask = await load_mask(self.turn)
        text = format_results(self._results, [each.path for each in changes])
        call.report.outputs += (mask.text(each) for each in (text, problem) if each)
        if self._results:
            statuses = [[storable(mask.text(each.name)), each.status] for each in self._results]
            call.report.details["checks"] = statuses


def accept_changes(turn: Turn, changes: Iterable[RecordedChange]) -> None:
    """Let the next edits of the model apply to what commands of the user made of its last ones."""
    for each in changes:
        if each.before.digest and turn.reads.last_digest(each.path) == each.before.digest:
            turn.reads.record(each.path, each.after.digest)


def _is_edit(call: ToolCall, turn: Turn) -> bool:
    tool = turn.means.toolbox.get(call.block.name)
    return tool is not None and tool.definition.records_changes
