from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from yourtool.events.deltas import TokenUsage
from yourtool.models import Price, PriceTier
from yourtool.providers.prices import cost

SONNET = Price(
    input_per_mtok_usd=Decimal("3.00"),
    output_per_mtok_usd=Decimal("15.00"),
    cached_read_per_mtok_usd=Decimal("0.30"),
    cache_write_per_mtok_usd=Decimal("3.75"),
)
LONG = PriceTier(
    above_prompt_tokens=200_000,
    input_per_mtok_usd=Decimal("2.50"),
    output_per_mtok_usd=Decimal("15.00"),
    cached_read_per_mtok_usd=Decimal("0.25"),
)
GEMINI = Price(
    input_per_mtok_usd=Decimal("1.25"),
    output_per_mtok_usd=Decimal("10.00"),
    cached_read_per_mtok_usd=Decimal("0.125"),
    tiers=(LONG,),
)
TOKENS = st.integers(0, 10**10)


@pytest.mark.req("R-CST-01")
def test_four_token_buckets_have_separate_exact_rates():
    usage = TokenUsage(
        input_tokens=1_000_001,
        output_tokens=200_000,
        cached_input_tokens=3_000_000,
        cache_creation_input_tokens=400_000,
    )
    assert cost(usage, SONNET) == Decimal("3.000003") + 3 + Decimal("0.9") + Decimal("1.5")


@pytest.mark.req("R-CST-01")
def test_model_without_a_price_is_unpriced_and_never_free():
    assert cost(TokenUsage(input_tokens=1, output_tokens=1), None) is None


def test_free_model_costs_nothing():
    free = Price(input_per_mtok_usd=Decimal(0), output_per_mtok_usd=Decimal(0))
    assert cost(TokenUsage(input_tokens=9, output_tokens=9), free) == 0


def test_cached_tokens_without_a_price_cost_the_input_rate():
    plain = Price(input_per_mtok_usd=Decimal("2.50"), output_per_mtok_usd=Decimal("10"))
    usage = TokenUsage(
        input_tokens=1, output_tokens=0, cached_input_tokens=1, cache_creation_input_tokens=1
    )
    assert cost(usage, plain) == Decimal("0.0000075")


@given(TOKENS, TOKENS, TOKENS, TOKENS)
def test_sum_of_requests_is_exact(a, b, c, d):
    def usage(*counts: int) -> TokenUsage:
        return TokenUsage(
            input_tokens=counts[0],
            output_tokens=counts[1],
            cached_input_tokens=counts[2],
            cache_creation_input_tokens=counts[3],
        )

    parts = [usage(a, 0, 0, 0), usage(0, b, 0, 0), usage(0, 0, c, 0), usage(0, 0, 0, d)]
    assert sum(cost(part, SONNET) or 0 for part in parts) == cost(usage(a, b, c, d), SONNET)


@pytest.mark.parametrize(
    ("fresh", "cached", "written", "dollars"),
    [
        (200_000, 0, 0, "0.26"),
        (200_001, 0, 0, "0.5150025"),
        (1, 199_999, 0, "0.035001125"),
        (1, 200_000, 0, "0.0650025"),
        (1, 100_000, 100_000, "0.2900025"),
    ],
)
@pytest.mark.req("R-CST-01")
def test_long_prompt_including_cached_tokens_prices_the_entire_request(
    fresh, cached, written, dollars
):
    usage = TokenUsage(
        input_tokens=fresh,
        output_tokens=1_000,
        cached_input_tokens=cached,
        cache_creation_input_tokens=written,
    )
    assert cost(usage, GEMINI) == Decimal(dollars)


def test_highest_reached_tier_applies_in_any_order_of_tiers():
    def flat(above: int, dollars: str) -> PriceTier:
        amount = Decimal(dollars)
        return PriceTier(
            above_prompt_tokens=above, input_per_mtok_usd=amount, output_per_mtok_usd=amount
        )

    price = Price(
        input_per_mtok_usd=Decimal(1),
        output_per_mtok_usd=Decimal(1),
        tiers=(flat(256_000, "3"), flat(32_000, "2")),
    )
    prompts = (32_000, 32_001, 256_000, 256_001)
    costs = [cost(TokenUsage(input_tokens=each, output_tokens=0), price) for each in prompts]
    assert [
        total * 1_000_000 / prompt
        for total, prompt in zip(costs, prompts, strict=True)
        if total is not None
    ] == [1, 2, 2, 3]
