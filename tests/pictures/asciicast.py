"""A recording of the screen as an asciicast, version 2.

https://docs.asciinema.org/manual/asciicast/v2/
"""

import json
from collections.abc import Sequence

_FIRST = "\x1b[?25l\x1b[2J"


class Asciicast:
    """Records the rows that changed from one frame to the next."""

    def __init__(self, columns: int, rows: int, title: str) -> None:
        self._head = {"version": 2, "width": columns, "height": rows, "title": title}
        self._rows: list[str] = [""] * rows
        self._frames: list[tuple[float, str]] = []

    def add(self, seconds: float, rows: Sequence[str]) -> None:
        """Add the rows of the screen at a time; a frame without changes is dropped."""
        changed = "".join(
            f"\x1b[{number};1H{row}"
            for number, (old, row) in enumerate(zip(self._rows, rows, strict=True), 1)
            if row != old
        )
        if changed:
            self._frames.append((round(seconds, 3), changed if self._frames else _FIRST + changed))
        self._rows = list(rows)

    def __str__(self) -> str:
        """The file: a line for the head and one for each frame."""
        frames = [[seconds, "o", text] for seconds, text in self._frames]
        return "".join(f"{json.dumps(line)}\n" for line in (self._head, *frames))
