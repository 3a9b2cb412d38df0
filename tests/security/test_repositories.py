"""Before trust, nothing of a repository executes, connects, configures or gets a key.

One version runs in this process, where an audit hook records every program and connection, with a
third of the repositories in `make test`; the other runs the program, below `strace` if it is there.
"""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.cli.command_line import CommandLine
from tests.provider_server import ProviderServer, Reply
from tests.security.repositories import INSTRUCTION, REPOSITORIES
from tests.trusted_folders import trust
from yourtool.tools.sandbox.bubblewrap import find_bubblewrap

pytestmark = pytest.mark.usefixtures("own_logging")

SANDBOX = f"subprocess.Popen {(find_bubblewrap(),)}"
"""The program, which only root can write, that makes the sandbox before the first command."""
CANARY = "sk-ant-canary-7777777777777777777777"
_EXECUTIONS = ("os.exec", "os.posix_spawn", "os.spawn", "os.system", "subprocess.Popen")
_PROGRAMS = (
    "bash",
    "curl",
    "git",
    "make",
    "node",
    "npm",
    "npx",
    "pip",
    "python3",
    "rg",
    "sh",
    "uv",
)


class Recorder:
    """Records what the process executes and where it connects, while it is on."""

    def __init__(self) -> None:
        self.is_on = False
        self.executions: list[str] = []
        self.ports: list[object] = []

    def hook(self, event: str, arguments: tuple[object, ...]) -> None:
        if not self.is_on:
            return
        if event.startswith(_EXECUTIONS):
            self.executions.append(f"{event} {arguments[:1]}")
        elif event == "socket.connect" and isinstance(arguments[1], tuple):
            self.ports.append(arguments[1][1])


RECORDER = Recorder()
sys.addaudithook(RECORDER.hook)


@pytest.fixture(scope="module")
def servers():
    """The user's server, and one of the attacker."""
    with ProviderServer() as mine, ProviderServer() as evil:
        yield mine, evil


def write_repository(root: Path, files: dict[str, str], words: dict[str, str]) -> None:
    for name, content in files.items():
        for word, value in words.items():
            content = content.replace(f"{{{word}}}", value)
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        if content.startswith("->"):
            path.symlink_to(content[2:])
        else:
            path.write_text(content)
            path.chmod(0o755)


def prepare(name: str, tmp_path: Path, home: Path, evil: ProviderServer) -> tuple[Path, Path]:
    """Write a repository and programs that record; return it and the record."""
    ran, programs, work = tmp_path / "ran", tmp_path / "programs", tmp_path / "work"
    programs.mkdir()
    for program in (*_PROGRAMS, "run"):
        (programs / program).write_text(f"#!/bin/sh\necho {program} >> {ran}\n")
        (programs / program).chmod(0o755)
    words = {"evil": evil.url, "home": str(home), "run": str(programs / "run")}
    work.mkdir()
    write_repository(work, REPOSITORIES[name], words)
    return work, ran


def user_environment(mine: ProviderServer, programs: Path) -> dict[str, str]:
    return {
        "ANTHROPIC_API_KEY": CANARY,
        "ANTHROPIC_BASE_URL": mine.url,
        "PATH": f"{programs}{os.pathsep}{os.environ['PATH']}",
        "NO_PROXY": "*",
    }


def find_canary(*directories: Path) -> list[Path]:
    """Return the files that contain the key."""
    files = (
        path
        for directory in directories
        for path in directory.rglob("*")
        if path.is_file() and not path.is_symlink()
    )
    return [path for path in files if CANARY.encode() in path.read_bytes()]


def test_there_are_at_least_forty_repositories():
    assert len(REPOSITORIES) >= 40


def test_what_the_tests_look_for_would_be_found(servers, home, tmp_path, monkeypatch, capsys):
    mine, evil = servers
    work, ran = prepare("instructions", tmp_path, home, evil)
    for variable, value in user_environment(mine, tmp_path / "programs").items():
        monkeypatch.setenv(variable, value)
    trust(work)
    mine.script.append(Reply("Done."))
    line = CommandLine(home, work, monkeypatch, capsys)
    assert line("-m", "sonnet", "-p", "go")[0] == 0
    assert INSTRUCTION in str(mine.requests[-1][1]["system"])
    RECORDER.executions.clear()
    RECORDER.is_on = True
    try:
        subprocess.run(["git"], check=True)
    finally:
        RECORDER.is_on = False
    assert RECORDER.executions and ran.read_text() == "git\n"
    (work / "leak").write_text(CANARY)
    assert find_canary(work) == [work / "leak"]


@pytest.mark.parametrize(
    "name",
    [
        pytest.param(name, marks=() if at % 3 == 0 else pytest.mark.security)
        for at, name in enumerate(REPOSITORIES)
    ],
)
@pytest.mark.figure("repositories", part="audit hook, besides those of `make test`")
@pytest.mark.req("T13", "T14", "T22", "R-CONF-05")
def test_repository_gets_nothing_before_trust(name, servers, home, tmp_path, monkeypatch, capsys):
    mine, evil = servers
    work, ran = prepare(name, tmp_path, home, evil)
    for variable, value in user_environment(mine, tmp_path / "programs").items():
        monkeypatch.setenv(variable, value)
    monkeypatch.chdir(work)
    mine.script.append(Reply("Done."))
    before = len(mine.requests)
    line = CommandLine(home, work, monkeypatch, capsys)
    RECORDER.executions.clear()
    RECORDER.ports.clear()
    RECORDER.is_on = True
    try:
        code, out, err = line("-m", "sonnet", "-p", "go")
    finally:
        RECORDER.is_on = False
    assert (code, out) == (0, "Done.\n"), err
    assert {*RECORDER.executions} <= {SANDBOX} and not ran.exists()
    assert {f"http://127.0.0.1:{port}" for port in RECORDER.ports} == {mine.url}
    assert evil.requests == [] and evil.get_headers == []
    [(_, body)] = mine.requests[before:]
    assert INSTRUCTION not in str(body["system"]) and INSTRUCTION not in str(body["messages"])
    assert CANARY not in out + err + str(body)
    assert find_canary(home, work) == []


@pytest.mark.security
@pytest.mark.figure("repositories", part="strace" if shutil.which("strace") else "no strace here")
@pytest.mark.parametrize("name", REPOSITORIES)
@pytest.mark.req("T13", "T14", "T22", "R-CONF-05")
def test_program_runs_and_connects_to_nothing_of_a_repository(name, servers, home, tmp_path):
    mine, evil = servers
    work, ran = prepare(name, tmp_path, home, evil)
    trace = tmp_path / "trace"
    command = [sys.executable, "-P", "-m", "yourtool", "-m", "sonnet", "-p", "go"]
    if strace := shutil.which("strace"):
        events = "trace=execve,connect"
        command = [strace, "-f", "-qq", "-s", "200", "-e", events, "-o", str(trace), *command]
    mine.script.append(Reply("Done."))
    env = {**os.environ, **user_environment(mine, tmp_path / "programs")}
    env["YOURTOOL_HOME"], env["PYTHONPATH"] = str(home), str(Path(__file__).parents[2])
    run = subprocess.run(command, cwd=work, env=env, capture_output=True, stdin=subprocess.DEVNULL)
    assert (run.returncode, run.stdout) == (0, b"Done.\n"), run.stderr
    assert not ran.exists()
    assert evil.requests == [] and evil.get_headers == []
    assert CANARY.encode() not in run.stderr
    assert find_canary(home, work) == []
    if strace:
        calls = trace.read_text()
        assert str(tmp_path / "programs" / "run") not in calls
        assert f"htons({evil.url.rpartition(':')[2]})" not in calls
        assert str(work) not in "".join(row for row in calls.splitlines() if "execve" in row)
