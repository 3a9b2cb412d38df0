"""Transcripts of clumsy models for a page: what the model calls and the start of what it reads."""

import json
import re
import textwrap
from collections.abc import Iterator, Sequence
from typing import Any

from tests.e2e.clumsy_tasks import Outcome
from tests.e2e.scripted_model import Exchange

COLUMNS = 100
_MOST_LINES = 5
"""Lines of an answer."""
_MOST_EXCHANGES = 14
_SHOWN = 5
"""Exchanges at the start and at the end of a longer transcript."""
_WORKSPACE = re.compile(r"/[\w./-]+/project\b")
_ANSWER = re.compile(r"\b[0-9a-f]{16}\b")
"""What `serve.py` answers, which is random."""


def format_transcript(outcome: Outcome) -> str:
    """Return the exchanges of a task as lines; of a long one, its start and end."""
    parts = [_format_exchange(each) for each in outcome.exchanges]
    if len(parts) > _MOST_EXCHANGES:
        left = len(parts) - 2 * _SHOWN
        parts = [*parts[:_SHOWN], f"         … {left} more requests", *parts[-_SHOWN:]]
    text = _WORKSPACE.sub("~/project", "\n".join(parts))
    return _ANSWER.sub("5f0c9e1b7a3d2846", text)


def _format_exchange(exchange: Exchange) -> str:
    return "\n".join(_lines_of(exchange))


def _lines_of(exchange: Exchange) -> Iterator[str]:
    for result in exchange.request.results:
        yield from _labelled("answer", _shorten(result.text.split("\n")))
    if exchange.request.prompt:
        yield from _labelled("user", exchange.request.prompt.split("\n"))
    if exchange.reply.text:
        yield from _labelled("model", [exchange.reply.text])
    for name, arguments in exchange.reply.calls:
        yield from _labelled("call", [f"{name} {_format_arguments(arguments)}"])


def _format_arguments(arguments: dict[str, Any]) -> str:
    return json.dumps(arguments, ensure_ascii=False)


def _shorten(lines: Sequence[str]) -> Sequence[str]:
    if len(lines) <= _MOST_LINES:
        return lines
    first = _MOST_LINES // 2
    last = _MOST_LINES - first - 1
    return [*lines[:first], f"… {len(lines) - first - last} more lines", *lines[-last:]]


def _labelled(label: str, lines: Sequence[str]) -> Iterator[str]:
    """Yield lines with a label before the first one, wrapped."""
    for number, line in enumerate(lines):
        head = f"{label if number == 0 else '':<9}"
        yield (
            textwrap.fill(
                line.expandtabs(4).rstrip(),
                COLUMNS,
                initial_indent=head,
                subsequent_indent=" " * 11,
                max_lines=4,
                placeholder=" …",
                drop_whitespace=True,
            ).rstrip()
            or head.rstrip()
        )
