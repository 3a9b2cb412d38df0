"""A simulated person at a real pseudo-terminal: a screen and typed keys."""

import fcntl
import os
import re
import struct
import sys
import termios
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from tempfile import NamedTemporaryFile

import pexpect
import pyte

from tests.loop_watchdog import LoopBlockedError
from tests.sandbox_here import get_variables

ROOT = Path(__file__).parents[2]
YOURTOOL = (sys.executable, "-P", "-m", "yourtool")
_ENTERS = re.compile(r"(\x1b\[200~.*?\x1b\[201~|\r)", re.DOTALL)
"""A paste, in which a line end is no key, or Enter."""
_NUMBER_OF_TERMINAL = 0x80045430
"""TIOCGPTN of Linux."""
_WATCHED = (*YOURTOOL[:3], "tests.e2e.watched")


def _get_number(descriptor: int, request: int) -> int:
    return struct.unpack("i", fcntl.ioctl(descriptor, request, bytes(4)))[0]


def _is_true(sign: str | Callable[[str], bool], screen: str) -> bool:
    return sign(screen) if callable(sign) else re.search(sign, screen) is not None


class Terminal:
    """Runs a program in a pseudo-terminal and shows what a person would see.

    `YOURTOOL` fails its test when it blocks its event loop.
    """

    def __init__(
        self,
        command: Sequence[str],
        *,
        cwd: Path,
        env: Mapping[str, str],
        columns: int = 100,
        rows: int = 30,
        watched: bool = True,
    ) -> None:
        if watched and tuple(command[: len(YOURTOOL)]) == YOURTOOL:
            command = (*_WATCHED, *command[len(YOURTOOL) :])
        with NamedTemporaryFile(delete=False) as file:
            self._blocked = Path(file.name)
        self.screen = pyte.Screen(columns, rows)
        self._stream = pyte.ByteStream(self.screen)
        self.output = bytearray()
        """All bytes that the program wrote."""
        kept = {k: v for k, v in os.environ.items() if k in ("PATH", "HOME", "LANG", "LC_ALL")}
        self.process = pexpect.spawn(
            command[0],
            list(command[1:]),
            cwd=str(cwd),
            env={
                **kept,
                "TERM": "xterm-256color",
                "PYTHONPATH": str(ROOT),
                "BLOCKED_LOOPS": file.name,
                **get_variables(),
                **env,
            },
            dimensions=(rows, columns),
            timeout=5,
        )
        self.process.delaybeforesend = None

    @property
    def text(self) -> str:
        """The screen as lines of text; pyte fails to while half of a wide character is replaced."""
        lines, columns = map(range, (self.screen.lines, self.screen.columns))
        cells = self.screen.buffer
        rows = ("".join(cells[y][x].data for x in columns) for y in lines)
        return "\n".join(row.rstrip() for row in rows)

    def read(self, seconds: float) -> None:
        """Read the program's output for some time."""
        deadline = time.monotonic() + seconds
        while (left := deadline - time.monotonic()) > 0:
            try:
                piece = self.process.read_nonblocking(65536, timeout=min(left, 0.05))
            except pexpect.TIMEOUT:
                continue
            except pexpect.EOF:
                return
            self.output += piece
            self._stream.feed(piece)

    def read_all(self, seconds: float = 1) -> None:
        """Read until the program has written nothing for some time."""
        size = -1
        while size < len(self.output):
            size = len(self.output)
            self.read(seconds)

    def wait(self, *signs: str | Callable[[str], bool], seconds: float = 60) -> str:
        """Wait until all signs (regular expressions, conditions) are true of one screen.

        A program paints in pieces: what belongs together is waited for together.
        """
        deadline = time.monotonic() + seconds
        while time.monotonic() < deadline:
            self.read(0.03)
            if not (missing := [sign for sign in signs if not _is_true(sign, self.text)]):
                return self.text
        raise AssertionError(f"never saw {missing!r} on\n{self.text}")

    def send(self, keys: str | bytes) -> None:
        """Press keys, each Enter once the program has read what is before it.

        Bytes are written at once, as a terminal without bracketed paste pastes them.
        """
        for part in _ENTERS.split(keys) if isinstance(keys, str) else (keys,):
            if part == "\r":
                self._wait_until_read()
            self.process.send(part)

    def _wait_until_read(self) -> None:
        """Wait until the program has read all keys, and for the moment until the next one."""
        for _ in range(250):
            self.read(0.02)
            if not self._count_unread():
                break
        self.read(0.03)

    def _count_unread(self) -> int:
        try:
            number = _get_number(self.process.fileno(), _NUMBER_OF_TERMINAL)
            terminal = os.open(f"/dev/pts/{number}", os.O_RDONLY | os.O_NOCTTY)
        except OSError:  # the program has ended
            return 0
        try:
            return _get_number(terminal, termios.FIONREAD)
        finally:
            os.close(terminal)

    def say(self, text: str) -> None:
        """Type a line, see it, and press Enter."""
        self.send(text)
        self.wait(lambda screen: text[-20:] in screen)
        self.send("\r")

    def answer(self, letter: str) -> None:
        """Answer an approval prompt once it accepts keys, a second after the last key."""
        self.read(1.2)
        self.send(letter if letter == "\x1b" else f"{letter}\r")

    def paste(self, text: str) -> None:
        """Paste with bracketed paste."""
        self.send(f"\x1b[200~{text}\x1b[201~")

    def resize(self, columns: int, rows: int) -> None:
        """Resize the window."""
        self.screen.resize(rows, columns)
        self.process.setwinsize(rows, columns)

    def end(self, seconds: float = 60) -> int | None:
        """Wait for the program to exit; return its exit code, None after a signal."""
        deadline = time.monotonic() + seconds
        while self.process.isalive() and time.monotonic() < deadline:
            self.read(0.05)
        assert not self.process.isalive(), f"still running:\n{self.text}"
        self.read(0.5)  # it can end right after the last read
        self.process.close()
        return self.process.exitstatus

    def __enter__(self) -> "Terminal":
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        self.process.close(force=True)
        blocked = self._blocked.read_text()
        self._blocked.unlink()
        if blocked and kind is None:
            raise LoopBlockedError(f"The event loop of the program was {blocked}")
