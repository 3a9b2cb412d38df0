"""How far a turn may go unasked: hard limits stop it, soft ones put a question, loops are told."""

import asyncio
from decimal import Decimal

from yourtool.agent.turn import Turn
from yourtool.amounts import format_money
from yourtool.deltas import Notice, TokenUsage
from yourtool.effects import Confirm, Confirmation, Verdict
from yourtool.errors import AdapterError, InvalidRequestError
from yourtool.ids import new_id
from yourtool.messages import ToolUseBlock, canonical_json
from yourtool.providers.catalogue.prices import cost

REPEATS_BEFORE_NUDGE = 3


def nudge(call: ToolUseBlock, turn: Turn) -> str | None:
    """Count a call, and return words for a model that makes the same one again and again."""
    key = call.name + canonical_json(call.input).decode()
    count = turn.repeats.get(key, 0) + 1
    turn.repeats.clear()
    turn.repeats[key] = count
    if count != REPEATS_BEFORE_NUDGE:
        return None
    return (
        f"Note: this is the same call for the {REPEATS_BEFORE_NUDGE}rd time in a row. Do something"
        " else, or say what is in the way."
    )


def repetition(name: str) -> Notice:
    """Tell the user about a call that was made again and again."""
    return Notice(
        level="warning",
        text=f"The model has called {name} {REPEATS_BEFORE_NUDGE} times in a row with the same"
        " arguments.",
    )


async def spend_allowance(turn: Turn) -> str | None:
    """Return None if one more request may be sent, else what stands against it, in words.

    A soft limit asks the user and, if allowed, grants as much again.

    Raises:
        Interrupted: the turn was stopped while the question stood.
    """
    least = await asyncio.to_thread(_least_cost, turn)
    if (reached := _hard_limit(turn, least)) is not None:
        turn.around.budget.reached = reached
        return reached
    if (reached := _soft_limit(turn, least)) is None:
        return None
    question = Confirmation(id=new_id(), kind="limit", title=reached)
    decision = await turn.interrupt.guard(turn.around.confirm(question))
    if decision.verdict is not Verdict.ALLOW:
        turn.around.budget.reached = reached
        return reached
    limits = turn.around.budget.limits
    turn.allowance = turn.requests + limits.max_requests_per_turn
    turn.cost_allowance = turn.cost + least + limits.max_cost_per_turn_usd
    return None


async def demand_money(turn: Turn) -> None:
    """Let another attempt of a request be made only if the run can pay for it.

    Raises:
        InvalidRequestError: it would cost too much; the request is given up.
    """
    least = await asyncio.to_thread(_least_cost, turn)
    if (reached := _cost_limit(turn, least)) is not None:
        turn.around.budget.reached = reached
        raise InvalidRequestError(reached)


async def may_wait(confirm: Confirm, error: AdapterError) -> bool:
    """Ask whether to wait as long as the provider demands, and then repeat the request."""
    title = f"{error.message}. The request is repeated after the wait."
    question = Confirmation(id=new_id(), kind="limit", title=title)
    return (await confirm(question)).verdict is Verdict.ALLOW


def unlimited(turn: Turn) -> str | None:
    """Return a warning where a limit of cost cannot hold; None: it can, or there is none."""
    if turn.around.budget.max_cost is None or turn.model.price is not None:
        return None
    return (
        f"`--max-cost` does not limit `{turn.model.id}`, because its price is not known;"
        " add it to `prices.toml`."
    )


def _hard_limit(turn: Turn, least: Decimal) -> str | None:
    budget = turn.around.budget
    if budget.max_requests is not None and budget.requests >= budget.max_requests:
        return f"The limit of {budget.max_requests} model requests is reached."
    return _cost_limit(turn, least)


def _cost_limit(turn: Turn, least: Decimal) -> str | None:
    budget = turn.around.budget
    if budget.max_cost is None or budget.cost + least <= budget.max_cost:
        return None
    return (
        f"The next request would cost at least {format_money(least)}, and this run has cost"
        f" {format_money(budget.cost)}: together this exceeds the limit of"
        f" {format_money(budget.max_cost)}. The request was not sent. Raise `--max-cost`, choose a"
        " cheaper model, or start a new session."
    )


def _soft_limit(turn: Turn, least: Decimal) -> str | None:
    limits = turn.around.budget.limits
    if turn.requests >= (turn.allowance or limits.max_requests_per_turn):
        return f"This turn has made {turn.requests} model requests."
    limit = limits.max_cost_per_turn_usd
    ceiling = turn.cost_allowance or limit
    if turn.cost >= ceiling or turn.cost + least > ceiling:
        return (
            f"This turn has cost {format_money(turn.cost)}, and the next request costs at least"
            f" {format_money(least)}; `limits.max_cost_per_turn_usd` is {limit}."
        )
    return None


def _least_cost(turn: Turn) -> Decimal:
    """Return what the next request costs at least, in US dollars; 0 without a known price.

    The reply is not known yet, so the prompt alone counts. What the last request to this model held
    and said is taken to be read from the provider's cache, the rest is new.
    """
    prompt = turn.estimate()
    last = turn.state.counted.get(turn.model.id)
    cached = 0 if last is None else min(prompt, last.prompt_tokens + last.output_tokens)
    usage = TokenUsage(input_tokens=prompt - cached, output_tokens=0, cached_input_tokens=cached)
    return cost(usage, turn.model.price) or Decimal(0)
