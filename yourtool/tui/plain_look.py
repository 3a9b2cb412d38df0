"""What is left out for terminals, fonts and people: colours, and signs beyond ASCII."""

from collections.abc import Sequence
from functools import lru_cache
from unicodedata import name

from rich.segment import Segment
from rich.style import Style
from textual.color import Color
from textual.filter import LineFilter

STANDS_OUT = 0.25
"""How much brighter or darker than its surroundings (0 to 1) a background has to be."""


def _box(char: str) -> str:
    words = name(char)
    across, along = "VERTICAL" in words, "HORIZONTAL" in words
    return "+" if across == along else "|" if across else "-"


_SIGNS = {
    **{char: _box(char) for char in map(chr, range(0x2500, 0x2580))},
    **dict.fromkeys(map(chr, range(0x2580, 0x2588)), " "),  # the ends of scroll bars
    **dict.fromkeys(map(chr, range(0x2588, 0x25A0)), "|"),
    **dict.fromkeys(map(chr, range(0x2400, 0x2427)), "?"),
    **dict(zip("·…—−→←↓↑•◦▪⋮⇥", "-~--><v^*o+:>", strict=True)),
    **dict(zip("“”„‘’–", '"""\'\'-', strict=True)),
    **dict(zip("✓✗○●⊘❯▸✻☐☑⚒▣♪▤", "vxo*x>>*_xtird", strict=True)),
}
_TABLE = str.maketrans(_SIGNS)


class Plain(LineFilter):
    """Draws the interface's own lines and signs with ASCII; other people's words stay."""

    def apply(self, segments: Sequence[Segment], background: Color) -> list[Segment]:
        """Return the segments of a row, each as wide as it was."""
        return [
            segment
            if segment.text.isascii()
            else Segment(segment.text.translate(_TABLE), segment.style, segment.control)
            for segment in segments
        ]


class Colourless(LineFilter):
    """Takes every colour away, as https://no-color.org asks; bold and reverse stay.

    What stood out by its background, such as the cursor and a chosen row, is reversed.
    """

    def apply(self, segments: Sequence[Segment], background: Color) -> list[Segment]:
        """Return the segments of a row without colours."""
        return [
            segment
            if segment.style is None
            else Segment(segment.text, _colourless(segment.style, background), segment.control)
            for segment in segments
        ]


@lru_cache(1024)
def _colourless(style: Style, background: Color) -> Style:
    plain = style.without_color
    if style.meta:
        plain += Style.from_meta(style.meta)
    if style.bgcolor is None or style.bgcolor.is_default:
        return plain
    contrast = abs(Color.from_rich_color(style.bgcolor).brightness - background.brightness)
    return plain + _REVERSED if contrast > STANDS_OUT else plain


_REVERSED = Style(reverse=True)
