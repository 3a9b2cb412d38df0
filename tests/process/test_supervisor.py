"""The terminal is restored however the program ends (R16, R-TUI-16, E11)."""

import os
import pty
import re
import select
import signal
import subprocess
import sys
import termios
from collections.abc import Iterator
from pathlib import Path

import pytest

MODES = ("1000", "1002", "1003", "1006", "1004", "2004", "2048", "1049")

FULL_SCREEN = """
import fcntl, os, signal, sys, termios, time, tty
from yourtool.process.supervisor import run_supervised

def run():
    tty.setraw(0)
    for mode in (1049, 1000, 1002, 1003, 1006, 1004, 2004, 2048):
        os.write(1, b"\\x1b[?%dh" % mode)
    os.write(1, b"\\x1b[>1u\\x1b[?25l\\x1b[31m")
    os.write(1, b"<pids %d %d>" % (os.getpid(), os.getppid()))
    {life}

for number in (signal.SIGHUP, signal.SIGTERM):  # whoever runs the tests may ignore them
    signal.signal(number, signal.SIG_DFL)
if {lead}:
    fcntl.ioctl(0, termios.TIOCSCTTY, 0)
sys.exit(run_supervised(run))
"""

WAIT = "\n    while True: time.sleep(0.05)  # unlike a pause, it misses no signal"


class Terminal:
    """A program on a separate pseudo-terminal, and its output."""

    def __init__(self, code: str) -> None:
        self.master, self.slave = pty.openpty()
        self.before = termios.tcgetattr(self.slave)
        self.process = subprocess.Popen(
            [sys.executable, "-c", code],
            stdin=self.slave,
            stdout=self.slave,
            stderr=self.slave,
            start_new_session=True,
        )
        self.output = b""

    def until(self, pattern: bytes) -> re.Match[bytes]:
        while not (found := re.search(pattern, self.output)):
            assert self._more(20), f"{pattern!r} never came: {self.output!r}"
        return found

    def end(self) -> int:
        code = self.process.wait(20)
        while self._more(0):
            pass
        return code

    def _more(self, patience: float) -> bool:
        ready, _, _ = select.select([self.master], [], [], patience)
        if ready:
            self.output += os.read(self.master, 65_536)
        return bool(ready)

    def hang_up(self) -> None:
        os.close(self.master)
        os.close(self.slave)
        self.master = self.slave = -1

    def close(self) -> None:
        if self.process.poll() is None:
            os.killpg(self.process.pid, signal.SIGKILL)
            self.process.wait(20)
        if self.master >= 0:
            self.hang_up()

    def assert_restored(self) -> None:
        for mode in MODES:
            assert self.output.rfind(b"\x1b[?%sl" % mode.encode()) > self.output.rfind(
                b"\x1b[?%sh" % mode.encode()
            ), f"mode {mode} was left on"
        tail = self.output[self.output.rindex(b"\x1b[?25l") :]
        assert b"\x1b[?25h" in tail
        assert b"\x1b[<u" in tail
        assert b"\x1b[0m" in tail


@pytest.fixture
def terminal() -> Iterator[type[Terminal]]:
    opened: list[Terminal] = []

    class Opened(Terminal):
        def __init__(self, code: str) -> None:
            super().__init__(code)
            opened.append(self)

    yield Opened
    for one in opened:
        one.close()


def full_screen(life: str, *, lead: bool = True) -> str:
    return FULL_SCREEN.format(life=life, lead=lead)


@pytest.mark.parametrize(
    ("life", "code"),
    [
        ("os.kill(os.getpid(), signal.SIGKILL)", 128 + signal.SIGKILL),
        ("os.kill(os.getpid(), signal.SIGTERM)", 128 + signal.SIGTERM),
        ("os.kill(os.getpid(), signal.SIGHUP)", 128 + signal.SIGHUP),
        ("os.kill(os.getpid(), signal.SIGSEGV)", 128 + signal.SIGSEGV),
        ("os._exit(255)", 255),
        ("raise ValueError('not caught')", 1),
    ],
    ids=["SIGKILL", "SIGTERM", "SIGHUP", "SIGSEGV", "_exit", "exception"],
)
@pytest.mark.req("R16")
def test_the_terminal_is_restored_however_the_program_dies(terminal, life, code):
    screen = terminal(full_screen(life))
    assert screen.end() == code
    screen.assert_restored()
    assert termios.tcgetattr(screen.slave) == screen.before


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP, signal.SIGINT])
@pytest.mark.req("R-TUI-16")
def test_a_signal_to_the_parent_reaches_the_program(terminal, number):
    obey = f"signal.signal({int(number)}, lambda *_: (os.write(1, b'<told>'), os._exit(7)))"
    screen = terminal(full_screen(f"{obey}; os.write(1, b'<ready>'){WAIT}"))
    parent = int(screen.until(rb"<pids \d+ (\d+)>")[1])
    screen.until(rb"<ready>")
    os.kill(parent, number)
    screen.until(b"<told>")
    assert screen.end() == 7
    screen.assert_restored()


def test_a_clean_exit_changes_nothing_and_returns_the_code(terminal):
    screen = terminal(
        full_screen("termios.tcsetattr(0, 0, before); return 5").replace(
            "tty.setraw(0)", "before = termios.tcgetattr(0); tty.setraw(0)"
        )
    )
    assert screen.end() == 5
    assert b"\x1b[?1049l" not in screen.output
    assert b"unexpectedly" not in screen.output


def test_an_unexpected_end_shows_how_to_resume(terminal):
    screen = terminal(full_screen("os.kill(os.getpid(), signal.SIGKILL)"))
    screen.end()
    assert b"SIGKILL" in screen.output
    assert b"the last session with `yourtool -c`, or choose one with `yourtool -r`" in screen.output
    assert b"yourtool -c" in screen.output


ENDING_PARENT = """
import os, time
from yourtool.process.guardian import run_guarded

alive, end = os.pipe()
if os.fork() == 0:
    os.close(end)
    restore = lambda code: os.write({report}, b"%d" % code)
    os._exit(run_guarded(lambda: time.sleep(60), alive, restore))
os.close(end)  # as the kernel does first when this process is killed
os.wait()
"""


def test_terminal_is_restored_while_the_parent_is_ending():
    report, end = os.pipe()
    code = ENDING_PARENT.format(report=end)
    subprocess.run([sys.executable, "-c", code], pass_fds=[end], timeout=30, check=True)
    os.close(end)
    assert os.read(report, 100) == b"%d" % -signal.SIGHUP
    os.close(report)


def test_the_program_ends_when_a_parent_is_killed(terminal):
    end = "lambda *_: (os.write(1, b'<hung up>'), os._exit(0))"
    life = f"signal.signal(1, {end}); signal.signal(15, {end})"  # the other parent sends SIGTERM
    screen = terminal(full_screen(f"{life}; os.write(1, b'<ready>'){WAIT}"))
    parent = int(screen.until(rb"<pids \d+ (\d+)>")[1])
    screen.until(rb"<ready>")
    os.kill(parent, signal.SIGKILL)
    screen.until(b"<hung up>")


def test_the_program_ends_when_its_terminal_is_gone_without_a_signal(terminal):
    life = "signal.signal(1, lambda *_: os._exit(6)); os.write(1, b'<ready>')" + WAIT
    screen = terminal(full_screen(life, lead=False))
    screen.until(rb"<ready>")
    screen.hang_up()
    assert screen.process.wait(20) == 6


def test_the_program_ends_when_its_terminal_is_gone_before_a_thread_can_watch_it(terminal):
    slow = "import threading; run_thread = threading.Thread.run\n"
    slow += "threading.Thread.run = lambda thread: (time.sleep(1), run_thread(thread))\n"
    life = "signal.signal(1, lambda *_: os._exit(6)); os.write(1, b'<ready>')" + WAIT
    program = full_screen(life, lead=False)
    screen = terminal(program.replace("\ndef run", f"{slow}\ndef run"))
    screen.until(rb"<ready>")
    screen.hang_up()
    assert screen.process.wait(20) == 6


def test_a_signal_from_the_terminal_arrives_once(terminal):
    life = (
        "signal.signal(2, lambda *_: os.write(1, b'<int>'));"
        "signal.signal(15, lambda *_: os._exit(0));"
        "os.write(1, b'<ready>')" + WAIT
    )
    screen = terminal(full_screen(life).replace("tty.setraw(0)", "pass"))
    child = int(screen.until(rb"<pids (\d+) \d+>.*<ready>")[1])
    os.write(screen.master, b"\x03")
    screen.until(b"<int>")
    os.kill(child, signal.SIGTERM)
    screen.end()
    assert screen.output.count(b"<int>") == (1 if sys.platform != "darwin" else 2)


JOB_CONTROL = """
import fcntl, os, signal, subprocess, sys, termios
fcntl.ioctl(0, termios.TIOCSCTTY, 0)
signal.signal(signal.SIGTTOU, signal.SIG_IGN)
before = termios.tcgetattr(0)
job = subprocess.Popen([sys.executable, "-c", {program!r}], process_group=0)
os.tcsetpgrp(0, job.pid)
_, status = os.waitpid(job.pid, os.WUNTRACED)
same = termios.tcgetattr(0) == before
os.tcsetpgrp(0, os.getpgrp())
os.write(1, b"<stopped %d %d>" % (os.WIFSTOPPED(status), same))
os.tcsetpgrp(0, job.pid)
os.killpg(job.pid, signal.SIGCONT)
_, status = os.waitpid(job.pid, os.WUNTRACED)
os.tcsetpgrp(0, os.getpgrp())
os.write(1, b"<ended %d>" % os.waitstatus_to_exitcode(status))
"""


@pytest.mark.parametrize("number", ["SIGSTOP", "SIGTSTP"])
@pytest.mark.req("R23")
def test_a_stopped_program_restores_the_terminal_and_continues(terminal, number):
    life = (
        f"raw = termios.tcgetattr(0); os.kill(os.getpid(), signal.{number});"
        "exec('while termios.tcgetattr(0) != raw: time.sleep(0.001)');"
        "os.write(1, b'<raw again>'); os._exit(9)"
    )
    screen = terminal(JOB_CONTROL.format(program=full_screen(life, lead=False)))
    screen.until(b"<stopped 1 1>")
    screen.until(b"<raw again>")
    screen.until(b"<ended 9>")


CONTINUED_LAST = """
import fcntl, os, signal, subprocess, sys, termios, time
def child(pid):
    return int(open(f"/proc/{{pid}}/task/{{pid}}/children").read())
fcntl.ioctl(0, termios.TIOCSCTTY, 0)
signal.signal(signal.SIGTTOU, signal.SIG_IGN)
job = subprocess.Popen([sys.executable, "-c", {program!r}], process_group=0)
os.tcsetpgrp(0, job.pid)
os.waitpid(job.pid, os.WUNTRACED)
os.kill(child(child(job.pid)), signal.SIGCONT)
while termios.tcgetattr(0)[3] & termios.ISIG:
    time.sleep(0.001)
os.kill(job.pid, signal.SIGCONT)
os.waitpid(job.pid, 0)
"""


@pytest.mark.skipif(not Path("/proc/self/task").exists(), reason="finds processes in /proc")
def test_settings_of_a_program_that_took_the_terminal_back_stay_if_the_parent_continues_later(
    terminal,
):
    life = (
        "continued = []; signal.signal(signal.SIGCONT, lambda *_: continued.append(1));"
        "raw = termios.tcgetattr(0); released = termios.tcgetattr(0); released[3] |= termios.ISIG;"
        "termios.tcsetattr(0, termios.TCSANOW, released); os.kill(os.getpid(), signal.SIGSTOP);"
        "termios.tcsetattr(0, termios.TCSANOW, raw);"
        "exec('while len(continued) < 2: time.sleep(0.001)');"
        "os.write(1, b'<same %d>' % (termios.tcgetattr(0) == raw)); os._exit(0)"
    )
    screen = terminal(CONTINUED_LAST.format(program=full_screen(life, lead=False)))
    assert screen.until(rb"<same (\d)>")[1] == b"1"


INTERFACE = """
import fcntl, struct, sys, termios
fcntl.ioctl(0, termios.TIOCSCTTY, 0)
fcntl.ioctl(0, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 80, 0, 0))
sys.argv = ["yourtool", "--cwd", {cwd!r}]
from yourtool.__main__ import main
main()
"""


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM, signal.SIGHUP])
@pytest.mark.req("R-TUI-16")
@pytest.mark.sample(3)
def test_the_interface_restores_the_terminal(terminal, tmp_path, number):
    screen = terminal(INTERFACE.format(cwd=str(tmp_path)))
    screen.until(rb"demo:tour")
    [child] = children_of(screen.process.pid)
    os.kill(child, number)
    assert screen.end() == 128 + number
    assert termios.tcgetattr(screen.slave) == screen.before
    for mode in ("1049", "1000", "1003", "1006", "2004"):
        on, off = (screen.output.rfind(f"\x1b[?{mode}{end}".encode()) for end in "hl")
        assert on < off, f"mode {mode} was left on"
    assert b"Traceback" not in screen.output


@pytest.mark.req("R-TUI-16")
@pytest.mark.remaining
def test_the_interface_ends_when_its_terminal_is_gone(terminal, tmp_path):
    without = INTERFACE.replace("fcntl.ioctl(0, termios.TIOCSCTTY, 0)", "")
    screen = terminal(without.format(cwd=str(tmp_path)))
    screen.until(rb"demo:tour")
    [child] = children_of(screen.process.pid)
    screen.hang_up()
    assert screen.process.wait(20) == 128 + signal.SIGHUP
    with pytest.raises(ProcessLookupError):
        os.kill(child, 0)


def children_of(parent: int) -> list[int]:
    if (children := Path(f"/proc/{parent}/task/{parent}/children")).exists():
        return [int(pid) for pid in children.read_text().split()]
    listed = subprocess.run(
        ["ps", "-A", "-o", "pid=,ppid="], capture_output=True, text=True, check=True
    )
    pairs = (line.split() for line in listed.stdout.splitlines())
    return [int(pid) for pid, ppid in pairs if int(ppid) == parent]


WITHOUT_TERMINAL = """
import os, signal, sys, time
from yourtool.process.supervisor import run_supervised

def run():
    {life}

sys.exit(run_supervised(run))
"""


def run_piped(life):
    return subprocess.run(
        [sys.executable, "-c", WITHOUT_TERMINAL.format(life=life)],
        input="typed",
        capture_output=True,
        text=True,
        timeout=30,
    )


@pytest.mark.parametrize(
    ("life", "code"),
    [
        ("return 7", 7),
        ("sys.exit(8)", 8),
        ("os._exit(9)", 9),
        ("os.kill(os.getpid(), signal.SIGKILL)", -signal.SIGKILL),
        ("os.kill(os.getpid(), signal.SIGTERM)", -signal.SIGTERM),
        ("os.kill(os.getpid(), signal.SIGSEGV)", -signal.SIGSEGV),
    ],
)
def test_without_a_terminal_the_exit_code_is_that_of_the_program(life, code):
    done = run_piped(life)
    assert (done.returncode, done.stdout, done.stderr) == (code, "", "")


def test_without_a_terminal_the_streams_are_those_of_the_program():
    done = run_piped("sys.stdout.write(sys.stdin.read()); sys.stderr.write('said'); return 0")
    assert (done.returncode, done.stdout, done.stderr) == (0, "typed", "said")


def test_a_pipe_ends_for_its_reader_when_the_program_closes_it():
    life = "os.write(1, b'x'); os.close(1); os.write(2, b'y'); time.sleep(60); return 0"
    code = WITHOUT_TERMINAL.format(life=life)
    with subprocess.Popen([sys.executable, "-c", code], stdout=-1, stderr=-1) as process:
        assert process.stdout.read() == b"x"
        process.kill()


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP, signal.SIGINT])
def test_a_signal_that_was_ignored_at_the_start_stays_ignored(number):
    life = (
        f"os.kill(os.getppid(), {int(number)}); os.kill(os.getpid(), {int(number)});"
        "time.sleep(0.05); return 3"
    )
    done = subprocess.run(
        [sys.executable, "-c", WITHOUT_TERMINAL.format(life=life)],
        preexec_fn=lambda: signal.signal(number, signal.SIG_IGN),
        timeout=30,
    )
    assert done.returncode == 3


def test_a_program_that_ignores_sigterm_is_killed():
    life = (
        "signal.signal(signal.SIGTERM, signal.SIG_IGN); os.write(1, b'<ready>');"
        "exec('while True: time.sleep(0.05)')"
    )
    code = (
        "from yourtool.process import guardian; guardian.END_TIMEOUT_SECONDS = 1\n"
        + WITHOUT_TERMINAL
    )
    with subprocess.Popen([sys.executable, "-c", code.format(life=life)], stdout=-1) as process:
        assert process.stdout.read(7) == b"<ready>"
        process.terminate()
        assert process.wait(20) == -signal.SIGKILL
