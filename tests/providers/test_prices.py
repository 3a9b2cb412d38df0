from decimal import Decimal

from hypothesis import given
from hypothesis import strategies as st

from yourtool.deltas import TokenUsage
from yourtool.models import Price
from yourtool.providers.prices import cost

SONNET = Price(
    input_per_mtok_usd=Decimal("3.00"),
    output_per_mtok_usd=Decimal("15.00"),
    cached_read_per_mtok_usd=Decimal("0.30"),
    cache_write_per_mtok_usd=Decimal("3.75"),
)
TOKENS = st.integers(0, 10**10)


def test_four_buckets_are_priced_each_at_its_own_rate_to_the_cent_r_cst_01():
    usage = TokenUsage(
        input_tokens=1_000_001,
        output_tokens=200_000,
        cached_input_tokens=3_000_000,
        cache_creation_input_tokens=400_000,
    )
    assert cost(usage, SONNET) == Decimal("3.000003") + 3 + Decimal("0.9") + Decimal("1.5")


def test_a_model_without_a_price_is_unpriced_and_never_free_r_cst_01():
    assert cost(TokenUsage(input_tokens=1, output_tokens=1), None) is None


def test_a_free_model_costs_nothing():
    free = Price(input_per_mtok_usd=Decimal(0), output_per_mtok_usd=Decimal(0))
    assert cost(TokenUsage(input_tokens=9, output_tokens=9), free) == 0


def test_cached_tokens_without_a_price_of_their_own_cost_what_others_do():
    plain = Price(input_per_mtok_usd=Decimal("2.50"), output_per_mtok_usd=Decimal("10"))
    usage = TokenUsage(
        input_tokens=1, output_tokens=0, cached_input_tokens=1, cache_creation_input_tokens=1
    )
    assert cost(usage, plain) == Decimal("0.0000075")


@given(TOKENS, TOKENS, TOKENS, TOKENS)
def test_no_cent_is_lost_when_requests_are_summed(a, b, c, d):
    def usage(*counts: int) -> TokenUsage:
        return TokenUsage(
            input_tokens=counts[0],
            output_tokens=counts[1],
            cached_input_tokens=counts[2],
            cache_creation_input_tokens=counts[3],
        )

    parts = [usage(a, 0, 0, 0), usage(0, b, 0, 0), usage(0, 0, c, 0), usage(0, 0, 0, d)]
    assert sum(cost(part, SONNET) or 0 for part in parts) == cost(usage(a, b, c, d), SONNET)
