"""New prices for stored requests of turns."""

from bisect import bisect_left
from collections.abc import Callable
from datetime import datetime
from decimal import Decimal
from itertools import accumulate

from msgspec import Struct

from yourtool.events.catalog import AnyFact
from yourtool.events.deltas import TokenUsage
from yourtool.events.model_calls import LlmCallCompleted, LlmCallEnd, LlmCallFailed
from yourtool.events.sessions import (
    SessionCreated,
    SessionExtended,
    SessionForked,
    SessionImported,
)
from yourtool.messages.usage import Usage
from yourtool.models import Price
from yourtool.providers.prices import cost
from yourtool.store.base import SessionStore

COPIES = (SessionForked, SessionImported, SessionExtended)
"""Facts after those that a copy brought, which belong to another session."""


class PriceChange(Struct, frozen=True, kw_only=True):
    """What the requests of a turn cost, and what they cost when priced again."""

    old: Decimal = Decimal(0)
    """Without requests that have no price on either side."""
    new: Decimal = Decimal(0)
    requests: int = 0
    unpriced_requests: int = 0


class _Request(Struct, frozen=True):
    turn_id: str | None
    ended: datetime
    model: str
    usage: Usage
    cost: Decimal | None
    """None: it is unpriced."""


class RequestPrices:
    """The requests of all sessions by turn."""

    def __init__(self, find_price: Callable[[str], Price | None], *, is_other: bool) -> None:
        """`is_other`: whether requests to the same model have another price too."""
        self._find_price, self._is_other = find_price, is_other
        self._requests: list[_Request] = []
        self._first = 0  # of the present session
        self._by_turn: dict[str, list[_Request]] = {}
        self._ends: list[datetime] = []
        self._sums: list[Decimal] = []

    async def load(self, store: SessionStore) -> None:
        """Read all requests, once.

        Raises:
            StoreError: the store cannot be read.
        """
        if self._sums:
            return
        kinds = (LlmCallCompleted, LlmCallFailed, SessionCreated, *COPIES)
        await store.read_kinds(kinds, self._read)
        self._requests.sort(key=lambda each: each.ended)
        self._ends = [each.ended for each in self._requests]
        costs = (self._price(each, each.model) or Decimal(0) for each in self._requests)
        self._sums = [Decimal(0), *accumulate(costs)]
        for each in self._requests:
            self._by_turn.setdefault(each.turn_id or "", []).append(each)

    def find_spending(self, at: datetime) -> Decimal:
        """Return what all requests cost from midnight UTC until a time."""
        midnight = at.replace(hour=0, minute=0, second=0, microsecond=0)
        start, end = bisect_left(self._ends, midnight), bisect_left(self._ends, at)
        return self._sums[end] - self._sums[start]

    def compare(self, turn_id: str | None, old: str | None, new: str | None) -> PriceChange:
        """Return the costs of a turn if `new` gets the requests to `old`; None: no model."""
        before = after = Decimal(0)
        requests = self._by_turn.get(turn_id or "", [])
        unpriced = 0
        for each in requests:
            model = new if each.model == old else each.model
            price = Decimal(0) if model is None else self._price(each, model)
            if each.cost is None or price is None:
                unpriced += 1
            else:
                before, after = before + each.cost, after + price
        return PriceChange(
            old=before, new=after, requests=len(requests), unpriced_requests=unpriced
        )

    def _read(self, fact: AnyFact) -> None:
        """Add the request of a fact, or forget those that a copy brought."""
        match fact:
            case SessionCreated():
                self._first = len(self._requests)
            case SessionForked() | SessionImported() | SessionExtended():
                del self._requests[self._first :]
            case LlmCallCompleted() | LlmCallFailed():
                if fact.usage is not None:
                    self._requests.append(_build_request(fact, fact.usage))
            case _:
                pass

    def _price(self, request: _Request, model: str) -> Decimal | None:
        if model == request.model and not self._is_other:
            return request.cost
        usage = request.usage
        tokens = TokenUsage(
            input_tokens=usage.input_tokens,
            output_tokens=usage.output_tokens,
            cached_input_tokens=usage.cached_input_tokens,
            cache_creation_input_tokens=usage.cache_creation_input_tokens,
        )
        return cost(tokens, self._find_price(model))


def _build_request(end: LlmCallEnd, usage: Usage) -> _Request:
    extra = end.usage_extra
    is_unpriced = extra is not None and extra.unpriced
    price = None if is_unpriced else usage.cost_usd
    return _Request(end.turn_id, end.timestamp, end.model, usage, price)
