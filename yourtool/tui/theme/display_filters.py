"""Line filters without colours or Unicode symbols."""

from collections.abc import Sequence
from functools import lru_cache
from unicodedata import name

from rich.segment import Segment
from rich.style import Style
from textual.color import Color
from textual.filter import LineFilter

MIN_CONTRAST = 0.25
"""Least difference in brightness (0 to 1) to the surrounding background."""


def _box_drawing_to_ascii(char: str) -> str:
    words = name(char)
    across, along = "VERTICAL" in words, "HORIZONTAL" in words
    return "+" if across == along else "|" if across else "-"


_REPLACEMENTS = {
    **{char: _box_drawing_to_ascii(char) for char in map(chr, range(0x2500, 0x2580))},
    **dict.fromkeys(map(chr, range(0x2580, 0x2588)), " "),  # the ends of scroll bars
    **dict.fromkeys(map(chr, range(0x2588, 0x25A0)), "|"),
    **dict.fromkeys(map(chr, range(0x2400, 0x2427)), "?"),
    **dict(zip("·…—−→←↓↑•◦▪⋮⇥", "-~--><v^*o+:>", strict=True)),
    **dict(zip("◐◓◑◒", "|/-\\", strict=True)),
    **dict(zip("“”„‘’–", '"""\'\'-', strict=True)),
    **dict(zip("✓✗○●★⊘❯▸✻☐☑⚒▣♪▤⏵⏸", "vxo**x>>*_xtird>=", strict=True)),
}
_TABLE = str.maketrans(_REPLACEMENTS)


class AsciiFilter(LineFilter):
    """Replaces lines and symbols of the interface with ASCII; other text is unchanged."""

    def apply(self, segments: Sequence[Segment], background: Color) -> list[Segment]:
        """Return the segments of a row with the same widths."""
        return [
            segment
            if segment.text.isascii()
            else Segment(segment.text.translate(_TABLE), segment.style, segment.control)
            for segment in segments
        ]


class NoColorFilter(LineFilter):
    """Removes all colours, as in https://no-color.org; bold and reverse stay.

    Text that is marked by its background, such as the cursor and a selected row, is reversed.
    """

    def apply(self, segments: Sequence[Segment], background: Color) -> list[Segment]:
        """Return the segments of a row without colours."""
        return [
            segment
            if segment.style is None
            else Segment(segment.text, _without_color(segment.style, background), segment.control)
            for segment in segments
        ]


@lru_cache(1024)
def _without_color(style: Style, background: Color) -> Style:
    plain = style.without_color
    if style.meta:
        plain += Style.from_meta(style.meta)
    if style.bgcolor is None or style.bgcolor.is_default:
        return plain
    contrast = abs(Color.from_rich_color(style.bgcolor).brightness - background.brightness)
    return plain + _REVERSED if contrast > MIN_CONTRAST else plain


_REVERSED = Style(reverse=True)
