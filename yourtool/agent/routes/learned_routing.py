"""Port of learned routing, an extension.

It proposes a model for the next turn from past turns.
"""

from collections.abc import Callable
from typing import Protocol

from msgspec import Struct

from yourtool.agent.history.state import State
from yourtool.events.turns import PolicyEvaluation
from yourtool.routing.router import Candidate, RouteDecision


class Proposal(Struct, frozen=True):
    """A proposal for a turn, from past turns."""

    candidate: Candidate | None = None
    reason: str = ""
    """Why there is no candidate."""


class LearnedRouting(Protocol):
    """The past turns of a workspace and what they recommend."""

    async def load(self, session_id: str = "") -> None:
        """Load the past turns of the workspace, later only the last ones of a session."""
        ...

    def propose(self, state: State, delegated_model: str | None = None) -> Proposal:
        """Return what past turns propose for the turn whose prompt is the last one in `state`.

        `delegated_model`: the model of a worker, to which nothing is proposed.
        """
        ...

    def advise(
        self,
        found: Candidate | None,
        decided: RouteDecision,
        state: State,
        can_take: Callable[[str, State], bool],
    ) -> tuple[PolicyEvaluation, ...]:
        """Return the steps of a decision, and the recommendation if it is shown in spite of it."""
        ...
