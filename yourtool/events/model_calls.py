"""Facts about requests to models."""

from collections.abc import Mapping
from decimal import Decimal
from typing import ClassVar, TypeAlias

from msgspec import UNSET, Struct, UnsetType

from yourtool.events.facts import Actor, Fact, Sensitivity
from yourtool.messages.message import ReplyMessage
from yourtool.messages.metadata import StopReason
from yourtool.messages.usage import Usage, UsageExtra

Purpose: TypeAlias = str | UnsetType
"""What a silent call is for, such as `title`; unset if the reply is part of the conversation."""

_NO_USAGE = Usage(
    input_tokens=0, output_tokens=0, cost_usd=Decimal(0), pricing_version="", latency_ms=0
)


class RequestPart(Struct, frozen=True):
    """A text that many requests of a session have in common."""

    digest: str
    """SHA-256 of the text."""
    text: str | UnsetType = UNSET
    """Unset if an earlier request of the session has the text with this digest."""


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
    question: str | UnsetType = UNSET
    """The side question of the user that the call answers; unset: it answers none."""
    system: tuple[RequestPart, ...] | UnsetType = UNSET
    """The system prompt, each of its texts stored once."""
    tools: RequestPart | UnsetType = UNSET
    """The tools that the model could call, as canonical JSON: name, description, schema."""


class LlmCallCompleted(Fact, frozen=True, kw_only=True, tag="llm.call_completed"):
    """A model replied; the metadata of the reply has the model and the usage."""

    actor: ClassVar[Actor] = Actor.AGENT

    provider_tool_ids: Mapping[str, str] = {}
    """The provider's id of each call, by canonical tool_use id."""
    message: ReplyMessage
    purpose: Purpose = UNSET

    @property
    def model(self) -> str:
        """Canonical id of the model."""
        return self.message.metadata.model or ""

    @property
    def provider(self) -> str:
        """Name of the provider."""
        return self.message.metadata.provider or ""

    @property
    def usage(self) -> Usage:
        """Tokens and price; zero if an incomplete reply has no usage."""
        return self.message.metadata.usage or _NO_USAGE

    @property
    def usage_extra(self) -> UsageExtra | None:
        """Additional token counts."""
        return self.message.metadata.usage_extra

    @property
    def stop_reason(self) -> StopReason:
        """Why the reply ended; `OTHER` if the stored reason is one of a newer version."""
        return self.message.metadata.stop_reason or StopReason.OTHER


class FailedAttempt(Fact, frozen=True, kw_only=True):
    """What the fact of a failed attempt and its stored form have in common."""

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
    message: ReplyMessage | None = None
    """The incomplete reply, if any, with status `error` or `cancelled`."""
    cut_calls: Mapping[str, str] = {}
    """Tool names of incomplete calls, by call id; none of them ran."""


class LlmCallFailed(FailedAttempt, frozen=True, kw_only=True, tag="llm.call_failed"):
    """An attempt failed; a retry has a higher `retry_count`."""

    usage: Usage | None = None
    """Tokens and price, equal to those of the incomplete reply, if any; None: unknown."""
    usage_extra: UsageExtra | None = None
    purpose: Purpose = UNSET


class LlmCallCostReported(Fact, frozen=True, kw_only=True, tag="llm.cost_reported"):
    """A provider reported the cost of a reply later; the parent is the fact that ends the call."""

    actor: ClassVar[Actor] = Actor.AGENT

    model: str
    provider: str
    response_id: str
    """The provider's id of the reply."""
    reported_cost_usd: Decimal


LlmCallEnd: TypeAlias = LlmCallCompleted | LlmCallFailed
"""The facts that end a request or an attempt of one; each has its usage, if it is known."""


_OF_CALLS = (LlmCallStarted, LlmCallCompleted, LlmCallFailed)


def is_silent(fact: Fact) -> bool:
    """Return whether a fact belongs to a silent call, which has a cost and no place elsewhere."""
    return isinstance(fact, _OF_CALLS) and bool(fact.purpose)
