"""Protection of approval prompts against stray keys.

A letter answers nothing: it chooses an answer, which Enter confirms. Any other key makes the letter
text for the prompt, however long the pause before it is, so that no message is an answer. A letter
chooses only in an empty prompt, after the user had a second to look at the approval prompt without
typing, and half a second after any key. Enter that answers without a letter is delayed, and another
key withdraws it.
"""

from collections.abc import Callable
from math import inf

QUIET_SECONDS = 0.5
SEEN_SECONDS = 1.0
"""Time without typing after which the user has seen what is on the screen."""

ENTER_SECONDS = 0.4
"""Time for which Enter without a letter waits for another key."""


class KeystrokeGuard:
    """The timing of one approval prompt at a time; `clock` returns monotonic seconds."""

    def __init__(
        self, clock: Callable[[], float], get_shown_since: Callable[[], float] = lambda: -inf
    ) -> None:
        """`get_shown_since`: since when the terminal shows what is drawn; infinite: it does not."""
        self._clock = clock
        self._get_shown_since = get_shown_since
        self._drawn_at = inf
        self._last_key_at = self._typed_at = -inf
        self._held = ""
        self._accept_at = inf
        self.was_seen = False
        """Whether the approval prompt was seen before the last key."""

    def reset(self) -> None:
        """Start over for another approval prompt that is not drawn yet."""
        self._drawn_at, self._held = inf, ""

    def mark_drawn(self) -> None:
        """Record that the approval prompt is on the screen."""
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
        """Seconds until letters count; infinite before the approval prompt is drawn."""
        seen_at = max(self._shown_at, self._typed_at) + SEEN_SECONDS
        return max(0.0, max(seen_at, self._last_key_at + QUIET_SECONDS) - self._clock())

    @property
    def is_new(self) -> bool:
        """Whether the approval prompt is so new that a key was pressed before the user saw it."""
        return self._clock() < self._shown_at + QUIET_SECONDS

    @property
    def _shown_at(self) -> float:
        return max(self._drawn_at, self._get_shown_since())

    def hold_letter(self, letter: str, seconds: float = inf) -> None:
        """Choose the answer of a letter until the next key, or confirm it after so many seconds."""
        self._held, self._accept_at = letter, self._clock() + seconds

    @property
    def held_letter(self) -> str:
        """The letter that chose an answer and is not confirmed yet; empty if there is none."""
        return self._held

    def release_letter(self) -> str:
        """Return and clear the letter, because another key followed."""
        letter, self._held = self._held, ""
        return letter

    def accept_letter(self) -> str:
        """Return and clear what is held if its delay has passed; otherwise an empty text."""
        return self.release_letter() if self._clock() >= self._accept_at else ""
