"""Syntax colours in diffs."""

from collections.abc import Sequence

from yourtool.tui.lines.styled_lines import Highlighter, HighlighterFactory, Span

_BLOCK = 64
"""Lines that are highlighted with the state of one highlighter."""
_CODE_BLOCK = "code.block"
"""The style of code in Markdown, which has a background."""


class HunkSide:
    """The old or the new lines of a hunk.

    A highlighter needs the preceding lines. To colour any line of a long hunk in a short time, it
    starts at most one block earlier; so its colours do not depend on what was painted before.
    """

    def __init__(self, highlight: HighlighterFactory | None, name: str) -> None:
        """`name` is the file name or the language."""
        self._highlight = highlight
        self._name = name
        self._lines: list[str] = []
        self._blocks: dict[int, tuple[Highlighter | None, list[list[Span]]]] = {}

    def append(self, text: str) -> int:
        """Add the next line and return its index."""
        self._lines.append(text)
        return len(self._lines) - 1

    def spans(self, at: int) -> Sequence[Span]:
        """Return the line at an index with its colours."""
        number, first = at // _BLOCK, at // _BLOCK * _BLOCK
        if number not in self._blocks:
            highlighter = self._highlight(self._name) if self._highlight else None
            if highlighter is not None:
                for line in self._lines[max(0, first - _BLOCK) : first]:
                    highlighter.highlight(line)
            self._blocks[number] = highlighter, []
        highlighter, done = self._blocks[number]
        if highlighter is None:
            return ((self._lines[at], ""),)
        while first + len(done) <= at:
            spans = highlighter.highlight(self._lines[first + len(done)])
            done.append([(text, style.removeprefix(_CODE_BLOCK).strip()) for text, style in spans])
        return done[at - first]
