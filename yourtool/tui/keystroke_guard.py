"""When a letter may answer a question: never one that was meant for the prompt.

Three guards, all against typing that was under way when the question appeared. The question takes
no letter from a prompt that holds text. Letters count only after it was drawn and after half a
second without any key. And a letter counts only if nothing follows it for a moment, so the first
letter of a sentence is given back to the prompt.
"""

from collections.abc import Callable
from math import inf

QUIET_SECONDS = 0.5
HOLD_SECONDS = 0.4


class KeystrokeGuard:
    """The clock of one question at a time; `clock` gives seconds that only grow."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._drawn = inf
        self._last_key = -inf
        self._held: str | None = None
        self._held_at = inf

    def asked(self) -> None:
        """Another question takes the place; it is not drawn yet."""
        self._drawn, self._held = inf, None

    def drawn(self) -> None:
        """The question is on the screen."""
        self._drawn = self._clock()

    def keystroke(self) -> None:
        """A key was pressed or something was pasted, wherever it went."""
        self._last_key = self._clock()

    @property
    def wait(self) -> float:
        """Seconds until keys may answer; infinite before the question is drawn."""
        return max(0.0, max(self._drawn, self._last_key) + QUIET_SECONDS - self._clock())

    @property
    def fresh(self) -> bool:
        """Whether the question is so new that a key was pressed before it was seen."""
        return self._clock() < self._drawn + QUIET_SECONDS

    def hold(self, letter: str) -> None:
        """Take a letter as the answer, unless another key follows at once."""
        self._held, self._held_at = letter, self._clock()

    @property
    def held(self) -> str | None:
        """The letter that waits to count."""
        return self._held

    def take_back(self) -> str:
        """Another key came: the letter was typing. Return it, for the prompt."""
        letter, self._held = self._held or "", None
        return letter

    def settled(self) -> str | None:
        """Return the letter once it counts; once."""
        if self._held is None or self._clock() < self._held_at + HOLD_SECONDS:
            return None
        letter, self._held = self._held, None
        return letter
