"""No process of a tool call outlives the program, however the program ends."""

import os
import signal
import subprocess
import sys
import time
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.e2e.leftover_processes import find_survivors, is_alive, prepare, wait_until_started
from tests.e2e.terminal import ROOT, YOURTOOL, Terminal

pytestmark = [
    pytest.mark.remaining,
    pytest.mark.skipif(sys.platform != "linux", reason="orphans are adopted on Linux only"),
]
soak = pytest.mark.soak


@pytest.fixture
def place(tmp_path):
    work, home = tmp_path / "work", tmp_path / "home"
    work.mkdir()
    prepare(work, home)
    return work, home


@contextmanager
def headless(work, home):
    run = subprocess.Popen(
        [*YOURTOOL, "--mode", "auto", "-p", "go"],
        cwd=work,
        env={"PATH": os.environ["PATH"], "PYTHONPATH": str(ROOT), "YOURTOOL_HOME": str(home)},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        start_new_session=True,
    )
    with run:
        try:
            yield run
        finally:
            run.kill()


def below(pid):
    """Return the first child of a process; adopted orphans come later."""
    return int(Path(f"/proc/{pid}/task/{pid}/children").read_text().split()[0])


def gone(pid, seconds=15):
    deadline = time.monotonic() + seconds
    while is_alive(pid) and time.monotonic() < deadline:
        time.sleep(0.02)
    return not is_alive(pid)


@pytest.mark.parametrize(
    ("number", "code"),
    [
        (signal.SIGKILL, -signal.SIGKILL),
        (signal.SIGTERM, 130),
        pytest.param(signal.SIGQUIT, -signal.SIGQUIT, marks=soak),
        pytest.param(signal.SIGHUP, 130, marks=soak),
        pytest.param(signal.SIGINT, 130, marks=soak),
    ],
)
def test_nothing_survives_a_headless_run_that_was_ended_by(place, number, code):
    work, home = place
    with headless(work, home) as run:
        processes = wait_until_started(home)
        run.send_signal(number)
        run.communicate(timeout=30)
        assert find_survivors(processes) == []
        assert run.returncode == code


def test_nothing_survives_when_the_whole_process_group_is_killed(place):
    work, home = place
    with headless(work, home) as run:
        processes = wait_until_started(home)
        os.killpg(run.pid, signal.SIGKILL)
        run.communicate(timeout=30)
        assert find_survivors(processes) == []


@pytest.mark.parametrize("steps", [1, pytest.param(2, marks=soak)], ids=["guardian", "program"])
def test_nothing_survives_when_a_process_below_is_killed(place, steps):
    work, home = place
    with headless(work, home) as run:
        processes = wait_until_started(home)
        guardian = below(run.pid)
        program = below(guardian) if steps == 2 else guardian
        os.kill(program, signal.SIGKILL)
        run.communicate(timeout=30)
        assert find_survivors(processes) == []
        assert run.returncode == -signal.SIGKILL
        assert gone(guardian)


@soak
def test_only_hidden_daemons_survive_when_both_parents_are_killed(place):
    work, home = place
    with headless(work, home) as run:
        processes = wait_until_started(home)
        guardian = below(run.pid)
        program = below(guardian)
        os.kill(run.pid, signal.SIGKILL)
        os.kill(guardian, signal.SIGKILL)
        run.communicate(timeout=30)
        assert gone(program)
        hidden = {"own_session", "double_fork"}
        assert set(find_survivors(processes, seconds=3)) <= hidden


def open_interface(work, home):
    return Terminal([*YOURTOOL, "--mode", "auto"], cwd=work, env={"YOURTOOL_HOME": str(home)})


@pytest.mark.parametrize(
    ("number", "code"),
    [
        (signal.SIGTERM, 128 + signal.SIGTERM),
        pytest.param(signal.SIGHUP, 128 + signal.SIGHUP, marks=soak),
        pytest.param(signal.SIGQUIT, 128 + signal.SIGQUIT, marks=soak),
        pytest.param(signal.SIGKILL, None, marks=soak),
    ],
)
def test_nothing_survives_an_interface_that_was_ended_by(place, number, code):
    work, home = place
    with open_interface(work, home) as terminal:
        terminal.wait("demo:file")
        terminal.say("go")
        processes = wait_until_started(home)
        os.kill(terminal.process.pid, number)
        assert terminal.end() == code
        assert find_survivors(processes) == []


def test_nothing_survives_an_interface_whose_program_was_killed(place):
    work, home = place
    with open_interface(work, home) as terminal:
        terminal.wait("demo:file")
        terminal.say("go")
        processes = wait_until_started(home)
        os.kill(below(below(terminal.process.pid)), signal.SIGKILL)
        assert terminal.end() == 128 + signal.SIGKILL
        assert find_survivors(processes) == []


def test_quitting_ends_a_command_that_ignores_the_request_to_end(place):
    work, home = place
    with open_interface(work, home) as terminal:
        terminal.wait("demo:file")
        terminal.say("!sh start.sh")
        processes = wait_until_started(home)
        terminal.send("\x04")
        terminal.read(0.3)
        terminal.send("\x04")
        terminal.end()
        assert find_survivors(processes) == []
