"""Recorded answers about files, programs and the environment.

A decision asks them in an order that depends on its rules, so they are recorded while it is made
once, and a second decision gets the same answers without looking.
"""

from collections.abc import Callable, Iterable, Sequence
from typing import TypeVar, cast

from msgspec import Struct

from yourtool.effects import Finding, FindingAnswer, Question

_T = TypeVar("_T", bound=FindingAnswer)


class Obstacle(Struct, frozen=True):
    """Why a call needs an approval."""

    reason: str
    """A clause."""
    is_evident: bool = False
    """Whether the call itself shows it."""


class UnknownFindingError(LookupError):
    """A decision needs an answer that was not recorded; other rules ask other questions."""


class Findings:
    """The answers about one call."""

    def __init__(
        self,
        known: Iterable[Finding] = (),
        *,
        looks: bool = False,
        private_directories: Sequence[str] = (),
    ) -> None:
        """With `looks`, an unknown answer is looked up and recorded.

        `private_directories`: those of the full sandbox in which the call runs.
        """
        self._known = {(each.question, each.directory, each.about): each for each in known}
        self._looks = looks
        self.private_directories = tuple(private_directories)

    @property
    def recorded(self) -> tuple[Finding, ...]:
        """All answers."""
        return tuple(self._known.values())

    def get(
        self, question: Question, look: Callable[[], _T], *, about: str = "", directory: str = ""
    ) -> _T:
        """Return an answer; `look` finds it.

        Raises:
            UnknownFindingError: it is not known and must not be looked up.
        """
        key = question, directory, about
        if (known := self._known.get(key)) is None:
            if not self._looks:
                raise UnknownFindingError(question)
            known = Finding(question, about, directory, look())
            self._known[key] = known
        return cast("_T", known.answer)
