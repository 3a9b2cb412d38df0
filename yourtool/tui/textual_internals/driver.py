"""Private names of the driver of the terminal."""

import os
import shutil
from contextlib import suppress
from typing import IO, Any, TextIO, cast

from textual.app import App
from textual.drivers.linux_driver import LinuxDriver

TEXTUAL_KEYBOARD = "\x1b[>25u"
"""What Textual writes to get keys in other forms."""


class OutputFileDriver(LinuxDriver):
    """Draws on a file of our choice, and counts the writes that wait for it."""

    def __init__(self, app: App[Any], output: TextIO | None, **options: Any) -> None:
        """`output` replaces standard error; None: it does not."""
        super().__init__(app, **options)
        self._output = _CountingFile(output or self._file)
        self._file = cast("TextIO", self._output)
        self._written = 0

    def write(self, data: str) -> None:
        """Pass a text to the thread that writes; wait if it has too many."""
        self._written += 1
        super().write(data)

    def get_size(self) -> tuple[int, int]:
        """Return columns and rows; `COLUMNS` and `LINES` count only without a terminal."""
        for descriptor in (self._output.fileno(), self.fileno):
            with suppress(OSError):
                if all(size := os.get_terminal_size(descriptor)):
                    return size
        return shutil.get_terminal_size()

    def _get_terminal_size(self) -> tuple[int, int]:
        return self.get_size()

    @property
    def waiting_writes(self) -> int:
        """Number of texts that wait until the terminal reads earlier ones."""
        return self._written - self._output.taken


class _CountingFile:
    """The part of a file that the thread uses, with a count of the texts that it took."""

    def __init__(self, file: IO[str]) -> None:
        self.taken = 0
        self._file = file
        self.flush = file.flush
        self.fileno = file.fileno

    def write(self, text: str) -> None:
        self.taken += 1
        self._file.write(text)
