"""Tables of the figures of all rounds: medians, ratios to the smallest app, goals."""

import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

Rounds = Sequence[Mapping[str, float]]

OURS, LIMIT = "yourtool", "limit"


@dataclass(frozen=True)
class Row:
    """A figure of the report and its upper limit."""

    figure: str
    """`case.name`."""
    label: str
    goal: float | None = None
    of: Literal["ratio", "value"] = "ratio"
    digits: int = 2


ROWS = (
    Row("start.usable_s", "start to the first echoed key, s", 0.25),
    Row("start.paint_s", "start to the first paint, s", 0.15),
    Row("start.usable_cpu_s", "start to the first echoed key, CPU s"),
    Row("start.quiet_cpu_s", "start until quiet, CPU s", 1.5),
    Row("first_request.first_request_s", "start to the first request, s", 1.05),
    Row("print.first_request_s", "`-p`: start to the request, s"),
    Row("ahead.lost", "of 40 letters typed during the start, lost", 0, "value", 0),
    Row("idle.memory_mib", "idle, MiB", 60, "value", 0),
    Row("idle.cpu_percent", "idle, % CPU", 0.1, "value"),
    Row("idle.tty_bytes", "idle, bytes to the terminal", 0, "value", 0),
    Row("waiting.cpu_percent", "waiting for a reply, % CPU", 0.5, "value"),
    Row("waiting.tty_bytes", "waiting for a reply, bytes a second to the terminal", digits=0),
    Row("keys_idle.p50_ms", "key echo idle, p50 ms", digits=1),
    Row("keys_idle.p95_ms", "key echo idle, p95 ms", 8, "value", 1),
    Row("keys_idle.cpu_ms", "key idle, CPU ms", digits=1),
    Row("keys_stream.p50_ms", "key echo at 100 tokens/s, p50 ms", digits=1),
    Row("keys_stream.p95_ms", "key echo at 100 tokens/s, p95 ms", 25, "value", 1),
    Row("keys_after.p95_ms", "key echo after 22,000 tokens, p95 ms", 10, "value", 1),
    Row("stream_2k.cpu_s", "2,000 tokens at full speed, CPU s", 2.5),
    Row("stream_2k.lag_s", "2,000 tokens at full speed, lag s"),
    Row("stream_20k.cpu_s", "20,000 tokens at full speed, CPU s", 1.5),
    Row("stream_20k.lag_s", "20,000 tokens at full speed, lag s", 1.5),
    Row("stream_20k.tty_kib", "20,000 tokens at full speed, KiB to the terminal", digits=0),
    Row("stream_20k.memory_mib", "after 22,000 tokens, MiB", 75, "value", 0),
    Row("paced_2k.cpu_s", "2,000 tokens at 200/s, CPU s", 1.0),
    Row("paced_2k.lag_s", "2,000 tokens at 200/s, lag s", 0.06, "value", 3),
    Row("paced_2k.tty_kib", "2,000 tokens at 200/s, KiB to the terminal", 1434, "value", 0),
    Row("tools.p50_ms", "tool round trip, p50 ms", 13, "value", 1),
    Row("tools.p95_ms", "tool round trip, p95 ms", digits=1),
    Row("tools.cpu_ms", "tool round trip, CPU ms", digits=1),
    Row("output_1.cpu_s", "1 MB of output, CPU s"),
    Row("output_10.cpu_s", "10 MB of output, CPU s"),
    Row("output_100.cpu_s", "100 MB of output, CPU s"),
    Row("output_100.wall_s", "100 MB of output, s", 2, "value"),
)


@dataclass(frozen=True)
class Result:
    """A row with its figures."""

    row: Row
    ours: float
    spread: tuple[float, float]
    limit: float | None
    ratio: float | None
    """The median of the ratios of the rounds."""

    @property
    def met(self) -> bool | None:
        """Return whether the goal is reached; None without a goal."""
        if self.row.goal is None:
            return None
        value = self.ours if self.row.of == "value" else self.ratio
        return None if value is None else round(value, 2) <= self.row.goal


def results(rounds: Mapping[str, Rounds]) -> list[Result]:
    """Return the rows that were measured."""
    found = list[Result]()
    for row in ROWS:
        ours = [one[row.figure] for one in rounds[OURS] if row.figure in one]
        if not ours:
            continue
        limit = [one[row.figure] for one in rounds[LIMIT] if row.figure in one]
        pairs = [a / b for a, b in zip(ours, limit, strict=False) if b > 0]
        found.append(
            Result(
                row,
                statistics.median(ours),
                (min(ours), max(ours)),
                statistics.median(limit) if limit else None,
                statistics.median(pairs) if pairs else None,
            )
        )
    return found


def table(found: Sequence[Result]) -> str:
    """Return a Markdown table."""
    lines = [
        "| | yourtool (min-max) | smallest app | ratio | goal |",
        "|---|--:|--:|--:|--:|",
    ]
    for result in found:
        digits = result.row.digits
        low, high = result.spread
        ours = f"{result.ours:.{digits}f} ({low:.{digits}f}-{high:.{digits}f})"
        limit = "" if result.limit is None else f"{result.limit:.{digits}f}"
        ratio = "" if result.ratio is None else f"{result.ratio:.2f}"
        lines.append(f"| {result.row.label} | {ours} | {limit} | {ratio} | {_goal(result)} |")
    return "\n".join(lines)


def _goal(result: Result) -> str:
    if result.met is None:
        return ""
    sign = "x" if result.row.of == "ratio" else ""
    return f"{'met' if result.met else 'MISSED'}: ≤ {result.row.goal:g}{sign}"


def imports_table(groups: Mapping[str, Mapping[str, float]]) -> str:
    """Return the cost of imports as a Markdown table."""
    lines = ["| import | CPU ms | modules | MiB |", "|---|--:|--:|--:|"]
    lines += [
        f"| {name} | {of['cpu_ms']:.0f} | {of['modules']:.0f} | {of['memory_mib']:.0f} |"
        for name, of in groups.items()
    ]
    return "\n".join(lines)
