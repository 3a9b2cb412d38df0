"""The block structure of Markdown, one source line at a time.

Follows CommonMark 0.31 (https://spec.commonmark.org/0.31.2/#blocks-and-inlines) and GFM tables,
with three liberties that suit text written for a terminal: a line feed in a paragraph stays one,
under-indented nested lists nest, and raw HTML is shown as it is written. What a line becomes
depends on the lines before it alone, never on how they were cut while arriving.
"""

import re
from collections.abc import Sequence
from itertools import takewhile
from typing import NamedTuple, Protocol, TypeAlias

from yourtool.tui.lines import Line, Source, Span, expand_tabs, rows_of, width_of, wrap
from yourtool.tui.markdown.inline import inline
from yourtool.tui.markdown.table import Table, alignments

_QUOTE = re.compile(r" {0,3}> ?")
_ITEM = re.compile(r"( {0,3})([-*+]|\d{1,9}[.)])( +|$)(\[[ xX]\] )?")
_HEADING = re.compile(r" {0,3}(#{1,6})(?:[ \t]+(.*?))?(?:[ \t]+#+)?[ \t]*")
_RULE = re.compile(r" {0,3}(?:(?:\*[ \t]*){3,}|(?:-[ \t]*){3,}|(?:_[ \t]*){3,})")
_FENCE = re.compile(r"( {0,3})(`{3,}|~{3,})[ \t]*([^\s`]*)[^`]*")
_SETEXT = re.compile(r" {0,3}(=+|-+)[ \t]*")
_UNDECIDED = re.compile(r" {0,3}(?:#{1,6}|[-=*_+~`> ]+|\d{1,9}[.)]?|[|:][-|: ]*|\[[ xX]?\]?)[ \t]*")
_BULLETS = "•◦▪"
_LEAST_WIDTH = 10
UNIT = 2000
"""Characters after which a paragraph is settled up to its last row, at the next break."""


class Highlighter(Protocol):
    """Colours code line by line, knowing only what came before."""

    def line(self, text: str) -> list[Span]:
        """Return the spans of the next line."""
        ...

    def fork(self) -> "Highlighter":
        """Return one in the same state, to try a line with."""
        ...


class Highlight(Protocol):
    """Finds the highlighter of a language."""

    def __call__(self, language: str) -> Highlighter | None:
        """Return a fresh highlighter, or None for a language nobody knows."""
        ...


class _Container(NamedTuple):
    """A block quote or a list item, and what it puts before its lines."""

    rest: Span
    marker: Span | None
    """What stands before the first row, until that row was drawn."""
    indent: int = 0
    """Columns that further lines of an item are indented by; 0 for a quote."""
    kind: str = ">"
    """`>`, or the character that ends the marker of an item."""
    number: int = 0


class _Paragraph(NamedTuple):
    source: str
    text: str
    carry: tuple[Span, ...] = ()
    """The row the settled part of the paragraph ended in the middle of."""

    def with_words(self, source: str, text: str, joint: str) -> "_Paragraph":
        """Return the paragraph with more after it."""
        text = f"{self.text}{joint}{text}" if self.text or (self.carry and joint == "\n") else text
        return _Paragraph(
            f"{self.source}{joint}{source}" if self.source else source, text, self.carry
        )


class _Fence(NamedTuple):
    indent: int
    mark: str
    highlighter: Highlighter | None


class _OpenTable(NamedTuple):
    source: tuple[str, ...]
    table: Table


_Leaf: TypeAlias = _Paragraph | _Fence | _OpenTable | None


class Blocks:
    """The open containers and the open leaf; `push` returns the rows that a line settles."""

    def __init__(self, width: int, highlight: Highlight | None = None) -> None:
        self._width = width
        self._highlight = highlight
        self._containers: tuple[_Container, ...] = ()
        self._leaf: _Leaf = None
        self._gap: tuple[_Container, ...] | None = None  # a blank line is due, within these
        self._begun = False
        self._rows: list[Line] = []

    def fork(self) -> "Blocks":
        """Return a copy to try a line with."""
        copy = Blocks(self._width, self._highlight)
        copy._containers, copy._leaf = self._containers, self._leaf
        copy._gap, copy._begun = self._gap, self._begun
        if isinstance(self._leaf, _Fence) and self._leaf.highlighter:
            copy._leaf = self._leaf._replace(highlighter=self._leaf.highlighter.fork())
        return copy

    def push(self, line: str, *, more: bool = False) -> list[Line]:
        """Take the next line, without its end; with `more`, only what it begins with."""
        rest, matched = self._match(line)
        if isinstance(self._leaf, _Fence) and matched == len(self._containers):
            self._in_fence(self._leaf, rest if self._containers else line)
        elif not rest.strip():
            self._close_leaf()
            quotes = [at for at, one in enumerate(self._containers) if one.kind == ">"]
            unquoted = next((at for at in quotes if at >= matched), None)
            self._containers = self._containers[:unquoted]
            self._gap = self._containers
        else:
            self._in_text(rest, line, matched)
        self._settle_long(within_line=more)
        return self._taken()

    def extend(self, text: str, *, more: bool = False) -> list[Line]:
        """Take what follows the space after which the line pushed last was cut."""
        if isinstance(self._leaf, _Paragraph):
            self._leaf = self._leaf.with_words(text, text, " ")
            self._settle_long(within_line=more)
        return self._taken()

    def flows(self, line: str) -> bool:
        """Tell whether a line that begins like this is text of a paragraph."""
        if isinstance(self._leaf, _Fence | _OpenTable):
            return False
        trial = self.fork()
        trial.push(line)
        return isinstance(trial._leaf, _Paragraph)

    def undecided(self, line: str) -> bool:
        """Tell whether a line that is still arriving may yet become any kind of block."""
        rest, matched = self._match(line)
        if isinstance(self._leaf, _Fence) and matched == len(self._containers):
            return bool(rest.strip()) and not rest.strip().strip(self._leaf.mark[0])
        if isinstance(self._leaf, _OpenTable):
            return True
        inner = _QUOTE.sub("", rest)
        return bool(_UNDECIDED.fullmatch(inner)) or inner.lstrip().startswith("|")

    def close(self) -> list[Line]:
        """End the text."""
        self._close_leaf()
        return self._taken()

    def tail(self) -> list[Line]:
        """Return the rows of the open leaf as they would be now; nothing is settled by it."""
        trial = self.fork()
        match trial._leaf:
            case _Paragraph(source, text, carry):
                if text.rpartition("\n")[2].lstrip().startswith("|"):
                    trial._leaf = _Paragraph(source, text.rpartition("\n")[0], carry)
                trial._close_leaf(growing=True)
            case _OpenTable():
                trial._close_leaf()
            case _:
                pass
        return trial._taken()

    # The structure of a line

    def _match(self, line: str) -> tuple[str, int]:
        """Strip what the open containers ask for; return the rest and how many were satisfied."""
        rest = _spaced(line)
        for at, container in enumerate(self._containers):
            if container.kind == ">":
                if not (quote := _QUOTE.match(rest)):
                    return rest, at
                rest = rest[quote.end() :]
            elif rest.strip():
                indent = len(rest) - len(rest.lstrip(" "))
                nests = indent >= 2 and _ITEM.match(rest.lstrip(" "))
                if indent < container.indent and not nests:
                    return rest, at
                rest = rest[min(indent, container.indent) :]
        return rest, len(self._containers)

    def _in_text(self, rest: str, line: str, matched: int) -> None:
        leaf = self._leaf
        if isinstance(leaf, _Paragraph) and matched == len(self._containers):
            if (setext := _SETEXT.fullmatch(rest)) and not alignments(_last(leaf.text), rest):
                self._leaf = None
                ink = "h1" if setext[1][0] == "=" else "h2"
                self._emit(inline(leaf.text, ink), f"{leaf.source}\n{line}")
                return
            if aligns := alignments(_last(leaf.text), rest):
                self._begin_table(leaf, line, aligns)
                return
        if isinstance(leaf, _Paragraph) and not self._begins_block(rest):
            self._leaf = leaf.with_words(line, rest.strip(), "\n")
            return
        table_goes_on = matched == len(self._containers) and not self._begins_block(rest)
        if isinstance(leaf, _OpenTable) and table_goes_on:
            leaf.table.add(rest)
            self._leaf = _OpenTable((*leaf.source, line), leaf.table)
            return
        self._close_leaf()
        closed = self._containers[matched : matched + 1]
        self._containers = self._containers[:matched]
        rest = self._open_containers(rest, closed[0] if closed else None)
        self._open_leaf(rest, line)

    def _begins_block(self, rest: str) -> bool:
        """Tell whether a line may interrupt a paragraph."""
        if _QUOTE.match(rest) or _HEADING.fullmatch(rest) or _RULE.fullmatch(rest):
            return True
        if _FENCE.fullmatch(rest):
            return True
        item = _ITEM.match(rest)
        if item is None or not rest[item.end() :].strip():
            return False
        return not item[2][0].isdigit() or int(item[2][:-1]) == 1 or self._in_list

    @property
    def _in_list(self) -> bool:
        return any(container.kind != ">" for container in self._containers)

    def _open_containers(self, rest: str, sibling: _Container | None) -> str:
        while True:
            if quote := _QUOTE.match(rest):
                rest = rest[quote.end() :]
                self._containers += (_Container(("▎ ", "quote.bar"), None),)
            elif (item := _ITEM.match(rest)) and not _RULE.fullmatch(rest):
                self._containers += (self._item(item, sibling),)
                rest = rest[item.end() :]
                if len(item[3]) > 4:
                    rest = " " * (len(item[3]) - 1) + rest
            else:
                return rest
            sibling = None

    def _item(self, match: re.Match[str], sibling: _Container | None) -> _Container:
        mark, kind, number = match[2], match[2][-1], 0
        if mark[0].isdigit():
            number = int(mark[:-1])
            if sibling is not None and sibling.kind == kind and number != 0:
                number = max(number, sibling.number + 1)
            shown = f"{number}{kind} "
        else:
            depth = sum(one.kind in "-*+" for one in self._containers)
            shown = f"{_BULLETS[depth % len(_BULLETS)]} "
        if match[4]:
            shown = "☐ " if match[4][1] == " " else "☑ "
        spaces = len(match[3]) if len(match[3]) <= 4 else 1
        indent = len(match[1]) + len(mark) + max(1, spaces)
        return _Container((" " * len(shown), ""), (shown, "bullet"), indent, kind, number)

    def _open_leaf(self, rest: str, line: str) -> None:
        if not rest.strip():
            return
        if heading := _HEADING.fullmatch(rest):
            level = len(heading[1])
            self._emit(inline(heading[2] or "", f"h{level}"), line)
        elif _RULE.fullmatch(rest):
            self._emit([("─" * self._available, "rule")], line)
        elif fence := _FENCE.fullmatch(rest):
            highlighter = self._highlight(fence[3]) if self._highlight and fence[3] else None
            self._leaf = _Fence(len(fence[1]), fence[2], highlighter)
            self._open_gap()
        elif rest.startswith("    "):
            self._emit_code([(rest[4:], "code.block")], rest[4:])
        else:
            self._leaf = _Paragraph(line, rest.strip())

    def _in_fence(self, fence: _Fence, rest: str) -> None:
        stripped, indent = rest.strip(), len(rest) - len(rest.lstrip(" "))
        closes = len(stripped) >= len(fence.mark) and not stripped.strip(fence.mark[0])
        if closes and indent < 4:
            self._leaf = None
            return
        code = rest[min(indent, fence.indent) :]
        spans = fence.highlighter.line(code) if fence.highlighter else [(code, "code.block")]
        self._emit_code(spans, code)

    def _begin_table(self, leaf: _Paragraph, line: str, aligns: Sequence[str]) -> None:
        before, newline, header = leaf.text.rpartition("\n")
        head_source = leaf.source.rpartition("\n")
        if newline:
            self._leaf = _Paragraph(head_source[0], before, leaf.carry)
            self._close_leaf()
        table = Table(header, tuple(aligns))  # pyright: ignore[reportArgumentType]
        self._leaf = _OpenTable((head_source[2], line), table)

    # Rows

    def _close_leaf(self, *, growing: bool = False) -> None:
        leaf, self._leaf = self._leaf, None
        match leaf:
            case _Paragraph(source, text, carry):
                if text or carry:
                    self._emit([*carry, *inline(text, growing=growing)], source, joins=bool(carry))
            case _OpenTable(source, table):
                shared = Source("\n".join(source))
                self._open_gap()
                for row in table.rows(self._available):
                    self._append(row, shared)
            case _:
                pass

    def _settle_long(self, *, within_line: bool = False) -> None:
        """Settle the rows of a paragraph that has grown long, so that it costs no more."""
        leaf = self._leaf
        if not isinstance(leaf, _Paragraph) or not _is_long(leaf.text):
            return
        rows = rows_of([*leaf.carry, *inline(leaf.text)], self._available)
        last = rows.pop() if within_line else None
        shared = Source(leaf.source)
        self._open_gap()
        for at, (row, joint) in enumerate(rows):
            self._append(row, shared, joint=" " if leaf.carry and not at else joint)
        if last is not None:
            self._leaf = _Paragraph("", "", (*last[0], (" ", "")))
        else:
            self._leaf = _Paragraph("", "")

    def _emit(self, spans: list[Span], source: str, *, joins: bool = False) -> None:
        self._open_gap()
        shared = Source(source)
        for at, (row, joint) in enumerate(rows_of(spans, self._available)):
            self._append(row, shared, joint=" " if joins and not at else joint)

    def _emit_code(self, spans: list[Span], source: str) -> None:
        self._open_gap()
        shared = Source(source)
        expanded = [(expand_tabs(text), ink) for text, ink in spans]
        bar: Span = ("▏ ", "code.bar")
        for at, row in enumerate(wrap(expanded, self._available - 2, words=False)):
            self._append((bar, *row), shared, fill="code.block", joint="" if at else "\n")

    def _open_gap(self) -> None:
        if self._gap is not None and self._begun:
            pairs = zip(self._gap, self._containers, strict=False)
            around = takewhile(lambda pair: pair[0] == pair[1], pairs)
            bars = tuple(one.rest for one, _ in around)
            self._rows.append(Line(bars if width_of(bars) < self._width else (), Source("")))
        self._gap = None

    def _append(
        self, row: Sequence[Span], source: Source, *, fill: str = "", joint: str = "\n"
    ) -> None:
        self._begun = True
        shown = self._shown_containers
        prefix = tuple(one.marker or one.rest for one in shown)
        if any(one.marker for one in self._containers):
            self._containers = tuple(one._replace(marker=None) for one in self._containers)
        self._rows.append(Line((*prefix, *row), source, fill, joint))

    @property
    def _shown_containers(self) -> tuple[_Container, ...]:
        """The containers, less outer ones where there is no room for all their marks."""
        shown = self._containers
        while shown and self._width - width_of(one.rest for one in shown) < _LEAST_WIDTH:
            shown = shown[1:]
        return shown

    @property
    def _available(self) -> int:
        return self._width - width_of(one.rest for one in self._shown_containers)

    def _taken(self) -> list[Line]:
        rows, self._rows = self._rows, []
        return rows


def _is_long(text: str) -> bool:
    return len(text) >= UNIT or text.count("\n") >= UNIT // 40


def _last(text: str) -> str:
    return text.rpartition("\n")[2]


def _spaced(line: str) -> str:
    """Expand the tabs of the indentation; those inside the text stay."""
    stripped = line.lstrip(" \t")
    return line[: len(line) - len(stripped)].expandtabs(4) + stripped
