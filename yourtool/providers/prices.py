"""What a request costs: four disjoint buckets of tokens, each at its own price."""

from decimal import Decimal

from yourtool.deltas import TokenUsage
from yourtool.models import Price

_MILLION = -6


def cost(usage: TokenUsage, price: Price | None) -> Decimal | None:
    """Return US dollars, exactly.

    None where no price is known, which is not the same as free. A cache bucket without a price of
    its own costs what other input does.
    """
    if price is None:
        return None
    read, write = price.cached_read_per_mtok_usd, price.cache_write_per_mtok_usd
    per_million = (
        usage.input_tokens * price.input_per_mtok_usd
        + usage.output_tokens * price.output_per_mtok_usd
        + usage.cached_input_tokens * (price.input_per_mtok_usd if read is None else read)
        + usage.cache_creation_input_tokens * (price.input_per_mtok_usd if write is None else write)
    )
    return per_million.scaleb(_MILLION)
