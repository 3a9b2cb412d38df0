"""Preview of the next request."""

from collections.abc import Sequence
from typing import NamedTuple

from yourtool.agent.history.elision import OUTPUT_PLACEHOLDER
from yourtool.agent.history.state import State
from yourtool.agent.requests.inspector import list_breakpoints, name_message
from yourtool.agent.turn.request import compose_messages
from yourtool.agent.turn.turn import Turn
from yourtool.effects import ToolDefinition
from yourtool.events.context import LeftOut
from yourtool.messages.blocks import TextBlock
from yourtool.messages.message import Message, Role
from yourtool.messages.metadata import Origin
from yourtool.models import Model
from yourtool.providers.cache_plan import CachePlan, plan_cache
from yourtool.providers.dropped_blocks import DropList
from yourtool.providers.estimate import estimate_tokens

_CHOICES = {
    "pinned": "you pinned it",
    "truncated": "you shortened it",
    "without_media": "a provider refused its attachments",
    "omitted": "not sent: you omitted it",
}


class Entry(NamedTuple):
    """A message of the conversation and its part of the next request."""

    source: Message
    """As the session stores it, or composed."""
    sent: Message | None
    """As it is sent; None: it is not."""
    kind: str
    tokens: int
    reason: str
    """Why the request has it, or has it not."""
    ends_cached_part: bool
    """Whether a cache breakpoint follows it."""


class NextRequest(NamedTuple):
    """What the next request has before a new prompt is added."""

    model: Model
    tools: Sequence[ToolDefinition]
    messages: Sequence[Message]
    """The system prompt first."""
    cache: CachePlan
    left_out: Sequence[LeftOut]
    size: int
    """Estimated tokens."""
    entries: Sequence[Entry]


def compose_next(turn: Turn) -> NextRequest:
    """Return the request that a turn would send next; blocks.

    Raises:
        InvalidRequestError: the model does not support a block that is marked critical.
    """
    model, drops = turn.model, DropList()
    messages = compose_messages(turn, drops)
    tools = turn.get_tools() if model.capabilities.supports_tools else ()
    cache = plan_cache(messages, tools, model, turn.env.requests.cache_retention)
    request = NextRequest(model, tools, messages, cache, drops.found, turn.estimate(), ())
    return request._replace(entries=_list_entries(turn.state, request))


def list_originals(state: State) -> tuple[Message, ...]:
    """Return the messages that the summary replaces; empty without one."""
    compacted = state.branch.compacted
    return () if compacted is None else compacted.originals


def _list_entries(state: State, request: NextRequest) -> tuple[Entry, ...]:
    sent = {each.id: each for each in request.messages}
    marked = {each.message.id for each in list_breakpoints(request) if each.message is not None}
    left_out = {each.message_id: each.reason for each in request.left_out}
    found = list[Entry]()
    for source in state.branch.selected:
        message = sent.get(source.id)
        tokens = 0 if message is None else estimate_tokens((message,), (), request.model.id)
        reason = _find_reason(state, source, message)
        if message is None and reason in ("", _CHOICES["pinned"]):
            reason = f"not sent: {left_out.get(source.id, 'it belongs to an omitted reply')}"
        found.append(
            Entry(source, message, name_message(source), tokens, reason, source.id in marked)
        )
    return tuple(found)


def _find_reason(state: State, source: Message, sent: Message | None) -> str:
    compacted = state.branch.compacted
    if reason := _CHOICES.get(state.branch.overrides.find(source.id), ""):
        return reason
    if source.metadata.origin is Origin.COMPACTION_SUMMARY and compacted is not None:
        return f"in place of {len(compacted.originals) - len(compacted.messages) + 1:,} messages"
    if sent is not None and _is_elided(sent):
        return "output omitted: the window was full"
    if sent is None or compacted is None:
        return ""
    if source.id <= compacted.through:
        return "kept by the summary"
    return "since the summary"


def _is_elided(message: Message) -> bool:
    return (
        message.role is Role.TOOL
        and message.result is not None
        and message.result.content == (TextBlock(OUTPUT_PLACEHOLDER),)
    )
