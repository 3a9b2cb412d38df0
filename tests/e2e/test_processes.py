"""A password for a command and a server that keeps running, as a person meets them."""

import json
import os
import signal
import subprocess
from pathlib import Path

import pytest

from tests.e2e.leftover_processes import find_survivors, is_alive
from tests.e2e.terminal import ROOT, YOURTOOL, Terminal

pytestmark = [
    pytest.mark.remaining,
    pytest.mark.skipif(
        not Path("/proc/self/syscall").exists(), reason="`/proc` shows which program waits"
    ),
]
CANARY = "Canary-of-a-password-7"
ASK = "stty -echo; printf 'Secret: '; read x; stty echo; echo; echo ${#x} characters"


@pytest.fixture
def place(tmp_path):
    """A workspace and a home where the model asks for a password, then starts a server."""
    work, home = tmp_path / "work", tmp_path / "home"
    work.mkdir()
    home.mkdir()
    serve = "echo $$ > pid; while :; do sleep .1; done"
    replies = [
        [{"call": "shell", "input": {"command": ASK, "terminal": True}}],
        [{"say": "Logged in."}],
        [{"call": "shell", "input": {"command": serve, "background": True}}],
        [{"say": "It runs."}],
    ]
    (home / "script.json").write_text(json.dumps({"replies": replies}))
    (home / "config.toml").write_text(
        'model = "demo:file"\n[sandbox]\nenabled = false\n'
        f"[providers.demo]\nquirks = {{ script = {json.dumps(str(home / 'script.json'))} }}\n"
    )
    return work, home


def environ(home):
    return {"YOURTOOL_HOME": str(home), "YOURTOOL_DEMO_PACE": "0"}


def export(work, home):
    """Return the export of the only session."""
    env = {"PATH": os.environ["PATH"], "PYTHONPATH": str(ROOT), **environ(home)}
    [session] = [path.name for path in home.glob("**/sess_*") if path.is_dir()][:1]
    run = subprocess.run(
        [*YOURTOOL, "sessions", "export", session, "--format", "jsonl"],
        cwd=work, env=env, capture_output=True, check=True,
    )  # fmt: skip
    return run.stdout


def below(pid):
    return int(Path(f"/proc/{pid}/task/{pid}/children").read_text().split()[0])


@pytest.mark.req("R-TOOL-17")
def test_password_is_nowhere_and_no_process_survives_a_killed_program(place):
    work, home = place
    arguments = [*YOURTOOL, "--mode", "auto"]
    with Terminal(arguments, cwd=work, env=environ(home)) as terminal:
        terminal.wait("demo:file")
        terminal.say("log in")
        terminal.wait("It waits for a password: Secret:")
        terminal.answer("a")
        terminal.wait("What the program gets")
        terminal.send(CANARY)
        terminal.wait("•" * len(CANARY))
        terminal.send("\r")
        terminal.wait(f"{len(CANARY)} characters", "Logged in")
        terminal.say("start it")
        terminal.wait("It runs", " 1 process ")
        [file] = home.glob("**/scratch/*/pid")
        server = int(file.read_text())
        assert is_alive(server)
        os.kill(below(below(terminal.process.pid)), signal.SIGKILL)
        assert terminal.end() == 128 + signal.SIGKILL
        assert find_survivors({"server": server}) == []
    assert CANARY.encode() not in terminal.output
    with Terminal([*arguments, "--continue"], cwd=work, env=environ(home)) as terminal:
        terminal.wait("Process p1, .* ended when the program died")
        terminal.send("\x04")
        assert terminal.end() == 0
    exported = export(work, home)
    assert b"characters" in exported
    stored = [path.read_bytes() for path in home.rglob("*") if path.is_file()]
    assert not [each for each in (exported, *stored) if CANARY.encode() in each]


@pytest.mark.req("R-TOOL-17")
def test_no_process_survives_the_end_of_the_program(place):
    work, home = place
    with Terminal([*YOURTOOL, "--mode", "auto"], cwd=work, env=environ(home)) as terminal:
        terminal.wait("demo:file")
        terminal.say("log in")
        terminal.wait("It waits for a password: Secret:")
        terminal.answer("w")
        terminal.wait("Logged in", " 1 process ")
        terminal.say("start it")
        terminal.wait("It runs", " 2 processes ")
        [file] = home.glob("**/scratch/*/pid")
        server = int(file.read_text())
        terminal.say("/exit")
        assert terminal.end() == 0
        assert find_survivors({"server": server}) == []
