"""Cache breakpoints of a request.

A provider reads the longest cached prefix that ends at a breakpoint. It looks back from each
breakpoint over a limited number of blocks: Anthropic over twenty, with at most four breakpoints per
request (https://docs.claude.com/en/docs/build-with-claude/prompt-caching). The breakpoints are set
after the last tool, after the stable part of the system prompt, at the end of the previous request,
however much the reply and its results have added since, and at the end. Content that changes on
each request, such as the date, gets no breakpoint. Messages are never rewritten for the cache.
"""

from collections.abc import Iterator, Sequence

from msgspec import Struct

from yourtool.effects import ToolDefinition
from yourtool.messages.blocks import RedactedThinkingBlock, TextBlock, ThinkingBlock
from yourtool.messages.message import Message, Role
from yourtool.models import CacheRetention, Model
from yourtool.providers.estimate import estimate_tokens


class CacheBreakpoint(Struct, frozen=True):
    """A cache breakpoint after this block."""

    message_id: str | None
    """None: the last tool."""
    block_index: int = 0
    """Index in the content of the message."""


class CachePlan(Struct, frozen=True):
    """The cache breakpoints of one request, in order."""

    retention: CacheRetention = "none"
    breakpoints: tuple[CacheBreakpoint, ...] = ()

    def has(self, message_id: str | None, block_index: int = 0) -> bool:
        """Return whether there is a breakpoint after this block."""
        return CacheBreakpoint(message_id, block_index) in self.breakpoints


def plan_cache(
    messages: Sequence[Message],
    tools: Sequence[ToolDefinition],
    model: Model,
    retention: CacheRetention,
) -> CachePlan:
    """Return the cache breakpoints of a request; system messages come first.

    A prefix below the provider's minimum size gets no breakpoint.
    """
    if retention == "none" or not model.capabilities.supports_prompt_caching:
        return CachePlan()
    ids = [message.id for message in messages]
    size, seen, breakpoints = estimate_tokens((), tools, model.id), 0, list[CacheBreakpoint]()
    if tools and size >= model.least_cached_tokens:
        breakpoints.append(CacheBreakpoint(None))
    for end in _prefix_ends(messages):
        while seen <= end and size < model.least_cached_tokens:
            size += estimate_tokens(messages[seen : seen + 1], (), model.id)
            seen += 1
        index = _last_cacheable_block(messages[end])
        is_named = ids.count(ids[end]) == 1  # a damaged history can have duplicate ids
        if is_named and index is not None and size >= model.least_cached_tokens:
            breakpoints.append(CacheBreakpoint(messages[end].id, index))
    return CachePlan(retention, tuple(breakpoints))


def _prefix_ends(messages: Sequence[Message]) -> Iterator[int]:
    """Yield the indices of the messages that end a prefix, in order."""
    if messages and messages[0].role is Role.SYSTEM:
        yield 0
    start = sum(message.role is Role.SYSTEM for message in messages)
    last = len(messages) - 1
    reply = next((at for at in range(last, start, -1) if messages[at].role is Role.ASSISTANT), None)
    if reply is not None:
        yield reply - 1
    if last >= start:
        yield last


def _last_cacheable_block(message: Message) -> int | None:
    """Return the last block that can have a breakpoint; reasoning and blank text cannot."""
    for index in range(len(message.content) - 1, -1, -1):
        block = message.content[index]
        if isinstance(block, ThinkingBlock | RedactedThinkingBlock):
            continue
        if not isinstance(block, TextBlock) or block.text.strip():
            return index
    return None
