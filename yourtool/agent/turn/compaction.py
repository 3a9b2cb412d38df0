"""Room in the context window.

Old tool outputs are elided first, then old messages are summarised. Room is made before a request
that is too long by our estimate, and after a provider rejected one.
"""

import asyncio
from collections.abc import Sequence
from math import inf

from msgspec import UNSET, Struct

from yourtool.agent.history.compaction import Level, Span, find_span
from yourtool.agent.history.elision import next_elision
from yourtool.agent.turn.hook_events import run_before_compaction, take_warnings
from yourtool.agent.turn.request import shorten_next_request
from yourtool.agent.turn.summaries import Summary, get_summary_limit, summarise
from yourtool.agent.turn.turn import Turn
from yourtool.errors import ErrorClass, UsageError
from yourtool.events.context import ContextCompacted, ContextElided, RoomReason
from yourtool.events.deltas import Notice
from yourtool.events.model_calls import LlmCallFailed
from yourtool.interrupt import Interrupted
from yourtool.messages.message import Role
from yourtool.providers.estimate import estimate_text

_TARGET = 0.6
"""Share of the window that a request has at most after room was made."""
_TOLERANCE = 1.3
"""How much less a provider may count than we estimate."""
_MOST_ELISIONS = 3
"""Rejections for the length of requests after which omitting one more output is not enough."""


class _Room(Struct, frozen=True):
    """How much a request may have, by our estimates."""

    most: float
    """Tokens of the whole request."""
    levels: Sequence[Level]
    """How much a summary may replace, in the order in which it is tried."""
    limit: float
    """Tokens from which on nothing is summarised in vain: what remains would be too long."""


async def make_room_before_request(turn: Turn) -> None:
    """Make room if the next request is longer than the user's threshold."""
    if percent := turn.env.requests.context.make_room_at:
        await _make_room(turn, percent)


async def make_room_to_route(turn: Turn) -> None:
    """Make room in a conversation that is longer than the window of the turn's model.

    Ends with a notice about its largest parts if that is not possible.
    """
    try:
        await _make_room(turn, 100)
    except Interrupted:
        return  # the turn ends without a model
    if turn.estimate() > (turn.model.window or inf):
        await turn.emit(Notice(level="error", text=await _describe_largest_parts(turn)))


async def _make_room(turn: Turn, percent: int) -> None:
    """Make room if the next request has more than a share of the window."""
    if (window := turn.model.window) is None:
        return
    most = window * percent / 100
    if _is_clearly_shorter(turn, most) or await asyncio.to_thread(turn.estimate) <= most:
        return
    room = _Room(min(window * _TARGET, most), tuple(Level), window)
    while (through := _find_old_outputs(turn)) is not None:
        await turn.emit(ContextElided(model=turn.model.id, through=through))
        if await asyncio.to_thread(turn.estimate) <= room.most:
            return
    await _compact(turn, room, "threshold")


def _is_clearly_shorter(turn: Turn, most: float) -> bool:
    """Whether the last request and what followed it have few tokens; does not look at the rest."""
    state, tokens = turn.state, 0
    if not state.branch.context_tokens or turn.model.id not in state.branch.counted_replies:
        return False
    for message in reversed(state.conversation):
        if message.role is Role.ASSISTANT:
            break
        tokens += turn.env.requests.estimates.size(message, turn.model.id)
    return state.branch.context_tokens + _TOLERANCE * tokens < most / _TOLERANCE


def _find_old_outputs(turn: Turn) -> str | None:
    """Return the id of the message to elide through next; None: only the last outputs are left."""
    messages = turn.state.conversation
    branch = turn.state.branch
    elided = branch.elided_through.get(turn.model.id)
    through = next_elision(messages, elided, branch.overrides.pinned)
    replies = [each.id for each in messages if each.role is Role.ASSISTANT]
    return None if through is None or not replies or through > replies[-1] else through


async def make_shorter(turn: Turn, failure: LlmCallFailed) -> bool:
    """Shorten the next request after one failed, by one kind of room; return whether it differs.

    Raises:
        Interrupted: the turn was stopped.
    """
    notices = shorten_next_request(failure, turn)
    await turn.emit(*notices or ())
    is_shorter = notices is not None
    is_too_long = failure.error_class == ErrorClass.CONTEXT_OVERFLOW
    turn.recovery.rejections += is_too_long
    is_enough = is_shorter and turn.recovery.rejections <= _MOST_ELISIONS
    if not is_too_long or is_enough or failure.message is not None:
        return is_shorter
    if await _compact_after_rejection(turn):
        turn.recovery.rejections = 0
        return True
    if not is_shorter:
        await turn.emit(Notice(level="error", text=await _describe_largest_parts(turn)))
    return is_shorter


async def _compact_after_rejection(turn: Turn) -> bool:
    """Summarise after a provider rejected a request for its length, more until one succeeds."""
    window, estimate = turn.model.window or inf, turn.estimate()
    # The provider counts more tokens than the estimate, or its window is smaller than stated.
    levels = [each for each in Level if each > turn.recovery.compacted]
    room = _Room(min(window, estimate) * _TARGET, levels, window * _TOLERANCE)
    return await _compact(turn, room, "overflow")


async def _describe_largest_parts(turn: Turn) -> str:
    """Return a message about a request that is too long and cannot be shortened."""
    model, estimates = turn.model, turn.env.requests.estimates
    named = await asyncio.to_thread(estimates.name_largest_parts, turn.state, model.id)
    way = "/model" if turn.env.user.interactive else "`--model`"
    return (
        f"The request is too long for `{model.id}`, and nothing more can be summarised. Its largest"
        f" parts: {named}. Send a shorter message, or choose a model with a larger context window"
        f" with {way}."
    )


async def compact(turn: Turn, hint: str) -> None:
    """Summarise everything before the last turn, because the user asks for it.

    `hint`: what the summary must have above all.

    Raises:
        UsageError: there is nothing before it, or a hook blocks it.
    """
    try:
        is_shorter = await _compact(turn, _Room(0, (Level.ALL_TURNS,), inf), "user", hint)
    except Interrupted:
        await turn.emit(Notice(level="info", text="Stopped; nothing was summarised."))
        return
    if not is_shorter:
        raise UsageError("There is nothing to summarise: no turn comes before the last one.")


async def _compact(turn: Turn, room: _Room, reason: RoomReason, hint: str = "") -> bool:
    """Summarise old messages; return whether there were any."""
    before = turn.estimate()
    span = await asyncio.to_thread(_find_span, turn, room)
    if span is None:
        return False
    turn.recovery.compacted = max(turn.recovery.compacted, span.level)
    hooks = await run_before_compaction(turn, hint, is_manual=reason == "user")
    await turn.emit(*take_warnings(turn.env.hooks))
    hint = "\n".join(filter(None, (hint, *hooks.contexts)))
    paid = turn.counts.cost
    summary = await summarise(turn, span.replaced, hint)
    compacted = turn.state.branch.compacted
    fact = ContextCompacted(
        summary=summary.text,
        through=span.through if compacted is None else max(span.through, compacted.through),
        kept=span.kept,
        reason=reason,
        model=summary.model,
        problem=summary.problem,
        turn_count=sum(each.is_prompt for each in span.replaced),
        message_count=len(span.replaced) - len(span.kept),
        tokens_before=before,
        tokens_after=await asyncio.to_thread(_estimate_after, turn, span, summary),
        cost_usd=turn.counts.cost - paid or UNSET,
    )
    await turn.emit(fact)
    return True


def _find_span(turn: Turn, room: _Room) -> Span | None:
    """Return what the summary replaces; None if too much would remain."""
    messages = turn.state.conversation_for(turn.model.id)
    sizes = [turn.env.requests.estimates.size(each, turn.model.id) for each in messages]
    other = max(0, turn.estimate() - sum(sizes))
    most = max(0, room.most - other - get_summary_limit(turn))
    span = find_span(messages, sizes, most, room.levels, turn.state.branch.overrides.pinned)
    remaining = 0 if span is None else span.size + other + get_summary_limit(turn)
    return span if remaining <= room.limit else None


def _estimate_after(turn: Turn, span: Span, summary: Summary) -> int:
    model_id, estimates = turn.model.id, turn.env.requests.estimates
    gone = sum(estimates.size(e, model_id) for e in span.replaced if e.id not in span.kept)
    return max(1, round(turn.estimate() - gone + estimate_text(summary.text, model_id)))
