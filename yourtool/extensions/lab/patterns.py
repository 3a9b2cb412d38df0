"""Similar past turns for learned routing.

A fingerprint has what is known of a turn before it starts. The nearest past turns are grouped by
model; the score of a model is the mean score of its turns and, with a small weight, how cheap they
were. Everything here is pure, and the decision takes a few milliseconds for a thousand turns.
"""

import heapq
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache, partial
from itertools import islice
from pathlib import PurePosixPath

from msgspec import Struct

from yourtool.events.turns import PatternAlternative

NEIGHBOURS = 10
"""Past turns that a recommendation is based on."""
MAX_OUTCOMES = 1_000
"""Past turns that are compared, the newest ones."""
_MAX_TEXT, _MAX_WORDS = 4_096, 32
"""Characters of a prompt that are read, and distinct words that are compared."""
_MAX_PATH = 200
_WORD = re.compile(r"\w{3,40}")
_LEAST_LETTERS = 4
"""Of words that are compared; shorter ones only show an intent."""
_INTENTS: Mapping[str, tuple[str, ...]] = {
    "commit": ("commit", "merge", "rebase", "changelog"),
    "refactor": ("refactor", "rename", "clean", "simplif", "extract"),
    "architecture": ("architect", "design", "structur", "module"),
    "debug": ("debug", "fix", "bug", "crash", "fail", "error", "traceback", "broken"),
    "doc": ("document", "docs", "docstring", "readme", "comment", "explain"),
    "test": ("test", "pytest", "coverage", "assert"),
}
"""Starts of words that show what a prompt is about."""
_SIZES = (1_000, 10_000, 100_000)
"""Tokens at which the next class of request sizes starts."""
_AROUND_PATHS = "`'\"()[]{}<>,;:!?"

INTENTS, WORDS, EXTENSIONS, DIRECTORIES, SIZE, IMAGES = 0.30, 0.25, 0.20, 0.10, 0.10, 0.05
"""The weights of a fingerprint's parts in a similarity; their sum is 1."""


class Fingerprint(Struct, frozen=True):
    """What is known of a turn before it starts."""

    intents: frozenset[str] = frozenset()
    words: frozenset[str] = frozenset()
    """The first long words of the prompt, in lower case."""
    extensions: frozenset[str] = frozenset()
    """Of the files that the prompt names, and the calls of the turn before."""
    directories: frozenset[str] = frozenset()
    """The first directories of their paths."""
    size: int = 0
    """The class of the estimated request size."""
    has_images: bool = False


class Outcome(Struct, frozen=True, kw_only=True):
    """How a past turn went."""

    model: str
    fingerprint: Fingerprint
    score: float
    """From 0 to 1."""
    cost_usd: float | None
    """None: the price is unknown."""


class PatternSettings(Struct, frozen=True, kw_only=True):
    """When a recommendation is good enough to choose a model."""

    cost_weight: float = 0.05
    min_confidence: float = 0.05
    min_samples: int = 5


class Recommendation(Struct, frozen=True, kw_only=True):
    """The best model of similar turns, and the others."""

    ranked: tuple[PatternAlternative, ...]
    """The best first."""
    confidence: float
    """How far the best one is ahead of the second, from 0 to 1; 1 if it is the only one."""

    @property
    def best(self) -> PatternAlternative:
        """The model with the highest score."""
        return self.ranked[0]

    def find_weakness(self, settings: PatternSettings) -> str | None:
        """Return why the recommendation is not followed, or None if it is."""
        best = self.best
        if best.sample_size < settings.min_samples:
            return (
                f"{best.sample_size} similar turns with `{best.model}` are too few;"
                f" {settings.min_samples} are needed"
            )
        if self.confidence < settings.min_confidence:
            return (
                f"`{best.model}` is not clearly better than `{self.ranked[1].model}`: confidence"
                f" {self.confidence:.2f}, and {settings.min_confidence:.2f} is needed"
            )
        return None

    def explain(self) -> str:
        """Return the reason for a choice, as one line."""
        best = self.best
        reason = (
            f"score {best.score:.2f} in {best.sample_size} similar turns,"
            f" confidence {self.confidence:.2f}"
        )
        if len(self.ranked) == 1:
            return reason
        second = self.ranked[1]
        return f"{reason}; next `{second.model}` {second.score:.2f} in {second.sample_size}"


def build_fingerprint(
    text: str, paths: Iterable[str], *, tokens: int, has_images: bool, workspace: str = ""
) -> Fingerprint:
    """Return the fingerprint of a turn.

    `paths`: the files of the calls before it; those below `workspace` may be absolute.
    """
    start = text[:_MAX_TEXT]
    words = dict.fromkeys(_WORD.findall(start.lower()))
    long = (each for each in words if len(each) >= _LEAST_LETTERS)
    named = (each.strip(_AROUND_PATHS) for each in dict.fromkeys(start.split()) if "." in each)
    files = [
        PurePosixPath(each.removeprefix(f"{workspace}/"))
        for each in (*paths, *named)
        if len(each) <= _MAX_PATH
    ]
    with_suffix = [each for each in files if each.suffix[1:].isalnum()]
    return Fingerprint(
        intents=frozenset(
            name
            for name, starts in _INTENTS.items()
            if any(each.startswith(starts) for each in words)
        ),
        words=frozenset(islice(long, _MAX_WORDS)),
        extensions=frozenset(each.suffix.lower() for each in with_suffix),
        directories=frozenset(
            each.parts[0] for each in with_suffix if len(each.parts) > 1 and not each.is_absolute()
        ),
        size=sum(tokens >= limit for limit in _SIZES),
        has_images=has_images,
    )


def compare_to(wanted: Fingerprint) -> Callable[[Fingerprint], float]:
    """Return a function for the similarity to a turn, from 0 to 1: a sum of Jaccard indices.

    Many turns have the same sets except for the words, so these are compared once.
    """
    intents = cache(partial(_overlap, wanted.intents))
    extensions = cache(partial(_overlap, wanted.extensions))
    directories = cache(partial(_overlap, wanted.directories))
    words, size, has_images = wanted.words, wanted.size, wanted.has_images
    count = len(words)

    def similarity(other: Fingerprint) -> float:
        theirs = other.words
        common = len(words & theirs)  # as in `_overlap`, without the call
        either = count + len(theirs) - common
        return (
            INTENTS * intents(other.intents)
            + WORDS * (common / either if either else 1)
            + EXTENSIONS * extensions(other.extensions)
            + DIRECTORIES * directories(other.directories)
            + SIZE * (size == other.size)
            + IMAGES * (has_images == other.has_images)
        )

    return similarity


def recommend(
    wanted: Fingerprint, outcomes: Iterable[Outcome], cost_weight: float
) -> Recommendation | None:
    """Return how models did in the most similar turns; None: there are no turns.

    Of equally similar turns, the first ones count.
    """
    similarity = compare_to(wanted)
    past = tuple(outcomes)
    near = [similarity(each.fingerprint) for each in past]
    nearest = [past[at] for at in heapq.nlargest(NEIGHBOURS, range(len(past)), near.__getitem__)]
    if not nearest:
        return None
    groups: dict[str, list[Outcome]] = {}
    for each in nearest:
        groups.setdefault(each.model, []).append(each)
    costs = {model: _mean_cost(group) for model, group in groups.items()}
    ranked = sorted(
        (
            PatternAlternative(
                model=model,
                score=(1 - cost_weight) * sum(each.score for each in group) / len(group)
                + cost_weight * _efficiency(costs[model], tuple(costs.values())),
                sample_size=len(group),
            )
            for model, group in groups.items()
        ),
        key=lambda each: (-each.score, -each.sample_size, each.model),
    )
    return Recommendation(ranked=tuple(ranked), confidence=_confidence(ranked))


def _overlap(one: frozenset[str], other: frozenset[str]) -> float:
    """Return the Jaccard index of two sets; 1 if both are empty."""
    if not one or not other:
        return float(one == other)
    common = len(one & other)
    return common / (len(one) + len(other) - common)


def _mean_cost(group: Sequence[Outcome]) -> float | None:
    known = [each.cost_usd for each in group if each.cost_usd is not None]
    return sum(known) / len(known) if known else None


def _efficiency(cost: float | None, costs: Sequence[float | None]) -> float:
    """Return 1 for the cheapest model and 0 for the most expensive one, or an unknown price.

    It is 0 for all of them if they cost the same.
    """
    known = [each for each in costs if each is not None]
    if cost is None or min(known) == max(known):
        return 0.0
    return (max(known) - cost) / (max(known) - min(known))


def _confidence(ranked: Sequence[PatternAlternative]) -> float:
    top = ranked[0].score
    if not top:
        return 0.0
    return 1.0 if len(ranked) == 1 else (top - ranked[1].score) / top
