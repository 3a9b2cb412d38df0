"""The card of one tool call."""

import itertools
import json
import time
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from typing import Any, ClassVar, Literal, TypeAlias

from yourtool.amounts import format_duration
from yourtool.effects import SideEffects, ToolHints
from yourtool.text import printable
from yourtool.tui.ansi import AnsiLines
from yourtool.tui.styled_lines import BLANK, Source, Span, StyledLine, clip, width_of, wrap
from yourtool.tui.verbatim import plain_lines
from yourtool.tui.widgets.diff import diff_lines, diff_size
from yourtool.tui.widgets.items import Item

CardStatus: TypeAlias = Literal[
    "queued", "waiting", "running", "ok", "failed", "denied", "cancelled"
]

_KEY_ARGUMENTS = ("command", "pattern", "path", "url", "query", "file", "name")
_LIVE_ROWS = 5
_DIFF_ROWS = 24
_ALL_ROWS = 5000
_LIVE_CHARACTERS = 20_000
_CHARACTERS = 50_000
"""Characters of the arguments, of a diff and of the output that are laid out at all."""
_COUNTED = 250_000
"""Characters of a diff whose lines are counted; more than a tool's result holds."""
_NAME = 200
"""Characters of the name of an argument."""
_STEP = 20
"""Characters that a step counts for beside its words."""
_WAY_OUT = " are not shown; c copies all of the output"
_STEP_MARKS: Mapping[str, Span] = {
    "done": ("✓ ", "success"),
    "completed": ("✓ ", "success"),
    "in_progress": ("▸ ", "accent"),
}


class ToolCard(Item):
    """Name, key argument, status and output of a call; unfolds to everything."""

    compact = True
    rows_shown: ClassVar[tuple[int, int]] = (5, 8)
    """Rows of output while folded: of what went well, and of what did not."""

    MARKS: ClassVar[dict[CardStatus, Span]] = {
        "queued": ("○", "muted"),
        "waiting": ("?", "warning"),
        "running": ("●", "accent"),
        "ok": ("✓", "success"),
        "failed": ("✗", "error"),
        "denied": ("⊘", "warning"),
        "cancelled": ("⊘", "muted"),
    }

    def __init__(self, name: str, clock: Callable[[], float] = time.monotonic) -> None:
        super().__init__()
        self.name = name
        self.status: CardStatus = "queued"
        self._clock = clock
        self._input: Mapping[str, Any] = {}
        self._started = 0.0
        self._seconds: float | None = None
        self._live: deque[str] = deque()
        self._live_length = 0
        self._output = ""
        self._details: Mapping[str, Any] = {}
        self._size: str | None = None
        self._problem = ""
        self._quiet = False
        self._label = name

    @property
    def mark(self) -> Span:  # pyright: ignore[reportIncompatibleVariableOverride]  # by status
        """The sign of the status."""
        return self.MARKS[self.status]

    @property
    def open(self) -> bool:
        """Whether the call has no result yet."""
        return self.status in ("queued", "waiting", "running")

    def takes(self, arguments: Mapping[str, Any]) -> None:
        """The arguments are known."""
        if arguments != self._input:
            self._input = arguments
            self.changed()

    def waits(self) -> None:
        """The user is being asked."""
        self._become("waiting")

    def queues(self) -> None:
        """The question was answered with yes; the call waits for its turn."""
        if self.status == "waiting":
            self._become("queued")

    def runs(self, effects: SideEffects, hints: ToolHints | None = None) -> None:
        """The tool has begun."""
        if hints is not None and hints.label:
            self._label = f"{hints.icon} {hints.label}".strip()
        self._quiet = effects in (SideEffects.NONE, SideEffects.READ)
        self._started = self._clock()
        self._become("running")

    def prints(self, text: str) -> None:
        """The tool printed something; only the end of it is kept."""
        self._live.append(text)
        self._live_length += len(text)
        while self._live_length > _LIVE_CHARACTERS and len(self._live) > 1:
            self._live_length -= len(self._live.popleft())
        if len(text) > _LIVE_CHARACTERS:
            self._live[0] = text[-_LIVE_CHARACTERS:]
            self._live_length = _LIVE_CHARACTERS
        self.changed()

    def ends(
        self, status: CardStatus, output: str, seconds: float | None, details: Mapping[str, Any]
    ) -> None:
        """The call has its result."""
        self._output, self._details, self._size = output, details, None
        self._seconds = seconds
        self._live.clear()
        self._become(status)

    def complains(self, problem: str) -> None:
        """The arguments do not fit the tool."""
        self._problem = problem
        self.changed()

    @property
    def source(self) -> str:
        """The call and its output, as text."""
        head = f"{self.name} {self._argument}".strip()
        return f"{head}\n{self._output}" if self._output else head

    def estimate(self, width: int) -> int:
        """Little more than the head, unless it is unfolded."""
        if self.expanded:
            return super().estimate(width) + 4
        if self._diff:
            return 2 + min(_DIFF_ROWS, self._diff.count("\n"))
        return 1 if self._quiet and self.status == "ok" else 4

    def build(self, width: int) -> list[StyledLine]:
        """Make the head, and beneath it what matters or, unfolded, all."""
        return [self._head(width), *self._indented(width)]

    def _become(self, status: CardStatus) -> None:
        self.status = status
        self.changed()

    @property
    def _argument(self) -> str:
        for key in (*_KEY_ARGUMENTS, *self._input):
            if isinstance(value := self._input.get(key), str) and value:
                return value
        return ""

    def _head(self, width: int) -> StyledLine:
        struck = " cancelled" if self.status == "cancelled" else ""
        name, facts = printable(self._label).replace("\n", " "), self._facts
        first, newline, _ = self._argument.strip().partition("\n")
        first = first[: max(1_000, 4 * width)]
        argument = printable(first).replace("\t", " ") + (" …" if newline else "")
        room = width - width_of([(name, ""), (facts, "")]) - 4
        spans: list[Span] = [(name, f"title{struck}")]
        if argument and room >= 6:
            spans += [(" ", ""), (clip(argument, room), struck.strip())]
        if facts:
            spans += [(f" · {facts}", "muted")]
        return StyledLine(
            wrap(spans, width)[0],
            Source(f"{self.name} {self._argument}".partition("\n")[0].strip()),
        )

    @property
    def _facts(self) -> str:
        parts: list[str] = []
        if self.status == "running":
            elapsed = int(self._clock() - self._started)
            parts.append(f"running {format_duration(elapsed)}" if elapsed else "running")
        elif self.status == "waiting":
            parts.append("waiting for you")
        elif self.status != "ok":
            parts.append(self.status)
        if (code := self._details.get("exit_code")) not in (None, 0):
            parts.append(f"exit {code}")
        if self._details.get("timed_out") is True:
            parts.append("timed out")
        if self._diff:
            self._size = self._size or str(diff_size(self._diff[:_COUNTED]))
            parts.append(self._size)
        if self.status == "ok" and self._quiet and self._output and not self._plan:
            count = self._output.count("\n") + (not self._output.endswith("\n"))
            parts.append(f"{count:,} {'line' if count == 1 else 'lines'}")
        if self._seconds is not None and self._seconds >= 0.1 and self.status in ("ok", "failed"):
            parts.append(format_duration(self._seconds))
        return printable(" · ".join(parts)).replace("\n", " ")

    @property
    def _diff(self) -> str:
        diff = self._details.get("diff")
        return diff if isinstance(diff, str) else ""

    @property
    def _plan(self) -> Sequence[Mapping[str, Any]]:
        plan: Any = self._details.get("plan")
        return plan if isinstance(plan, list | tuple) else ()  # pyright: ignore[reportUnknownVariableType]  # stored JSON

    def _indented(self, width: int) -> list[StyledLine]:
        inner = max(10, width - 2)
        lines = self._unfolded(inner) if self.expanded else self._folded(inner)
        return [
            line._replace(spans=(("│ ", "muted"), *line.spans)) if line is not BLANK else line
            for line in lines
        ]

    def _folded(self, width: int) -> list[StyledLine]:
        well, failures = self.rows_shown
        if self._problem:
            return plain_lines(self._problem[:_CHARACTERS], "error", width)[:failures]
        if self._plan:
            return self._steps(width)
        if self._diff and self.status == "ok":
            part, left_out = _part(self._diff)
            return _cut(list(diff_lines(part, width)), _DIFF_ROWS, width, left_out=left_out)
        if self.status == "running":
            lines = _output_lines("".join(self._live), width)
            return lines[-_LIVE_ROWS:]
        if self.status in ("failed", "denied", "cancelled"):
            return self._end_of_output(failures, width)
        if self.status == "ok" and not self._quiet:
            return self._end_of_output(well, width)
        return []

    def _end_of_output(self, rows: int, width: int) -> list[StyledLine]:
        part, left_out = _part(self._output, end=True)
        lines = _output_lines(part, width)
        return _cut(lines, rows, width, keep_end=True, left_out=left_out)

    def _unfolded(self, width: int) -> list[StyledLine]:
        lines, left_out = self._arguments(width)
        body = self._steps(width) if self._plan else []
        if self._diff:
            text, more = _part(self._diff)
            left_out += more
            body = list(diff_lines(text, width))
        text, more = _part(self._problem or self._output or "".join(self._live))
        left_out += more
        if text:
            body = [*body, *([BLANK] if body else []), *_output_lines(text, width)]
        if lines and body:
            lines.append(StyledLine((("─" * min(width, 20), "muted"),)))
        return _cut([*lines, *body], _ALL_ROWS, width, left_out=left_out, way_out=_WAY_OUT)

    def _arguments(self, width: int) -> tuple[list[StyledLine], int]:
        """Return the rows of the arguments, and how many lines of them are left out at least."""
        lines: list[StyledLine] = []
        left_out, room = 0, _CHARACTERS
        for key, value in self._input.items():
            text, more = _part(value if isinstance(value, str) else _json(value), room)
            if room <= 0:
                left_out += 1
                continue
            name = key if len(key) <= _NAME else f"{key[:_NAME]}…"
            left_out, room = left_out + more, room - len(text) - len(name)
            lines += plain_lines(f"{name}:" if "\n" in text else f"{name}: {text}", "muted", width)
            if "\n" in text:
                lines += plain_lines(text, "", width)
        return lines, left_out

    def _steps(self, width: int) -> list[StyledLine]:
        lines: list[StyledLine] = []
        room = _CHARACTERS
        for number, step in enumerate(self._plan):
            if room <= 0:
                return _cut(lines, len(lines), width, left_out=len(self._plan) - number)
            status = str(step.get("status", ""))
            told = str(step.get("step") or step.get("text") or step.get("content") or "")
            words = printable(told if len(told) <= room else f"{told[:room]}…")
            room -= len(words) + _STEP
            mark = _STEP_MARKS.get(status, ("○ ", "muted"))
            ink = {"✓ ": "muted", "▸ ": "strong"}.get(mark[0], "")
            for at, row in enumerate(wrap([(words, ink)], width - 2)):
                lines.append(
                    StyledLine(
                        (mark if at == 0 else ("  ", ""), *row),
                        Source(words),
                        joint=" " if at else "\n",
                    )
                )
        return lines


class CommandCard(ToolCard):
    """A command of the user, as it was typed, with more of its output: it was run to be read."""

    rows_shown = (20, 20)

    def __init__(
        self, command: str, shared: bool, clock: Callable[[], float] = time.monotonic
    ) -> None:
        super().__init__("!" if shared else "!!", clock)
        self.takes({"command": command})
        self.runs(SideEffects.EXECUTE)


def _output_lines(text: str, width: int) -> list[StyledLine]:
    lines: list[StyledLine] = []
    for spans in AnsiLines().lines(text.rstrip("\r\n")) if text.strip() else []:
        source = Source("".join(part for part, _ in spans))
        shown = [(part, f"muted {ink}".strip()) for part, ink in spans]
        for at, row in enumerate(wrap(shown, width, words=False)):
            lines.append(StyledLine(row, source, joint="" if at else "\n"))
    return lines


def _json(value: object) -> str:
    """Return a value as JSON, or more of it than is laid out."""
    pieces = json.JSONEncoder(ensure_ascii=False).iterencode(value)
    return "".join(itertools.islice(pieces, _CHARACTERS))


def _part(text: str, room: int = _CHARACTERS, *, end: bool = False) -> tuple[str, int]:
    """Return as much of a text as is laid out, and how many lines are left out at least."""
    part = (text[-room:] if end else text[:room]) if len(text) > room else text
    if part.count("\n") >= _ALL_ROWS:
        lines = part.rsplit("\n", _ALL_ROWS)[1:] if end else part.split("\n", _ALL_ROWS)[:-1]
        part = "\n".join(lines)
    if len(part) == len(text):
        return text, 0
    return part, max(1, text.count("\n") - part.count("\n"))


def _cut(
    lines: list[StyledLine],
    most: int,
    width: int,
    *,
    keep_end: bool = False,
    left_out: int = 0,
    way_out: str = "",
) -> list[StyledLine]:
    """Leave out rows beyond `most` and give their number; `left_out` lines are not there already.

    `way_out` names where to find them.
    """
    if len(lines) <= most + 1 and not left_out:
        return lines
    hidden = max(0, len(lines) - most) + left_out
    words = f"… {'at least ' if left_out else ''}{hidden:,} more rows{way_out}"
    note = StyledLine(((clip(words, width), "muted"),))
    return [note, *lines[-most:]] if keep_end else [*lines[:most], note]
