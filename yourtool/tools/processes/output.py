"""Command output.

It is the text that a terminal would show at the end, for the screen and for the model, which gets
the start and the end with the number of omitted bytes. The full output is saved to a file that
`read_file` can read in ranges.
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
from yourtool.foundation.text import encodable
from yourtool.tools.processes.terminal_text import TerminalText, build_change

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

    def __init__(
        self, directory: Path, emit: Callable[[str], None], mask: Mask, *, colours: bool = False
    ) -> None:
        """`mask` replaces API keys before output is stored or displayed.

        `emit` gets new text; a backspace in it removes the last character. `colours`: keep them.
        """
        self._masks = [mask.stream()]
        self._final_masks = [mask.stream()]
        """For a key that sequences or changes of its line split, as it was printed."""
        self._directory = directory
        self._emit = emit
        self._lock = threading.Lock()
        self._decoder = codecs.getincrementaldecoder("utf-8")("surrogateescape")
        self._terminal = TerminalText(colours=colours)
        self._pending = ""
        """The text that can still change."""
        self._head = bytearray()
        self._tail = bytearray()
        self._file: BinaryIO | None = None
        self._failure = ""
        self.received_bytes = 0
        """Bytes that the command has printed; they grow also while a line is drawn again."""
        self.total_bytes = 0
        """Bytes of the text that is final."""
        self.spill_path: Path | None = None
        """The file with the full output; None while the output is short enough to send."""

    def feed(self, data: bytes) -> None:
        """Add the next bytes of output."""
        self.received_bytes += len(data)
        for each in self._masks:
            data = each.feed(data)
        self._process(self._decoder.decode(data))

    def hide(self, secret: str) -> None:
        """Mask a secret in the output from now on, such as a password that the user typed."""
        if len(secret) >= _MIN_SECRET_CHARACTERS:
            self._masks.append(Mask((secret,)).stream())
            self._final_masks.append(Mask((secret,)).stream())

    def _process(self, text: str, *, is_last: bool = False) -> None:
        with self._lock:
            final = self._terminal.feed(text) + (self._terminal.close() if is_last else "")
            self._store(final)
            before, self._pending = self._pending, self._terminal.pending
            new = build_change(before, final + self._pending)
        if new:
            self._emit(encodable(new))

    def _store(self, text: str) -> None:
        if not text:  # as after the end, when the file is closed
            return
        data = text.encode("utf-8", "surrogateescape")
        for each in self._final_masks:
            data = each.feed(data)
        self._keep(data)

    def _keep(self, data: bytes) -> None:
        self._spill(data)
        self.total_bytes += len(data)
        room = HEAD_TAIL_BYTES - len(self._head)
        self._head += data[:room]
        self._tail += data[room:] if room > 0 else data
        # Trimmed only occasionally, so that small pieces cost no more than one large piece.
        if len(self._tail) > 3 * FAILED_TAIL_BYTES:
            del self._tail[:-FAILED_TAIL_BYTES]

    def close(self) -> None:
        """Flush incomplete characters and close the file."""
        data = b""
        for each in self._masks:
            data = each.feed(data) + each.close()
        self._process(self._decoder.decode(data, final=True), is_last=True)
        data = b""
        for each in self._final_masks:
            data = each.feed(data) + each.close()
        with self._lock:
            if data:
                self._keep(data)
        if self._file is not None:
            with suppress(OSError):
                self._file.close()

    def has_text_since(self, position: int) -> bool:
        """Return whether anything follows a position."""
        return self.total_bytes > position or bool(self._pending)

    def last_text(self, size: int) -> str:
        """Return at most the last bytes, which can still change."""
        with self._lock:
            pending = self._pending.encode("utf-8", "surrogateescape")
            return (self._head + self._tail + pending)[-size:].decode("utf-8", "replace")

    def text(self, *, has_failed: bool = False) -> str:
        """Return the text for the model; more of the end if the command failed."""
        return self.text_since(0, has_failed=has_failed)[0]

    def text_since(self, position: int, *, has_failed: bool = False) -> tuple[str, int]:
        """Return what follows a position for the model, and the position after it.

        It is behind the last complete character, so the next text starts with a character. What
        is read does not change any more.
        """
        first = FAILED_HEAD_BYTES if has_failed else HEAD_TAIL_BYTES
        last = FAILED_TAIL_BYTES if has_failed else HEAD_TAIL_BYTES
        with self._lock:
            self._store(self._terminal.settle())
            self._pending = ""
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
