"""The stored and printed form of facts.

In memory the usage of a completed call is in its reply only. The JSON of its fact also contains it,
for programs that read the output, and for reports, which add costs without decoding replies. If
they differ, the reply is right.
"""

import functools
from collections.abc import Callable, Mapping
from decimal import Decimal
from operator import attrgetter
from typing import Any, TypeVar, Union, cast

from msgspec import UNSET, Struct
from msgspec.structs import asdict, replace

from yourtool.events.catalog import FACT_TYPES, AnyFact
from yourtool.events.facts import Fact
from yourtool.events.model_calls import FailedAttempt, LlmCallCompleted, LlmCallFailed, Purpose
from yourtool.messages.blocks import ThinkingBlock
from yourtool.messages.message import ReplyMessage
from yourtool.messages.metadata import StopReason
from yourtool.messages.usage import Usage, UsageExtra

F = TypeVar("F", bound=Fact)


class StoredLlmCallCompleted(Fact, frozen=True, kw_only=True, tag="llm.call_completed"):
    """A model replied."""

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
    message: ReplyMessage
    purpose: Purpose = UNSET


class StoredLlmCallFailed(FailedAttempt, frozen=True, kw_only=True, tag="llm.call_failed"):
    """An attempt failed; a retry has a higher `retry_count`."""

    input_tokens: int = 0
    output_tokens: int = 0
    cached_input_tokens: int = 0
    cache_creation_input_tokens: int = 0
    cost_usd: Decimal = Decimal(0)
    pricing_version: str | None = None
    """None: the usage is unknown."""
    usage_extra: UsageExtra | None = None
    purpose: Purpose = UNSET


STORED_TYPES: Mapping[str, type[Fact]] = {
    **FACT_TYPES,
    "llm.call_completed": StoredLlmCallCompleted,
    "llm.call_failed": StoredLlmCallFailed,
}
"""The stored form of each fact by its type; most facts are their own."""

STORED_FACT: Any = Union[tuple(STORED_TYPES.values())]  # noqa: UP007 - a computed tuple
"""The union of the stored forms, for decoders."""


def to_stored(value: Struct) -> Struct:
    """Return the stored form of a fact; every other value is returned unchanged."""
    match value:
        case LlmCallCompleted():
            thoughts = sum(isinstance(block, ThinkingBlock) for block in value.message.content)
            return _convert(
                value,
                StoredLlmCallCompleted,
                **asdict(value.usage),
                produced_tool_calls=len(value.message.tool_uses),
                produced_thinking_blocks=thoughts,
            )
        case LlmCallFailed():
            counters = {} if value.usage is None else asdict(value.usage)
            return _convert(
                value, StoredLlmCallFailed, **counters | {"latency_ms": value.latency_ms}
            )
        case _:
            return value


def from_stored(stored: Fact) -> AnyFact:
    """Return the fact of a stored form."""
    if type(stored) is StoredLlmCallCompleted:
        return _convert(stored, LlmCallCompleted, message=_complete_reply(stored))
    if type(stored) is StoredLlmCallFailed:
        return _convert(stored, LlmCallFailed, usage=_counted_usage(stored))
    return cast("AnyFact", stored)  # all other facts are their own stored form


def _counted_usage(stored: StoredLlmCallFailed) -> Usage | None:
    if stored.pricing_version is None:
        return None
    return (stored.message and stored.message.metadata.usage) or _read_counters(stored)


def _complete_reply(stored: StoredLlmCallCompleted) -> ReplyMessage:
    """Return the reply; metadata that it lacks, as from other versions, is in the fact."""
    found = stored.message.metadata
    if found.model and found.provider and found.usage:
        return stored.message
    metadata = replace(
        found,
        model=found.model or stored.model,
        provider=found.provider or stored.provider,
        usage=found.usage or _read_counters(stored),
    )
    return replace(stored.message, metadata=metadata)


def _read_counters(stored: StoredLlmCallCompleted | StoredLlmCallFailed) -> Usage:
    return Usage(**{name: getattr(stored, name) for name in Usage.__struct_fields__})


def _convert(source: Fact, kind: type[F], **changes: Any) -> F:
    """Return a fact with the values of `source` in the fields that both have, and `changes`."""
    names, get_values = _shared_fields(type(source), kind)
    return kind(**dict(zip(names, get_values(source), strict=True)) | changes)


@functools.cache
def _shared_fields(
    source: type[Fact], kind: type[Fact]
) -> tuple[tuple[str, ...], Callable[[Fact], tuple[Any, ...]]]:
    """Return the fields of `kind` that are fields or properties of `source`, and their getter."""
    names = tuple(name for name in kind.__struct_fields__ if hasattr(source, name))
    return names, attrgetter(*names)
