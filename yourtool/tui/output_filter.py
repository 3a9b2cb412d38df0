"""The last look at what is painted: nothing but text and styles reaches the terminal.

The toolkit writes control characters and hyperlinks in text as they are. Every row of every widget
passes the app's line filters, so one filter closes them all.
"""

import re
from collections.abc import Sequence
from functools import lru_cache

from rich.segment import Segment
from rich.style import Style
from textual.color import Color
from textual.filter import LineFilter

_OBEYED = re.compile(
    "[\x00-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069\ud800-\udfff\U000e0000-\U000e007f]"
)


class Sanitise(LineFilter):
    """Takes away what a terminal would obey, and hyperlinks.

    It is the net under `text.printable`, which shows such characters where there is room for it.
    The toolkit counts all of them as having no width, so rows keep theirs.
    """

    def apply(self, segments: Sequence[Segment], background: Color) -> list[Segment]:
        """Return the segments of a row with no control left in them."""
        return [segment if _harmless(segment) else _safe(segment) for segment in segments]


def _harmless(segment: Segment) -> bool:
    text, style, _ = segment
    return (style is None or style.link is None) and (
        (text.isascii() and text.isprintable()) or not _OBEYED.search(text)
    )


def _safe(segment: Segment) -> Segment:
    style = segment.style
    linked = style is not None and style.link is not None
    return Segment(_OBEYED.sub("", segment.text), _unlinked(style) if linked else style)


@lru_cache(256)
def _unlinked(style: Style) -> Style:
    return style.update_link(None)
