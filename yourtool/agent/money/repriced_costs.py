"""Costs of stored requests at other prices.

The tokens stay as the model of the request counted them: another model counts the same text
differently, writes another reply, and has its own cache.
"""

from collections.abc import Callable, Iterable
from decimal import Decimal
from math import inf

from msgspec import Struct
from msgspec.structs import replace

from yourtool.events.deltas import TokenUsage
from yourtool.events.model_calls import LlmCallEnd
from yourtool.messages.usage import Usage
from yourtool.models import Model, Price
from yourtool.providers.prices import cost

DRIFT_FROM = Decimal("0.02")
"""Share of the computed cost from which a reported one counts as different."""


class Pricing(Struct, frozen=True, kw_only=True):
    """The prices of a report."""

    name: str
    """That of the table."""
    find_price: Callable[[str], Price | None]
    as_model: Model | None = None
    """The model to which all requests count as sent; None: each to its own."""

    def price(self, model: str, usage: Usage) -> Decimal | None:
        """Return the cost of a request; None: its model has no price in the table."""
        tokens = TokenUsage(
            input_tokens=usage.input_tokens,
            output_tokens=usage.output_tokens,
            cached_input_tokens=usage.cached_input_tokens,
            cache_creation_input_tokens=usage.cache_creation_input_tokens,
        )
        return cost(tokens, self.find_price(self.as_model.id if self.as_model else model))

    def fits(self, usage: Usage) -> bool:
        """Return whether the other model takes a prompt of this length."""
        if self.as_model is None or not self.as_model.known:
            return True
        return usage.prompt_tokens < (self.as_model.window or inf)


class RepricedCost(Struct, frozen=True, kw_only=True):
    """What some requests cost by other prices."""

    cost_usd: Decimal = Decimal(0)
    """Without the requests whose model has no price in the table."""
    unpriced_requests: int = 0
    compared_requests: int = 0
    """Those with a stored cost and a price in the table."""
    compared_stored_usd: Decimal = Decimal(0)
    compared_cost_usd: Decimal = Decimal(0)
    too_long_requests: int = 0
    """Those whose prompt exceeds the context window of the other model."""

    def plus(self, model: str, usage: Usage, pricing: Pricing, *, unpriced: bool) -> "RepricedCost":
        """Return the sum with a request; `unpriced`: it has no stored cost."""
        amount = pricing.price(model, usage)
        row = replace(self, too_long_requests=self.too_long_requests + (not pricing.fits(usage)))
        if amount is None:
            return replace(row, unpriced_requests=row.unpriced_requests + 1)
        row = replace(row, cost_usd=row.cost_usd + amount)
        if unpriced:
            return row
        return replace(
            row,
            compared_requests=row.compared_requests + 1,
            compared_stored_usd=row.compared_stored_usd + usage.cost_usd,
            compared_cost_usd=row.compared_cost_usd + amount,
        )


class Drift(Struct, frozen=True, kw_only=True):
    """A model whose provider reports other costs than the computed ones."""

    model: str
    requests: int
    """Those with both costs."""
    reported_cost_usd: Decimal
    computed_cost_usd: Decimal
    pricing_versions: tuple[str, ...]
    """The price tables of the computed costs."""


class ReportedCall(Struct, frozen=True):
    """A request with a stored cost and one that its provider reported."""

    end: LlmCallEnd
    usage: Usage
    reported: Decimal


def find_drift(calls: Iterable[ReportedCall]) -> tuple[Drift, ...]:
    """Return the models whose reported and computed costs differ, those with most money first."""
    rows = dict[str, Drift]()
    for call in calls:
        row = rows.get(call.end.model) or Drift(
            model=call.end.model,
            requests=0,
            reported_cost_usd=Decimal(0),
            computed_cost_usd=Decimal(0),
            pricing_versions=(),
        )
        versions = (*row.pricing_versions, call.usage.pricing_version)
        rows[row.model] = replace(
            row,
            requests=row.requests + 1,
            reported_cost_usd=row.reported_cost_usd + call.reported,
            computed_cost_usd=row.computed_cost_usd + call.usage.cost_usd,
            pricing_versions=tuple(dict.fromkeys(versions)),
        )
    found = [row for row in rows.values() if _get_difference(row) > _get_tolerance(row)]
    return tuple(sorted(found, key=lambda row: (-_get_difference(row), row.model)))


def _get_difference(row: Drift) -> Decimal:
    return abs(row.reported_cost_usd - row.computed_cost_usd)


def _get_tolerance(row: Drift) -> Decimal:
    return DRIFT_FROM * max(row.reported_cost_usd, row.computed_cost_usd)
