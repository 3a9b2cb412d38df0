"""Usage of one model request.

Its tokens, price and receipt are stored with the reply.
"""

from decimal import Decimal

from msgspec import Struct


class Usage(Struct, frozen=True, gc=False, kw_only=True):
    """Tokens and price of one model request; the three input counters are disjoint."""

    input_tokens: int
    """Prompt tokens that were neither read from nor written to a cache."""
    output_tokens: int
    cached_input_tokens: int = 0
    cache_creation_input_tokens: int = 0
    cost_usd: Decimal
    pricing_version: str
    """The version of the price table; empty if the model has no price."""
    latency_ms: int

    @property
    def prompt_tokens(self) -> int:
        """All prompt tokens, cached or not."""
        return self.input_tokens + self.cached_input_tokens + self.cache_creation_input_tokens


class RateLimits(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The remaining rate limits of the account, as of one response."""

    remaining_requests: int | None = None
    remaining_tokens: int | None = None
    limit_requests: int | None = None
    limit_tokens: int | None = None
    reset_seconds: float | None = None
    """Seconds until all limits are reset."""
    reset_requests_seconds: float | None = None
    reset_tokens_seconds: float | None = None


class Receipt(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Metadata of a response, such as its ids."""

    request_id: str | None = None
    """The provider's id of the request, for its support."""
    response_id: str | None = None
    """The provider's id of the reply, with which some report its cost."""
    rate_limits: RateLimits | None = None


class UsageExtra(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Additional token counts of a request."""

    estimated: bool = False
    """The provider sent no counts; these are our estimate."""
    unpriced: bool = False
    """The model has no known price; `cost_usd` is zero because it must be a number."""
    reasoning_tokens: int | None = None
    """Included in the output tokens."""
    image_tokens: int | None = None
    """In prompt and output together."""
    audio_tokens: int | None = None
    """In prompt and output together."""
    reported_cost_usd: Decimal | None = None
    receipt: Receipt | None = None
