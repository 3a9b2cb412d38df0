"""Extra result rows of a tool card.

They show the parts of a result other than text: a plan, and checks.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from yourtool.foundation.text import printable
from yourtool.tui.lines.styled_lines import Source, Span, StyledLine, truncate, wrap
from yourtool.tui.transcript.excerpts import MAX_CHARACTERS, limit_rows

_MAX_CHECKS = 8
_STEP_OVERHEAD = 20
"""Characters that a step counts for in addition to its text."""
_STEP_MARKS: Mapping[str, Span] = {
    "done": ("✓ ", "success"),
    "completed": ("✓ ", "success"),
    "in_progress": ("▸ ", "accent"),
}


def plan_rows(plan: Sequence[Mapping[str, Any]], width: int) -> list[StyledLine]:
    """Return the steps of a plan with their marks."""
    lines: list[StyledLine] = []
    room = MAX_CHARACTERS
    for number, step in enumerate(plan):
        if room <= 0:
            return limit_rows(lines, len(lines), width, omitted=len(plan) - number)
        status = str(step.get("status", ""))
        text = str(step.get("step") or step.get("text") or step.get("content") or "")
        words = printable(text if len(text) <= room else f"{text[:room]}…")
        room -= len(words) + _STEP_OVERHEAD
        mark = _STEP_MARKS.get(status, ("○ ", "muted"))
        style = {"✓ ": "muted", "▸ ": "strong"}.get(mark[0], "")
        for at, row in enumerate(wrap([(words, style)], width - 2)):
            lines.append(
                StyledLine(
                    (mark if at == 0 else ("  ", ""), *row),
                    Source(words),
                    separator=" " if at else "\n",
                )
            )
    return lines


def check_rows(checks: Any, width: int) -> list[StyledLine]:
    """Return a row for each check after an edit; `checks` is stored JSON."""
    if not isinstance(checks, list | tuple):
        return []
    lines: list[StyledLine] = []
    for name, status in list(checks)[:_MAX_CHECKS]:  # pyright: ignore[reportUnknownVariableType,reportUnknownArgumentType]
        text = printable(f"check {name}: {status}").replace("\n", " ")
        style = "success" if str(status).startswith("ok") else "error"  # pyright: ignore[reportUnknownArgumentType]
        lines.append(StyledLine(((truncate(text, width), style),)))
    return lines
