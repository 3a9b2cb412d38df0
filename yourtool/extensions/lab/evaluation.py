"""Verdicts on past turns.

The events in a turn and after it decide its verdict; verdicts also give the figures of models. A
verdict has a score and a confidence. What the user did afterwards (undo, retry) is the strongest
sign, and a turn after which nothing happened yet the weakest. Verdicts change no turn and no choice
of the user; they feed learned routing (`patterns.py`).
"""

from collections.abc import Iterable
from datetime import datetime
from decimal import Decimal

from msgspec import Struct

from yourtool.extensions.lab.patterns import Fingerprint, Outcome
from yourtool.foundation.amounts import format_duration, format_money

MIN_TURNS = 5
"""Turns of a model below which its figures are not shown."""
MIN_CONFIDENCE = 0.5
"""Verdicts with a lower confidence are not used."""
CERTAIN = 0.8
"""Confidence from which on no model is asked."""
_MANY_CALLS = 20


class Signals(Struct, frozen=True, kw_only=True):
    """What happened in a turn and after it."""

    has_error: bool = False
    """It ended with the error of a request."""
    is_interrupted: bool = False
    """The user stopped it."""
    is_cut_off: bool = False
    """The last reply reached its token limit."""
    is_refusal: bool = False
    is_empty: bool = False
    """The last reply has no text."""
    requests: int = 0
    failed_requests: int = 0
    calls: int = 0
    failed_calls: int = 0
    """Without those that the user denied or stopped."""
    edits: int = 0
    failed_edits: int = 0
    is_undone: bool = False
    """The user took its changes of files back."""
    is_retried: bool = False
    """The user sent its prompt again."""
    is_replaced: bool = False
    """The user chose another model after it."""
    is_followed: bool = False
    """The user sent another prompt, or closed the session."""


class Verdict(Struct, frozen=True):
    """The evaluation of a turn; both from 0 to 1."""

    score: float
    confidence: float


class PastTurn(Struct, frozen=True, kw_only=True):
    """A stored turn that has ended."""

    id: str
    session_id: str
    at: datetime
    model: str
    fingerprint: Fingerprint
    signals: Signals
    seconds: float
    cost_usd: Decimal | None
    """None: the price of a request is unknown."""
    judged: Verdict | None = None
    """The verdict of a model."""

    def to_outcome(self) -> Outcome | None:
        """Return the turn as learned routing sees it; None: its verdict is too uncertain."""
        verdict = combine(evaluate(self.signals), self.judged)
        if verdict.confidence < MIN_CONFIDENCE:
            return None
        return Outcome(
            model=self.model,
            fingerprint=self.fingerprint,
            score=verdict.score,
            cost_usd=None if self.cost_usd is None else float(self.cost_usd),
        )


class ModelFigures(Struct, frozen=True, kw_only=True):
    """How a model did in the past turns of a workspace."""

    turns: int
    edits: int
    failed_edits: int
    retries: int
    """Requests that failed, and turns that the user sent again."""
    reverts: int
    """Turns whose changes the user took back."""
    seconds: float
    """Mean of a turn."""
    cost_usd: Decimal | None
    """Mean of a turn; None: the price of a request is unknown."""

    def describe(self) -> str | None:
        """Return the figures as one line; None: there are too few turns."""
        if self.turns < MIN_TURNS:
            return None
        good = self.edits - self.failed_edits
        edits = [f"{100 * good // self.edits} % of {self.edits} edits"] if self.edits else []
        cost = [] if self.cost_usd is None else [format_money(self.cost_usd)]
        each = " and ".join((*cost, format_duration(self.seconds)))
        counts = ((self.retries, "retried"), (self.reverts, "taken back"))
        return ", ".join(
            (
                f"here {self.turns} turns",
                *edits,
                f"{each} each",
                *(f"{count} {what}" for count, what in counts if count),
            )
        )


def evaluate(signals: Signals) -> Verdict:
    """Return the verdict on a turn."""
    score = 1.0 - 0.8 * signals.has_error - 0.4 * signals.is_interrupted
    score -= 0.3 * signals.is_cut_off
    score -= min(0.2, 0.1 * signals.failed_requests)
    if signals.failed_calls:
        score -= 0.3 + 0.2 * signals.failed_calls / max(signals.calls, signals.failed_calls)
    score -= 0.1 * (signals.calls > _MANY_CALLS)
    score -= 0.6 * signals.is_undone + 0.5 * signals.is_retried + 0.2 * signals.is_replaced
    score = max(0.0, score)
    score *= 0.5 if signals.is_refusal else 1
    score *= 0.4 if signals.is_empty and not signals.is_interrupted else 1
    return Verdict(round(score, 4), _confidence(signals))


def combine(observed: Verdict, judged: Verdict | None) -> Verdict:
    """Return the verdict on a turn that a model judged too.

    What the user did, and how the turn ended, counts more than what a model thinks of it.
    """
    if judged is None or observed.confidence >= CERTAIN or judged.confidence < MIN_CONFIDENCE:
        return observed
    weight = observed.confidence + judged.confidence
    score = observed.score * observed.confidence + judged.score * judged.confidence
    return Verdict(round(score / weight, 4), max(observed.confidence, judged.confidence))


def measure(turns: Iterable[PastTurn]) -> dict[str, ModelFigures]:
    """Return the figures of each model."""
    groups = dict[str, list[PastTurn]]()
    for turn in turns:
        groups.setdefault(turn.model, []).append(turn)
    return {model: _measure_model(group) for model, group in groups.items()}


def _measure_model(turns: list[PastTurn]) -> ModelFigures:
    count, signals = len(turns), [turn.signals for turn in turns]
    costs = [turn.cost_usd for turn in turns if turn.cost_usd is not None]
    return ModelFigures(
        turns=count,
        edits=sum(each.edits for each in signals),
        failed_edits=sum(each.failed_edits for each in signals),
        retries=sum(each.failed_requests + each.is_retried for each in signals),
        reverts=sum(each.is_undone for each in signals),
        seconds=sum(turn.seconds for turn in turns) / count,
        cost_usd=sum(costs, Decimal(0)) / count if len(costs) == count else None,
    )


def _confidence(signals: Signals) -> float:
    if signals.is_undone or signals.is_retried:
        return 0.9
    if signals.has_error or signals.is_interrupted:
        return 0.8
    return 0.7 if signals.is_followed else 0.5
