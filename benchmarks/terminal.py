"""A fast terminal: reads every byte at once, answers queries, and measures the program.

Figures of processes come from Linux; times are seconds of `time.monotonic`.
"""

import fcntl
import os
import pty
import re
import struct
import subprocess
import termios
import threading
import time
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

COLUMNS, ROWS = 120, 40
TICKS = os.sysconf("SC_CLK_TCK")

_QUERY = re.compile(
    rb"\x1b\[(?:(?P<attributes>0?c)|(?P<cursor>6n)|(?P<keyboard>\?u)|\?(?P<mode>\d+)\$p)"
    rb"|\x1b\](?P<colour>1[01]);\?(?:\x07|\x1b\\)"
)
_ESCAPES = re.compile(rb"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)|[ -/]*[0-~])")
_KNOWN_MODES = (b"2026", b"2004", b"1004", b"1006", b"1049", b"25")


class Terminal:
    """A program in a pseudo-terminal of 120 columns and 40 rows."""

    def __init__(self, command: Sequence[str], *, cwd: Path, env: Mapping[str, str]) -> None:
        self._master, slave = pty.openpty()
        fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", ROWS, COLUMNS, 0, 0))
        self._news = threading.Condition()
        self._pieces: list[tuple[float, bytes]] = []
        self._closed = False
        self.began = time.monotonic()
        self.process = subprocess.Popen(
            command,
            stdin=slave,
            stdout=slave,
            stderr=slave,
            cwd=cwd,
            env=env,
            preexec_fn=_own_terminal,
        )
        os.close(slave)
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def send(self, keys: str) -> float:
        """Press keys and return the time."""
        at = time.monotonic()
        os.write(self._master, keys.encode())
        return at

    def wait_for(self, signs: Iterable[str], since: int, seconds: float) -> float | None:
        """Return when the first of `signs` was written, in the pieces from `since` on."""
        wanted = [sign.encode() for sign in signs]
        deadline, tail, checked = time.monotonic() + seconds, b"", since
        with self._news:
            while True:
                for at, data in self._pieces[checked:]:
                    both = tail + data
                    if any(sign in both for sign in wanted):
                        return at
                    tail = both[-64:]
                checked = len(self._pieces)
                left = deadline - time.monotonic()
                if left <= 0 or self._closed:
                    return None
                self._news.wait(left)

    def wait_for_paint(self, seconds: float) -> float | None:
        """Return when the first text was drawn and the system no longer echoes keys."""
        deadline = time.monotonic() + seconds
        with self._news:
            while time.monotonic() < deadline and not self._closed:
                for at, data in self._pieces:
                    if len(_ESCAPES.sub(b"", data).split()) > 1 and self._raw():
                        return at
                self._news.wait(0.01)
        return None

    def settle(self, quiet: float, at_most: float) -> None:
        """Wait until nothing is written for a while."""
        deadline = time.monotonic() + at_most
        while time.monotonic() < deadline:
            count = self.mark
            time.sleep(quiet)
            if self.mark == count:
                return

    @property
    def mark(self) -> int:
        """The number of pieces so far; for `wait_for` and `written`."""
        return len(self._pieces)

    def written(self, since: int) -> int:
        """Return how many bytes were written after a mark."""
        return sum(len(data) for _, data in self._pieces[since:])

    @property
    def output(self) -> bytes:
        """Everything that was written."""
        return b"".join(data for _, data in self._pieces)

    def cpu(self) -> float:
        """Return the seconds of CPU of the program and all its descendants."""
        return sum(_cpu_of(pid) for pid in self._tree())

    def memory(self) -> int:
        """Return the proportional set size of all processes of the program in bytes."""
        return sum(_proportional(pid) for pid in self._tree())

    def close(self) -> None:
        """End the program."""
        for pid in reversed(self._tree()):
            try:
                os.kill(pid, 9)
            except ProcessLookupError:
                continue
        self.process.wait()
        self._reader.join(5)
        os.close(self._master)

    def _raw(self) -> bool:
        return not termios.tcgetattr(self._master)[3] & termios.ECHO

    def _tree(self) -> list[int]:
        found = [self.process.pid]
        for pid in found:
            found += _children(pid)
        return found

    def _read(self) -> None:
        while True:
            try:
                data = os.read(self._master, 1 << 16)
            except OSError:
                data = b""
            at = time.monotonic()
            if b"\x1b" in data:
                self._answer(data)
            with self._news:
                self._closed = not data
                if data:
                    self._pieces.append((at, data))
                self._news.notify_all()
            if not data:
                return

    def _answer(self, data: bytes) -> None:
        for query in _QUERY.finditer(data):
            if query["attributes"]:
                answer = b"\x1b[?62;22c"
            elif query["cursor"]:
                answer = b"\x1b[1;1R"
            elif query["keyboard"]:
                answer = b"\x1b[?0u"
            elif query["mode"]:
                state = b"2" if query["mode"] in _KNOWN_MODES else b"0"
                answer = b"\x1b[?%s;%s$y" % (query["mode"], state)
            else:
                answer = b"\x1b]%s;rgb:2020/2020/2020\x1b\\" % query["colour"]
            os.write(self._master, answer)


def raise_priority() -> None:
    """Raise the priority of this process and its children, if permitted."""
    try:
        os.setpriority(os.PRIO_PROCESS, 0, -12)
        Path("/proc/self/autogroup").write_text("-12")
    except OSError:
        return


def _own_terminal() -> None:
    os.setsid()
    fcntl.ioctl(0, termios.TIOCSCTTY, 0)
    raise_priority()


def _children(pid: int) -> list[int]:
    try:
        lists = [path.read_text() for path in Path(f"/proc/{pid}/task").glob("*/children")]
    except OSError:
        return []
    return [int(child) for each in lists for child in each.split()]


def _cpu_of(pid: int) -> float:
    try:
        own = time.clock_gettime((~pid << 3) | 2)  # the kernel's clock of another process
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return 0.0
    return own + (int(fields[13]) + int(fields[14])) / TICKS  # and of its children that ended


def _proportional(pid: int) -> int:
    try:
        lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
    except OSError:
        return 0
    return next((int(line.split()[1]) * 1024 for line in lines if line.startswith("Pss:")), 0)
