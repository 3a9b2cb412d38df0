"""Lines and signs in ASCII, for terminals and fonts that have nothing else."""

from collections.abc import Sequence
from unicodedata import name

from rich.segment import Segment
from textual.color import Color
from textual.filter import LineFilter


def _box(char: str) -> str:
    words = name(char)
    across, along = "VERTICAL" in words, "HORIZONTAL" in words
    return "+" if across == along else "|" if across else "-"


_SIGNS = {
    **{char: _box(char) for char in map(chr, range(0x2500, 0x2580))},
    **dict.fromkeys(map(chr, range(0x2580, 0x2588)), " "),  # the ends of scroll bars
    **dict.fromkeys(map(chr, range(0x2588, 0x25A0)), "|"),
    **dict.fromkeys(map(chr, range(0x2400, 0x2427)), "?"),
    **dict(zip("·…—−→←↓↑•◦▪⋮", "-~--><v^*o+:", strict=True)),
    **dict(zip("“”„‘’–", '"""\'\'-', strict=True)),
    **dict(zip("✓✗○●⊘❯▸✻☐☑⚒▣", "vxo*x>>*_xti", strict=True)),
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
