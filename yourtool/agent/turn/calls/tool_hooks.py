"""Hooks around a tool call.

They run before it is judged, before the user is asked, and after it ran. A call that changes
several files is an event for each of them, because hooks look at one path.
"""

import asyncio
import os
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from msgspec import Struct

from yourtool.agent.hooks.hooks import HookCall, rank
from yourtool.agent.turn.calls.change_journal import CallJournal
from yourtool.agent.turn.calls.edit_checks import EditChecks, accept_changes
from yourtool.agent.turn.calls.tool_call import FinishedCall, ParsedCall, ToolCall
from yourtool.agent.turn.hook_events import events_of
from yourtool.agent.turn.turn import Turn
from yourtool.effects import Confirmation, HookAdvice
from yourtool.errors import ToolError, ToolFailure
from yourtool.events.deltas import Notice
from yourtool.messages.blocks import TextBlock
from yourtool.settings.hook_config import HookEvent
from yourtool.tools.aliases import from_foreign, get_names, to_foreign

_NOTIFICATION_SECONDS = 2.0
"""How long a hook for a notification may run on after the answer."""
BEFORE_CALL: tuple[HookEvent, ...] = ("PreToolUse", "PermissionRequest")
"""The events before a call; the second one only if the user would be asked."""
_NOTIFIED = {"plan": "plan_approval", "tool": "permission_prompt"}


class HookAnswer(Struct, frozen=True):
    """Decision of the hooks before a call."""

    advice: HookAdvice | None
    changed: Mapping[str, Any] | None
    """The arguments as a hook changed them; None if none did."""
    changed_by: str


class CallHooks:
    """The hooks of one call."""

    def __init__(self, call: ToolCall, parsed: ParsedCall, turn: Turn) -> None:
        self._call = call
        self._turn = turn
        paths = parsed.paths
        self._paths = paths if len(paths) > 1 or call.block.name == "apply_patch" else ()
        self._root = Path(os.path.realpath(turn.env.place.workspace.root))
        self._arguments: Mapping[str, Any] = parsed.adjusted

    async def run(self, event: HookEvent) -> HookAnswer:
        """Run the hooks before a call.

        Raises:
            ToolError: a hook ends the turn.
            Interrupted: the turn was stopped.
        """
        found, report = list[HookCall](), self._call.report
        events = events_of(self._turn)
        for each in self._build_events(event):
            await self._turn.emit(*await events.run(each, parent=self._call.parent))
            found.append(each)
            report.note(*each.contexts)
            if each.refusal == "stop":
                report.ends_turn = True
                raise ToolError(f"The hook `{each.hook}` ended the turn: {each.reason}", _DENIED)
            if each.refusal:
                break
        advices = [each.advice for each in found]
        strictest = max(filter(None, advices), key=rank, default=None)
        if strictest is not None and strictest.verdict == "allow" and not all(advices):
            strictest = None
        changed_by = next((each.changed_by for each in reversed(found) if each.changed_by), "")
        return HookAnswer(strictest, self._arguments if changed_by else None, changed_by)

    def _build_events(self, event: HookEvent) -> list[HookCall]:
        names = get_names(self._call.block.name)
        call_id, change = self._call.block.id, None if self._paths else self._change
        return [
            HookCall(
                event=event,
                subjects=names,
                fields=self._build_fields(self._arguments, path),
                build_fields=change,
                tool_use_id=call_id,
            )
            for path in self._paths or ("",)
        ]

    def _change(self, updated: Mapping[str, Any]) -> Mapping[str, Any]:
        """Set the arguments that a hook changed, and return what the next hook gets."""
        name = self._call.block.name
        self._arguments = from_foreign(name, updated, self._arguments, self._root)
        return self._build_fields(self._arguments)

    def _build_fields(self, arguments: Mapping[str, Any], path: str = "") -> dict[str, Any]:
        own = self._call.block.name
        name, foreign = to_foreign(own, arguments, self._root)
        if path:
            foreign["file_path"] = os.path.normpath(self._root / path)
        return {
            "tool_name": name,
            "tool_input": foreign,
            "tool_use_id": self._call.block.id,
            "yourtool": {"tool_name": own, "tool_input": dict(arguments)},
        }

    async def run_after(self, finished: FinishedCall) -> list[Notice]:
        """Run the hooks after a call, add what they have for the model, and return notices."""
        call, turn, notices = self._call, self._turn, list[Notice]()
        journal = CallJournal(turn, call.block.id, call.parent)
        events, result = events_of(turn, in_task=True), _build_result(finished)
        try:
            async with journal.watching():
                for each in self._build_events(_get_event_after(finished)):
                    each.fields, each.build_fields = {**each.fields, **result}, None
                    notices += await events.run(each, parent=call.parent)
                    call.report.note(*each.contexts, *_describe_refusal(each))
                    call.report.ends_turn |= each.refusal == "stop"
        finally:
            accept_changes(turn, journal.changes)
        return notices


_DENIED = ToolFailure.PERMISSION_DENIED


def has_hooks(call: ToolCall, turn: Turn, event: HookEvent) -> bool:
    """Whether hooks run for an event about a call."""
    return bool(turn.env.hooks.find(event, get_names(call.block.name)))


async def finish_call(
    finished: FinishedCall, edited: Sequence[str], checks: EditChecks
) -> list[Notice]:
    """Do what follows a call that ran: its hooks, the checks after edits, instructions.

    Returns notices for the user.
    """
    running, turn, notices = finished.running, checks.turn, list[Notice]()
    if has_hooks(running.call, turn, _get_event_after(finished)):
        notices = await CallHooks(running.call, running.parsed, turn).run_after(finished)
    await checks.finish(running.call, edited)
    return notices + await _add_instructions(running.parsed, turn)


async def _add_instructions(parsed: ParsedCall, turn: Turn) -> list[Notice]:
    """Add the instructions of the directories that a call used; return notices for the user."""
    if parsed.tool.definition.subject_kind != "path":
        return []
    notes, notices = await asyncio.to_thread(turn.project.find_instructions, parsed.paths)
    parsed.call.report.note(*map(parsed.mask.text, notes))
    return turn.env.user.new_notices(*notices)


@asynccontextmanager
async def notifying(confirmation: Confirmation, turn: Turn) -> AsyncGenerator[None, None]:
    """Run the hooks for notifications while the user is asked; the answer stops them."""
    kind = _NOTIFIED.get(confirmation.kind, "permission_prompt")
    message = f"yourtool needs your permission to use {get_names(confirmation.title)[-1]}"
    fields = {"message": message, "title": confirmation.title, "notification_type": kind}
    call = HookCall(event="Notification", subjects=(kind,), fields=fields)

    async def notify() -> None:
        await events_of(turn, in_task=True, is_shown=False).run(call)
        turn.env.hooks.warn_later(call)

    task = asyncio.create_task(notify())
    try:
        yield
    finally:
        _, late = await asyncio.wait([task], timeout=_NOTIFICATION_SECONDS)
        if late:
            task.cancel()
            await asyncio.wait(late)


def _get_event_after(finished: FinishedCall) -> HookEvent:
    output = finished.output
    return "PostToolUse" if output is not None and output.success else "PostToolUseFailure"


def _build_result(finished: FinishedCall) -> dict[str, Any]:
    """Return the fields about the end of a call."""
    output = finished.output
    if output is None:
        return {"error": finished.error_message, "is_interrupt": False}
    text = "".join(each.text for each in output.content if isinstance(each, TextBlock))
    response: dict[str, Any] = {"success": output.success, "content": text}
    if output.command_executed is not None:
        response |= {"stdout": text, "stderr": "", "interrupted": False}
    if output.files_modified:
        response["filePath"] = output.files_modified[0]
    return {"tool_response": response} | ({} if output.success else {"error": text})


def _describe_refusal(call: HookCall) -> tuple[str, ...]:
    if not call.refusal:
        return ()
    what = "ended the turn" if call.refusal == "stop" else "does not accept the result"
    return (f"[The hook `{call.hook}` {what}: {call.reason}]",)
