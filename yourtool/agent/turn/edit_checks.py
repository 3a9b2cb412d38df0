"""The checks after the edits of a reply: commands that the user configured.

They run once per reply, when its last edit is done, over all files that it wrote. The result of
this edit has their output, so it is recorded after them. The files that they change belong to the
same call, and undo takes them back.
"""

import asyncio
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress

from yourtool.agent.turn.change_journal import CallJournal
from yourtool.agent.turn.tool_call import ToolCall
from yourtool.agent.turn.turn import Turn
from yourtool.agent_config import CheckConfig
from yourtool.errors import ToolError
from yourtool.events.catalog import AnyFact
from yourtool.events.files import FilesChanged
from yourtool.file_images import RecordedChange
from yourtool.interrupt import Interrupted
from yourtool.tools.check import CheckResult, format_results, matching_files, run_check


class EditChecks:
    """The checks of one reply."""

    def __init__(self, turn: Turn, calls: Iterable[ToolCall]) -> None:
        self._turn = turn
        self._open = {each.message_id for each in calls if _is_edit(each, turn)}
        self._files: dict[str, None] = {}

    async def finish(
        self, call: ToolCall, edited: Sequence[str], show: Callable[[AnyFact], None]
    ) -> None:
        """Note the end of a call; after the last edit, run the checks and add their results to it.

        A stop ends the checks, not the call, whose edit is made.
        """
        if call.message_id not in self._open:
            return
        self._open.remove(call.message_id)
        self._files |= dict.fromkeys(edited)
        if self._open or not self._files:
            return
        try:
            checks = await asyncio.to_thread(self._turn.env.find_checks)
            note = await self._run(call, checks, show) if checks else ""
        except asyncio.CancelledError:
            note = "[The checks after the edit were stopped.]"
        except ToolError as error:
            note = f"[The checks after the edit did not run: {error}]"
        if note:
            call.notes += (note,)

    async def finish_refused(self, call: ToolCall) -> Sequence[AnyFact]:
        """Do what `finish` does for a call that does not run, and return the facts to show."""
        shown = list[AnyFact]()
        with suppress(Interrupted):  # raised again after the result of the call is recorded
            await self._turn.interrupt.guard(self.finish(call, (), shown.append))
        return shown

    async def _run(
        self, call: ToolCall, checks: Mapping[str, CheckConfig], show: Callable[[AnyFact], None]
    ) -> str:
        changes = list[RecordedChange]()

        def note_changes(fact: AnyFact) -> None:
            if isinstance(fact, FilesChanged):
                changes.extend(fact.changes)
            show(fact)

        context = await call.build_context(self._turn)
        journal = CallJournal(self._turn, call.block.id, call.parent, note_changes)
        results = list[CheckResult]()
        try:
            async with journal.watching():
                for name, check in checks.items():
                    if files := matching_files(check, self._files):
                        results.append(await run_check(name, check, files, context))
        finally:
            self._accept(changes)
        text = format_results(results, [each.path for each in changes])
        return context.mask.text(text)

    def _accept(self, changes: Iterable[RecordedChange]) -> None:
        """Let the next edits of the model apply to what the checks made of its last ones."""
        reads = self._turn.reads
        for each in changes:
            if each.before.digest and reads.last_digest(each.path) == each.before.digest:
                reads.record(each.path, each.after.digest)


def _is_edit(call: ToolCall, turn: Turn) -> bool:
    tool = turn.toolbox.get(call.block.name)
    return tool is not None and tool.definition.records_changes
