"""Where the prefix of a request is to be cached; made with the request and never stored.

A provider that is told where a prefix ends reads the longest one that it has seen end there, and
looks back from each mark over some blocks only: Anthropic over twenty, at four marks of one request
at most (https://docs.claude.com/en/docs/build-with-claude/prompt-caching). So the marks are after
the last tool, after the stable part of the system prompt, where the request before this one ended,
however much a reply and its results have added since, and at the end. What changes by itself, such
as the date, is never marked. Whole messages are cached as they are: nothing is rewritten for it.
"""

from collections.abc import Iterator, Sequence

from msgspec import Struct

from yourtool.effects import ToolDefinition
from yourtool.messages import (
    Message,
    RedactedThinkingBlock,
    Role,
    TextBlock,
    ThinkingBlock,
)
from yourtool.models import CacheRetention, Model
from yourtool.providers.estimate import estimate_tokens


class CacheBreakpoint(Struct, frozen=True):
    """The prefix up to and with this block is worth keeping."""

    message_id: str | None
    """None: the last tool."""
    block_index: int = 0
    """Counted in the message's content."""


class CachePlan(Struct, frozen=True):
    """The marks of one request, in the order of its parts."""

    retention: CacheRetention = "none"
    breakpoints: tuple[CacheBreakpoint, ...] = ()

    def has(self, message_id: str | None, block_index: int = 0) -> bool:
        """Whether the prefix is to be kept up to this block."""
        return CacheBreakpoint(message_id, block_index) in self.breakpoints


def plan_cache(
    messages: Sequence[Message],
    tools: Sequence[ToolDefinition],
    model: Model,
    retention: CacheRetention,
) -> CachePlan:
    """Return where a request with these parts is to be marked; system messages stand first.

    A prefix shorter than what the model's provider keeps has no mark.
    """
    if retention == "none" or not model.capabilities.supports_prompt_caching:
        return CachePlan()
    ids = [message.id for message in messages]
    size, seen, marks = estimate_tokens((), tools, model.id), 0, list[CacheBreakpoint]()
    if tools and size >= model.least_cached_tokens:
        marks.append(CacheBreakpoint(None))
    for end in _prefix_ends(messages):
        while seen <= end and size < model.least_cached_tokens:
            size += estimate_tokens(messages[seen : seen + 1], (), model.id)
            seen += 1
        index = _last_cacheable_block(messages[end])
        is_named = ids.count(ids[end]) == 1  # in a damaged history two may share an id
        if is_named and index is not None and size >= model.least_cached_tokens:
            marks.append(CacheBreakpoint(messages[end].id, index))
    return CachePlan(retention, tuple(marks))


def _prefix_ends(messages: Sequence[Message]) -> Iterator[int]:
    """Yield the places of the messages that end a prefix, in their order."""
    if messages and messages[0].role is Role.SYSTEM:
        yield 0
    begin = sum(message.role is Role.SYSTEM for message in messages)
    last = len(messages) - 1
    replies = [at for at in range(begin, len(messages)) if messages[at].role is Role.ASSISTANT]
    if replies and begin < replies[-1] <= last:
        yield replies[-1] - 1
    if last >= begin:
        yield last


def _last_cacheable_block(message: Message) -> int | None:
    """Return the last block that can be marked: reasoning cannot, and blank text is not sent."""
    for index in range(len(message.content) - 1, -1, -1):
        block = message.content[index]
        if isinstance(block, ThinkingBlock | RedactedThinkingBlock):
            continue
        if not isinstance(block, TextBlock) or block.text.strip():
            return index
    return None
