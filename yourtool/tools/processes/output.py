"""Command output.

The model gets the start and the end with the number of omitted bytes. The full output is saved to a
file that `read_file` can read in ranges.
"""

import codecs
import os
import secrets
import threading
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import BinaryIO

from yourtool.foundation.masking import Mask

HEAD_TAIL_BYTES = 24_000
"""Bytes of the start, and bytes of the end, that are sent to the model."""
FAILED_HEAD_BYTES, FAILED_TAIL_BYTES = 8_000, 40_000
"""The same for a command that failed, whose end shows why."""
_MIN_SECRET_CHARACTERS = 4
"""Shorter ones occur in ordinary output."""
MAX_SPILL_BYTES = 100 * 2**20
"""Maximum size of the saved output."""


class CommandOutput:
    """Collects the output of a command; fed from one thread, and read from others."""

    def __init__(self, directory: Path, emit: Callable[[str], None], mask: Mask) -> None:
        """`mask` replaces API keys before output is stored or displayed."""
        self._masks = [mask.stream()]
        self._directory = directory
        self._emit = emit
        self._lock = threading.Lock()
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self._head = bytearray()
        self._tail = bytearray()
        self._file: BinaryIO | None = None
        self._failure = ""
        self.total_bytes = 0
        """Bytes received so far."""
        self.spill_path: Path | None = None
        """The file with the full output; None while the output is short enough to send."""

    def feed(self, data: bytes) -> None:
        """Add the next bytes of output."""
        for each in self._masks:
            data = each.feed(data)
        self._process(data)

    def hide(self, secret: str) -> None:
        """Mask a secret in the output from now on, such as a password that the user typed."""
        if len(secret) >= _MIN_SECRET_CHARACTERS:
            self._masks.append(Mask((secret,)).stream())

    def _process(self, data: bytes) -> None:
        with self._lock:
            self._spill(data)
            self.total_bytes += len(data)
            room = HEAD_TAIL_BYTES - len(self._head)
            self._head += data[:room]
            self._tail += data[room:] if room > 0 else data
            # Trimmed only occasionally, so that small pieces cost no more than one large piece.
            if len(self._tail) > 3 * FAILED_TAIL_BYTES:
                del self._tail[:-FAILED_TAIL_BYTES]
        if text := self._decoder.decode(data):
            self._emit(text)

    def close(self) -> None:
        """Flush incomplete characters and close the file."""
        data = b""
        for each in self._masks:
            data = each.feed(data) + each.close()
        self._process(data)
        if text := self._decoder.decode(b"", final=True):
            self._emit(text)
        if self._file is not None:
            with suppress(OSError):
                self._file.close()

    def text(self, *, has_failed: bool = False) -> str:
        """Return the text for the model; more of the end if the command failed."""
        return self.text_since(0, has_failed=has_failed)[0]

    def text_since(self, position: int, *, has_failed: bool = False) -> tuple[str, int]:
        """Return what follows a position for the model, and the position after it.

        It is behind the last complete character, so the next text starts with a character.
        """
        first = FAILED_HEAD_BYTES if has_failed else HEAD_TAIL_BYTES
        last = FAILED_TAIL_BYTES if has_failed else HEAD_TAIL_BYTES
        with self._lock:
            if self.total_bytes <= first + last:
                return _decode((self._head + self._tail)[position:], self.total_bytes)
            tail = self._tail[-last:]
            if (new := self.total_bytes - position) <= len(tail):
                return _decode(tail[len(tail) - new :], self.total_bytes)
            start = self._head[position:first]
            head = start.decode("utf-8", "replace")
            omitted = new - len(start) - len(tail)
            end, after = _decode(tail, self.total_bytes)
            note = f"{omitted:,} of {new:,} bytes are omitted here; {self._spill_note()}"
            return f"{head}\n[{note}]\n{end}" if head else f"[{note}]\n{end}", after

    def _spill_note(self) -> str:
        if self.spill_path is None:
            return f"the full output could not be saved: {self._failure}"
        is_complete = self.total_bytes <= MAX_SPILL_BYTES
        part = "full output" if is_complete else f"first {MAX_SPILL_BYTES:,} bytes"
        return f"read the {part} in ranges with `read_file` from `{self.spill_path}`"

    def _spill(self, data: bytes) -> None:
        """Save output that is too long to send; on a full disk only the file is lost."""
        if self._failure or self.total_bytes + len(data) <= 2 * HEAD_TAIL_BYTES:
            return
        try:
            if self._file is None:
                self._file = self._create_spill()
                self._file.write(self._head + self._tail)
            self._file.write(data[: max(0, MAX_SPILL_BYTES - self.total_bytes)])
        except OSError as error:
            self._failure = (error.strerror or str(error)).lower()
            self.spill_path = None

    def _create_spill(self) -> BinaryIO:
        path = self._directory / f"output-{secrets.token_hex(8)}.txt"
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
        file = os.fdopen(os.open(path, flags, 0o600), "wb")
        self.spill_path = path
        return file


def _decode(data: bytes | bytearray, end: int) -> tuple[str, int]:
    """Return the text of bytes that end at a position, and the end of its last character."""
    decoder = codecs.getincrementaldecoder("utf-8")("replace")
    text = decoder.decode(data)
    return text, end - len(decoder.getstate()[0])
