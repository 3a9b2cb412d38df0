"""Copying of text to the clipboard.

Text is copied with a program of the desktop, through the terminal, or to a file.

A terminal that supports OSC 52 sets the clipboard of the machine in front of the user, also over
SSH, but does not report whether it did. Sequences: OSC 52 of
https://invisible-island.net/xterm/ctlseqs/ctlseqs.html, wrapped for tmux
(https://github.com/tmux/tmux/wiki/FAQ) or screen
(https://www.gnu.org/software/screen/manual/html_node/Control-Sequences.html).
"""

import asyncio
import base64
import subprocess
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Literal, NamedTuple

from yourtool.agent.input.clipboard_tools import (
    copy_with_tool,
    get_tool_environment,
    run_with_input,
)
from yourtool.foundation.files import replace_file
from yourtool.foundation.text import encodable
from yourtool.paths import resolve_paths
from yourtool.tui.terminal.terminal import BASIC_TERMINALS

MAX_COPIED_CHARACTERS = 1_000_000
"""Characters that are copied at most."""
MAX_SEQUENCE_BYTES = 100_000
"""Longest OSC 52 sequence; several terminals ignore longer ones."""
_SCREEN_CHUNK = 240
"""Characters of a string that every version of screen passes on."""
_TMUX_OPTIONS = ("tmux", "display-message", "-p", "#{allow-passthrough} #{set-clipboard}")
_TMUX_COPY = ("tmux", "load-buffer", "-w", "-")
_TMUX_SECONDS = 2
_REMOTE_VARIABLES = ("SSH_CONNECTION", "SSH_TTY")


class TmuxOptions(NamedTuple):
    """The options of tmux about sequences of programs in it."""

    passes_sequences: bool = False
    """`allow-passthrough`: wrapped sequences reach the terminal."""
    accepts_text: bool = False
    """`set-clipboard on`: OSC 52 sets a buffer of tmux and the clipboard of the terminal."""


class Clipboard:
    """Sets the clipboard in the first way that works here, and reports which one it was."""

    def __init__(
        self,
        write: Callable[[str], None],
        note: Callable[[Literal["info", "warning", "error"], str], None],
        environ: Mapping[str, str],
    ) -> None:
        """`write` sends a sequence to the terminal; `note` shows a notice."""
        self._write = write
        self._note = note
        self._environ = environ

    async def copy(self, text: str) -> None:
        """Copy a text, cut after `MAX_COPIED_CHARACTERS`, without blocking the event loop.

        Over SSH the terminal comes first, because programs would set the clipboard of the server.
        """
        copied = get_copied_part(text)
        data = copied.encode()
        size = f"{len(copied):,} {'character' if len(copied) == 1 else 'characters'}"
        level, limited = ("warning", "only the first ") if len(copied) < len(text) else ("info", "")
        ways = [self._copy_with_tool, self._copy_with_terminal]
        if any(self._environ.get(name) for name in _REMOTE_VARIABLES):
            ways.reverse()
        for way in ways:
            if used := await way(copied, data):
                self._note(level, f"Copied {limited}{size} {used}.")
                return
        reason = "The text is too long for the terminal" if _is_too_long(data) else "No clipboard"
        file = resolve_paths().copied_text
        try:
            await asyncio.to_thread(_write_private_file, file, data)
        except OSError as error:
            self._note("error", f"{reason}, and {file} cannot be written: {error.strerror}.")
        else:
            self._note("warning", f"{reason}. Wrote {limited}{size} to {file}.")

    async def _copy_with_tool(self, text: str, _data: bytes) -> str:
        tool = await asyncio.to_thread(copy_with_tool, text, self._environ)
        return f"with `{tool}`" if tool else ""

    async def _copy_with_terminal(self, _text: str, data: bytes) -> str:
        environ = self._environ
        if environ.get("TMUX"):
            return await self._copy_with_tmux(data)
        if environ.get("TERM", "") in BASIC_TERMINALS or _is_too_long(data):
            return ""
        if environ.get("STY"):
            self._write(wrap_for_screen(build_sequence(data)))
            return "through screen to the terminal (OSC 52)"
        self._write(build_sequence(data))
        return "through the terminal (OSC 52)"

    async def _copy_with_tmux(self, data: bytes) -> str:
        """Copy through the sequences that tmux accepts, or else with its own command.

        By default tmux accepts none. Its command sets the clipboard of the terminal and a buffer.
        """
        options = await asyncio.to_thread(_get_tmux_options, self._environ)
        if options.passes_sequences and not _is_too_long(data):
            self._write(wrap_for_tmux(build_sequence(data)))
            return "through tmux to the terminal (OSC 52)"
        if options.accepts_text and not _is_too_long(data):
            self._write(build_sequence(data))
            return "to tmux and the terminal (OSC 52)"
        if not await asyncio.to_thread(run_with_input, _TMUX_COPY, data, self._environ):
            return ""
        if _is_too_long(data):
            return "to a buffer of tmux (its prefix and `]` pastes it)"
        return "to tmux, which sets the clipboard of the terminal"


def get_copied_part(text: str) -> str:
    """Return the beginning of a text that is copied, without characters that cannot be encoded."""
    return encodable(text[:MAX_COPIED_CHARACTERS])


def build_sequence(data: bytes) -> str:
    """Return the sequence OSC 52 for the clipboard."""
    return f"\x1b]52;c;{base64.b64encode(data).decode('ascii')}\x07"


def wrap_for_tmux(sequence: str) -> str:
    """Return a sequence that tmux passes on to the terminal, with `allow-passthrough` on."""
    doubled = sequence.replace("\x1b", "\x1b\x1b")
    return f"\x1bPtmux;{doubled}\x1b\\"


def wrap_for_screen(sequence: str) -> str:
    """Return a sequence that screen passes on to the terminal, in strings of limited length."""
    chunks = (
        sequence[start : start + _SCREEN_CHUNK] for start in range(0, len(sequence), _SCREEN_CHUNK)
    )
    return "".join(f"\x1bP{chunk}\x1b\\" for chunk in chunks)


def _is_too_long(data: bytes) -> bool:
    """Whether terminals may ignore the sequence for its length."""
    return len(build_sequence(b"")) + (len(data) + 2) // 3 * 4 > MAX_SEQUENCE_BYTES


def _get_tmux_options(environ: Mapping[str, str]) -> TmuxOptions:
    """Return the options of the tmux server, or the defaults if it does not answer."""
    try:
        done = subprocess.run(
            _TMUX_OPTIONS,
            capture_output=True,
            timeout=_TMUX_SECONDS,
            env=get_tool_environment(environ),
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired):
        return TmuxOptions()
    passthrough, _, clipboard = done.stdout.decode("utf-8", "replace").strip().partition(" ")
    return TmuxOptions(passthrough in ("1", "2", "on", "all"), clipboard == "on")


def _write_private_file(file: Path, data: bytes) -> None:
    file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    replace_file(file, data)
