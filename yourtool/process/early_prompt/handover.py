"""Handover of keys to the interface.

The program asks through one pipe, and gets all bytes that were typed through the other one. From
then on it reads the terminal itself: nothing is read twice, and nothing out of order.
"""

import os
from contextlib import suppress

from yourtool.process.terminal_modes import Settings, get_settings, restore, set_settings

_TAKE, _RELEASE = b"t", b"r"


class Pipes:
    """The two pipes between the program and the process that shows the early prompt."""

    def __init__(self) -> None:
        self.asked, self._ask = os.pipe()
        self._keys, self._give = os.pipe()
        self.is_answered = False

    def keep_program_ends(self) -> None:
        """Close the ends of the early prompt in a process that does not show it."""
        os.close(self.asked)
        os.close(self._give)

    def keep_prompt_ends(self) -> None:
        """Close the ends of the program in the process that shows the early prompt."""
        os.close(self._ask)
        os.close(self._keys)

    # ── in the program ──────────────────────────────────────────────────────────────────────────

    def take(self) -> bytes:
        """Take over the terminal; return the bytes that were typed until now."""
        return self._request(_TAKE)

    def release(self) -> None:
        """Request that the terminal is restored, so that the program can print."""
        self._request(_RELEASE)

    def _request(self, request: bytes) -> bytes:
        typed = bytearray()
        with suppress(BrokenPipeError):
            os.write(self._ask, request)
        while piece := os.read(self._keys, 65_536):
            typed += piece
        return bytes(typed)

    # ── in the early prompt ─────────────────────────────────────────────────────────────────────

    def is_release(self) -> bool:
        """Wait for the request; return whether to restore the terminal, also after the end."""
        return os.read(self.asked, 1) != _TAKE

    def give(self, typed: bytes) -> None:
        """Answer the request with the bytes that were typed."""
        self.is_answered = True
        with suppress(BrokenPipeError):
            while typed:
                typed = typed[os.write(self._give, typed) :]
        os.close(self._give)


class Handover:
    """The program's side of the early prompt; `saved` are the settings of the shell."""

    def __init__(self, pipes: Pipes, saved: Settings) -> None:
        self._pipes = pipes
        self.saved = saved
        self.is_open = False
        """Whether the early prompt is shown."""

    def open(self) -> None:
        """Start in the process of the program."""
        self._pipes.keep_program_ends()
        self.is_open = True

    def take_keys(self) -> bytes:
        """Take over the terminal; return the bytes that were typed until now."""
        if not self.is_open:
            return b""
        self.is_open = False
        return self._pipes.take()

    def release(self) -> None:
        """Leave the early prompt, so that the program can print."""
        if self.is_open:
            self.is_open = False
            self._pipes.release()
            if get_settings() != self.saved:  # the process that showed the prompt is gone
                restore(self.saved)

    def restore(self) -> None:
        """Restore the settings of the terminal after the interface."""
        self.release()
        set_settings(self.saved)
