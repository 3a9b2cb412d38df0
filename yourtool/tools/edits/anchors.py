"""Anchor lines of file parts.

Such lines name a part of a file: `class Session` or `def close(self)`.
"""

from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property
from itertools import accumulate

from yourtool.tools.edits.matching import Windows
from yourtool.tools.edits.plain_forms import to_plain

_MAX_FOUND = 1_000
"""Lines that one anchor can name; if it fits more, it names none."""
_CONTINUES_HEAD = (")", "]", "{")
"""What the last line of a long head can start with, at the indentation of the first one."""
_ENDS_BLOCK = ("}", "end")


class AnchorLines:
    """Finds the blocks that anchors name; a block ends where the indentation does."""

    def __init__(self, lines: Sequence[str]) -> None:
        self._lines = lines

    @cached_property
    def _joined(self) -> str:
        return to_plain("\n" + "\n".join(line.strip() for line in self._lines) + "\n")

    @cached_property
    def _starts(self) -> list[int]:
        sizes = (len(line.strip()) + 1 for line in self._lines)
        return list(accumulate(sizes, initial=1))

    @cached_property
    def _ends(self) -> list[int]:
        """The line after the block of each line."""
        ends = [len(self._lines)] * len(self._lines)
        open_lines = list[tuple[int, int]]()
        for number, line in enumerate(self._lines):
            text = line.lstrip()
            if not text or text.startswith(_CONTINUES_HEAD):
                continue
            width = len(line[: len(line) - len(text)].expandtabs())
            while open_lines and open_lines[-1][1] >= width:
                ends[open_lines.pop()[0]] = number + text.startswith(_ENDS_BLOCK)
            open_lines.append((number, width))
        return ends

    def find_blocks(self, anchors: Sequence[str], after: int) -> Windows:
        """Return the blocks of the innermost anchor in the blocks of those before it.

        Anchors that name no line from `after` on are ignored; empty if none of them names one.
        """
        blocks: Windows = ()
        for anchor in anchors:
            within = blocks or (range(after, len(self._lines)),)
            if found := self._find(to_plain(anchor.strip()), within):
                blocks = tuple(_join(range(line, self._ends[line]) for line in found))
        return blocks

    def _find(self, anchor: str, within: Windows) -> list[int]:
        """Return the lines that are the anchor; or else start with it, or else contain it."""
        if not anchor:
            return []
        for wanted in (f"\n{anchor}\n", f"\n{anchor}", anchor):
            found = dict.fromkeys(self._iter_lines(wanted, within))
            if found:
                return [] if len(found) > _MAX_FOUND else list(found)
        return []

    def _iter_lines(self, wanted: str, within: Windows) -> Iterator[int]:
        count, text = 0, self._joined
        for window in within:
            begin, end = self._starts[window.start] - 1, self._starts[window.stop]
            at = text.find(wanted, begin, end)
            while at >= 0 and count <= _MAX_FOUND:
                if _is_whole_word(text, at, at + len(wanted)):
                    count += 1
                    yield bisect_right(self._starts, at + wanted.startswith("\n")) - 1
                at = text.find(wanted, at + 1, end)


def _is_whole_word(text: str, start: int, end: int) -> bool:
    """Whether no word of the text continues before or after a range of it."""
    edges = ((start - 1, start), (end - 1, end))
    return not any(
        left >= 0 and right < len(text) and _is_word(text[left]) and _is_word(text[right])
        for left, right in edges
    )


def _is_word(character: str) -> bool:
    return character.isalnum() or character == "_"


def _join(blocks: Iterable[range]) -> Iterator[range]:
    """Yield blocks, in order of their starts, with those that overlap as one."""
    last = range(0)
    for block in blocks:
        if block.start < last.stop:
            last = range(last.start, max(last.stop, block.stop))
            continue
        if last:
            yield last
        last = block
    if last:
        yield last
