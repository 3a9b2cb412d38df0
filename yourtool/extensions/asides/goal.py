"""Turns until a goal is met.

A check passes, or a model decides that the goal is met. The state is in entries of the session. A
goal whose last entry is `working` and that no process works on is paused.
"""

import asyncio
import time
from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing
from decimal import Decimal
from functools import partial
from typing import TYPE_CHECKING, Literal, TypeAlias
from weakref import WeakKeyDictionary

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from yourtool.agent.history.channel import Channel
from yourtool.errors import UsageError, YourtoolError
from yourtool.events.branches import EntryAdded
from yourtool.events.catalog import Event
from yourtool.events.deltas import Notice
from yourtool.events.files import FilesChanged
from yourtool.events.model_calls import LlmCallCompleted
from yourtool.events.tools import ToolCompleted
from yourtool.events.turns import RouteDecided, TurnCancelled, TurnCompleted
from yourtool.extensions.asides.goal_options import Goal
from yourtool.extensions.asides.goal_verdicts import GoalError, Verdict, ask_reviewer, run_check
from yourtool.foundation.amounts import format_duration, format_money
from yourtool.foundation.text import storable, storable_json
from yourtool.interrupt import Interrupted
from yourtool.messages.metadata import StopReason

if TYPE_CHECKING:
    from yourtool.agent.session.session import Session

KIND = "goal"
"""The kind of the entries."""
MAX_STALLED = 3
"""Turns without a change of a file or of the output of the check."""
_STOPPED = "you stopped it"
_PAUSED = "paused, because the program ended"
_AT_WORK = WeakKeyDictionary["Session", "_Pursuit"]()
"""The goals that are worked on now."""

Status: TypeAlias = Literal["working", "met", "stopped", "failed"]


class GoalState(Struct, frozen=True, kw_only=True):
    """A goal, and what was done for it."""

    goal: Goal
    status: Status = "working"
    reason: str = ""
    """Of the last verdict, or why it ended."""
    turns: int = 0
    cost_usd: Decimal = Decimal(0)
    seconds: float = 0
    stalled: int = 0
    """The last turns that changed nothing."""
    signature: str = ""
    """Of the last verdict."""

    def describe(self) -> str:
        """Return one line about it."""
        goal, used = self.goal, format_money(self.cost_usd)
        turns = f"{self.turns} turn{'s' * (self.turns != 1)}"
        match self.status:
            case "working" if not self.turns:
                how = (
                    f"until `{goal.check}` succeeds"
                    if goal.check
                    else "until a model decides that it is met"
                )
                most = f"{goal.turns} turns, {format_money(goal.cost_usd)}, {goal.minutes} minutes"
                return f"Goal: work {how}, at most {most}; Esc or `/goal stop` ends it"
            case "working":
                return f"Goal, turn {self.turns} of {goal.turns}: {self.reason}"
            case "met":
                return f"Goal met after {turns}, {used}: {self.reason}"
            case "stopped":
                return f"Goal stopped after {turns}, {used}: {self.reason}"
            case "failed":
                return f"Goal not met after {turns}, {used}: {self.reason}"


def find_goal(session: "Session") -> GoalState | None:
    """Return the last goal of the branch; None: it has none."""
    entry = session.state.branch.entries.get(KIND)
    try:
        return None if entry is None else msgspec.convert(entry.data, GoalState, strict=False)
    except msgspec.ValidationError:  # of another version
        return None


def find_notices(session: "Session") -> Sequence[str]:
    """Return that the goal of a session is paused, if it is."""
    if (found := find_goal(session)) is None or found.status != "working":
        return ()
    text = found.goal.text.partition("\n")[0]
    return (f"A goal is paused: {text}. `/goal resume` continues it, `/goal stop` ends it.",)


def find_goal_to_continue(session: "Session") -> GoalState:
    """Return the goal of a session that is not met.

    Raises:
        UsageError: a turn is running, or there is none.
    """
    _require_idle(session)
    if (state := find_goal(session)) is None or state.status == "met":
        raise UsageError("There is no goal to continue.")
    return state


def describe(state: GoalState, session: "Session") -> tuple[tuple[str, str], ...]:
    """Return rows about a goal."""
    if (pursuit := _AT_WORK.get(session)) is not None:
        state = pursuit.get_state()
    goal, is_paused = state.goal, state.status == "working" and pursuit is None
    status = "paused; `/goal resume` continues it" if is_paused else state.status
    return (
        ("goal", goal.text),
        ("met if", f"`{goal.check}` succeeds" if goal.check else "a reviewing model decides so"),
        ("state", f"{status}: {state.reason}" if state.reason else status),
        ("turns", f"{state.turns} of {goal.turns}"),
        ("cost", f"{format_money(state.cost_usd)} of {format_money(goal.cost_usd)}"),
        ("time", f"{format_duration(state.seconds)} of {goal.minutes} min"),
    )


def start_goal(session: "Session", goal: Goal, *, interactive: bool) -> AsyncGenerator[Event, None]:
    """Return the events of the turns towards a goal.

    Raises:
        UsageError: a turn is running.
    """
    _require_idle(session)
    return _Pursuit(session, GoalState(goal=goal), interactive=interactive).run()


def continue_goal(session: "Session", *, interactive: bool) -> AsyncGenerator[Event, None]:
    """Return the events of further turns towards a goal that is paused or has ended.

    Raises:
        UsageError: a turn is running, or there is no goal that is not met.
    """
    state = find_goal_to_continue(session)
    if state.status != "working":  # it has its limits again
        state = GoalState(goal=state.goal, signature=state.signature)
    return _Pursuit(session, state, interactive=interactive).run(is_resumed=True)


async def stop_goal(session: "Session") -> AsyncGenerator[Event, None]:
    """End the goal; yield the entry, unless the running turn does.

    Raises:
        UsageError: there is no goal that has not ended.
    """
    if (state := find_goal(session)) is None or state.status != "working":
        raise UsageError("There is no goal to stop.")
    if session in _AT_WORK:
        session.cancel()
    else:
        yield await session.record(build_entry(replace(state, status="stopped", reason=_STOPPED)))


def build_entry(state: GoalState) -> EntryAdded:
    """Return the entry with a state."""
    data = storable_json(msgspec.to_builtins(state))
    return EntryAdded(kind=KIND, text=storable(state.describe()), reach="session", data=data)


def _require_idle(session: "Session") -> None:
    if session.busy or session in _AT_WORK:
        raise UsageError("A turn is running; wait until it ends or stop it.")


class _Pursuit:
    """The turns towards one goal."""

    def __init__(self, session: "Session", state: GoalState, *, interactive: bool) -> None:
        self._session, self._state, self._interactive = session, state, interactive
        self._started, self._paid = time.monotonic(), session.state.cost_usd
        self._before = state
        """With what was used before this process continued it."""
        self._ending: tuple[Status, str] | None = None
        self._output = ""
        self._took_turn = self._has_changed = self._is_leaving = False
        self._is_explained = False
        """True if the events of the turn state why the goal ended."""

    async def run(self, *, is_resumed: bool = False) -> AsyncGenerator[Event, None]:
        """Take turns until the goal is met, or something ends it.

        Raises:
            GoalError: it is not met, and no user is present.
        """
        seconds = self._state.goal.minutes * 60 - self._state.seconds
        timer = asyncio.get_running_loop().call_later(max(0, seconds), self._expire)
        _AT_WORK[self._session] = self
        try:
            yield await self._record(self._state)
            prompt = "" if is_resumed else self._build_first_prompt()
            while self._ending is None and not self._is_leaving:
                async with aclosing(self._take_turn(prompt)) as events:
                    async for event in events:
                        yield event
                channel = Channel(self._session.record)
                async with aclosing(channel.run(partial(self._judge, channel))) as events:
                    async for event in events:
                        yield event
                prompt = self._build_next_prompt()
            if self._is_leaving:
                yield await self._record(replace(self.get_state(), reason=_PAUSED))
            elif self._ending is not None:
                status, reason = self._ending
                ended = replace(self.get_state(), status=status, reason=reason)
                yield await self._record(ended)
                if status != "met" and not (self._interactive or self._is_explained):
                    raise GoalError(ended.describe())
        finally:
            timer.cancel()
            del _AT_WORK[self._session]

    async def _take_turn(self, prompt: str) -> AsyncGenerator[Event, None]:
        """Take a turn, unless the prompt is empty."""
        if not prompt:
            return
        try:
            async with aclosing(self._session.send(prompt)) as events:
                async for event in events:
                    self._watch(event)
                    yield event
        except UsageError as error:
            self._stop("failed", str(error))
        self._state, self._took_turn = replace(self._state, turns=self._state.turns + 1), True
        if (limit := self._session.limit_reached) is not None:
            self._explain("failed", limit)

    def _watch(self, event: Event) -> None:
        """Note what ends the goal during a turn."""
        match event:
            case FilesChanged():
                self._has_changed = True
            case TurnCancelled(reason="client_disconnect"):
                self._is_leaving = True
            case TurnCancelled():
                self._explain("stopped", _STOPPED)
            case TurnCompleted(stop_reason=StopReason.ERROR):
                self._explain("failed", self._session.limit_reached or "the turn failed")
            case RouteDecided(chosen_model=None):
                self._explain("failed", "no model is available")
            case LlmCallCompleted() | ToolCompleted():
                self._check_cost()
            case _:
                pass

    def _check_cost(self) -> None:
        limit = self._state.goal.cost_usd
        if self._ending is None and self.get_state().cost_usd >= limit:
            self._stop("failed", f"it has cost {format_money(limit)}, its limit")
            self._session.cancel()

    def _expire(self) -> None:
        minutes = self._state.goal.minutes
        self._stop("failed", f"its {minutes} minute{'s' * (minutes != 1)} are over")
        self._session.cancel()

    def _stop(self, status: Status, reason: str) -> None:
        """Note why the goal ends, if nothing else was the reason before."""
        self._ending = self._ending or (status, reason)

    def _explain(self, status: Status, reason: str) -> None:
        """Note why the goal ends, of which the events have the reason, too."""
        self._is_explained = self._is_explained or self._ending is None
        self._stop(status, reason)

    def get_state(self) -> GoalState:
        """Return the state with the cost and the time until now."""
        cost = self._before.cost_usd + self._session.state.cost_usd - self._paid
        seconds = self._before.seconds + time.monotonic() - self._started
        return replace(self._state, cost_usd=cost, seconds=round(seconds, 1))

    async def _judge(self, channel: Channel) -> None:
        """Find out whether the goal is met, unless it has ended."""
        if self._ending is not None or self._is_leaving:
            return
        goal, leaving = self._state.goal, False
        try:
            async with self._session.open_aside(channel) as turn:
                try:
                    if goal.check:
                        text = storable(f"Checking the goal: `{goal.check}`")
                        await channel.emit(Notice(level="info", text=text))
                        verdict = await run_check(turn, goal.check)
                    else:
                        verdict = await ask_reviewer(turn, goal.text)
                finally:
                    leaving = turn.interrupt.is_leaving
            await self._apply(verdict, channel)
        except Interrupted:
            self._is_leaving = leaving
            self._stop("stopped", _STOPPED)
        except YourtoolError as error:
            self._stop("failed", str(error))

    async def _apply(self, verdict: Verdict, channel: Channel) -> None:
        """Continue after a verdict, unless the limit of turns is reached or nothing changes."""
        before, self._output = self._state, verdict.output
        is_same = before.signature in ("", verdict.signature) and not self._has_changed
        stalled = before.stalled + self._took_turn if is_same else 0
        self._has_changed = self._took_turn = False
        self._state = replace(
            before, reason=verdict.reason, stalled=stalled, signature=verdict.signature
        )
        if verdict.is_met:
            self._stop("met", verdict.reason)
        elif stalled >= MAX_STALLED:
            why = f"{MAX_STALLED} turns changed no file and not the output of the check"
            self._stop("failed", f"{why}; {verdict.reason}")
        elif before.turns >= before.goal.turns:
            self._stop("failed", f"its {before.goal.turns} turns are over; {verdict.reason}")
        else:
            await channel.emit(build_entry(self.get_state()))

    async def _record(self, state: GoalState) -> EntryAdded:
        return await self._session.record(build_entry(state))

    def _build_first_prompt(self) -> str:
        goal = self._state.goal
        if goal.check:
            how = (
                f"After each of your turns the command `{goal.check}` is run, and you continue"
                " until it succeeds. Do not change what it checks to make it succeed."
            )
        else:
            how = (
                "After each of your turns a model decides from the conversation whether this goal"
                " is met. End your turn when it is, with what shows it."
            )
        return f"{goal.text}\n\n(This is a goal. {how})"

    def _build_next_prompt(self) -> str:
        state = self._state
        parts = [f"The goal is not met: {state.reason}."]
        parts += [self._output] if self._output else []
        if state.stalled:
            parts.append("Your last turn changed nothing. Try another way, or state what is wrong.")
        parts.append(f"Continue with the goal: {state.goal.text}")
        return "\n\n".join(parts)
