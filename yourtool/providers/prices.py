"""Cost of a request.

It has four disjoint token counts, each with its own rate.

If a vendor charges more for long prompts, the length of the prompt sets the rates of the entire
request, including the reply: https://ai.google.dev/gemini-api/docs/pricing,
https://platform.openai.com/docs/pricing, https://docs.claude.com/en/docs/about-claude/pricing.
"""

from decimal import Decimal

from yourtool.events.deltas import TokenUsage
from yourtool.models import Price, Rates

MIN_RATE, MAX_RATE = Decimal("1e-9"), Decimal(1_000_000)
"""US dollars per million tokens; a rate outside these limits, except zero, is an error."""

_MILLION = -6


def is_plausible_rate(rate: Decimal) -> bool:
    """Return whether a rate in US dollars per million tokens is plausible."""
    return not rate.is_nan() and (not rate or MIN_RATE <= rate <= MAX_RATE)


def cost(usage: TokenUsage, price: Price | None) -> Decimal | None:
    """Return the exact cost in US dollars; None: the price is unknown, not zero.

    Cache tokens without a separate rate cost as much as other input.
    """
    if price is None:
        return None
    rates = _effective_rates(usage, price)
    read, write = rates.cached_read_per_mtok_usd, rates.cache_write_per_mtok_usd
    per_million = (
        usage.input_tokens * rates.input_per_mtok_usd
        + usage.output_tokens * rates.output_per_mtok_usd
        + usage.cached_input_tokens * (rates.input_per_mtok_usd if read is None else read)
        + usage.cache_creation_input_tokens * (rates.input_per_mtok_usd if write is None else write)
    )
    return per_million.scaleb(_MILLION)


def _effective_rates(usage: TokenUsage, price: Price) -> Rates:
    reached = [tier for tier in price.tiers if usage.prompt_tokens > tier.above_prompt_tokens]
    return max(reached, key=lambda tier: tier.above_prompt_tokens, default=price)
