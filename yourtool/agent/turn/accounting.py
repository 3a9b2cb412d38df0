"""Prices and totals of requests.

The fact that ends a request, or an attempt of one, contains its usage. The totals of the turn, the
run, the session, the day and the reports are sums over these facts and nothing else.
"""

from decimal import Decimal

from msgspec import Struct

from yourtool.agent.turn.turn import Turn
from yourtool.errors import AdapterError
from yourtool.events.deltas import AttemptFailed, MessageComplete, TokenUsage
from yourtool.events.model_calls import LlmCallEnd
from yourtool.messages.usage import Receipt, Usage, UsageExtra
from yourtool.providers.prices import cost

_NO_TOKENS = TokenUsage(input_tokens=0, output_tokens=0)


class PricedUsage(Struct, frozen=True):
    """The usage of one request, with its cost; without `usage`, it is unknown."""

    usage: Usage | None = None
    extra: UsageExtra | None = None


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
    usage = Usage(
        input_tokens=tokens.input_tokens,
        output_tokens=tokens.output_tokens,
        cached_input_tokens=tokens.cached_input_tokens,
        cache_creation_input_tokens=tokens.cache_creation_input_tokens,
        cost_usd=Decimal(0) if amount is None else amount,
        pricing_version="" if amount is None else turn.env.spending.prices.find_name(turn.model),
        latency_ms=latency_ms,
    )
    return PricedUsage(usage, None if extra == UsageExtra() else extra)


def price_failure(
    turn: Turn,
    failure: AdapterError | AttemptFailed,
    latency_ms: int,
    partial: MessageComplete | None = None,
) -> PricedUsage:
    """Return the usage of a failed request."""
    tokens = failure.usage if partial is None else partial.usage
    if not isinstance(tokens, TokenUsage) or tokens == _NO_TOKENS:
        return PricedUsage()
    return price_tokens(turn, tokens, latency_ms, None if partial is None else partial.receipt)


def add_usage(turn: Turn, end: LlmCallEnd) -> None:
    """Add the usage in a fact to the turn and the run; the session adds the fact itself."""
    if (usage := end.usage) is None:
        return
    turn.counts.input_tokens += usage.prompt_tokens
    turn.counts.output_tokens += usage.output_tokens
    turn.counts.cost += usage.cost_usd
    turn.env.spending.tokens += usage.prompt_tokens + usage.output_tokens
    turn.env.spending.budget.cost += usage.cost_usd
    turn.env.spending.turn.cost += usage.cost_usd
    turn.env.spending.budgets.add(usage.cost_usd)
