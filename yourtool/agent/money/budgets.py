"""Budgets of the user in US dollars.

They have the amount that is spent, and find the budget that a request would exceed. A session and
its workers share one object. The cost of the day is read from the store, since other processes add
to it.
"""

from collections.abc import Awaitable, Callable, Iterator, Sequence
from datetime import UTC, date, datetime
from decimal import Decimal

from msgspec import Struct, field

from yourtool.events.budgets import BudgetName, BudgetReached, BudgetWarned, get_key
from yourtool.events.catalog import AnyFact
from yourtool.events.turns import TurnEvaluated
from yourtool.foundation.amounts import Spending, format_money
from yourtool.settings.agent_config import BudgetConfig, RoutingConfig
from yourtool.store.base import SessionStore

_WARNED_AT = (95, 80)
"""Percentages of a budget, the highest first."""
NO_BUDGETS = BudgetConfig()


class UsedBudget(Struct, frozen=True):
    """A budget and what is spent of it."""

    name: BudgetName
    limit: Decimal
    spent: Decimal

    @property
    def key(self) -> str:
        """The key in `config.toml`."""
        return get_key(self.name)

    @property
    def percent(self) -> Decimal:
        """The percentage that is spent."""
        return 100 * self.spent / self.limit

    def describe_reached(self, estimate: Decimal) -> str:
        """Return why a request that costs about this much would exceed the budget."""
        cost = f"The next request would cost about {format_money(estimate)}"
        if self.name == "request":
            return f"{cost}, more than `{self.key}`, {format_money(self.limit)}."
        what = "this session has" if self.name == "session" else "all sessions of today (UTC) have"
        return (
            f"{cost}, and {what} cost {format_money(self.spent)}: together more than"
            f" `{self.key}`, {format_money(self.limit)}."
        )


async def _spend_nothing() -> Spending:
    return Spending()


class Budgets(Struct, kw_only=True):
    """The budgets of one session and its workers."""

    config: BudgetConfig = NO_BUDGETS
    read_today: Callable[[], Awaitable[Spending]] = _spend_nothing
    """Returns the cost of all sessions since midnight UTC."""
    get_date: Callable[[], date] = lambda: datetime.now(UTC).date()
    session_cost: Decimal = Decimal(0)
    day_cost: Decimal = Decimal(0)
    """That of all sessions, as of `refresh`, and what this one has spent since."""
    allowed: set[BudgetName] = field(default_factory=lambda: set[BudgetName]())
    """The budgets that the user lets the present turn exceed."""
    _day: date | None = None
    """The day of `day_cost`."""

    @property
    def are_set(self) -> bool:
        """Whether there is any budget."""
        return self.config != NO_BUDGETS

    def add(self, cost: Decimal) -> None:
        """Add the cost of a request."""
        self.session_cost += cost
        self.day_cost += cost

    async def refresh(self) -> None:
        """Read the cost of the day.

        It does not become less: the store may lack what was spent a moment ago.
        """
        if self.config.day is None:
            return
        stored, today = (await self.read_today()).cost_usd, self.get_date()
        known = self.day_cost if today == self._day else Decimal(0)
        self._day, self.day_cost = today, max(stored, known)

    def find_exceeded(self, expected: Decimal, estimate: Decimal) -> Sequence[UsedBudget]:
        """Return the budgets of session and day that another request would exceed.

        `expected`: the cost of the requests that run now. A request without a cost exceeds none.
        """
        return [
            each
            for each in self._list_used()
            if each.name not in self.allowed
            and estimate > 0
            and each.spent + expected + estimate > each.limit
        ]

    def find_questioned(self, estimate: Decimal) -> Sequence[UsedBudget]:
        """Return the budget of one request, if another one would exceed it."""
        limit = self.config.ask_above
        if limit is None or estimate <= limit or "request" in self.allowed:
            return ()
        return (UsedBudget("request", limit, Decimal(0)),)

    def find_warnings(self, given: Sequence[BudgetWarned]) -> Iterator[BudgetWarned]:
        """Yield the warnings that are due; `given`: those that the session has stored."""
        for each in self._list_used():
            reached = next((percent for percent in _WARNED_AT if each.percent >= percent), None)
            last = next((old for old in reversed(given) if old.budget == each.name), None)
            if reached is None or (last is not None and self._covers(last, each, reached)):
                continue
            yield BudgetWarned(
                budget=each.name, percent=reached, limit_usd=each.limit, spent_usd=each.spent
            )

    def _list_used(self) -> Iterator[UsedBudget]:
        """Yield the budgets of session and day."""
        if (limit := self.config.session) is not None:
            yield UsedBudget("session", limit, self.session_cost)
        if (limit := self.config.day) is not None:
            yield UsedBudget("day", limit, self.day_cost)

    def _covers(self, last: BudgetWarned, used: UsedBudget, percent: int) -> bool:
        """Whether an earlier warning has made another one unnecessary."""
        is_same_day = used.name != "day" or last.timestamp.date() == self.get_date()
        return is_same_day and last.limit_usd == used.limit and last.percent >= percent


class JudgeBudget(Struct, kw_only=True):
    """What the model that judges turns may cost, and what it has cost today (UTC)."""

    config: RoutingConfig = field(default_factory=RoutingConfig)
    store: SessionStore | None = None
    get_date: Callable[[], date] = lambda: datetime.now(UTC).date()
    _failed: tuple[date | None, int, Decimal] = (None, 0, Decimal(0))
    """The day, number and cost of requests of this process without an evaluation."""

    def add_failed(self, cost: Decimal) -> None:
        """Add a request that led to no evaluation."""
        day, calls, spent = self._failed
        same = day == self.get_date()
        self._failed = (
            self.get_date(),
            1 + calls * same,
            cost + spent * same,
        )

    async def find_problem(self, estimate: Decimal) -> str:
        """Return why another request that costs this much is not sent; empty: it may be sent.

        Raises:
            StoreError: the store cannot be read.
        """
        config, today = self.config, self.get_date()
        if estimate > config.judge_max_call_usd:
            limit = format_money(config.judge_max_call_usd)
            return f"it could cost {format_money(estimate)}, and `judge_max_call_usd` is {limit}"
        day, calls, spent = self._failed
        found = [fact for fact in await self._read() if fact.timestamp.date() == today]
        calls = calls * (day == today) + sum(fact.requests for fact in found)
        if calls >= config.judge_max_day_calls:
            return f"`judge_max_day_calls`, {config.judge_max_day_calls}, is reached"
        spent = spent * (day == today) + sum((fact.cost_usd for fact in found), Decimal(0))
        if spent + estimate > config.judge_max_day_usd:
            limit = format_money(config.judge_max_day_usd)
            return f"today's have cost {format_money(spent)}, and `judge_max_day_usd` is {limit}"
        return ""

    async def _read(self) -> Sequence[TurnEvaluated]:
        found = list[TurnEvaluated]()

        def add(fact: AnyFact) -> None:
            if isinstance(fact, TurnEvaluated):
                found.append(fact)

        if self.store is not None:
            await self.store.read_kinds((TurnEvaluated,), add)
        return found


def build_reached(used: UsedBudget, estimate: Decimal, *, allowed: bool) -> BudgetReached:
    """Return the fact that a request would have exceeded a budget."""
    return BudgetReached(
        budget=used.name,
        limit_usd=used.limit,
        spent_usd=used.spent,
        estimate_usd=estimate,
        allowed=allowed,
    )


def describe_warning(warned: BudgetWarned) -> str:
    """Return a warning in one sentence."""
    what = "This session has" if warned.budget == "session" else "All sessions of today (UTC) have"
    return (
        f"{what} cost {format_money(warned.spent_usd)}:"
        f" {100 * warned.spent_usd // warned.limit_usd}% of `{get_key(warned.budget)}`,"
        f" {format_money(warned.limit_usd)}."
    )


def describe_reached(reached: BudgetReached) -> str:
    """Return in one line what the user decided about a budget."""
    budget = f"`{get_key(reached.budget)}`, {format_money(reached.limit_usd)}"
    if reached.allowed:
        return f"This turn may exceed {budget}."
    return f"The turn stopped before a request that would exceed {budget}."
