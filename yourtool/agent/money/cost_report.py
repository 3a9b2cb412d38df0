"""Cost report of requests.

It sums stored facts by day, session, model, role or kind of token. Requests in copies, which a fork
or an import made, belong to the session that paid for them.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Literal, TypeAlias

from msgspec import UNSET, Struct, UnsetType
from msgspec.structs import replace

from yourtool.agent.money.repriced_costs import (
    Drift,
    Pricing,
    ReportedCall,
    RepricedCost,
    find_drift,
)
from yourtool.errors import UsageError
from yourtool.events.catalog import AnyFact
from yourtool.events.model_calls import (
    LlmCallCompleted,
    LlmCallCostReported,
    LlmCallEnd,
    LlmCallFailed,
)
from yourtool.events.sessions import SessionCreated, SessionForked, SessionImported
from yourtool.messages.usage import Usage
from yourtool.store.base import SessionStore

CostGroup: TypeAlias = Literal["model", "day", "session", "role", "bucket"]
_UNITS: Mapping[str, timedelta] = {
    "h": timedelta(hours=1),
    "d": timedelta(days=1),
    "w": timedelta(weeks=1),
}
_MAX_DIGITS = 4
"""Digits of a number of hours, days or weeks."""
_KINDS = (
    *(LlmCallCompleted, LlmCallFailed, LlmCallCostReported),
    *(SessionCreated, SessionForked, SessionImported),
)
_BUCKETS = {
    "input": "input_tokens",
    "output": "output_tokens",
    "cache read": "cached_input_tokens",
    "cache write": "cache_creation_input_tokens",
}


class CostRow(Struct, frozen=True, kw_only=True):
    """The requests of one day, session, model or role, or all of them."""

    name: str
    requests: int = 0
    input_tokens: int = 0
    """Without those that were read from or written to a cache."""
    output_tokens: int = 0
    cached_input_tokens: int = 0
    cache_creation_input_tokens: int = 0
    cost_usd: Decimal = Decimal(0)
    """Without the requests whose price is unknown."""
    unpriced_requests: int = 0
    reported_cost_usd: Decimal = Decimal(0)
    """The sum of what providers reported, for the requests for which they did."""
    reported_requests: int = 0
    repriced: RepricedCost | UnsetType = UNSET
    """Only of a report with other prices."""


class BucketRow(Struct, frozen=True, kw_only=True):
    """The tokens of one kind."""

    name: str
    tokens: int


class CostReport(Struct, frozen=True, kw_only=True):
    """Costs by group, the most expensive first, days in their order."""

    by: CostGroup
    since: datetime | None
    rows: tuple[CostRow, ...]
    buckets: tuple[BucketRow, ...]
    """Only of a report by bucket."""
    total: CostRow
    drift: tuple[Drift, ...] = ()
    """Where the reported costs differ from the computed ones."""
    pricing_version: str | UnsetType = UNSET
    """The price table of a report with other prices."""
    as_model: str | UnsetType = UNSET
    """The model of a report about another model."""


async def read_costs(
    store: SessionStore,
    by: CostGroup,
    since: datetime | None = None,
    pricing: Pricing | None = None,
) -> CostReport:
    """Return the costs of all requests since a time, and their costs by other prices.

    Raises:
        StoreError: the store cannot be read.
    """
    collector = _Collector()
    await store.read_kinds(_KINDS, collector.collect)
    calls = [call for call in collector.calls if since is None or call.end.timestamp >= since]
    total = _sum("total", calls, pricing)
    rows = () if by == "bucket" else _group(calls, _NAMES[by], pricing)
    if by == "day":
        rows = tuple(sorted(rows, key=lambda row: row.name))
    return CostReport(
        by=by,
        since=since,
        rows=rows,
        buckets=_split(total) if by == "bucket" else (),
        total=total,
        drift=find_drift(_get_reported(calls)),
        pricing_version=pricing.name if pricing else UNSET,
        as_model=pricing.as_model.id if pricing and pricing.as_model else UNSET,
    )


def parse_since(text: str, now: datetime, option: str = "--since") -> datetime:
    """Return a time: a date, a time, or `24h`, `7d` or `2w` before now; `option` has it.

    Raises:
        UsageError: it has another form.
    """
    count, unit = text[:-1], _UNITS.get(text[-1:])
    is_number = count.isascii() and count.isdecimal() and len(count) <= _MAX_DIGITS
    if unit is not None and is_number and int(count) > 0:
        return now - int(count) * unit
    try:
        moment = datetime.fromisoformat(text)
    except ValueError as error:
        raise UsageError(
            f"`{option} {text}` is no time; write a date such as `2026-11-01`, or `24h`, `7d`, `2w`"
        ) from error
    return moment.astimezone(UTC) if moment.tzinfo else moment.astimezone()


class _Call(Struct, frozen=True):
    """The end of a request that has a usage."""

    end: LlmCallEnd
    usage: Usage
    is_worker: bool
    reported: Decimal | None
    """The cost that the provider reported, with the reply or later."""


class _Collector:
    """The calls of all sessions; the facts of a session follow each other."""

    def __init__(self) -> None:
        self.calls: list[_Call] = []
        self._first = 0  # of the present session
        self._is_worker = False

    def collect(self, fact: AnyFact) -> None:
        """Add the call of a fact, or forget those that a copy brought."""
        match fact:
            case SessionCreated(parent_session_id=parent):
                self._first, self._is_worker = len(self.calls), parent is not UNSET
            case SessionForked() | SessionImported():
                del self.calls[self._first :]
            case LlmCallCompleted() | LlmCallFailed():
                if fact.usage is not None:
                    reported = fact.usage_extra.reported_cost_usd if fact.usage_extra else None
                    self.calls.append(_Call(fact, fact.usage, self._is_worker, reported))
            case LlmCallCostReported():
                self._add_reported(fact)
            case _:
                pass

    def _add_reported(self, fact: LlmCallCostReported) -> None:
        for at in range(len(self.calls) - 1, self._first - 1, -1):
            if self.calls[at].end.id == fact.parent_event_id:
                self.calls[at] = replace(self.calls[at], reported=fact.reported_cost_usd)
                return


def _split(total: CostRow) -> tuple[BucketRow, ...]:
    found = ((name, getattr(total, field)) for name, field in _BUCKETS.items())
    return tuple(BucketRow(name=name, tokens=tokens) for name, tokens in found)


def _get_role(call: _Call) -> str:
    if call.end.purpose is not UNSET and call.end.purpose:
        return call.end.purpose
    return "worker" if call.is_worker else "agent"


_NAMES: Mapping[CostGroup, Callable[[_Call], str]] = {
    "model": lambda call: call.end.model,
    "day": lambda call: f"{call.end.timestamp:%Y-%m-%d}",
    "session": lambda call: call.end.session_id,
    "role": _get_role,
}


def _get_reported(calls: Iterable[_Call]) -> Iterator[ReportedCall]:
    for call in calls:
        extra = call.end.usage_extra
        if call.reported is not None and not (extra and extra.unpriced):
            yield ReportedCall(call.end, call.usage, call.reported)


def _group(
    calls: Iterable[_Call], get_name: Callable[[_Call], str], pricing: Pricing | None
) -> tuple[CostRow, ...]:
    groups = dict[str, list[_Call]]()
    for call in calls:
        groups.setdefault(get_name(call), []).append(call)
    rows = (_sum(name, group, pricing) for name, group in groups.items())
    return tuple(sorted(rows, key=lambda row: (-row.cost_usd, row.name)))


def _sum(name: str, calls: Iterable[_Call], pricing: Pricing | None) -> CostRow:
    row, repriced = CostRow(name=name), RepricedCost()
    for call in calls:
        usage, extra, reported = call.usage, call.end.usage_extra, call.reported
        row = replace(
            row,
            requests=row.requests + 1,
            input_tokens=row.input_tokens + usage.input_tokens,
            output_tokens=row.output_tokens + usage.output_tokens,
            cached_input_tokens=row.cached_input_tokens + usage.cached_input_tokens,
            cache_creation_input_tokens=row.cache_creation_input_tokens
            + usage.cache_creation_input_tokens,
            cost_usd=row.cost_usd + usage.cost_usd,
            unpriced_requests=row.unpriced_requests + bool(extra and extra.unpriced),
            reported_cost_usd=row.reported_cost_usd + (reported or 0),
            reported_requests=row.reported_requests + (reported is not None),
        )
        if pricing is not None:
            unpriced = bool(extra and extra.unpriced)
            repriced = repriced.plus(call.end.model, usage, pricing, unpriced=unpriced)
    return row if pricing is None else replace(row, repriced=repriced)
