"""The block structure of Markdown, one source line at a time.

Follows CommonMark 0.31 (https://spec.commonmark.org/0.31.2/#blocks-and-inlines) and GFM tables,
with three liberties that suit text written for a terminal: a line feed in a paragraph stays one,
under-indented nested lists nest, and raw HTML is shown as it is written. What a line becomes
depends on the lines before it alone, never on how they were cut while arriving.
"""

from collections.abc import Sequence
from itertools import takewhile
from typing import NamedTuple, Protocol, TypeAlias

from yourtool.tui.markdown.block_starts import (
    ITEM,
    QUOTE,
    SETEXT,
    fence_start,
    heading,
    is_rule,
    is_undecided,
)
from yourtool.tui.markdown.containers import (
    Containers,
    open_containers,
    visible_containers,
)
from yourtool.tui.markdown.inline import inline
from yourtool.tui.markdown.table import Table, alignments
from yourtool.tui.styled_lines import (
    Source,
    Span,
    StyledLine,
    expand_tabs,
    width_of,
    wrap,
    wrap_lines,
)

UNIT = 2000
"""Characters after which a paragraph is settled up to its last row, at the next break."""
LONGEST = 2 * UNIT
"""Characters of a line without a break; a longer one is cut, and what follows is text or code."""


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


class _Paragraph(NamedTuple):
    source: str
    text: str
    carry: tuple[Span, ...] = ()
    """The row the settled part of the paragraph ended in the middle of."""
    joint: str = "\n"
    """What stood before that row."""

    def with_words(self, source: str, text: str, joint: str) -> "_Paragraph":
        """Return the paragraph with more after it."""
        return _Paragraph(
            f"{self.source}{joint}{source}" if self.source else source,
            f"{self.text}{joint}{text}" if self.text or self.carry else text,
            self.carry,
            self.joint,
        )


class _Fence(NamedTuple):
    indent: int
    mark: str
    highlighter: Highlighter | None


_Leaf: TypeAlias = _Paragraph | _Fence | Table | None


class Blocks:
    """The open containers and the open leaf; `push` returns the rows that a line settles."""

    def __init__(self, width: int, highlight: Highlight | None = None) -> None:
        self._width = width
        self._highlight = highlight
        self._containers: Containers = ()
        self._leaf: _Leaf = None
        self._gap: Containers | None = None  # a blank line is due, within these
        self._begun = False
        self._rows: list[StyledLine] = []

    def fork(self) -> "Blocks":
        """Return a copy to try a line with."""
        copy = Blocks(self._width, self._highlight)
        copy._containers, copy._leaf = self._containers, self._leaf
        copy._gap, copy._begun = self._gap, self._begun
        if isinstance(self._leaf, _Fence) and self._leaf.highlighter:
            copy._leaf = self._leaf._replace(highlighter=self._leaf.highlighter.fork())
        return copy

    def push(self, line: str, *, more: bool = False) -> list[StyledLine]:
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

    def extend(self, text: str, joint: str, *, more: bool = False) -> list[StyledLine]:
        """Take more of the line pushed last, which was cut at `joint`: a space, or nothing."""
        match self._leaf:
            case _Paragraph():
                self._leaf = self._leaf.with_words(text, text, joint)
            case _Fence():
                self._emit_code([(text, "code.block")], text, joint)
            case _:
                self._close_leaf()
                self._leaf = _Paragraph(text, text)
        self._settle_long(within_line=more)
        return self._taken()

    def flows(self, line: str) -> bool:
        """Tell whether a line that begins like this is text of a paragraph."""
        if isinstance(self._leaf, _Fence | Table):
            return False
        trial = self.fork()
        trial.push(line)
        return isinstance(trial._leaf, _Paragraph)

    def extends_text(self) -> bool:
        """Tell whether what follows in the line pushed last is text, rather than code."""
        return not isinstance(self._leaf, _Fence)

    def undecided(self, line: str) -> bool:
        """Tell whether a line that is still arriving may yet become any kind of block."""
        rest, matched = self._match(line)
        if isinstance(self._leaf, _Fence) and matched == len(self._containers):
            return bool(rest.strip()) and not rest.strip().strip(self._leaf.mark[0])
        if isinstance(self._leaf, Table):
            return True
        inner = QUOTE.sub("", rest)
        return is_undecided(inner) or inner.lstrip().startswith("|")

    def close(self) -> list[StyledLine]:
        """End the text."""
        self._close_leaf()
        return self._taken()

    def tail(self) -> list[StyledLine]:
        """Return the rows of the open leaf as they would be now; nothing is settled by it."""
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
        return trial._taken()

    # The structure of a line

    def _match(self, line: str) -> tuple[str, int]:
        """Strip what the open containers ask for; return the rest and how many were satisfied."""
        rest = _spaced(line)
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

    def _in_text(self, rest: str, line: str, matched: int) -> None:
        leaf = self._leaf
        if isinstance(leaf, _Paragraph) and matched == len(self._containers):
            if (setext := SETEXT.fullmatch(rest)) and not alignments(_last(leaf.text), rest):
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
        if isinstance(leaf, Table) and table_goes_on:
            leaf.add(rest, line)
            return
        self._close_leaf()
        closed = self._containers[matched : matched + 1]
        self._containers = self._containers[:matched]
        self._containers, rest = open_containers(
            self._containers, rest, closed[0] if closed else None
        )
        self._open_leaf(rest, line)

    def _begins_block(self, rest: str) -> bool:
        """Tell whether a line may interrupt a paragraph."""
        if QUOTE.match(rest) or heading(rest) or is_rule(rest) or fence_start(rest):
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
        if title := heading(rest):
            self._emit(inline(title.text, f"h{title.level}"), line)
        elif is_rule(rest):
            self._emit([("─" * self._available, "rule")], line)
        elif fence := fence_start(rest):
            named = self._highlight if fence.language else None
            highlighter = named(fence.language) if named else None
            self._leaf = _Fence(fence.indent, fence.mark, highlighter)
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
            self._leaf = leaf._replace(source=head_source[0], text=before)
            self._close_leaf()
        self._leaf = Table(header, tuple(aligns))  # pyright: ignore[reportArgumentType]
        self._leaf.source += [head_source[2], line]

    # Rows

    def _close_leaf(self, *, growing: bool = False) -> None:
        leaf, self._leaf = self._leaf, None
        match leaf:
            case _Paragraph(source, text, carry, joint):
                if text or carry:
                    self._emit([*carry, *inline(text, growing=growing)], source, joint)
            case Table():
                shared = Source("\n".join(leaf.source))
                self._open_gap()
                for row in leaf.rows(self._available):
                    self._append(row, shared)
            case _:
                pass

    def _settle_long(self, *, within_line: bool = False) -> None:
        """Settle the rows of a block that has grown long, so that they cost no more."""
        match self._leaf:
            case _Paragraph(text=text) as leaf if _is_long(text):
                self._settle_paragraph(leaf, within_line=within_line)
            case Table(is_long=True) as table:
                self._close_leaf()
                self._leaf = table.continuation()
            case _:
                pass

    def _settle_paragraph(self, leaf: _Paragraph, *, within_line: bool) -> None:
        rows = wrap_lines([*leaf.carry, *inline(leaf.text)], self._available)
        rows[0] = (rows[0][0], leaf.joint)
        carry, joint = rows.pop() if within_line else ((), "\n")
        shared = Source(leaf.source)
        self._open_gap()
        for row, before in rows:
            self._append(row, shared, joint=before)
        self._leaf = _Paragraph("", "", carry, joint)

    def _emit(self, spans: list[Span], source: str, joint: str = "\n") -> None:
        self._open_gap()
        shared = Source(source)
        for at, (row, before) in enumerate(wrap_lines(spans, self._available)):
            self._append(row, shared, joint=before if at else joint)

    def _emit_code(self, spans: list[Span], source: str, joint: str = "\n") -> None:
        self._open_gap()
        shared = Source(source)
        expanded = [(expand_tabs(text), ink) for text, ink in spans]
        bar: Span = ("▏ ", "code.bar")
        for at, row in enumerate(wrap(expanded, max(1, self._available - 2), words=False)):
            self._append((bar, *row), shared, fill="code.block", joint="" if at else joint)

    def _open_gap(self) -> None:
        if self._gap is not None and self._begun:
            pairs = zip(self._gap, self._containers, strict=False)
            around = takewhile(lambda pair: pair[0] == pair[1], pairs)
            bars = tuple(one.rest for one, _ in around)
            self._rows.append(StyledLine(bars if width_of(bars) < self._width else (), Source("")))
        self._gap = None

    def _append(
        self, row: Sequence[Span], source: Source, *, fill: str = "", joint: str = "\n"
    ) -> None:
        self._begun = True
        shown = visible_containers(self._containers, self._width)
        prefix = tuple(one.marker or one.rest for one in shown)
        if any(one.marker for one in self._containers):
            self._containers = tuple(one._replace(marker=None) for one in self._containers)
        self._rows.append(StyledLine((*prefix, *row), source, fill, joint))

    @property
    def _available(self) -> int:
        shown = visible_containers(self._containers, self._width)
        return self._width - width_of(one.rest for one in shown)

    def _taken(self) -> list[StyledLine]:
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
