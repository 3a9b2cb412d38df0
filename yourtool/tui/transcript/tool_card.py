"""The card of one tool call."""

import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any, ClassVar, Literal, TypeAlias

from yourtool.effects import SideEffects, ToolHints
from yourtool.foundation.amounts import format_count, format_duration
from yourtool.foundation.text import printable
from yourtool.tools.processes.terminal_text import apply_erasures
from yourtool.tui.diff import rows
from yourtool.tui.lines.styled_lines import (
    BLANK,
    HighlighterFactory,
    Source,
    Span,
    StyledLine,
    cell_width,
    truncate,
    wrap,
)
from yourtool.tui.lines.verbatim import plain_lines
from yourtool.tui.transcript.call_words import describe_end, find_verb, name_folder
from yourtool.tui.transcript.excerpts import (
    MAX_CHARACTERS,
    MAX_ROWS,
    add_fold_hint,
    excerpt,
    format_json,
    limit_rows,
    output_rows,
)
from yourtool.tui.transcript.items import Item
from yourtool.tui.transcript.key_argument import (
    find_other_arguments,
    format_first_line,
    get_key_argument,
)
from yourtool.tui.transcript.partial_arguments import PartialArguments
from yourtool.tui.transcript.result_rows import check_rows, plan_rows

CardStatus: TypeAlias = Literal[
    "queued", "waiting", "answered", "running", "ok", "failed", "denied", "cancelled"
]

_LIVE_ROWS = 5
_STREAMED_ROWS = 8
_DIFF_ROWS = 24
_LIVE_CHARACTERS = 20_000
_MAX_NAME = 200
"""Characters of an argument name that are shown."""
_COPY_HINT = " not shown; c copies the full output"


class ToolCard(Item):
    """Name, key argument, status and output of a tool call; expands to all details."""

    compact = True
    foldable = True
    folded_rows: ClassVar[tuple[int, int]] = (5, 8)
    """Rows of output while folded: after a success, and after a failure."""

    MARKS: ClassVar[dict[CardStatus, Span]] = {
        "queued": ("○", "muted"),
        "waiting": ("?", "warning"),
        "answered": ("○", "muted"),
        "running": ("●", "accent"),
        "ok": ("✓", "success"),
        "failed": ("✗", "error"),
        "denied": ("⊘", "warning"),
        "cancelled": ("⊘", "muted"),
    }

    def __init__(self, name: str, clock: Callable[[], float] = time.monotonic) -> None:
        super().__init__()
        self.name = name
        self.highlight: HighlighterFactory | None = None
        self.status: CardStatus = "queued"
        self._clock = clock
        self._input: Mapping[str, Any] = {}
        self._partial_input: PartialArguments | None = None
        self.started_at = 0.0
        """Time of the clock at the start of the tool, after its approval."""
        self._seconds: float | None = None
        self._live_output = ""
        self._dropped_line_breaks = 0
        self._output = ""
        self._line_breaks = 0
        """Line breaks of the output, counted once: it may have 100 MB."""
        self._details: Mapping[str, Any] = {}
        self._diff_size: str | None = None
        self._problem = ""
        self._is_read_only = False
        self._sandbox = ""
        self._label = name

    @property
    def mark(self) -> Span:  # pyright: ignore[reportIncompatibleVariableOverride]  # by status
        """The symbol of the status."""
        return self.MARKS[self.status]

    @property
    def activity(self) -> str:
        """The action of a running call, in one line."""
        if isinstance(self._input.get("command"), str):
            return f"running `{self._first_argument_line}`"
        words = verb.now.lower() if (verb := find_verb(self.name)) else f"running {self._words}"
        return f"{words} {self._first_argument_line}".strip()

    @property
    def is_open(self) -> bool:
        """Whether the call has no result yet."""
        return self.status in ("queued", "waiting", "answered", "running")

    def set_arguments(self, arguments: Mapping[str, Any]) -> None:
        """Set the arguments of the call, which replace those that were streamed."""
        if arguments != self._input or self._partial_input is not None:
            self._input, self._partial_input = arguments, None
            self.invalidate()

    def append_arguments(self, partial_json: str) -> None:
        """Show more of the arguments while they stream."""
        if self._partial_input is None:
            self._partial_input = PartialArguments()
        self._partial_input.feed(partial_json)
        self.invalidate()

    def wait_for_approval(self) -> None:
        """Show that the call waits for an approval."""
        self._set_status("waiting")

    def mark_answered(self, *, waits: bool) -> None:
        """Show that the question was answered; `waits`: others of the reply are open."""
        if self.status == "waiting":
            self._set_status("answered" if waits else "queued")

    def start(
        self, effects: SideEffects, hints: ToolHints | None = None, sandbox: str = ""
    ) -> None:
        """Show that the tool runs; `sandbox`: the level, for a command."""
        if hints is not None and hints.label:
            self._label = f"{hints.icon} {hints.label}".strip()
        self._is_read_only = effects in (SideEffects.NONE, SideEffects.READ)
        self.started_at, self._sandbox = self._clock(), sandbox
        self._set_status("running")

    def append_output(self, text: str) -> None:
        """Append live output; only the last `_LIVE_CHARACTERS` are stored."""
        text = apply_erasures(self._live_output + text).lstrip("\b")
        cut = max(0, len(text) - _LIVE_CHARACTERS)
        self._dropped_line_breaks += text.count("\n", 0, cut)
        self._live_output = text[cut:]
        self.invalidate()

    def finish(
        self, status: CardStatus, output: str, seconds: float | None, details: Mapping[str, Any]
    ) -> None:
        """Show the result of the call, without what only the model reads."""
        if notes := details.get("note_lines", 0):
            output, *rest = output.rsplit("\n", notes)
            output = output if len(rest) == notes else ""
        self._output, self._details, self._diff_size = output, details, None
        self._line_breaks = output.count("\n")
        self._seconds = seconds
        self._live_output = ""
        self._partial_input = None
        self._set_status(status)

    def show_problem(self, problem: str) -> None:
        """Show why the arguments are invalid."""
        self._problem = problem
        self.invalidate()

    @property
    def source(self) -> str:
        """The call and its output, as text."""
        head = f"{self.name} {self._key_argument}".strip()
        return f"{head}\n{self._output}" if self._output else head

    @property
    def search_text(self) -> str:
        """The texts that an expanded card shows."""
        values = (value for value in self._input.values() if isinstance(value, str))
        texts = (self._label, *values, self._problem, self._diff, self._output)
        return "\n".join(text[:MAX_CHARACTERS] for text in texts)

    def estimate(self, width: int) -> int:
        """Guess the height; a folded card has few rows."""
        if self.expanded:
            return min(MAX_ROWS, self._line_breaks + 5 + len(self._output) // max(1, width))
        if self._diff:
            return 2 + min(_DIFF_ROWS, self._diff.count("\n"))
        return 1 if self._is_quiet else 4

    def build(self, width: int) -> list[StyledLine]:
        """Build the head and the body, which is shortened while folded."""
        return [self._head(width), *self._body(width)]

    def _set_status(self, status: CardStatus) -> None:
        self.status = status
        self.invalidate()

    @property
    def _key_argument(self) -> str:
        return get_key_argument(self._partial_input.values if self._partial_input else self._input)

    @property
    def _words(self) -> str:
        """The words before the key argument: those for a built-in tool, or the label."""
        if (verb := find_verb(self.name)) is None:
            return printable(self._label).replace("\n", " ")
        has_ended = self.status == "ok" or "exit_code" in self._details
        return verb.done if has_ended else verb.now if self.status == "running" else verb.base

    @property
    def _is_quiet(self) -> bool:
        """True if the call succeeded and its output is folded entirely."""
        return self.status == "ok" and (self._is_read_only or "amount" in self._details)

    @property
    def _first_argument_line(self) -> str:
        return name_folder(self.name, format_first_line(self._key_argument))

    def _head(self, width: int) -> StyledLine:
        style = " cancelled" if self.status == "cancelled" else ""
        name, amount, facts = self._words, self._amount, self._status_text
        argument = self._first_argument_line
        room = width - cell_width([(name, ""), (amount, ""), (facts, "")]) - 4
        spans: list[Span] = [(name, f"title{style}")]
        if argument and room >= 6:
            spans += [(" ", ""), (truncate(argument, room), style.strip())]
        if amount or facts:
            spans += [(amount + f" · {facts}" * bool(facts), "muted")]
        line = StyledLine(
            wrap(spans, width)[0],
            Source(f"{self.name} {self._key_argument}".partition("\n")[0].strip()),
        )
        return add_fold_hint(line, width) if self._hides_lines else line

    def _arguments_below(self, width: int) -> Mapping[str, Any]:
        """Return the arguments without the key argument if the head shows it completely."""
        shown = self._first_argument_line
        if f"{self._words} {shown}" not in self._head(width).text:
            return self._input
        return find_other_arguments(self._input, shown)

    @property
    def _hides_lines(self) -> bool:
        """Whether output or lines of the key argument are folded without a note in the body."""
        if self.expanded:
            return False
        has_quiet_output = self._is_quiet and bool(self._output) and not self._plan
        return has_quiet_output or "\n" in self._key_argument.strip()

    @property
    def folds_to_end(self) -> bool:  # pyright: ignore[reportIncompatibleVariableOverride]  # by status
        """Whether a folded card shows the end of the output."""
        return bool(self._output or self._live_output) and not (
            self._problem or self._plan or self._diff or self._is_quiet
        )

    @property
    def _amount(self) -> str:
        """The amount that a call read, such as `, 12 lines`."""
        if not self._is_quiet or not self._output or self._plan:
            return ""
        lines = self._line_breaks + (not self._output.endswith("\n"))
        amount = self._details.get("amount") or format_count(lines, "line")
        return printable(f", {amount}").replace("\n", " ")

    @property
    def _status_text(self) -> str:
        parts: list[str] = []
        if self.status == "running":
            elapsed = int(self._clock() - self.started_at)
            words = "" if find_verb(self.name) else "running"
            parts.append(f"{words} {format_duration(elapsed) if elapsed else ''}".strip())
        elif self._partial_input is not None:
            count = self._partial_input.line_breaks
            parts.append(f"writing, {count + 1:,} lines" if count else "writing")
        elif self.status == "waiting":
            parts.append("waiting for you")
        elif self.status == "answered":
            parts.append("waiting for the others")
        else:
            parts.append(
                describe_end(self._details) or ("" if self.status == "ok" else self.status)
            )
        if self._diff:
            self._diff_size = self._diff_size or str(rows.Diff(self._diff).size)
            parts.append(self._diff_size)
        if self._seconds is not None and self._seconds >= 0.1 and self.status in ("ok", "failed"):
            parts.append(format_duration(self._seconds))
        return printable(" · ".join(filter(None, parts))).replace("\n", " ")

    @property
    def _diff(self) -> str:
        diff = self._details.get("diff")
        return diff if isinstance(diff, str) else ""

    @property
    def _plan(self) -> Sequence[Mapping[str, Any]]:
        plan: Any = self._details.get("plan")
        return plan if isinstance(plan, list | tuple) else ()  # pyright: ignore[reportUnknownVariableType]  # stored JSON

    def _body(self, width: int) -> list[StyledLine]:
        inner = max(10, width - 2)
        if self._partial_input is not None:
            lines = self._streamed_body(self._partial_input, inner)
        else:
            lines = self._expanded_body(inner) if self.expanded else self._folded_body(inner)
        return [line.with_prefix(("│ ", "muted")) if line is not BLANK else line for line in lines]

    def _streamed_body(self, partial: PartialArguments, width: int) -> list[StyledLine]:
        """Return the end of the arguments that stream."""
        rows, omitted = partial.rows(width)
        limit = len(rows) if self.expanded else _STREAMED_ROWS
        return limit_rows(rows, limit, width, keep_end=True, omitted=omitted)

    def _folded_body(self, width: int) -> list[StyledLine]:
        success_rows, failure_rows = self.folded_rows
        if self._problem:
            rows = plain_lines(self._problem[:MAX_CHARACTERS], "error", width)
            return limit_rows(rows, failure_rows, width)
        if self._plan:
            return plan_rows(self._plan, width)
        if self._diff and self.status == "ok":
            part, omitted = excerpt(self._diff)
            diff = limit_rows(self._diff_rows(part, width), _DIFF_ROWS, width, omitted=omitted)
            return [*diff, *check_rows(self._details.get("checks"), width)]
        if self.status == "running":
            lines = output_rows(self._live_output, width)
            return limit_rows(
                lines, _LIVE_ROWS, width, keep_end=True, omitted=self._dropped_line_breaks
            )
        if self.status in ("failed", "denied", "cancelled"):
            return self._last_output_rows(failure_rows, width)
        if self.status == "ok" and not self._is_quiet:
            return self._last_output_rows(success_rows, width)
        images = "\n".join(self._details.get("images", ()))
        return plain_lines(images, "muted", width) if images else []

    def _diff_rows(self, diff: str, width: int) -> list[StyledLine]:
        return list(rows.Diff(diff, highlight=self.highlight).rows(width))

    def _last_output_rows(self, rows: int, width: int) -> list[StyledLine]:
        part, omitted = excerpt(self._output, end=True, line_breaks=self._line_breaks)
        lines = output_rows(part, width)
        return limit_rows(lines, rows, width, keep_end=True, omitted=omitted)

    def _expanded_body(self, width: int) -> list[StyledLine]:
        lines, omitted = self._argument_rows(width)
        if self._sandbox:
            level = self._details.get("sandbox", self._sandbox)
            lines += plain_lines(f"sandbox: {level}", "muted", width)
        body = plan_rows(self._plan, width) if self._plan else []
        if self._diff:
            text, more = excerpt(self._diff)
            omitted += more
            body = self._diff_rows(text, width)
        if self._output and not self._problem:
            text, more = excerpt(self._output, line_breaks=self._line_breaks)
        else:
            text, more = excerpt(self._problem or self._live_output)
        omitted += more
        if text:
            output = output_rows(text, width)
            body = [*body, *([BLANK] if body else []), *output]
        if lines and body:
            lines.append(StyledLine((("─" * min(width, 20), "muted"),)))
        return limit_rows([*lines, *body], MAX_ROWS, width, omitted=omitted, hint=_COPY_HINT)

    def _argument_rows(self, width: int) -> tuple[list[StyledLine], int]:
        """Return the rows of the arguments and the least number of omitted lines."""
        lines: list[StyledLine] = []
        omitted, room = 0, MAX_CHARACTERS
        for key, value in self._arguments_below(width + 2).items():
            text, more = excerpt(value if isinstance(value, str) else format_json(value), room)
            if room <= 0:
                omitted += 1
                continue
            name = key if len(key) <= _MAX_NAME else f"{key[:_MAX_NAME]}…"
            omitted, room = omitted + more, room - len(text) - len(name)
            lines += plain_lines(f"{name}:" if "\n" in text else f"{name}: {text}", "muted", width)
            if "\n" in text:
                lines += plain_lines(text, "", width)
        return lines, omitted


class CommandCard(ToolCard):
    """A shell command of the user, with more rows of output than a tool call."""

    folded_rows = (20, 20)

    def __init__(
        self, command: str, shared: bool, clock: Callable[[], float] = time.monotonic
    ) -> None:
        super().__init__("!" if shared else "!!", clock)
        self.set_arguments({"command": command})
        self.start(SideEffects.EXECUTE)
