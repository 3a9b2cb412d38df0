"""Deltas, the display-only events.

An adapter yields `StreamEvent`s, with the tags and the order of the streaming contract; the others
come from the loop and the tools. Every delta is followed by a fact that makes it redundant.
"""

from decimal import Decimal
from typing import Any, Literal, TypeAlias

from msgspec import Struct

from yourtool.messages.blocks import ContentBlock
from yourtool.messages.metadata import StopReason, ToolInputError
from yourtool.messages.usage import Receipt


class TokenUsage(Struct, frozen=True, kw_only=True):
    """Tokens as the provider counted them, in disjoint buckets."""

    input_tokens: int
    output_tokens: int
    cached_input_tokens: int = 0
    cache_creation_input_tokens: int = 0
    reasoning_tokens: int | None = None
    image_tokens: int | None = None
    audio_tokens: int | None = None
    estimated: bool = False
    reported_cost_usd: Decimal | None = None
    """The cost that the provider reports; our costs are computed from our own prices."""

    @property
    def prompt_tokens(self) -> int:
        """All prompt tokens, cached or not."""
        return self.input_tokens + self.cached_input_tokens + self.cache_creation_input_tokens


class Delta(Struct, frozen=True, kw_only=True, tag_field="type"):
    """A display-only event."""


class BlockDelta(Delta, frozen=True, kw_only=True):
    """A change of one content block of a reply."""

    message_id: str
    content_block_index: int


class MessageStart(Delta, frozen=True, kw_only=True, tag="message_start"):
    """The start of a reply."""

    message_id: str
    model: str
    role: Literal["assistant"] = "assistant"


class TextStart(BlockDelta, frozen=True, kw_only=True, tag="text_start"):
    """The start of a text block."""


class TextDelta(BlockDelta, frozen=True, kw_only=True, tag="text_delta"):
    """More text."""

    text: str


class TextEnd(BlockDelta, frozen=True, kw_only=True, tag="text_end"):
    """The end of a text block; text that a provider adds later is not displayed."""

    text: str
    """The full text."""


class ThinkingStart(BlockDelta, frozen=True, kw_only=True, tag="thinking_start"):
    """The start of a reasoning block."""


class ThinkingDelta(BlockDelta, frozen=True, kw_only=True, tag="thinking_delta"):
    """More reasoning; `signature` only on the last one of a block."""

    text: str
    signature: str | None = None


class ThinkingEnd(BlockDelta, frozen=True, kw_only=True, tag="thinking_end"):
    """The end of a reasoning block."""

    text: str
    """The full text; empty if the provider hides it."""


class ToolUseStart(BlockDelta, frozen=True, kw_only=True, tag="tool_use_start"):
    """The start of a tool call."""

    tool_use_id: str
    tool_name: str


class ToolUseInputDelta(BlockDelta, frozen=True, kw_only=True, tag="tool_use_input_delta"):
    """A raw fragment of the arguments, not valid JSON alone."""

    tool_use_id: str
    partial_json: str


class ToolUseEnd(BlockDelta, frozen=True, kw_only=True, tag="tool_use_end"):
    """The parsed arguments; `{}` if they are not a JSON object."""

    tool_use_id: str
    final_input: dict[str, Any]


class UsageUpdate(Delta, frozen=True, kw_only=True, tag="usage_update"):
    """The current token counts."""

    message_id: str
    usage: TokenUsage


class MessageComplete(Delta, frozen=True, kw_only=True, tag="message_complete"):
    """The complete reply; authoritative. Only an `error` can follow."""

    message_id: str
    stop_reason: StopReason
    stop_detail: str | None = None
    """The stop reason in the provider's term."""
    final_content: tuple[ContentBlock, ...]
    usage: TokenUsage
    latency_ms: int
    tool_input_errors: dict[str, ToolInputError] = {}
    provider_raw: dict[str, Any] | None = None
    receipt: Receipt | None = None


class StreamError(Delta, frozen=True, kw_only=True, tag="error"):
    """A failed stream; follows a `message_complete` whose stop reason is `error`."""

    message_id: str
    error_class: str
    message: str
    retryable: bool
    status: int | None = None


class RetryScheduled(Delta, frozen=True, kw_only=True, tag="retry_scheduled"):
    """A retry after `delay_seconds`; the wait ends early when the turn is stopped."""

    attempt: int
    max_attempts: int
    delay_seconds: float
    error_class: str
    message: str


class AttemptFailed(Delta, frozen=True, kw_only=True, tag="attempt_failed"):
    """A failed attempt that is retried; the core stores it as `llm.call_failed`."""

    attempt: int
    error_class: str
    message: str
    retryable: bool
    status: int | None
    latency_ms: int
    code: str | None = None
    """An `ErrorCode`, if the cause is known more precisely than the class."""
    usage: TokenUsage | None = None
    """The tokens that the provider counted before the failure."""


class ToolOutputDelta(Delta, frozen=True, kw_only=True, tag="tool_output_delta"):
    """New output of a running tool."""

    tool_use_id: str
    text: str
    """Each backspace removes the last character of the output so far."""


class ShellStarted(Delta, frozen=True, kw_only=True, tag="shell_started"):
    """The start of a user's shell command; `shell.ran` has its result."""

    message_id: str
    """Its output is sent as `tool_output_delta` with this id."""
    command: str
    shared: bool


class Notice(Delta, frozen=True, kw_only=True, tag="notice"):
    """A message of the program to the user."""

    level: Literal["info", "warning", "error"]
    text: str


BlockEdge: TypeAlias = TextStart | TextEnd | ThinkingStart | ThinkingEnd
"""Start and end of a block, for front ends that show blocks as units."""

StreamEvent: TypeAlias = (
    MessageStart
    | BlockEdge
    | TextDelta
    | ThinkingDelta
    | ToolUseStart
    | ToolUseInputDelta
    | ToolUseEnd
    | UsageUpdate
    | MessageComplete
    | StreamError
    | RetryScheduled
    | AttemptFailed
)
"""The events of an adapter."""
