"""Private names of the driver of the terminal."""

from collections.abc import Callable, Iterable
from typing import IO, Any, TextIO, cast

from textual import constants
from textual._xterm_parser import XTermParser
from textual.app import App
from textual.drivers.linux_driver import LinuxDriver
from textual.message import Message


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


class KeyParser:
    """Makes events of the bytes that a terminal sends."""

    def __init__(self) -> None:
        parser = XTermParser(constants.DEBUG)
        self.feed: Callable[[str], Iterable[Message]] = parser.feed
        self.tick: Callable[[], Iterable[Message]] = parser.tick
        """Returns the events of incomplete sequences that are older than a moment."""
