"""Facts about requests to models; the one that ends a request has its usage."""

from collections.abc import Mapping
from decimal import Decimal
from typing import ClassVar, TypeAlias

from msgspec import UNSET, UnsetType
from msgspec.structs import asdict

from yourtool.events.facts import Actor, Fact, Sensitivity
from yourtool.messages.blocks import ThinkingBlock
from yourtool.messages.message import Message
from yourtool.messages.metadata import StopReason
from yourtool.messages.usage import UsageExtra

Purpose: TypeAlias = str | UnsetType
"""What a silent call is for, such as `title`; unset if the reply is part of the conversation."""


class LlmCallStarted(Fact, frozen=True, kw_only=True, tag="llm.call_started"):
    """A request was sent to a model."""

    actor: ClassVar[Actor] = Actor.AGENT
    sensitivity: ClassVar[Sensitivity] = Sensitivity.PRIVATE

    model: str
    provider: str
    estimated_input_tokens: int
    request_id: str
    is_worker: bool = False
    rejected_through: str | None = None
    """Id of the last message whose provider extras were dropped, because the model rejected the
    request with them."""
    purpose: Purpose = UNSET


class LlmCallCompleted(Fact, frozen=True, kw_only=True, tag="llm.call_completed"):
    """A model replied."""

    actor: ClassVar[Actor] = Actor.AGENT

    model: str
    provider: str
    input_tokens: int
    output_tokens: int
    cached_input_tokens: int
    cache_creation_input_tokens: int
    cost_usd: Decimal
    pricing_version: str
    latency_ms: int
    stop_reason: StopReason
    produced_tool_calls: int
    produced_thinking_blocks: int
    provider_tool_ids: Mapping[str, str] = {}
    """The provider's id of each call, by canonical tool_use id."""
    message: Message
    purpose: Purpose = UNSET

    @classmethod
    def from_reply(
        cls, message: Message, provider_tool_ids: Mapping[str, str], purpose: Purpose = UNSET
    ) -> "LlmCallCompleted":
        """Return the fact about a reply, whose metadata has the values that the fact repeats."""
        reply = message.metadata
        assert reply.model and reply.provider and reply.usage and reply.stop_reason
        return cls(
            model=reply.model,
            provider=reply.provider,
            **asdict(reply.usage),
            stop_reason=reply.stop_reason,
            produced_tool_calls=len(message.tool_uses),
            produced_thinking_blocks=sum(isinstance(b, ThinkingBlock) for b in message.content),
            provider_tool_ids=provider_tool_ids,
            message=message,
            purpose=purpose,
        )

    @property
    def prompt_tokens(self) -> int:
        """All prompt tokens, cached or not."""
        return self.input_tokens + self.cached_input_tokens + self.cache_creation_input_tokens

    @property
    def usage_extra(self) -> UsageExtra | None:
        """Additional token counts."""
        return self.message.metadata.usage_extra


class LlmCallFailed(Fact, frozen=True, kw_only=True, tag="llm.call_failed"):
    """An attempt failed; a retry has a higher `retry_count`."""

    actor: ClassVar[Actor] = Actor.AGENT
    sensitivity: ClassVar[Sensitivity] = Sensitivity.PRIVATE

    model: str
    provider: str
    error_class: str
    error_message_redacted: str
    error_code: str | None = None
    """An `ErrorCode`, if the cause is known more precisely than the class."""
    provider_status: int | None = None
    retryable: bool = False
    retry_count: int
    latency_ms: int
    message: Message | None = None
    """The incomplete reply, if any, with status `error` or `cancelled`."""
    cut_calls: Mapping[str, str] = {}
    """Tool names of incomplete calls, by call id; none of them ran."""
    input_tokens: int = 0
    output_tokens: int = 0
    cached_input_tokens: int = 0
    cache_creation_input_tokens: int = 0
    cost_usd: Decimal = Decimal(0)
    pricing_version: str | None = None
    """None: the usage is unknown."""
    usage_extra: UsageExtra | None = None
    purpose: Purpose = UNSET

    @property
    def prompt_tokens(self) -> int:
        """All prompt tokens, cached or not."""
        return self.input_tokens + self.cached_input_tokens + self.cache_creation_input_tokens


LlmCallEnd: TypeAlias = LlmCallCompleted | LlmCallFailed
"""The facts that end a request or an attempt of one; each has its usage."""


def is_silent(fact: Fact) -> bool:
    """Return whether a fact belongs to a silent call, which has a cost and no place elsewhere."""
    if not isinstance(fact, LlmCallStarted | LlmCallCompleted | LlmCallFailed):
        return False
    return bool(fact.purpose)
