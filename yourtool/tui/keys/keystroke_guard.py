"""Protection of questions against stray keys.

A key marks an answer, or confirms the marked one, only in an empty prompt, after the user had a
second to look at the question without typing, and half a second after any key. Text that was typed
earlier is a message, however long the pause after it is.
"""

from collections.abc import Callable
from math import inf

QUIET_SECONDS = 0.5
SEEN_SECONDS = 1.0
"""Time without typing after which the user has seen what is on the screen."""


class KeystrokeGuard:
    """The timing of one question at a time; `clock` returns monotonic seconds."""

    def __init__(
        self, clock: Callable[[], float], get_shown_since: Callable[[], float] = lambda: -inf
    ) -> None:
        """`get_shown_since`: since when the terminal shows what is drawn; infinite: it does not."""
        self._clock = clock
        self._get_shown_since = get_shown_since
        self._drawn_at = inf
        self._last_key_at = self._typed_at = -inf
        self.was_seen = False
        """Whether the question was seen before the last key."""

    def reset(self) -> None:
        """Start over for another question that is not drawn yet."""
        self._drawn_at = inf

    def mark_drawn(self) -> None:
        """Record that the question is on the screen."""
        self._drawn_at = self._clock()

    def mark_keystroke(self) -> None:
        """Record a key press or paste, whichever widget received it."""
        now = self._clock()
        self.was_seen = now >= max(self._shown_at, self._typed_at) + SEEN_SECONDS
        self._last_key_at = now

    def mark_typing(self) -> None:
        """Record that the last key was for the prompt: text, recall, editing or any other key."""
        self._typed_at = self._last_key_at

    @property
    def seconds_until_ready(self) -> float:
        """Seconds until keys answer; infinite before the question is drawn."""
        seen_at = max(self._shown_at, self._typed_at) + SEEN_SECONDS
        return max(0.0, seen_at - self._clock(), self.seconds_until_quiet)

    @property
    def seconds_until_quiet(self) -> float:
        """Seconds until the last key is no part of fast text any more."""
        return max(0.0, self._last_key_at + QUIET_SECONDS - self._clock())

    @property
    def is_new(self) -> bool:
        """Whether the question is so new that a key was pressed before the user saw it."""
        return self._clock() < self._shown_at + QUIET_SECONDS

    @property
    def _shown_at(self) -> float:
        return max(self._drawn_at, self._get_shown_since())
