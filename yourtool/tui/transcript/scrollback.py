"""Conversation end for the terminal's scrollback.

The interface draws on the alternate screen, which leaves nothing behind. The text is printed after
the program has left that screen: at the end, and while the user looks at it.
"""

import time
from collections import deque
from collections.abc import Sequence
from functools import lru_cache
from itertools import repeat

from rich.console import Console
from rich.segment import Segment
from rich.style import Style
from textual.color import Color
from textual.filter import LineFilter
from textual.strip import Strip

from yourtool.tui.lines.slices import Slices
from yourtool.tui.lines.styled_lines import BLANK, Span, StyledLine
from yourtool.tui.lines.verbatim import VerbatimStream
from yourtool.tui.theme.themes import Palette, get_palette
from yourtool.tui.transcript.excerpts import get_fold_hint
from yourtool.tui.transcript.items import Item
from yourtool.tui.transcript.layout import ItemLayout
from yourtool.tui.transcript.painting import GUTTER
from yourtool.tui.transcript.text_items import COMPLETE_SLICE
from yourtool.tui.transcript.transcript import Transcript

MAX_LINES = 2_000
_MAX_CHARACTERS = 100_000
"""Only the end of a longer text is printed, not rendered: its layout takes too long."""
_MAX_SLICES = _MAX_CHARACTERS // COMPLETE_SLICE
_OMITTED = "… earlier messages are in the session"
_NO_MARK = ("", "")
_BACKGROUND = Color(0, 0, 0)

_Row = tuple[Span, StyledLine]


class ScrollbackPainter:
    """Paints rows for any background: in the colours of the theme, without backgrounds."""

    def __init__(self, palette: Palette, filters: Sequence[LineFilter], console: Console) -> None:
        """`filters` sanitise the output; `console` has the colour support of the terminal."""
        self._palette = palette
        self._filters = filters
        self._console = console

    def line(self, mark: Span, row: StyledLine) -> str:
        """Return a row with its escape sequences, without spaces at the end and hints on keys."""
        spans = [(f"{mark[0]:<{GUTTER}}", mark[1]), *row.spans]
        spans = [span for span in spans if span[0] != get_fold_hint()]
        while spans and not spans[-1][0].rstrip():
            spans.pop()
        if not spans:
            return ""
        text, name = spans[-1]
        spans[-1] = (text.rstrip(), name)
        segments = [Segment(text, _plain(self._palette.style(name))) for text, name in spans]
        for each in self._filters:
            segments = each.apply(segments, _BACKGROUND)
        return Strip(segments).render(self._console)


async def render_transcript(transcript: Transcript, seconds: float) -> str:
    """Return the end of a transcript as it is on the screen, for any background."""
    palette, console = get_palette(transcript.app.theme), transcript.app.console
    painter = ScrollbackPainter(palette, transcript.get_line_filters(), console)
    width = max(1, transcript.app.size.width - GUTTER - 1)  # with a scroll bar, as on the screen
    return await build_scrollback(transcript.items, width, painter, seconds)


async def build_scrollback(
    items: Sequence[Item], width: int, painter: ScrollbackPainter, seconds: float
) -> str:
    """Return the last `MAX_LINES` rows of a transcript, or as many as fit into some time.

    Keys are handled in between. Rows that were built for it are discarded.
    """
    end, slices = time.monotonic() + seconds, Slices(0)
    rows: deque[_Row] = deque()
    layout, index = ItemLayout(items, width), len(items)
    while index > 0 and len(rows) < MAX_LINES and time.monotonic() < end:
        index -= 1
        found = await _item_rows(items[index], width, slices)
        marks = (items[index].mark, *repeat(_NO_MARK, len(found) - 1))
        rows.extendleft(reversed([*zip(marks, found, strict=False)]))
        rows.extendleft([(_NO_MARK, BLANK)] * layout.gap(index))
    lines = list[str]()
    if index > 0 or len(rows) > MAX_LINES:
        lines.append(painter.line(_NO_MARK, StyledLine(((_OMITTED, "muted"),))))
    for mark, row in list(rows)[-(MAX_LINES - len(lines)) :]:
        lines.append(painter.line(mark, row))
        if slices.is_over:
            await slices.pause()
    return "".join(f"{line}\n" for line in lines)


async def _item_rows(item: Item, width: int, slices: Slices) -> Sequence[StyledLine]:
    """Return the rows of an item, as on the screen unless it is too long."""
    had_rows = item.layout_width > 0
    for _ in range(_MAX_SLICES):
        item.lay_out(width)
        if item.is_streaming or not item.is_partial:
            rows = list(item.rows)
            break
        if slices.is_over:
            await slices.pause()
    else:
        rows = await _last_rows(item.source, width, slices)
    if not had_rows:
        item.discard_rows()
    return rows


async def _last_rows(text: str, width: int, slices: Slices) -> Sequence[StyledLine]:
    """Return the end of a text, not rendered."""
    stream, end = VerbatimStream(width), text[-_MAX_CHARACTERS:]
    for at in range(0, len(end), COMPLETE_SLICE):
        stream.feed(end[at : at + COMPLETE_SLICE])
        if slices.is_over:
            await slices.pause()
    stream.finish()
    return stream.settled


@lru_cache(256)
def _plain(style: Style) -> Style:
    """Return a style without its background, which may differ from the terminal's."""
    return Style(
        color=style.color,
        bold=style.bold,
        dim=style.dim,
        italic=style.italic,
        underline=style.underline,
        strike=style.strike,
        reverse=style.reverse,
        link=style.link,
    )
