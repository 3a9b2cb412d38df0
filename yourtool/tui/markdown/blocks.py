"""Block structure of Markdown.

Follows CommonMark 0.31 (https://spec.commonmark.org/0.31.2/#blocks-and-inlines) and GFM tables,
with three differences that suit a terminal: a line break in a paragraph stays a line break,
under-indented nested lists nest, and raw HTML is shown as source. The block of a line depends only
on the lines before it, never on how the text was split while streaming.
"""

from collections.abc import Sequence
from itertools import takewhile
from typing import NamedTuple, TypeAlias

from yourtool.tui.lines.styled_lines import (
    Highlighter,
    HighlighterFactory,
    Source,
    Span,
    StyledLine,
    cell_width,
    expand_tabs,
    wrap,
    wrap_with_separators,
)
from yourtool.tui.markdown.block_starts import (
    ITEM,
    QUOTE,
    SETEXT,
    is_rule,
    is_undecided,
    parse_fence_start,
    parse_heading,
)
from yourtool.tui.markdown.containers import (
    Containers,
    open_containers,
    visible_containers,
)
from yourtool.tui.markdown.inline import parse_inline
from yourtool.tui.markdown.table import Table, parse_alignments

SETTLE_LENGTH = 2000
"""Characters after which a paragraph is settled, except its last row, at the next break."""
MAX_LINE_LENGTH = 2 * SETTLE_LENGTH
"""Characters of a line without a break; the rest of a longer line is treated as text or code."""


class _Paragraph(NamedTuple):
    source: str
    text: str
    open_row: tuple[Span, ...] = ()
    """The unfinished last row of the settled part."""
    separator: str = "\n"
    """The text between the settled part and `open_row`."""

    def with_text(self, source: str, text: str, separator: str) -> "_Paragraph":
        """Return the paragraph with more text."""
        return _Paragraph(
            f"{self.source}{separator}{source}" if self.source else source,
            f"{self.text}{separator}{text}" if self.text or self.open_row else text,
            self.open_row,
            self.separator,
        )


class _Fence(NamedTuple):
    indent: int
    mark: str
    highlighter: Highlighter | None


_Leaf: TypeAlias = _Paragraph | _Fence | Table | None


class BlockParser:
    """Parses blocks line by line; `push` returns the rows that a line settles."""

    def __init__(self, width: int, highlight: HighlighterFactory | None = None) -> None:
        self._width = width
        self._highlight = highlight
        self._containers: Containers = ()
        self._leaf: _Leaf = None
        self._gap: Containers | None = None  # a blank row is due, inside these containers
        self._has_rows = False
        self._rows: list[StyledLine] = []

    def fork(self) -> "BlockParser":
        """Return an independent copy."""
        copy = BlockParser(self._width, self._highlight)
        copy._containers, copy._leaf = self._containers, self._leaf
        copy._gap, copy._has_rows = self._gap, self._has_rows
        if isinstance(self._leaf, _Fence) and self._leaf.highlighter:
            copy._leaf = self._leaf._replace(highlighter=self._leaf.highlighter.fork())
        return copy

    def push(self, line: str, *, more: bool = False) -> list[StyledLine]:
        """Parse the next line, without its line feed; with `more`, only the start of a line."""
        rest, matched = self._match(line)
        if isinstance(self._leaf, _Fence) and matched == len(self._containers):
            self._push_code(self._leaf, rest if self._containers else line)
        elif not rest.strip():
            self._close_leaf()
            quotes = [at for at, one in enumerate(self._containers) if one.kind == ">"]
            unquoted = next((at for at in quotes if at >= matched), None)
            self._containers = self._containers[:unquoted]
            self._gap = self._containers
        else:
            self._push_text(rest, line, matched)
        self._settle_long_leaf(within_line=more)
        return self._take_rows()

    def continue_line(self, text: str, separator: str, *, more: bool = False) -> list[StyledLine]:
        """Parse more of the last line, which was split at `separator`: a space or nothing."""
        match self._leaf:
            case _Paragraph():
                self._leaf = self._leaf.with_text(text, text, separator)
            case _Fence():
                self._emit_code([(text, "code.block")], text, separator)
            case _:
                self._close_leaf()
                self._leaf = _Paragraph(text, text)
        self._settle_long_leaf(within_line=more)
        return self._take_rows()

    def starts_paragraph(self, line: str) -> bool:
        """Return whether the start of a line is text of a paragraph."""
        if isinstance(self._leaf, _Fence | Table):
            return False
        trial = self.fork()
        trial.push(line)
        return isinstance(trial._leaf, _Paragraph)

    def continues_text(self) -> bool:
        """Return whether the rest of the last line is text, not code."""
        return not isinstance(self._leaf, _Fence)

    def is_undecided(self, line: str) -> bool:
        """Return whether the start of a line can still become any kind of block."""
        rest, matched = self._match(line)
        if isinstance(self._leaf, _Fence) and matched == len(self._containers):
            return bool(rest.strip()) and not rest.strip().strip(self._leaf.mark[0])
        if isinstance(self._leaf, Table):
            return True
        inner = QUOTE.sub("", rest)
        return is_undecided(inner) or inner.lstrip().startswith("|")

    def close(self) -> list[StyledLine]:
        """Close the open leaf at the end of the text; return its rows."""
        self._close_leaf()
        return self._take_rows()

    def open_rows(self) -> list[StyledLine]:
        """Return the current rows of the open leaf without settling them."""
        trial = self.fork()
        match trial._leaf:
            case _Paragraph(text=text) as leaf:
                if text.rpartition("\n")[2].lstrip().startswith("|"):
                    trial._leaf = leaf._replace(text=text.rpartition("\n")[0])
                trial._close_leaf(growing=True)
            case Table():
                trial._close_leaf()
            case _:
                pass
        return trial._take_rows()

    # The structure of a line

    def _match(self, line: str) -> tuple[str, int]:
        """Strip the prefixes of open containers; return the rest and the number of matches."""
        rest = _expand_indentation(line)
        for at, container in enumerate(self._containers):
            if container.kind == ">":
                if not (quote := QUOTE.match(rest)):
                    return rest, at
                rest = rest[quote.end() :]
            elif rest.strip():
                indent = len(rest) - len(rest.lstrip(" "))
                nests = indent >= 2 and ITEM.match(rest.lstrip(" "))
                if indent < container.indent and not nests:
                    return rest, at
                rest = rest[min(indent, container.indent) :]
        return rest, len(self._containers)

    def _push_text(self, rest: str, line: str, matched: int) -> None:
        leaf = self._leaf
        if isinstance(leaf, _Paragraph) and matched == len(self._containers):
            if (setext := SETEXT.fullmatch(rest)) and not parse_alignments(
                _last_line(leaf.text), rest
            ):
                self._leaf = None
                style = "h1" if setext[1][0] == "=" else "h2"
                self._emit(parse_inline(leaf.text, style), f"{leaf.source}\n{line}")
                return
            if aligns := parse_alignments(_last_line(leaf.text), rest):
                self._open_table(leaf, line, aligns)
                return
        if isinstance(leaf, _Paragraph) and not self._starts_block(rest):
            self._leaf = leaf.with_text(line, rest.strip(), "\n")
            return
        continues_table = matched == len(self._containers) and not self._starts_block(rest)
        if isinstance(leaf, Table) and continues_table:
            leaf.add(rest, line)
            return
        self._close_leaf()
        closed = self._containers[matched : matched + 1]
        self._containers = self._containers[:matched]
        self._containers, rest = open_containers(
            self._containers, rest, closed[0] if closed else None
        )
        self._open_leaf(rest, line)

    def _starts_block(self, rest: str) -> bool:
        """Return whether a line can interrupt a paragraph."""
        if QUOTE.match(rest) or parse_heading(rest) or is_rule(rest) or parse_fence_start(rest):
            return True
        item = ITEM.match(rest)
        if item is None or not rest[item.end() :].strip():
            return False
        return not item[2][0].isdigit() or int(item[2][:-1]) == 1 or self._in_list

    @property
    def _in_list(self) -> bool:
        return any(container.kind != ">" for container in self._containers)

    def _open_leaf(self, rest: str, line: str) -> None:
        if not rest.strip():
            return
        if title := parse_heading(rest):
            self._emit(parse_inline(title.text, f"h{title.level}"), line)
        elif is_rule(rest):
            self._emit([("─" * self._available, "rule")], line)
        elif fence := parse_fence_start(rest):
            named = self._highlight if fence.language else None
            highlighter = named(fence.language) if named else None
            self._leaf = _Fence(fence.indent, fence.mark, highlighter)
            self._open_gap()
        elif rest.startswith("    "):
            self._emit_code([(rest[4:], "code.block")], rest[4:])
        else:
            self._leaf = _Paragraph(line, rest.strip())

    def _push_code(self, fence: _Fence, rest: str) -> None:
        stripped, indent = rest.strip(), len(rest) - len(rest.lstrip(" "))
        closes = len(stripped) >= len(fence.mark) and not stripped.strip(fence.mark[0])
        if closes and indent < 4:
            self._leaf = None
            return
        code = rest[min(indent, fence.indent) :]
        spans = fence.highlighter.highlight(code) if fence.highlighter else [(code, "code.block")]
        self._emit_code(spans, code)

    def _open_table(self, leaf: _Paragraph, line: str, aligns: Sequence[str]) -> None:
        before, newline, header = leaf.text.rpartition("\n")
        head_source = leaf.source.rpartition("\n")
        if newline:
            self._leaf = leaf._replace(source=head_source[0], text=before)
            self._close_leaf()
        self._leaf = Table(header, tuple(aligns))  # pyright: ignore[reportArgumentType]
        self._leaf.source += [head_source[2], line]

    # Rows

    def _close_leaf(self, *, growing: bool = False) -> None:
        leaf, self._leaf = self._leaf, None
        match leaf:
            case _Paragraph(source, text, open_row, separator):
                if text or open_row:
                    self._emit([*open_row, *parse_inline(text, growing=growing)], source, separator)
            case Table():
                shared = Source("\n".join(leaf.source))
                self._open_gap()
                for row in leaf.rows(self._available):
                    self._append(row, shared)
            case _:
                pass

    def _settle_long_leaf(self, *, within_line: bool = False) -> None:
        """Settle the rows of a long block, so that they are not rendered again."""
        match self._leaf:
            case _Paragraph(text=text) as leaf if _is_long(text):
                self._settle_paragraph(leaf, within_line=within_line)
            case Table(is_long=True) as table:
                self._close_leaf()
                self._leaf = table.continuation()
            case _:
                pass

    def _settle_paragraph(self, leaf: _Paragraph, *, within_line: bool) -> None:
        rows = wrap_with_separators([*leaf.open_row, *parse_inline(leaf.text)], self._available)
        rows[0] = (rows[0][0], leaf.separator)
        open_row, separator = rows.pop() if within_line else ((), "\n")
        shared = Source(leaf.source)
        self._open_gap()
        for row, before in rows:
            self._append(row, shared, separator=before)
        self._leaf = _Paragraph("", "", open_row, separator)

    def _emit(self, spans: list[Span], source: str, separator: str = "\n") -> None:
        self._open_gap()
        shared = Source(source)
        for at, (row, before) in enumerate(wrap_with_separators(spans, self._available)):
            self._append(row, shared, separator=before if at else separator)

    def _emit_code(self, spans: list[Span], source: str, separator: str = "\n") -> None:
        self._open_gap()
        shared = Source(source)
        expanded = [(expand_tabs(text), style) for text, style in spans]
        bar: Span = ("▏ ", "code.bar")
        for at, row in enumerate(wrap(expanded, max(1, self._available - 2), words=False)):
            self._append((bar, *row), shared, fill="code.block", separator="" if at else separator)

    def _open_gap(self) -> None:
        if self._gap is not None and self._has_rows:
            pairs = zip(self._gap, self._containers, strict=False)
            around = takewhile(lambda pair: pair[0] == pair[1], pairs)
            bars = tuple(one.prefix for one, _ in around)
            self._rows.append(
                StyledLine(bars if cell_width(bars) < self._width else (), Source(""))
            )
        self._gap = None

    def _append(
        self, row: Sequence[Span], source: Source, *, fill: str = "", separator: str = "\n"
    ) -> None:
        self._has_rows = True
        shown = visible_containers(self._containers, self._width)
        prefix = tuple(one.marker or one.prefix for one in shown)
        if any(one.marker for one in self._containers):
            self._containers = tuple(one._replace(marker=None) for one in self._containers)
        self._rows.append(StyledLine((*prefix, *row), source, fill, separator))

    @property
    def _available(self) -> int:
        shown = visible_containers(self._containers, self._width)
        return self._width - cell_width(one.prefix for one in shown)

    def _take_rows(self) -> list[StyledLine]:
        rows, self._rows = self._rows, []
        return rows


def _is_long(text: str) -> bool:
    return len(text) >= SETTLE_LENGTH or text.count("\n") >= SETTLE_LENGTH // 40


def _last_line(text: str) -> str:
    return text.rpartition("\n")[2]


def _expand_indentation(line: str) -> str:
    """Expand tabs in the indentation only."""
    stripped = line.lstrip(" \t")
    return line[: len(line) - len(stripped)].expandtabs(4) + stripped
