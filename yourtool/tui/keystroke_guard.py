"""Protection of approval prompts against keys that were meant for the prompt.

Three rules apply when an approval prompt appears while the user types. It accepts no letters while
the prompt contains text. Letters count only after it is drawn and after half a second without a
key. A letter counts only if no other key follows immediately, so that the first letter of a
sentence goes to the prompt. Before the user had a second to look at the screen, such as between two
messages, a letter has to wait longer for another key.
"""

from collections.abc import Callable
from math import inf

QUIET_SECONDS = 0.5
SEEN_SECONDS = 1.0
"""Time without typing after which the user has seen what is on the screen."""
HOLD_SECONDS = 0.4
UNSEEN_HOLD_SECONDS = 0.8
"""Time between two keys of a slow typist."""


class KeystrokeGuard:
    """The timing of one approval prompt at a time; `clock` returns monotonic seconds."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._drawn_at = inf
        self._last_key_at = self._typed_at = -inf
        self._held: str | None = None
        self._accept_at = inf
        self.was_seen = False
        """Whether the approval prompt was seen before the last key."""

    def reset(self) -> None:
        """Start over for another approval prompt that is not drawn yet."""
        self._drawn_at, self._held = inf, None

    def mark_drawn(self) -> None:
        """Record that the approval prompt is on the screen."""
        self._drawn_at = self._clock()

    def mark_keystroke(self) -> None:
        """Record a key press or paste, whichever widget received it."""
        now = self._clock()
        self.was_seen = now >= max(self._drawn_at, self._typed_at) + SEEN_SECONDS
        self._last_key_at = now

    def mark_typing(self) -> None:
        """Record that the last key was for the prompt: text, recall, editing or any other key."""
        self._typed_at = self._last_key_at

    @property
    def seconds_until_ready(self) -> float:
        """Seconds until letters count; infinite before the approval prompt is drawn."""
        return max(0.0, max(self._drawn_at, self._last_key_at) + QUIET_SECONDS - self._clock())

    @property
    def is_new(self) -> bool:
        """Whether the approval prompt is so new that a key was pressed before the user saw it."""
        return self._clock() < self._drawn_at + QUIET_SECONDS

    def hold_letter(self, letter: str) -> None:
        """Delay a letter, which is the answer unless another key follows immediately."""
        seconds = HOLD_SECONDS if self.was_seen else UNSEEN_HOLD_SECONDS
        self._held, self._accept_at = letter, self._clock() + seconds

    @property
    def held_letter(self) -> str | None:
        """The letter that is not accepted yet."""
        return self._held

    def release_letter(self) -> str:
        """Return the delayed letter for the prompt, because another key followed."""
        letter, self._held = self._held or "", None
        return letter

    def accept_letter(self) -> str | None:
        """Return and clear the delayed letter once its delay has passed."""
        if self._held is None or self._clock() < self._accept_at:
            return None
        letter, self._held = self._held, None
        return letter
