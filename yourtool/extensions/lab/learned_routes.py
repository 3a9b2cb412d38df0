"""Learned routing in one workspace.

Past turns are loaded once, and those of the session in every turn.
"""

from collections.abc import Callable, Mapping

from yourtool.agent.history.state import State
from yourtool.agent.routes.learned_routing import Proposal
from yourtool.errors import StoreError
from yourtool.events.turns import PolicyEvaluation
from yourtool.extensions.lab.evaluation import ModelFigures, PastTurn, measure
from yourtool.extensions.lab.past_turns import named_paths, read_past_turns, read_turns_of
from yourtool.extensions.lab.patterns import (
    MAX_OUTCOMES,
    Fingerprint,
    Outcome,
    PatternSettings,
    build_fingerprint,
    recommend,
)
from yourtool.messages.blocks import ImageBlock
from yourtool.routing.router import Candidate, RouteDecision, find_disagreement
from yourtool.settings.agent_config import RoutingConfig
from yourtool.store.base import SessionStore

_RECENT_FACTS = 500
"""The end of the session that is read again before each turn."""


def open_learned_routes(
    store: SessionStore, workspace: str, config: RoutingConfig
) -> "LearnedRoutes":
    """Return the past turns of a workspace, a real path; none is loaded yet."""
    return LearnedRoutes(store, workspace, config)


async def describe_models(store: SessionStore, workspace: str) -> Mapping[str, str]:
    """Return the figures of models in the past turns of a workspace.

    Raises:
        StoreError: the past turns cannot be read.
    """
    found = measure(await read_past_turns(store, workspace))
    return {model: about for model, each in found.items() if (about := each.describe())}


class LearnedRoutes:
    """The past turns of a workspace and what they recommend."""

    def __init__(self, store: SessionStore, workspace: str, config: RoutingConfig) -> None:
        """`workspace`: a real path."""
        self.config = config
        self._store, self._workspace = store, workspace
        self._settings = PatternSettings(
            cost_weight=config.cost_weight,
            min_confidence=config.min_confidence,
            min_samples=config.min_samples,
        )
        self._turns: dict[str, PastTurn] | None = None
        """By id, the oldest first; None: they are not loaded."""
        self._outcomes: tuple[Outcome, ...] = ()
        self._figures: Mapping[str, ModelFigures] = {}
        self._problem = ""

    async def load(self, session_id: str = "") -> None:
        """Load the past turns of the workspace, later only the last ones of a session.

        A store that cannot be read recommends nothing.
        """
        try:
            if self._turns is None:
                read = await read_past_turns(self._store, self._workspace)
                self._turns = {turn.id: turn for turn in reversed(read)}
            if session_id:
                last = (session_id, self._workspace, _RECENT_FACTS)
                self._turns |= {turn.id: turn for turn in await read_turns_of(self._store, *last)}
        except StoreError as error:
            self._problem = f"past turns cannot be read: {error}"
            return
        self._problem = ""
        newest = sorted(self._turns.values(), key=lambda turn: turn.id, reverse=True)
        newest = newest[:MAX_OUTCOMES]
        found = (turn.to_outcome() for turn in newest)
        self._outcomes = tuple(outcome for outcome in found if outcome is not None)
        self._figures = measure(newest)

    def propose(self, state: State, delegated_model: str | None = None) -> Proposal:
        """Return what past turns propose for the turn whose prompt is the last one in `state`.

        `delegated_model`: the model of a worker, to which nothing is proposed.
        """
        if delegated_model is not None:
            return Proposal(reason="a delegated task has its own model")
        if self._problem:
            return Proposal(reason=self._problem)
        found = recommend(self._describe(state), self._outcomes, self._settings.cost_weight)
        if found is None:
            return Proposal(reason="there are no past turns in this directory")
        if (weakness := found.find_weakness(self._settings)) is not None:
            return Proposal(reason=weakness)
        figures = self._figures.get(found.best.model)
        about = figures.describe() if figures else None
        candidate = Candidate(
            found.best.model,
            f"{found.explain()}; {about}" if about else found.explain(),
            confidence=round(found.confidence, 4),
            alternatives=found.ranked,
        )
        return Proposal(candidate)

    def advise(
        self,
        found: Candidate | None,
        decided: RouteDecision,
        state: State,
        can_take: Callable[[str, State], bool],
    ) -> tuple[PolicyEvaluation, ...]:
        """Return the steps of a decision, and the recommendation if it is shown in spite of it."""
        config = self.config
        if found is None or decided.chosen is None or not config.surface_disagreement:
            return decided.chain
        is_sure = (found.confidence or 0) >= config.disagreement_confidence
        is_dismissed = (decided.chosen, found.model) in state.dismissed_patterns
        if not is_sure or is_dismissed or not can_take(found.model, state):
            return decided.chain
        step = find_disagreement(decided, found)
        return decided.chain if step is None else (*decided.chain, step)

    def _describe(self, state: State) -> Fingerprint:
        prompts = [at for at, each in enumerate(state.messages) if each.is_prompt]
        prompt = state.messages[prompts[-1]] if prompts else None
        before = state.messages[prompts[-2] : prompts[-1]] if len(prompts) > 1 else ()
        return build_fingerprint(
            prompt.text if prompt else "",
            named_paths(before),
            tokens=state.open_turn.estimated_input_tokens if state.open_turn else 0,
            has_images=prompt is not None
            and any(isinstance(block, ImageBlock) for block in prompt.content),
            workspace=self._workspace,
        )
