"""The output of commands: aligned tables for people, JSON for programs."""

import sys
from collections.abc import Sequence
from typing import Any

import msgspec

from yourtool.text import printable


def print_json(value: Any) -> None:
    """Print a JSON value on one line."""
    sys.stdout.write(msgspec.json.encode(value).decode() + "\n")


def print_lines(*lines: str) -> None:
    """Print lines of text with terminal control characters escaped."""
    sys.stdout.write("".join(f"{printable(line)}\n" for line in lines))


def print_table(rows: Sequence[Sequence[str]]) -> None:
    """Print rows of cells in aligned columns; the last column has no padding."""
    clean = [[printable(cell).replace("\n", " ") for cell in row] for row in rows]
    widths = [max(map(len, column)) for column in zip(*clean, strict=True)]
    for row in clean:
        cells = [cell.ljust(width) for cell, width in zip(row[:-1], widths, strict=False)]
        sys.stdout.write("  ".join([*cells, row[-1]]).rstrip() + "\n")
