"""Facts about the budgets of the user."""

from decimal import Decimal
from typing import ClassVar, Literal, TypeAlias

from yourtool.events.facts import Actor, Fact

BudgetName: TypeAlias = Literal["session", "day", "request"]
"""What a budget is for: a session with its workers, a day of all sessions, or one request."""


def get_key(budget: BudgetName) -> str:
    """Return the key of a budget in `config.toml`."""
    return "budget.ask_above" if budget == "request" else f"budget.{budget}"


class BudgetWarned(Fact, frozen=True, kw_only=True, tag="budget.warned"):
    """A session or a day has used most of its budget; there is one warning for each percentage."""

    actor: ClassVar[Actor] = Actor.AGENT

    budget: BudgetName
    percent: int
    """The percentage that is reached."""
    limit_usd: Decimal
    spent_usd: Decimal


class BudgetReached(Fact, frozen=True, kw_only=True, tag="budget.reached"):
    """The next request would have exceeded a budget."""

    actor: ClassVar[Actor] = Actor.AGENT

    budget: BudgetName
    limit_usd: Decimal
    spent_usd: Decimal
    """Zero for the budget of one request."""
    estimate_usd: Decimal
    """The expected cost of the request."""
    allowed: bool
    """Whether the user allowed it for the rest of the turn; otherwise it was not sent."""
