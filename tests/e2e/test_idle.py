"""The idle program uses no CPU."""

import sys
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.e2e.conftest import make_repository
from tests.e2e.terminal import YOURTOOL, Terminal
from tests.provider_server import ProviderServer, Reply

pytestmark = [
    pytest.mark.remaining,
    pytest.mark.skipif(sys.platform != "linux", reason="reads /proc"),
]

IDLE_SECONDS = 2


def activity(terminal):
    """Return the bytes written so far, and the wake-ups of each process."""
    return len(terminal.output), [wakeups(pid) for pid in family(terminal.process.pid)]


def family(pid):
    """Return a process and its descendants."""
    children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    return [pid, *(one for child in children for one in family(child))]


def wakeups(pid):
    """Return how often a thread of the process has waited."""
    threads = [task.joinpath("status").read_text() for task in Path(f"/proc/{pid}/task").iterdir()]
    marker = "\nvoluntary_ctxt_switches:"
    return sum(int(status.partition(marker)[2].split()[0]) for status in threads)


def settle(terminal):
    for _ in range(10):
        before = activity(terminal)
        terminal.read(IDLE_SECONDS)
        if activity(terminal) == before:
            return
    raise AssertionError("it never became quiet")


@contextmanager
def slow_reply(tmp_path, home, settings=""):
    """A program that waits for the reply to its first prompt."""
    (work := tmp_path / "work").mkdir()
    directory = Path(home["YOURTOOL_HOME"])
    directory.mkdir(mode=0o700)
    (directory / "config.toml").write_text(settings)
    with (
        ProviderServer([Reply("one two three four", pause=3)]) as server,
        Terminal(YOURTOOL, cwd=work, env={**home, **server.environment}) as terminal,
    ):
        terminal.wait("anthropic:")
        terminal.say("hello")
        yield terminal


def test_waiting_turn_shows_its_time_until_it_is_stopped(tmp_path, home):
    with slow_reply(tmp_path, home) as terminal:
        terminal.wait(r"❯ hello\n\n[◐◓◑◒] Waiting for anthropic · \d s · Esc to interrupt")
        before = len(terminal.output)
        terminal.wait(r"Waiting for anthropic · [^01] s")
        assert len(terminal.output) - before < 2_000, "only the line is painted"
        terminal.send("\x1b")
        terminal.wait("stopped by you", lambda screen: "Esc to interrupt" not in screen)


def test_reduced_motion_shows_no_spinner(tmp_path, home):
    with slow_reply(tmp_path, home, "[ui]\nreduced_motion = true\n") as terminal:
        terminal.wait(r"• Waiting for anthropic · [^01] s · Esc to interrupt")
        assert not any(frame.encode() in terminal.output for frame in "◐◓◑◒")


def test_an_idle_program_writes_nothing_and_has_nothing_scheduled(tmp_path, home):
    work = tmp_path / "work"
    work.mkdir()
    (work / "README.md").write_text("# work\n")
    make_repository(work)
    with (
        ProviderServer([Reply("All is **well**.")]) as server,
        Terminal(YOURTOOL, cwd=work, env={**home, **server.environment}, watched=False) as terminal,
    ):
        terminal.wait("anthropic:")
        settle(terminal)
        opened = activity(terminal)
        terminal.read(IDLE_SECONDS)
        assert activity(terminal) == opened

        terminal.say("hello")
        terminal.wait("All is well")
        settle(terminal)
        answered = activity(terminal)
        terminal.read(IDLE_SECONDS)
        assert activity(terminal) == answered
