"""Limits of a turn: hard limits stop it; at soft limits and in a loop, the user is asked."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from decimal import Decimal
from typing import Literal, NamedTuple

from yourtool.agent.turn.turn import Turn
from yourtool.amounts import format_money
from yourtool.effects import Confirm, Confirmation, Verdict
from yourtool.errors import AdapterError, InvalidRequestError
from yourtool.events.deltas import TokenUsage
from yourtool.ids import new_id
from yourtool.providers.prices import cost


class ReachedLimit(NamedTuple):
    """Why the next request must not be sent, or only if the user allows it."""

    text: str
    """A message about it."""
    kind: Literal["hard", "soft", "loop"]
    """A hard limit stops the turn without a question."""
    minimum: Decimal = Decimal(0)
    """The minimum cost of the next request, in US dollars."""


async def find_limit(turn: Turn) -> ReachedLimit | None:
    """Return the limit that another request would exceed, or None if there is none."""
    minimum = await _minimum_cost(turn)
    if (text := _find_hard_limit(turn, minimum)) is not None:
        return ReachedLimit(text, "hard", minimum)
    if (text := _find_soft_limit(turn, minimum)) is not None:
        return ReachedLimit(text, "soft", minimum)
    return None


async def find_limit_after_calls(turn: Turn, *, delegated: bool) -> ReachedLimit | None:
    """Return what the calls of a reply led to: a loop, or a limit that workers reached."""
    if (problem := turn.repeated.problem) is not None:
        return ReachedLimit(problem, "loop")
    return await find_limit(turn) if delegated else None


async def resolve_limit(turn: Turn, limit: ReachedLimit) -> str | None:
    """Ask about a reached limit; return None to continue, or the reason to stop.

    At a soft limit an approval allows the same amount again; in a loop, as many repetitions.

    Raises:
        Interrupted: the turn was stopped before the user answered.
    """
    if limit.kind != "hard":
        confirmation = Confirmation(id=new_id(), kind="limit", title=limit.text)
        decision = await turn.interrupt.guard(turn.env.confirm(confirmation))
        if decision.verdict is Verdict.ALLOW:
            _extend(turn, limit)
            return None
    turn.env.limit_reached = limit.text
    return limit.text


def _extend(turn: Turn, limit: ReachedLimit) -> None:
    if limit.kind == "loop":
        turn.repeated.clear()
        return
    limits, spending = turn.env.limits, turn.env.turn_spending
    turn.request_allowance = turn.requests + limits.max_requests_per_turn
    spending.allowance = spending.cost + limit.minimum + limits.max_cost_per_turn_usd


async def check_cost_limit(turn: Turn) -> None:
    """Check that another attempt of a request does not exceed the cost limit of the run.

    Raises:
        InvalidRequestError: the limit would be exceeded.
    """
    minimum = await _minimum_cost(turn)
    if (reached := _find_cost_limit(turn, minimum)) is not None:
        turn.env.limit_reached = reached
        raise InvalidRequestError(reached)


@asynccontextmanager
async def reserved_request(turn: Turn) -> AsyncGenerator[None, None]:
    """Count a request, with its minimum cost until its end, which counts the real cost.

    Workers of the session may have used what was left when the turn checked its limits; between
    this check and the count, nothing is awaited.

    Raises:
        InvalidRequestError: the request would exceed a limit.
    """
    budget = turn.env.budget
    minimum = Decimal(0) if budget.max_cost is None else await _minimum_cost(turn)
    if (reached := _find_hard_limit(turn, minimum)) is not None:
        turn.env.limit_reached = reached
        raise InvalidRequestError(reached)
    budget.requests += 1
    budget.expected_cost += minimum
    try:
        yield
    finally:
        budget.expected_cost -= minimum


async def confirm_wait(confirm: Confirm, error: AdapterError) -> bool:
    """Ask the user whether to wait for as long as the provider requires before a retry."""
    title = f"{error.message}. The request is retried after the wait."
    confirmation = Confirmation(id=new_id(), kind="limit", title=title)
    return (await confirm(confirmation)).verdict is Verdict.ALLOW


def unknown_price_warning(turn: Turn) -> str | None:
    """Return a warning if a cost limit cannot be enforced because the price is unknown."""
    if turn.env.budget.max_cost is None or turn.model.price is not None:
        return None
    return (
        f"`--max-cost` does not limit `{turn.model.id}`, because its price is not known;"
        " add it to `prices.toml`."
    )


def _find_hard_limit(turn: Turn, minimum: Decimal) -> str | None:
    env, budget = turn.env, turn.env.budget
    if env.max_tokens is not None and env.tokens >= env.max_tokens:
        return f"The limit of {env.max_tokens:,} tokens is reached."
    if budget.max_requests is not None and budget.requests >= budget.max_requests:
        return f"The limit of {budget.max_requests} model requests is reached."
    return _find_cost_limit(turn, minimum)


def _find_cost_limit(turn: Turn, minimum: Decimal) -> str | None:
    budget = turn.env.budget
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
    limits = turn.env.limits
    if turn.requests >= (turn.request_allowance or limits.max_requests_per_turn):
        return f"This turn has made {turn.requests} model requests."
    limit, spending = limits.max_cost_per_turn_usd, turn.env.turn_spending
    ceiling = spending.allowance or limit
    if spending.cost >= ceiling or spending.cost + minimum > ceiling:
        return (
            f"This turn has cost {format_money(spending.cost)}, and the next request costs at least"
            f" {format_money(minimum)}; `limits.max_cost_per_turn_usd` is {limit}."
        )
    return None


async def _minimum_cost(turn: Turn) -> Decimal:
    """Return the minimum cost of the next request, in US dollars; 0 without a known price.

    The reply is unknown, so only the prompt counts. The prompt and the reply of the last request to
    this model are assumed to be in the provider's cache.
    """
    if turn.model.price is None:
        return Decimal(0)
    prompt = await asyncio.to_thread(turn.estimate)
    last = turn.state.branch.counted_replies.get(turn.model.id)
    cached = 0 if last is None else min(prompt, last.usage.prompt_tokens + last.usage.output_tokens)
    usage = TokenUsage(input_tokens=prompt - cached, output_tokens=0, cached_input_tokens=cached)
    return cost(usage, turn.model.price) or Decimal(0)
