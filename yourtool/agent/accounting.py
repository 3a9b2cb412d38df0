"""What requests cost: every usage that is known is priced and counted once.

The fact that ends a request, or an attempt of one, holds its usage. The turn, the run, the session,
the day and the reports add up these facts and nothing else.
"""

from decimal import Decimal

from msgspec import Struct
from msgspec.structs import replace

from yourtool.agent.turn import Turn
from yourtool.deltas import AttemptFailed, MessageComplete, TokenUsage
from yourtool.errors import AdapterError
from yourtool.events import LlmCallFailed
from yourtool.messages import Receipt, Usage, UsageExtra
from yourtool.providers.catalogue.prices import cost

_NOTHING = TokenUsage(input_tokens=0, output_tokens=0)


class Priced(Struct, frozen=True):
    """What one request used, and what that costs."""

    usage: Usage
    extra: UsageExtra | None


def price(
    turn: Turn, tokens: TokenUsage, latency_ms: int, receipt: Receipt | None = None
) -> Priced:
    """Return the cost of tokens that the turn's model used."""
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
    version = turn.model.price_as_of or turn.around.pricing_version
    usage = Usage(
        input_tokens=tokens.input_tokens,
        output_tokens=tokens.output_tokens,
        cached_input_tokens=tokens.cached_input_tokens,
        cache_creation_input_tokens=tokens.cache_creation_input_tokens,
        cost_usd=Decimal(0) if amount is None else amount,
        pricing_version="" if amount is None else version,
        latency_ms=latency_ms,
    )
    return Priced(usage, None if extra == UsageExtra() else extra)


def price_failure(
    turn: Turn, failure: AdapterError | AttemptFailed, partial: MessageComplete | None = None
) -> Priced | None:
    """Return what a request used that did not end well; None: nothing is known of any use."""
    if partial is not None:
        tokens, latency, receipt = partial.usage, partial.latency_ms, partial.receipt
    else:
        tokens, latency, receipt = failure.usage, 0, None
    if not isinstance(tokens, TokenUsage) or tokens == _NOTHING:
        return None
    return price(turn, tokens, latency, receipt)


def book(turn: Turn, usage: Usage) -> None:
    """Count a usage for the turn and the run; the session counts the fact that holds it."""
    turn.input_tokens += usage.prompt_tokens
    turn.output_tokens += usage.output_tokens
    turn.cost += usage.cost_usd
    turn.around.budget.cost += usage.cost_usd


def with_usage(fact: LlmCallFailed, priced: Priced | None) -> LlmCallFailed:
    """Return the fact of a failure with what it used."""
    if priced is None:
        return fact
    usage = priced.usage
    return replace(
        fact,
        input_tokens=usage.input_tokens,
        output_tokens=usage.output_tokens,
        cached_input_tokens=usage.cached_input_tokens,
        cache_creation_input_tokens=usage.cache_creation_input_tokens,
        cost_usd=usage.cost_usd,
        pricing_version=usage.pricing_version,
        usage_extra=priced.extra,
    )
