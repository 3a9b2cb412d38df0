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

from yourtool.agent.hooks.hooks import HookCall, rank
from yourtool.agent.turn.calls.change_journal import CallJournal
from yourtool.agent.turn.calls.edit_checks import EditChecks, accept_changes
from yourtool.agent.turn.calls.tool_call import ToolCall, ToolOutcome
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


class CallHooks:
    """The hooks of one call."""

    def __init__(self, call: ToolCall, turn: Turn, paths: Sequence[str] = ()) -> None:
        """`paths`: the files that it is about, relative to the workspace."""
        self._call = call
        self._turn = turn
        self._paths = paths if len(paths) > 1 or call.block.name == "apply_patch" else ()
        self._root = Path(os.path.realpath(turn.env.workspace.root))
        self._arguments: Mapping[str, Any] = call.adjusted_input or call.input
        self.advice: HookAdvice | None = None
        """What the hooks decided about the call."""
        self.changed: Mapping[str, Any] | None = None
        """Its arguments as a hook changed them."""

    async def run(self, event: HookEvent) -> None:
        """Run the hooks before a call, and set what they decided.

        Raises:
            ToolError: a hook ends the turn.
            Interrupted: the turn was stopped.
        """
        found = list[HookCall]()
        events = events_of(self._turn)
        for each in self._build_events(event):
            await self._turn.emit(*await events.run(each, parent=self._call.parent))
            found.append(each)
            self._call.notes += tuple(each.contexts)
            if each.changed_by:
                self._call.changed_by_hook, self.changed = each.changed_by, self._arguments
            if each.refusal == "stop":
                self._call.ends_turn = True
                raise ToolError(f"The hook `{each.hook}` ended the turn: {each.reason}", _DENIED)
            if each.refusal:
                break
        advices = [each.advice for each in found]
        strictest = max(filter(None, advices), key=rank, default=None)
        if strictest is not None and (strictest.verdict != "allow" or all(advices)):
            self.advice = strictest

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

    async def run_after(self, outcome: ToolOutcome) -> list[Notice]:
        """Run the hooks after a call, add what they have for the model, and return notices."""
        call, turn, notices = self._call, self._turn, list[Notice]()
        journal = CallJournal(turn, call.block.id, call.parent)
        events, result = events_of(turn, in_task=True), _build_result(outcome)
        try:
            async with journal.watching():
                for each in self._build_events(_get_event_after(outcome)):
                    each.fields, each.build_fields = {**each.fields, **result}, None
                    notices += await events.run(each, parent=call.parent)
                    call.notes += (*each.contexts, *_describe_refusal(each))
                    call.ends_turn = call.ends_turn or each.refusal == "stop"
        finally:
            accept_changes(turn, journal.changes)
        return notices


_DENIED = ToolFailure.PERMISSION_DENIED


def has_hooks(call: ToolCall, turn: Turn, event: HookEvent) -> bool:
    """Whether hooks run for an event about a call."""
    return bool(turn.env.hooks.find(event, get_names(call.block.name)))


async def run_before(call: ToolCall, turn: Turn, event: HookEvent) -> None:
    """Run the hooks before a call, and set its `advice`, and its arguments if a hook changed them.

    Raises:
        ToolError: a hook ends the turn.
        Interrupted: the turn was stopped.
    """
    if not has_hooks(call, turn, event):
        return
    paths = [each.text for each in call.subjects.items if each.kind == "path"]
    hooks = CallHooks(call, turn, paths)
    await hooks.run(event)
    if hooks.advice is not None:
        call.advice = hooks.advice
    if hooks.changed is not None:
        call.hooked_input = dict(hooks.changed)


async def finish_call(
    outcome: ToolOutcome, edited: Sequence[str], checks: EditChecks
) -> list[Notice]:
    """Do what follows a call that ran: its hooks, the checks after edits, instructions.

    Returns notices for the user.
    """
    call, turn, notices = outcome.call, checks.turn, list[Notice]()
    if has_hooks(call, turn, _get_event_after(outcome)):
        notices = await CallHooks(call, turn, call.find_paths()).run_after(outcome)
    await checks.finish(call, edited)
    return notices + await call.add_instructions(turn)


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


def _get_event_after(outcome: ToolOutcome) -> HookEvent:
    output = outcome.output
    return "PostToolUse" if output is not None and output.success else "PostToolUseFailure"


def _build_result(outcome: ToolOutcome) -> dict[str, Any]:
    """Return the fields about the end of a call."""
    output = outcome.output
    if output is None:
        return {"error": outcome.error_message, "is_interrupt": False}
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
