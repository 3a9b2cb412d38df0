"""Command output as tables or JSON."""

import sys
from collections.abc import Sequence
from typing import Any, TextIO

import msgspec

from yourtool.foundation.text import printable
from yourtool.paths import Paths
from yourtool.settings.config import ConfigReport, load_usable


def print_json(value: Any) -> None:
    """Print a JSON value on one line."""
    sys.stdout.write(msgspec.json.encode(value).decode() + "\n")


def print_lines(*lines: str, file: TextIO | None = None) -> None:
    """Print lines of text with terminal control characters escaped; None: to standard output."""
    (file or sys.stdout).write("".join(f"{printable(line)}\n" for line in lines))


def print_table(rows: Sequence[Sequence[str]], *, file: TextIO | None = None) -> None:
    """Print rows of cells in aligned columns; the last column has no padding."""
    clean = [[printable(cell).replace("\n", " ") for cell in row] for row in rows]
    widths = [max(map(len, column)) for column in zip(*clean, strict=True)]
    for row in clean:
        cells = [cell.ljust(width) for cell, width in zip(row[:-1], widths, strict=False)]
        (file or sys.stdout).write("  ".join([*cells, row[-1]]).rstrip() + "\n")


def open_settings(paths: Paths) -> ConfigReport:
    """Return the active settings, and print the mistakes in their file to standard error.

    Raises:
        ConfigError: a variable of the environment is invalid.
    """
    report = load_usable(paths)
    print_lines(*(f"yourtool: {each}" for each in report.problems), file=sys.stderr)
    return report


def can_ask() -> bool:
    """Return whether a person can answer a question: without a terminal nothing asks."""
    return sys.stdin.isatty() and sys.stderr.isatty()


def ask(question: str) -> bool:
    """Ask on standard error; everything but a yes is a no."""
    sys.stderr.write(f"{printable(question)} [y/N] ")
    sys.stderr.flush()
    return sys.stdin.readline().strip().lower() in ("y", "yes")
