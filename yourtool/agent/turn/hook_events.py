"""Hook runs for events of a session."""

import asyncio
from typing import Literal, cast

from msgspec import Struct

from yourtool.agent.history.channel import Channel
from yourtool.agent.history.state import State
from yourtool.agent.hooks import execution
from yourtool.agent.hooks.hooks import HookCall, HookPlace, Hooks
from yourtool.agent.session_environment import SessionEnvironment
from yourtool.agent.turn.turn import Turn
from yourtool.errors import UsageError
from yourtool.events.branches import EntryAdded
from yourtool.events.deltas import Notice
from yourtool.interrupt import Interrupt, Interrupted
from yourtool.settings.hook_config import HookEvent

WORKER = "worker"
"""The kind of all workers, for matchers."""
MAX_CONTINUED = 3
"""How often hooks can continue one turn."""
ENTRY_KIND = "hook"
"""The kind of the entries with what hooks have for the model."""


class HookEvents(Struct, frozen=True):
    """The events of one session for which hooks run."""

    session_id: str
    state: State
    channel: Channel
    env: SessionEnvironment
    interrupt: Interrupt | None = None
    """Stops a hook that runs; None: the task is cancelled instead."""

    async def run(self, call: HookCall, *, parent: str | None = None) -> list[Notice]:
        """Run the hooks for an event until one refuses it; `call` has the result.

        Returns notices for the user.

        Raises:
            Interrupted: the turn was stopped.
        """
        if not (hooks := self.env.hooks.find(call.event, call.subjects)):
            return []
        env = self.env
        place = HookPlace(
            session_id=self.session_id,
            around=execution.HookSurroundings(
                env.place.workspace, env.place.sandbox, env.place.environments
            ),
            programs=env.hooks.programs,
            transcript=env.place.transcript,
            mode=env.gate.mode,
            mask=await asyncio.to_thread(env.place.mask),
        )
        for hook in hooks:
            running = place.run(hook, call, tuple(self.state.messages))
            try:
                fact = await (running if self.interrupt is None else self.interrupt.guard(running))
            except (Interrupted, asyncio.CancelledError):
                if call.stopped is not None:
                    await self.channel.recorder(call.stopped, parent=parent)
                raise
            await self.channel.record(fact, parent=parent)
            if call.refusal:
                break
        return [
            Notice(level=cast("Literal['info', 'warning']", level), text=text)
            for level, text in call.notices
        ]

    async def add_context(self, call: HookCall) -> None:
        """Record what hooks have for the model, for all later requests."""
        for text in call.contexts:
            await self.channel.emit(EntryAdded(kind=ENTRY_KIND, text=text, reach="requests"))


async def run_at_stop(turn: Turn) -> bool:
    """Run the hooks for the end of a turn; return whether one continues it.

    Then the next request has the reason.
    """
    before = turn.counts.continued
    for entry in turn.env.hooks.get_recorded_objections():
        turn.counts.continued += 1
        await turn.record(entry)
    event: HookEvent = "SubagentStop" if turn.env.is_worker else "Stop"
    subjects = (WORKER,) if turn.env.is_worker else ()
    last = turn.state.messages[-1].text if turn.state.messages else ""
    fields = {"stop_hook_active": turn.counts.continued > 0, "last_assistant_message": last}
    call = HookCall(event=event, subjects=subjects, fields=fields)
    events = events_of(turn)
    await turn.emit(*await events.run(call, parent=turn.parent))
    if call.refusal != "block":
        return turn.counts.continued > before
    if turn.counts.continued >= MAX_CONTINUED:
        text = f"The hook `{call.hook}` continued the turn {MAX_CONTINUED} times, so it ends now."
        await turn.emit(Notice(level="warning", text=text))
        return turn.counts.continued > before
    turn.counts.continued += 1
    call.contexts.append(f"[The hook `{call.hook}` does not let the turn end: {call.reason}]")
    await events.add_context(call)
    return True


async def run_before_compaction(turn: Turn, hint: str, *, is_manual: bool) -> HookCall:
    """Run the hooks before a summary, which they can add context to, and return the result.

    Raises:
        UsageError: a hook blocks the summary that the user asked for.
        Interrupted: the turn was stopped.
    """
    trigger = "manual" if is_manual else "auto"
    fields = {"trigger": trigger, "custom_instructions": hint}
    call = HookCall(event="PreCompact", subjects=(trigger,), fields=fields)
    await events_of(turn, is_shown=False).run(call, parent=turn.parent)
    turn.env.hooks.warn_later(call)
    if call.refusal and is_manual:
        raise UsageError(f"The hook `{call.hook}` blocked the summary: {call.reason}")
    return call


def take_warnings(hooks: Hooks) -> list[Notice]:
    """Return notices about hooks that failed while nothing could be shown."""
    return [Notice(level="warning", text=each) for each in hooks.take_late_warnings()]


def events_of(turn: Turn, *, in_task: bool = False, is_shown: bool = True) -> HookEvents:
    """Return the events of a turn; `in_task`: in a task that a stop cancels."""
    interrupt = None if in_task else turn.interrupt
    channel = turn.channel if is_shown else Channel(turn.channel.recorder)
    return HookEvents(turn.session_id, turn.state, channel, turn.env, interrupt)
