"""What a program prints: shown live, kept whole in a file, and told to the model honestly.

The model gets the beginning and the end; what lies between is counted, and the whole is in a file
that `read_file` can read by range.
"""

import codecs
import os
import secrets
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import BinaryIO

from yourtool.masking import Mask

KEPT = 24_000
"""Bytes of the beginning, and again of the end, that go to the model."""
LARGEST_SPILL = 100 * 2**20
"""Bytes of output that are kept on disk."""


class Output:
    """Collects bytes; fed from one thread."""

    def __init__(self, directory: Path, emit: Callable[[str], None], mask: Mask) -> None:
        """`mask` replaces keys before anything is kept or shown."""
        self._masking = mask.stream()
        self._directory = directory
        self._emit = emit
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self._head = bytearray()
        self._tail = bytearray()
        self._file: BinaryIO | None = None
        self._failure = ""
        self.total = 0
        """Bytes printed so far."""
        self.spilled: Path | None = None
        """The file with the whole output; None while that fits into an answer."""

    def feed(self, data: bytes) -> None:
        """Take what was printed next."""
        self._take(self._masking.feed(data))

    def _take(self, data: bytes) -> None:
        self._keep(data)
        self.total += len(data)
        room = KEPT - len(self._head)
        self._head += data[:room]
        self._tail += data[room:] if room > 0 else data
        # Trimmed now and then, so that many small pieces cost no more than one large one.
        if len(self._tail) > 4 * KEPT:
            del self._tail[:-KEPT]
        if text := self._decoder.decode(data):
            self._emit(text)

    def close(self) -> None:
        """Finish: a character cut short is shown, the file is complete."""
        self._take(self._masking.close())
        if text := self._decoder.decode(b"", final=True):
            self._emit(text)
        if self._file is not None:
            with suppress(OSError):
                self._file.close()

    def text(self) -> str:
        """Return what the model is told."""
        if self.total <= 2 * KEPT:
            return (self._head + self._tail).decode("utf-8", "replace")
        tail = self._tail[-KEPT:]
        return (
            f"{self._head.decode('utf-8', 'replace')}\n"
            f"[{self.total - len(self._head) - len(tail):,} of {self.total:,} bytes are omitted"
            f" here; {self._whereabouts()}]\n"
            f"{tail.decode('utf-8', 'replace')}"
        )

    def _whereabouts(self) -> str:
        if self.spilled is None:
            return f"the whole could not be kept: {self._failure}"
        part = "whole" if self.total <= LARGEST_SPILL else f"first {LARGEST_SPILL:,} bytes"
        return f"the {part} of it can be read by range with `read_file` from `{self.spilled}`"

    def _keep(self, data: bytes) -> None:
        """Store what does not fit into an answer; a full disk loses the file, not the command."""
        if self._failure or self.total + len(data) <= 2 * KEPT:
            return
        try:
            if self._file is None:
                self._file = self._open()
                self._file.write(self._head + self._tail)
            self._file.write(data[: max(0, LARGEST_SPILL - self.total)])
        except OSError as error:
            self._failure = (error.strerror or str(error)).lower()
            self.spilled = None

    def _open(self) -> BinaryIO:
        path = self._directory / f"output-{secrets.token_hex(8)}.txt"
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
        file = os.fdopen(os.open(path, flags, 0o600), "wb")
        self.spilled = path
        return file
