"""Detection of a dark terminal background.

Format: OSC 11, https://invisible-island.net/xterm/ctlseqs/ctlseqs.html#h3-Operating-System-Commands.
Some terminals reply late, in pieces, or never, so nothing waits for the reply.
"""

import re
import time
from collections.abc import Callable, Mapping

_QUERY = "\x1b]11;?\x07"
_START = "\x1b]11;"
_REPLY = re.compile(r"\x1b\]11;([^\x07\x1b]*)(?:\x07|\x1b\\)")
_UNFINISHED = re.compile(r"\x1b\]11;(?:rgba?:|r?g?b?a?)[0-9a-fA-F/]*\x1b?")
_COLOR = re.compile(r"rgba?:([0-9a-fA-F]{1,4})/([0-9a-fA-F]{1,4})/([0-9a-fA-F]{1,4})(?:/.*)?")
_MAX_REPLY = 80
"""Characters of a reply; longer ones are discarded."""
_HOLD_SECONDS = 0.1
"""Time after which the start of a reply counts as keys."""
_EXPECTED_SECONDS = 3.0
"""Time in which a single Esc can be the start of the reply."""
_WITHOUT_COLORS = ("", "dumb", "linux", "vt100", "vt102", "vt220")
"""Values of TERM whose terminals print the query or have no colours."""


def get_query(environ: Mapping[str, str]) -> str:
    """Return the query; empty if the terminal would print it or shows no colours."""
    is_useless = environ.get("TERM", "") in _WITHOUT_COLORS or bool(environ.get("NO_COLOR"))
    return "" if is_useless else _QUERY


def is_dark_by_environment(environ: Mapping[str, str]) -> bool:
    """Return whether the background is dark according to COLORFGBG of rxvt; else True."""
    background = environ.get("COLORFGBG", "").rpartition(";")[2]
    return background not in ("7", "9", "10", "11", "12", "13", "14", "15")


def parse_is_dark(color: str) -> bool | None:
    """Return whether a colour such as `rgb:ffff/ffff/ffff` is dark; None if it is invalid."""
    match = _COLOR.fullmatch(color)
    if match is None:
        return None
    red, green, blue = (int(part, 16) / (16 ** len(part) - 1) for part in match.groups())
    return 0.299 * red + 0.587 * green + 0.114 * blue < 0.5


class BackgroundReplyFilter:
    """Removes replies from the input and reports them; `clock` returns monotonic seconds."""

    def __init__(
        self, report: Callable[[bool], object], clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._report = report
        self._clock = clock
        self._held = ""
        self._held_at = 0.0
        self._was_escape_released = False
        self._expected_until = clock() + _EXPECTED_SECONDS

    def __call__(self, data: str) -> str:
        """Return the keys in the input; the possible start of a reply is delayed."""
        if self._was_escape_released and data.startswith("]11;rgb"):
            data = f"\x1b{data}"
        self._was_escape_released = False
        text, self._held = _REPLY.sub(self._take, self._held + data), ""
        at = text.find(_START)
        if at < 0:
            at = self._find_partial_start(text)
        if at >= 0:
            text, self._held, self._held_at = text[:at], text[at:], self._clock()
            start = _UNFINISHED.match(self._held)
            if start is not None and start.end() < len(self._held):  # keys after a lost end
                text, self._held = text + self._held[start.end() :], ""
            elif len(self._held) > _MAX_REPLY:
                self._held = ""
        return text

    def release(self) -> str:
        """Return delayed keys that are not a reply."""
        is_reply = self._held.startswith(_START)
        if not self._held or is_reply or self._clock() < self._held_at + _HOLD_SECONDS:
            return ""
        keys, self._held = self._held, ""
        self._was_escape_released = keys == "\x1b"
        return keys

    def _find_partial_start(self, text: str) -> int:
        least = 1 if self._clock() < self._expected_until else 2
        for length in range(len(_START) - 1, least - 1, -1):
            if text.endswith(_START[:length]):
                return len(text) - length
        return -1

    def _take(self, reply: re.Match[str]) -> str:
        if (is_dark := parse_is_dark(reply[1])) is not None:
            self._expected_until = 0.0
            self._report(is_dark)
        return ""
