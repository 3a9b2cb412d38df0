"""What is happening: the part of the stream that animates a display and is never stored.

An adapter yields `StreamEvent`s, with the tags and the order of the streaming contract; the rest
comes from the loop and the tools. A fact that follows makes every delta redundant.
"""

from decimal import Decimal
from typing import Any, Literal, TypeAlias

from msgspec import Struct

from yourtool.messages import ContentBlock, Receipt, StopReason, ToolInputError


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
    """What the provider says that it took; costs here are computed from our own prices."""

    @property
    def prompt_tokens(self) -> int:
        """The whole prompt."""
        return self.input_tokens + self.cached_input_tokens + self.cache_creation_input_tokens


class Delta(Struct, frozen=True, kw_only=True, tag_field="type"):
    """Something that is happening; never stored."""


class MessageStart(Delta, frozen=True, kw_only=True, tag="message_start"):
    """A reply begins."""

    message_id: str
    model: str
    role: Literal["assistant"] = "assistant"


class TextStart(Delta, frozen=True, kw_only=True, tag="text_start"):
    """A text block begins."""

    message_id: str
    content_block_index: int


class TextDelta(Delta, frozen=True, kw_only=True, tag="text_delta"):
    """More words."""

    message_id: str
    content_block_index: int
    text: str


class TextEnd(Delta, frozen=True, kw_only=True, tag="text_end"):
    """The text block so far is complete; a provider that adds to it later does so unseen."""

    message_id: str
    content_block_index: int
    text: str
    """The whole block."""


class ThinkingStart(Delta, frozen=True, kw_only=True, tag="thinking_start"):
    """A block of reasoning begins."""

    message_id: str
    content_block_index: int


class ThinkingDelta(Delta, frozen=True, kw_only=True, tag="thinking_delta"):
    """More reasoning; `signature` only on the last one of a block."""

    message_id: str
    content_block_index: int
    text: str
    signature: str | None = None


class ThinkingEnd(Delta, frozen=True, kw_only=True, tag="thinking_end"):
    """The block of reasoning so far is complete."""

    message_id: str
    content_block_index: int
    text: str
    """The whole block; empty where the provider shows none of it."""


class ToolUseStart(Delta, frozen=True, kw_only=True, tag="tool_use_start"):
    """The model begins to write a call."""

    message_id: str
    content_block_index: int
    tool_use_id: str
    tool_name: str


class ToolUseInputDelta(Delta, frozen=True, kw_only=True, tag="tool_use_input_delta"):
    """A raw fragment of the arguments; not valid JSON by itself."""

    message_id: str
    content_block_index: int
    tool_use_id: str
    partial_json: str


class ToolUseEnd(Delta, frozen=True, kw_only=True, tag="tool_use_end"):
    """The arguments, parsed; `{}` where they were not a JSON object."""

    message_id: str
    content_block_index: int
    tool_use_id: str
    final_input: dict[str, Any]


class UsageUpdate(Delta, frozen=True, kw_only=True, tag="usage_update"):
    """The counters so far."""

    message_id: str
    usage: TokenUsage


class MessageComplete(Delta, frozen=True, kw_only=True, tag="message_complete"):
    """The whole reply; authoritative, and last but for `error`."""

    message_id: str
    stop_reason: StopReason
    stop_detail: str | None = None
    """The provider's own word."""
    final_content: tuple[ContentBlock, ...]
    usage: TokenUsage
    latency_ms: int
    tool_input_errors: dict[str, ToolInputError] = {}
    provider_raw: dict[str, Any] | None = None
    receipt: Receipt | None = None


class StreamError(Delta, frozen=True, kw_only=True, tag="error"):
    """The stream broke; follows a `message_complete` whose stop reason is `error`."""

    message_id: str
    error_class: str
    message: str
    retryable: bool
    status: int | None = None


class RetryScheduled(Delta, frozen=True, kw_only=True, tag="retry_scheduled"):
    """The next attempt is `delay_seconds` away; the wait ends early when the turn is stopped."""

    attempt: int
    max_attempts: int
    delay_seconds: float
    error_class: str
    message: str


class AttemptFailed(Delta, frozen=True, kw_only=True, tag="attempt_failed"):
    """One attempt of several failed; the core writes it down as `llm.call_failed`."""

    attempt: int
    error_class: str
    message: str
    retryable: bool
    status: int | None
    latency_ms: int
    code: str | None = None
    """An `ErrorCode`, where more is known than the class."""
    usage: TokenUsage | None = None
    """What the provider counted before it failed."""


class ToolOutputDelta(Delta, frozen=True, kw_only=True, tag="tool_output_delta"):
    """What a running tool printed just now."""

    tool_use_id: str
    text: str


class ShellStarted(Delta, frozen=True, kw_only=True, tag="shell_started"):
    """A command of the user began to run; `shell.ran` tells how it ended."""

    message_id: str
    """What it prints comes as `tool_output_delta` under this id."""
    command: str
    shared: bool


class Notice(Delta, frozen=True, kw_only=True, tag="notice"):
    """Words of the program to the user."""

    level: Literal["info", "warning", "error"]
    text: str


BlockEdge: TypeAlias = TextStart | TextEnd | ThinkingStart | ThinkingEnd
"""Where a block of words begins and ends, for front ends that show blocks as units."""

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
"""What an adapter yields."""
