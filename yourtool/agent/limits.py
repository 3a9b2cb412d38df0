"""How far a turn may go unasked: hard limits stop it, soft ones put a question, loops are told."""

from decimal import Decimal

from yourtool.agent.turn import Turn
from yourtool.deltas import Notice, TokenUsage
from yourtool.effects import Confirmation, Verdict
from yourtool.errors import AdapterError
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
    if (reached := _hard_limit(turn)) is not None:
        turn.around.budget.reached = reached
        return reached
    if (reached := _soft_limit(turn)) is None:
        return None
    question = Confirmation(id=new_id(), kind="limit", title=reached)
    decision = await turn.interrupt.guard(turn.around.confirm(question))
    if decision.verdict is not Verdict.ALLOW:
        turn.around.budget.reached = reached
        return reached
    limits = turn.around.budget.limits
    turn.allowance = turn.requests + limits.max_requests_per_turn
    turn.cost_allowance = turn.cost + limits.max_cost_per_turn_usd
    return None


async def may_wait(turn: Turn, error: AdapterError) -> bool:
    """Ask whether to wait as long as the provider demands, and then repeat the request."""
    title = f"{error.message}. The request is repeated after the wait."
    question = Confirmation(id=new_id(), kind="limit", title=title)
    return (await turn.around.confirm(question)).verdict is Verdict.ALLOW


def _hard_limit(turn: Turn) -> str | None:
    budget = turn.around.budget
    if budget.max_requests is not None and budget.requests >= budget.max_requests:
        return f"The limit of {budget.max_requests} model requests is reached."
    if budget.max_cost is not None:
        # The reply is not known yet, so the prompt alone counts, as if none of it were cached.
        prompt = TokenUsage(input_tokens=turn.estimate(), output_tokens=0)
        expected = budget.cost + (cost(prompt, turn.model.price) or Decimal(0))
        if expected > budget.max_cost:
            return f"The next request would exceed the cost limit of {budget.max_cost} USD."
    return None


def _soft_limit(turn: Turn) -> str | None:
    limits = turn.around.budget.limits
    if turn.requests >= (turn.allowance or limits.max_requests_per_turn):
        return f"This turn has made {turn.requests} model requests."
    if turn.cost >= (turn.cost_allowance or limits.max_cost_per_turn_usd):
        return f"This turn has cost {turn.cost:.2f} USD."
    return None
