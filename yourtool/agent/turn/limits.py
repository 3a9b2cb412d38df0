"""Limits of a turn.

Hard limits stop it; at soft limits, at budgets and in a loop, the user is asked.
"""

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterator, Sequence
from contextlib import asynccontextmanager
from decimal import Decimal
from typing import Literal

from msgspec import Struct
from msgspec.structs import replace

from yourtool.agent.history.channel import Channel
from yourtool.agent.money.budgets import UsedBudget, build_reached
from yourtool.agent.turn.turn import Turn
from yourtool.effects import Confirm, Confirmation, Verdict
from yourtool.errors import AdapterError, InvalidRequestError
from yourtool.events.budgets import BudgetReached, BudgetWarned
from yourtool.events.deltas import Notice, TokenUsage
from yourtool.foundation.amounts import format_money
from yourtool.ids import new_id
from yourtool.providers.prices import cost

_AFTER_BUDGET = (
    " The request was not sent. Change `[budget]` in `config.toml`, or choose a cheaper model."
)


class Forecast(Struct, frozen=True):
    """What the next request costs, in US dollars; 0 without a known price."""

    minimum: Decimal = Decimal(0)
    """That of the prompt alone."""
    estimate: Decimal = Decimal(0)
    """With a reply as long as the last one of the model."""


class ReachedLimit(Struct, frozen=True):
    """Why the next request must not be sent, or only if the user allows it."""

    text: str
    """A message about it."""
    kind: Literal["hard", "soft", "loop", "budget"]
    """A hard limit stops the turn without a question."""
    forecast: Forecast = Forecast()
    budgets: Sequence[UsedBudget] = ()
    """The budgets that the request would exceed."""

    def build_question(self) -> Confirmation:
        """Return the question to the user."""
        if not self.budgets:
            return Confirmation(id=new_id(), kind="limit", title=self.text)
        names = " and ".join(f"`{each.key}`" for each in self.budgets)
        return Confirmation(
            id=new_id(),
            kind="limit",
            title=f"The next request would exceed {names}.",
            reason=f"{self.text} If you continue, this turn may exceed it.",
        )

    @property
    def reason(self) -> str:
        """Why the turn stops."""
        return self.text + _AFTER_BUDGET * bool(self.budgets)

    def build_facts(self, *, allowed: bool) -> Iterator[BudgetReached]:
        """Yield a fact for each budget about the answer of the user."""
        for each in self.budgets:
            yield build_reached(each, self.forecast.estimate, allowed=allowed)


async def find_limit(turn: Turn) -> ReachedLimit | None:
    """Return the limit that another request would exceed, or None if there is none."""
    await turn.env.spending.budgets.refresh()
    forecast = await _estimate_cost(turn)
    if (text := _find_hard_limit(turn, forecast.minimum)) is not None:
        return ReachedLimit(text, "hard", forecast)
    budgets = turn.env.spending.budgets
    expected, estimate = turn.env.spending.budget.expected_cost, forecast.estimate
    exceeded = budgets.find_exceeded(expected, estimate) or budgets.find_questioned(estimate)
    if exceeded:
        return _describe_budgets(exceeded, forecast)
    if (text := _find_soft_limit(turn, forecast.minimum)) is not None:
        return ReachedLimit(text, "soft", forecast)
    return None


async def find_limit_after_calls(turn: Turn, *, delegated: bool) -> ReachedLimit | None:
    """Return what the calls of a reply led to: a loop, or a limit.

    Workers can reach all of them, and long results those of cost.
    """
    if (problem := turn.counts.repeated.problem) is not None:
        return ReachedLimit(problem, "loop")
    return await find_limit(turn) if delegated or turn.env.spending.budgets.are_set else None


async def ask_at_limits(
    turn: Turn, find: Callable[[], Awaitable[ReachedLimit | None]]
) -> str | None:
    """Ask about each limit that `find` returns; return None to continue, or the reason to stop.

    Raises:
        Interrupted: the turn was stopped before the user answered.
    """
    while (reached := await find()) is not None:
        await turn.channel.wait_shown()
        stop = await _resolve_limit(turn, reached)
        await turn.emit(*reached.build_facts(allowed=stop is None))
        if stop is not None:
            if not reached.budgets:
                await turn.emit(Notice(level="warning", text=stop))
            return stop
    return None


async def _resolve_limit(turn: Turn, limit: ReachedLimit) -> str | None:
    """Ask about a reached limit; return None to continue, or the reason to stop.

    At a soft limit an approval allows the same amount again; in a loop, as many repetitions; for a
    budget, all requests until the turn of the user ends.

    Raises:
        Interrupted: the turn was stopped before the user answered.
    """
    if limit.kind != "hard":
        decision = await turn.interrupt.guard(turn.env.user.confirm(limit.build_question()))
        if decision.verdict is Verdict.ALLOW:
            _extend(turn, limit)
            return None
    turn.env.spending.limit_reached = limit.reason
    return limit.reason


def _extend(turn: Turn, limit: ReachedLimit) -> None:
    if limit.kind == "loop":
        turn.counts.repeated.clear()
        return
    if limit.kind == "budget":
        turn.env.spending.budgets.allowed |= {each.name for each in limit.budgets}
        return
    limits, spending = turn.env.spending.limits, turn.env.spending.turn
    turn.counts.request_allowance = turn.counts.requests + limits.max_requests_per_turn
    spending.allowance = spending.cost + limit.forecast.minimum + limits.max_cost_per_turn_usd


async def find_warnings(turn: Turn) -> Sequence[BudgetWarned]:
    """Return the warnings that are due; those about workers are left to the session."""
    budgets = turn.env.spending.budgets
    if turn.env.is_worker:
        return ()
    await budgets.refresh()
    return tuple(budgets.find_warnings(turn.state.budget_warnings))


async def check_cost_limit(turn: Turn) -> None:
    """Check that another attempt, or a silent call, exceeds no budget and no limit of the run.

    Raises:
        InvalidRequestError: the limit would be exceeded.
    """
    await turn.env.spending.budgets.refresh()
    forecast = await _estimate_cost(turn)
    reached = _find_cost_limit(turn, forecast.minimum) or _find_exceeded_budget(turn, forecast)
    if reached is not None:
        turn.env.spending.limit_reached = reached
        raise InvalidRequestError(reached)


@asynccontextmanager
async def reserved_request(turn: Turn) -> AsyncGenerator[None, None]:
    """Count a request, with its minimum cost until its end, which counts the real cost.

    Workers of the session may have used what was left when the turn checked its limits; between
    this check and the count, nothing is awaited.

    Raises:
        InvalidRequestError: the request would exceed a limit.
    """
    budget, budgets = turn.env.spending.budget, turn.env.spending.budgets
    await budgets.refresh()
    is_limited = budget.max_cost is not None or budgets.are_set
    forecast = await _estimate_cost(turn) if is_limited else Forecast()
    reached = _find_hard_limit(turn, forecast.minimum) or _find_exceeded_budget(turn, forecast)
    if reached is not None:
        turn.env.spending.limit_reached = reached
        raise InvalidRequestError(reached)
    budget.requests += 1
    budget.expected_cost += forecast.minimum
    try:
        yield
    finally:
        budget.expected_cost -= forecast.minimum


async def confirm_wait(confirm: Confirm, channel: Channel, error: AdapterError) -> bool:
    """Ask the user whether to wait for as long as the provider requires before a retry.

    The request, of which its session stores a part, must not refer to the turn.
    """
    title = f"{error.message}. The request is retried after the wait."
    confirmation = Confirmation(id=new_id(), kind="limit", title=title)
    await channel.wait_shown()
    return (await confirm(confirmation)).verdict is Verdict.ALLOW


def unknown_price_warning(turn: Turn) -> str | None:
    """Return a warning if a cost limit cannot be enforced because the price is unknown."""
    names = ["`--max-cost`"] * (turn.env.spending.budget.max_cost is not None)
    names += ["`[budget]`"] * turn.env.spending.budgets.are_set
    if not names or turn.model.price is not None:
        return None
    return (
        f"{' and '.join(names)} {'do' if len(names) > 1 else 'does'} not limit `{turn.model.id}`,"
        " because its price is not known; add it to `prices.toml`."
    )


def _find_hard_limit(turn: Turn, minimum: Decimal) -> str | None:
    env, budget = turn.env, turn.env.spending.budget
    if env.spending.max_tokens is not None and env.spending.tokens >= env.spending.max_tokens:
        return f"The limit of {env.spending.max_tokens:,} tokens is reached."
    if budget.max_requests is not None and budget.requests >= budget.max_requests:
        reached = f"The limit of {budget.max_requests} model requests is reached"
        return f"{reached}; `--max-turns` sets another."
    return _find_cost_limit(turn, minimum)


def _find_cost_limit(turn: Turn, minimum: Decimal) -> str | None:
    budget = turn.env.spending.budget
    spent = budget.cost + budget.expected_cost
    if budget.max_cost is None or spent + minimum <= budget.max_cost:
        return None
    return (
        f"The next request would cost at least {format_money(minimum)}, and this run has cost"
        f" {format_money(spent)}: together this exceeds the limit of"
        f" {format_money(budget.max_cost)}. The request was not sent. Raise `--max-cost`, choose a"
        " cheaper model, or start a new session."
    )


def _find_soft_limit(turn: Turn, minimum: Decimal) -> str | None:
    """Return why the user is asked; an option replaces the limit of its kind."""
    limits, budget = turn.env.spending.limits, turn.env.spending.budget
    requests, most = turn.counts.requests, limits.max_requests_per_turn
    if budget.max_requests is None and requests >= (turn.counts.request_allowance or most):
        return (
            f"This turn has made {requests} model requests; `--max-turns`, or"
            " `limits.max_requests_per_turn`, allows more."
        )
    if budget.max_cost is not None:
        return None
    limit, spending = limits.max_cost_per_turn_usd, turn.env.spending.turn
    ceiling = spending.allowance or limit
    if spending.cost >= ceiling or spending.cost + minimum > ceiling:
        return (
            f"This turn has cost {format_money(spending.cost)}, and the next request costs at least"
            f" {format_money(minimum)}; `limits.max_cost_per_turn_usd` is {limit}, and `--max-cost`"
            " replaces it."
        )
    return None


def _find_exceeded_budget(turn: Turn, forecast: Forecast) -> str | None:
    """Return why a budget forbids the next request, where no question can be asked."""
    expected = turn.env.spending.budget.expected_cost
    exceeded = turn.env.spending.budgets.find_exceeded(expected, forecast.estimate)
    return _describe_budgets(exceeded, forecast).reason if exceeded else None


def _describe_budgets(exceeded: Sequence[UsedBudget], forecast: Forecast) -> ReachedLimit:
    text = " ".join(each.describe_reached(forecast.estimate) for each in exceeded)
    return ReachedLimit(text, "budget", forecast, exceeded)


async def _estimate_cost(turn: Turn) -> Forecast:
    """Return the cost of the next request.

    The prompt and the reply of the last request to this model are assumed to be in the provider's
    cache.
    """
    if turn.model.price is None:
        return Forecast()
    prompt = await asyncio.to_thread(turn.estimate)
    last = turn.state.branch.counted_replies.get(turn.model.id)
    reply = 0 if last is None else last.usage.output_tokens
    cached = 0 if last is None else min(prompt, last.usage.prompt_tokens + reply)
    sent = TokenUsage(input_tokens=prompt - cached, output_tokens=0, cached_input_tokens=cached)
    answered = replace(sent, output_tokens=reply)
    price = turn.model.price
    return Forecast(cost(sent, price) or Decimal(0), cost(answered, price) or Decimal(0))
