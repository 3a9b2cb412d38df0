"""Styled lines as strips."""

from collections.abc import Sequence

from rich.segment import Segment
from rich.style import Style
from textual.filter import LineFilter
from textual.strip import Strip
from textual.widget import Widget

from yourtool.tui.lines.styled_lines import Span, StyledLine
from yourtool.tui.theme.themes import get_palette

GUTTER = 2
"""Cells left of the text: the mark of an item and the selection marker."""
_MAX_STRIPS = 1500
MATCH = Style(reverse=True, bold=True)
"""The style of a match, which is visible in every theme and without colours."""


class Painter:
    """Paints and caches lines for the current width and theme of one widget."""

    def __init__(self, widget: Widget) -> None:
        self._palette = get_palette(widget.app.theme)
        self._base: Style = widget.rich_style
        self._background = widget.background_colors[1]
        self._filters: Sequence[LineFilter] = widget.get_line_filters()
        self._selection = _find_selection_style(widget)
        self._styles: dict[str, Style] = {}
        """By names: Rich gives each sum of styles with a link another id, so rows share one."""
        self._width = widget.region.width
        self._strips: dict[tuple[int, Span, bool], tuple[StyledLine, Strip]] = {}
        self._blank = self._filter([Segment(" " * self._width, self._base)])

    def blank(self) -> Strip:
        """Return an empty row."""
        return self._blank

    def strip(self, line: StyledLine, mark: Span, *, selected: bool) -> Strip:
        """Return a painted row with its gutter."""
        key = (id(line), mark, selected)
        if (cached := self._strips.get(key)) is not None and cached[0] is line:
            return cached[1]
        strip = self.build_strip(line, mark, selected=selected)
        if len(self._strips) > _MAX_STRIPS:
            self._strips.clear()
        self._strips[key] = (line, strip)
        return strip

    def build_strip(self, line: StyledLine, mark: Span, *, selected: bool = False) -> Strip:
        """Return a row that is not cached, because it soon changes."""
        style, base = self._get_style, self._base
        segments = [
            Segment(mark[0] or " ", style(mark[1])),
            Segment("▌" if selected else " ", style("marker")),
            *(Segment(text, style(name)) for text, name in line.painted_spans),
        ]
        used = sum(segment.cell_length for segment in segments)
        if used < self._width:
            fill = style(line.fill)
            if line.fill:
                segments.append(Segment(" " * (self._width - used - 1), fill))
                used = self._width - 1
            segments.append(Segment(" " * (self._width - used), base))
        return self._filter(segments)

    def _get_style(self, names: str) -> Style:
        if (style := self._styles.get(names)) is None:
            if len(self._styles) > _MAX_STRIPS:
                self._styles.clear()
            style = self._styles[names] = self._base + self._palette.style(names)
        return style

    def selected_strip(
        self, strip: Strip, start: int, end: int, style: Style | None = None
    ) -> Strip:
        """Return a row with the characters from `start` to before `end` (-1: end) selected.

        `style` replaces the colours of the selection.
        """
        added = style or self._selection
        first = strip.index_to_cell_position(start)
        last = strip.index_to_cell_position(end) if end >= 0 else self._width
        before, inside, after = (
            strip.crop(0, first),
            strip.crop(first, last),
            strip.crop(last, self._width),
        )
        marked = Strip(
            [Segment(text, (style or Style()) + added) for text, style, _ in inside],
            inside.cell_length,
        )
        return Strip.join([before, marked, after])

    def _filter(self, segments: list[Segment]) -> Strip:
        for one in self._filters:
            segments = one.apply(segments, self._background)
        strip = Strip([segment for segment in segments if segment.text])
        return strip.adjust_cell_length(self._width, self._base)


def _find_selection_style(widget: Widget) -> Style:
    """Return the style of the selection; most themes have only a ground for it."""
    style: Style = widget.screen.get_component_rich_style("screen--selection")
    if style.color != style.bgcolor:
        return style
    return Style(color=widget.rich_style.color, bgcolor=style.bgcolor)
