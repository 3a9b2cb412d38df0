"""Detection of repeated calls with unchanged results.

A call is repeated if its name, arguments and result are those of an earlier call of the turn. What
is new and may have changed something starts the count again, so that tests after every edit, and
commands that poll until their result changes, are not loops. Calls that alternate are.
"""

import re
from hashlib import sha256
from typing import Any

from yourtool.messages.blocks import canonical_json

REPEATS_BEFORE_NOTE = 3
REPEATS_BEFORE_QUESTION = 5
_DURATION = re.compile(r"(?<!\d)\d{1,9}\.\d{1,9} ?m?s\b")
"""How long something took, as test runners print it: it differs although nothing changed."""


class RepeatedCalls:
    """Counts the calls of a turn with the same arguments and the same result."""

    def __init__(self) -> None:
        self._counts: dict[bytes, int] = {}
        self._stuck = ""
        """Name of the tool of a call that was repeated too often."""

    def add(self, name: str, arguments: Any, result: str, *, has_effects: bool) -> int:
        """Count a call that ended, and return how often it had this result.

        `has_effects`: the call may have changed something.
        """
        key = sha256(canonical_json([name, arguments, _DURATION.sub("", result)])).digest()
        if has_effects and key not in self._counts:
            self.clear()
        count = self._counts[key] = self._counts.get(key, 0) + 1
        if count >= REPEATS_BEFORE_QUESTION:
            self._stuck = name
        return count

    def clear(self) -> None:
        """Start to count again."""
        self._counts.clear()
        self._stuck = ""

    @property
    def problem(self) -> str | None:
        """Why the user should decide about the next request; None without a loop."""
        if not self._stuck:
            return None
        return (
            f"The model is in a loop: {REPEATS_BEFORE_QUESTION} equal calls of `{self._stuck}` had"
            " the same result."
        )


def build_note() -> str:
    """Return the note that the model gets with the result of a repeated call."""
    return (
        f"Note: the same call had the same result {REPEATS_BEFORE_NOTE} times. Do not repeat it:"
        " change something first, try another way, or explain what prevents progress."
    )


def build_notice(name: str) -> str:
    """Return the notice that the user gets."""
    return (
        f"The model has repeated a call of {name} {REPEATS_BEFORE_NOTE} times; so it was advised."
    )
