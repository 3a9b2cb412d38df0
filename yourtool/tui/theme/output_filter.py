"""Last filter before the terminal.

Textual writes control characters and links unchanged. Every row of every widget passes the
app's line filters, so one filter covers all of them.
"""

import os
import re
from collections.abc import Sequence
from functools import lru_cache

from rich.segment import Segment
from rich.style import Style
from textual.color import Color
from textual.filter import LineFilter

from yourtool.foundation.web_links import parse_link

_CONTROLS = re.compile(
    "[\x00-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069\ud800-\udfff\U000e0000-\U000e007f]"
)


class SanitizeFilter(LineFilter):
    """Removes control characters and the links that a terminal must not open.

    This is the safety net for text that did not pass `text.printable`, which makes such characters
    visible. Textual counts them as zero-width, so removing them does not change the row width.
    """

    def __init__(self) -> None:
        super().__init__()
        self._has_links = os.environ.get("TERM") != "linux"  # its console prints their addresses

    def apply(self, segments: Sequence[Segment], background: Color) -> list[Segment]:
        """Return the segments of a row without control characters."""
        return [self._sanitize(segment) for segment in segments]

    def _sanitize(self, segment: Segment) -> Segment:
        text, style, _ = segment
        if style is not None and (link := style.link) is not None:
            style = style if self._has_links and parse_link(link) == link else _without_link(style)
        is_safe = (text.isascii() and text.isprintable()) or not _CONTROLS.search(text)
        if is_safe and style is segment.style:
            return segment
        return Segment(text if is_safe else _CONTROLS.sub("", text), style)


@lru_cache(256)
def _without_link(style: Style) -> Style:
    return style.update_link(None)
