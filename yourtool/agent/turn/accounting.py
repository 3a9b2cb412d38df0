"""Prices and totals of requests: every known usage is priced and counted once.

The fact that ends a request, or an attempt of one, contains its usage. The totals of the turn, the
run, the session, the day and the reports are sums over these facts and nothing else.
"""

from decimal import Decimal

from msgspec import Struct
from msgspec.structs import asdict, replace

from yourtool.agent.turn.turn import Turn
from yourtool.errors import AdapterError
from yourtool.events.deltas import AttemptFailed, MessageComplete, TokenUsage
from yourtool.events.model_calls import LlmCallEnd, LlmCallFailed
from yourtool.messages.usage import Receipt, Usage, UsageExtra
from yourtool.providers.prices import cost

_NO_TOKENS = TokenUsage(input_tokens=0, output_tokens=0)


class PricedUsage(Struct, frozen=True):
    """The usage of one request, with its cost."""

    usage: Usage
    extra: UsageExtra | None


def price_tokens(
    turn: Turn, tokens: TokenUsage, latency_ms: int, receipt: Receipt | None = None
) -> PricedUsage:
    """Return the usage of `tokens` at the price of the turn's model."""
    amount = cost(tokens, turn.model.price)
    extra = UsageExtra(
        estimated=tokens.estimated,
        unpriced=amount is None,
        reasoning_tokens=tokens.reasoning_tokens,
        image_tokens=tokens.image_tokens,
        audio_tokens=tokens.audio_tokens,
        reported_cost_usd=tokens.reported_cost_usd,
        receipt=receipt,
    )
    version = turn.model.price_as_of or turn.env.pricing_version
    usage = Usage(
        input_tokens=tokens.input_tokens,
        output_tokens=tokens.output_tokens,
        cached_input_tokens=tokens.cached_input_tokens,
        cache_creation_input_tokens=tokens.cache_creation_input_tokens,
        cost_usd=Decimal(0) if amount is None else amount,
        pricing_version="" if amount is None else version,
        latency_ms=latency_ms,
    )
    return PricedUsage(usage, None if extra == UsageExtra() else extra)


def price_failure(
    turn: Turn, failure: AdapterError | AttemptFailed, partial: MessageComplete | None = None
) -> PricedUsage | None:
    """Return the usage of a failed request, or None if no usage is known."""
    if partial is not None:
        tokens, latency, receipt = partial.usage, partial.latency_ms, partial.receipt
    else:
        tokens, latency, receipt = failure.usage, 0, None
    if not isinstance(tokens, TokenUsage) or tokens == _NO_TOKENS:
        return None
    return price_tokens(turn, tokens, latency, receipt)


def add_usage(turn: Turn, usage: LlmCallEnd) -> None:
    """Add the usage in a fact to the turn and the run; the session adds the fact itself."""
    turn.input_tokens += usage.prompt_tokens
    turn.output_tokens += usage.output_tokens
    turn.cost += usage.cost_usd
    turn.env.cost += usage.cost_usd


def with_usage(fact: LlmCallFailed, priced: PricedUsage | None) -> LlmCallFailed:
    """Return `fact` with the usage of the failed request."""
    if priced is None:
        return fact
    usage = asdict(priced.usage) | {"latency_ms": fact.latency_ms}
    return replace(fact, **usage, usage_extra=priced.extra)
