"""Input lines of the user.

The terminal itself echoes and edits a line, so that nothing is redrawn. Lines that arrive together
are one text: a paste. Only a line that was typed after a question can answer it.
"""

import asyncio
import os
import termios
import time
from codecs import getincrementaldecoder
from collections.abc import Callable
from contextlib import suppress

_PASTE_SECONDS = 0.05
"""Lines of a paste follow each other faster."""
_SAFE_SECONDS = 0.5
"""An answer that is complete sooner after a question was typed for something else."""


class Lines:
    """Reads texts from a terminal; `submit` gets those that answer no question."""

    def __init__(
        self,
        terminal: int,
        submit: Callable[[str], None],
        close: Callable[[], None],
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """`close` is called at the end of the input."""
        self._terminal = terminal
        self._submit = submit
        self._close = close
        self._clock = clock
        self._decode = getincrementaldecoder("utf-8")("replace").decode
        self._buffer = ""
        self._timer: asyncio.TimerHandle | None = None
        self._answer: asyncio.Future[str] | None = None
        self._safe_at = 0.0

    def start(self) -> None:
        """Read lines from now on."""
        asyncio.get_running_loop().add_reader(self._terminal, self._read)

    def stop(self) -> None:
        """Read no more lines."""
        asyncio.get_running_loop().remove_reader(self._terminal)

    async def ask(self, *, is_safe: bool = True) -> str:
        """Return the next text; unless `is_safe`, nothing that was typed before the question."""
        if not is_safe:
            self._discard_typed()
        self._safe_at = 0.0 if is_safe else self._clock() + _SAFE_SECONDS + _PASTE_SECONDS
        self._answer = asyncio.get_running_loop().create_future()
        try:
            return await self._answer
        finally:
            self._answer = None

    def _discard_typed(self) -> None:
        """Discard what the terminal holds, such as the start of a line without its end."""
        self._flush()
        with suppress(termios.error):  # not a terminal
            termios.tcflush(self._terminal, termios.TCIFLUSH)

    def _read(self) -> None:
        try:
            data = os.read(self._terminal, 65_536)
        except OSError:
            data = b""
        if not data:
            self.stop()
            self._close()
            return
        self._buffer += self._decode(data)
        if self._timer is not None:
            self._timer.cancel()
        if self._buffer.endswith("\n"):
            loop = asyncio.get_running_loop()
            self._timer = loop.call_later(_PASTE_SECONDS, self._flush)

    def _flush(self) -> None:
        """Hand on the lines that have arrived; a final backslash continues the text."""
        text, self._timer = self._buffer, None
        if not text.endswith("\n") or text.endswith("\\\n"):
            return
        self._buffer = ""
        text = text.replace("\\\n", "\n").removesuffix("\n")
        if self._answer is None or self._answer.done() or self._clock() < self._safe_at:
            self._submit(text)
        else:
            self._answer.set_result(text)
