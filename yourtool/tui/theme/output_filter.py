"""Last filter before the terminal.

Textual writes control characters and hyperlinks unchanged. Every row of every widget passes the
app's line filters, so one filter covers all of them.
"""

import re
from collections.abc import Sequence
from functools import lru_cache

from rich.segment import Segment
from rich.style import Style
from textual.color import Color
from textual.filter import LineFilter

_CONTROLS = re.compile(
    "[\x00-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069\ud800-\udfff\U000e0000-\U000e007f]"
)


class SanitizeFilter(LineFilter):
    """Removes control characters and hyperlinks.

    This is the safety net for text that did not pass `text.printable`, which makes such characters
    visible. Textual counts them as zero-width, so removing them does not change the row width.
    """

    def apply(self, segments: Sequence[Segment], background: Color) -> list[Segment]:
        """Return the segments of a row without control characters."""
        return [segment if _is_safe(segment) else _sanitize(segment) for segment in segments]


def _is_safe(segment: Segment) -> bool:
    text, style, _ = segment
    return (style is None or style.link is None) and (
        (text.isascii() and text.isprintable()) or not _CONTROLS.search(text)
    )


def _sanitize(segment: Segment) -> Segment:
    style = segment.style
    linked = style is not None and style.link is not None
    return Segment(_CONTROLS.sub("", segment.text), _without_link(style) if linked else style)


@lru_cache(256)
def _without_link(style: Style) -> Style:
    return style.update_link(None)
