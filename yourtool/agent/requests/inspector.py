"""Request inspector.

It shows the parts of a request with their tokens, and the effect of the provider's cache. A request
is composed again from the facts before it, in the same way as it was sent. Its system prompt and
its tools are those that its fact has; the limits of the model are those of today.
"""

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple, Protocol

import msgspec
from msgspec import UNSET
from msgspec.structs import replace

from yourtool.agent.history.state import State
from yourtool.agent.requests.prompt import FOLDER_INSTRUCTIONS, split_stable_text
from yourtool.effects import SideEffects, ToolDefinition
from yourtool.errors import UsageError
from yourtool.events.branches import BranchSelected
from yourtool.events.catalog import AnyFact
from yourtool.events.context import LeftOut
from yourtool.events.model_calls import LlmCallEnd, LlmCallStarted, RequestPart
from yourtool.messages.blocks import (
    ContentBlock,
    MediaBlock,
    RedactedThinkingBlock,
    TextBlock,
    ThinkingBlock,
    ToolResultBlock,
    ToolUseBlock,
    parse_file_block,
)
from yourtool.messages.message import Message, PromptMessage, Role
from yourtool.messages.metadata import Origin
from yourtool.messages.usage import Usage
from yourtool.models import CacheRetention, Model
from yourtool.providers.base import FileRoots
from yourtool.providers.cache_plan import CachePlan, plan_cache
from yourtool.providers.catalogue.models import Catalogue
from yourtool.providers.dropped_blocks import DropList
from yourtool.providers.estimate import estimate_text, estimate_tokens
from yourtool.providers.requests.attachment_limits import fit_attachments
from yourtool.providers.requests.request_view import build_request_view
from yourtool.settings.config import ThinkingOnSwap
from yourtool.tools.guidance.skills import SKILL_HEADING

_STABLE_ID = "system-0"
_ORIGINS = {
    Origin.USER_SHELL: "your shell commands",
    Origin.COMPACTION_SUMMARY: "summaries",
    Origin.BRANCH_SUMMARY: "summaries",
    Origin.FILES_RESTORED: "notes of the program",
    Origin.PROCESSES: "notes of the program",
}
"""Names of the parts of user messages that are no prompts."""


class RequestSettings(NamedTuple):
    """What requests depend on besides the facts."""

    catalogue: Catalogue
    places: FileRoots
    thinking_on_swap: ThinkingOnSwap
    retention: CacheRetention
    """Of the cache, for a request without a reply."""


class SentRequest(NamedTuple):
    """A request as it was sent."""

    number: int
    total: int
    """Number of the requests of the session."""
    started: LlmCallStarted
    end: LlmCallEnd | None
    """None: it has not ended."""
    model: Model
    tools: Sequence[ToolDefinition]
    messages: Sequence[Message]
    """The system prompt first."""
    cache: CachePlan
    left_out: Sequence[LeftOut]
    changes: Sequence[str]
    """What differs from the request before, apart from new messages at the end."""

    @property
    def usage(self) -> Usage | None:
        """The tokens that the provider counted; None if it counted none."""
        end = self.end
        if end is None or end.usage is None or (end.usage_extra and end.usage_extra.estimated):
            return None
        return end.usage if end.usage.prompt_tokens else None

    @property
    def size(self) -> int:
        """Tokens of the request, counted by the provider or estimated."""
        if self.usage is not None:
            return self.usage.prompt_tokens
        return estimate_tokens(self.messages, self.tools, self.model.id)


class Composed(Protocol):
    """What a request has, whether or not it was sent."""

    @property
    def model(self) -> Model: ...
    @property
    def tools(self) -> Sequence[ToolDefinition]: ...
    @property
    def messages(self) -> Sequence[Message]: ...
    @property
    def cache(self) -> CachePlan: ...
    @property
    def size(self) -> int: ...


class Part(NamedTuple):
    """A part of a request."""

    name: str
    tokens: int
    pieces: int
    """Number of tools, texts or blocks."""


class Breakpoint(NamedTuple):
    """A cache breakpoint of a request."""

    message: Message | None
    """None: it follows the tools."""
    position: int
    """Number of the message, from 1; 0 for the tools."""
    tokens: int
    """Tokens of the request up to the breakpoint."""


def inspect_request(
    facts: Sequence[AnyFact], number: int | None, settings: RequestSettings
) -> SentRequest:
    """Return a request of the conversation, counted from 1, or the last one; blocks.

    Raises:
        UsageError: there is no such request.
    """
    places = [
        at for at, fact in enumerate(facts) if isinstance(fact, LlmCallStarted) and not fact.purpose
    ]
    if not places:
        raise UsageError("Nothing was sent yet in this session.")
    if number is not None and not 1 <= number <= len(places):
        raise UsageError(f"The session has the requests 1 to {len(places)}.")
    chosen = len(places) if number is None else number
    at = places[chosen - 1]
    started, earlier = facts[at], facts[places[chosen - 2]] if chosen > 1 else None
    assert isinstance(started, LlmCallStarted), "the places are those of requests"
    state, shortenings, changes = State(keep_facts=False), 0, list[str]()
    for fact in facts[:at]:
        if fact is earlier:
            shortenings = state.branch.shortenings
        state.apply(fact)
    if isinstance(earlier, LlmCallStarted):
        changes += _find_changes(earlier, started)
        if any(isinstance(fact, BranchSelected) for fact in facts[places[chosen - 2] : at]):
            changes.append("the branch of the conversation")
        elif state.branch.shortenings != shortenings:
            changes.append("old messages, which are summarised or omitted")
    state.system_prompt.apply(started)
    request = _compose(state, started, _find_end(facts[at + 1 :]), settings)
    return request._replace(number=chosen, total=len(places), changes=changes)


def list_parts(request: Composed) -> list[Part]:
    """Return the parts of a request with their shares of its tokens, in the order of a request."""
    found = dict[str, list[float]]()
    if request.tools:
        rest = len(request.tools) - 1
        found["tools"] = [_measure_tools(request), *[0.0] * rest]
    for message in request.messages:
        for name, tokens in _measure(message, request.model.id):
            found.setdefault(name, []).append(tokens)
    scale = _find_scale(request, sum(map(sum, found.values())))
    return [Part(name, round(sum(sizes) * scale), len(sizes)) for name, sizes in found.items()]


def list_breakpoints(request: Composed) -> list[Breakpoint]:
    """Return the cache breakpoints of a request, in order."""
    sizes = [sum(size for _, size in _measure(m, request.model.id)) for m in request.messages]
    tokens = _measure_tools(request)
    scale = _find_scale(request, tokens + sum(sizes))
    marked = {each.message_id for each in request.cache.breakpoints}
    found = [Breakpoint(None, 0, round(tokens * scale))] if None in marked else []
    for position, (message, size) in enumerate(zip(request.messages, sizes, strict=True), 1):
        tokens += size
        if message.id in marked:
            found.append(Breakpoint(message, position, round(tokens * scale)))
    return found


def _measure_tools(request: Composed) -> float:
    return estimate_tokens((), request.tools, request.model.id)


def _find_scale(request: Composed, measured: float) -> float:
    """Return the tokens of the request for each measured one, which has no share of the frame."""
    return request.size / measured if measured else 1


def name_message(message: Message) -> str:
    """Return what a message is, in one or two words."""
    if message.role is Role.SYSTEM:
        return "system prompt" if message.id == _STABLE_ID else "moment"
    if (result := message.result) is not None:
        return "failed result" if result.is_error else "result"
    if message.role is Role.ASSISTANT:
        return "reply"
    origin = message.metadata.origin
    return next((name for kind, name in _ORIGINS.items() if kind == origin), "prompt")


def _compose(
    state: State, started: LlmCallStarted, end: LlmCallEnd | None, settings: RequestSettings
) -> SentRequest:
    model = settings.catalogue.get(started.model)
    reply = end.message.metadata.request if end is not None and end.message is not None else None
    dropped = DropList()
    omitted = started.rejected_through or state.branch.opaque_omitted_through.get(model.id)
    view = build_request_view(
        state.conversation_for(model.id),
        model,
        settings.thinking_on_swap,
        reply.api if reply is not None else None,
        omitted,
        dropped,
    )
    texts = state.system_prompt.get_texts(started)
    system = tuple(_build_system(at, text, started) for at, text in enumerate(texts))
    messages = fit_attachments((*system, *view), model, settings.places, dropped).messages
    tools = _read_tools(state.system_prompt.get_tools(started))
    retention = settings.retention
    if reply is not None and reply.cache_retention in ("none", "short", "long"):
        retention = reply.cache_retention
    cache = plan_cache(messages, tools, model, retention)
    return SentRequest(0, 0, started, end, model, tools, messages, cache, dropped.found, ())


def _find_end(facts: Sequence[AnyFact]) -> LlmCallEnd | None:
    """Return the last end of an attempt before the next request."""
    end: LlmCallEnd | None = None
    for fact in facts:
        if isinstance(fact, LlmCallStarted) and not fact.purpose:
            break
        if isinstance(fact, LlmCallEnd) and not fact.purpose:
            end = fact
    return end


def _find_changes(earlier: LlmCallStarted, started: LlmCallStarted) -> list[str]:
    old, new = _list_digests(earlier), _list_digests(started)
    differences = {
        "the model": earlier.model != started.model,
        "the tools": earlier.tools is not UNSET and _digest(earlier) != _digest(started),
        "the stable part of the system prompt": bool(old) and old[:1] != new[:1],
        "the date, the mode or the memory": bool(old) and old[1:] != new[1:],
    }
    return [name for name, differs in differences.items() if differs]


def _list_digests(request: LlmCallStarted) -> list[str]:
    return [part.digest for part in request.system or ()]


def _digest(request: LlmCallStarted) -> str:
    return request.tools.digest if isinstance(request.tools, RequestPart) else ""


def _build_system(at: int, text: str, started: LlmCallStarted) -> Message:
    return PromptMessage(
        id=f"system-{at}",
        session_id=started.session_id,
        role=Role.SYSTEM,
        content=(TextBlock(text),),
        created_at=started.timestamp,
    )


class _StoredTool(msgspec.Struct):
    name: str
    description: str
    schema: dict[str, Any]


def _read_tools(text: str) -> tuple[ToolDefinition, ...]:
    """Return the tools of a stored request; none if an imported text is not a list of tools."""
    try:
        stored = msgspec.json.decode(text or "[]", type=tuple[_StoredTool, ...])
    except (msgspec.MsgspecError, RecursionError):
        return ()
    return tuple(
        ToolDefinition(
            name=each.name,
            description=each.description,
            input_schema=each.schema,
            side_effects=SideEffects.NONE,  # not a part of requests
        )
        for each in stored
    )


def _measure(message: Message, model: str) -> Iterator[tuple[str, float]]:
    """Yield the names and the estimated tokens of the parts of a message."""
    if message.role is Role.SYSTEM:
        yield from _measure_system(message, model)
        return
    frame = estimate_tokens((replace(message, content=()),), (), model)
    for at, block in enumerate(message.content):
        is_result = isinstance(block, ToolResultBlock)
        for part in block.content if is_result else (block,):
            name = _name_result_part(part) if is_result else _name_block(message, part, at)
            alone = replace(message, content=(part,))
            yield name, estimate_tokens((alone,), (), model) - frame


def _measure_system(message: Message, model: str) -> Iterator[tuple[str, float]]:
    if message.id == _STABLE_ID:
        for name, text in split_stable_text(message.text):
            yield name, estimate_text(text, model)
        return
    moment, _, memory = message.text.partition("\n\n")
    yield "system prompt", estimate_text(moment, model)
    if memory:
        yield "memory", estimate_text(memory, model)


def _name_result_part(block: ContentBlock) -> str:
    if not isinstance(block, TextBlock):
        return "attachments"
    if block.text.startswith(FOLDER_INSTRUCTIONS):
        return "instructions"
    return "skills" if block.text.startswith(SKILL_HEADING) else "tool results"


def _name_block(message: Message, block: ContentBlock, at: int) -> str:
    match block:
        case _ if isinstance(block, MediaBlock):
            return "attachments"
        case ThinkingBlock() | RedactedThinkingBlock():
            return "reasoning"
        case ToolUseBlock():
            return "tool calls"
        case TextBlock() if message.role is Role.ASSISTANT:
            return "replies"
        case TextBlock() if at and parse_file_block(block) is not None:
            return "attachments"
        case _:
            name = name_message(message)
            return "prompts" if name == "prompt" else name
