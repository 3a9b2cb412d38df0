"""Detection of a dark terminal background.

Format: OSC 11, https://invisible-island.net/xterm/ctlseqs/ctlseqs.html#h3-Operating-System-Commands.
Some terminals reply late or never, so nothing waits for the reply.
"""

import re
from collections.abc import Mapping

from textual.message import Message

_QUERY = "\x1b]11;?\x07"
_REPLY = re.compile(r"\x1b\]11;rgba?:([0-9a-fA-F]{1,4})/([0-9a-fA-F]{1,4})/([0-9a-fA-F]{1,4})\b")
_WITHOUT_COLORS = ("", "dumb", "linux", "vt100", "vt102", "vt220")
"""Values of TERM whose terminals print the query or have no colours."""


class BackgroundReported(Message):
    """Posted when the terminal has reported its background."""

    def __init__(self, is_dark: bool) -> None:
        super().__init__()
        self.is_dark = is_dark


def get_query(environ: Mapping[str, str]) -> str:
    """Return the query; empty if the terminal would print it or shows no colours."""
    is_useless = environ.get("TERM", "") in _WITHOUT_COLORS or bool(environ.get("NO_COLOR"))
    return "" if is_useless else _QUERY


def is_dark_by_environment(environ: Mapping[str, str]) -> bool:
    """Return whether the background is dark according to COLORFGBG of rxvt; else True."""
    background = environ.get("COLORFGBG", "").rpartition(";")[2]
    return background not in ("7", "9", "10", "11", "12", "13", "14", "15")


def parse_is_dark(reply: str) -> bool | None:
    """Return whether a reply of the terminal has a dark background; None if it has none."""
    match = _REPLY.match(reply)
    if match is None:
        return None
    red, green, blue = (int(part, 16) / (16 ** len(part) - 1) for part in match.groups())
    return 0.299 * red + 0.587 * green + 0.114 * blue < 0.5
