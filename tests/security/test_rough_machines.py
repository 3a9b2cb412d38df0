"""The sandbox on a machine where others hinder it: hostile commands, many programs, kills."""

import random
import shlex
import signal
import subprocess
import sys
import tempfile
import threading
import time
from contextlib import suppress
from pathlib import Path

import pytest

from tests.e2e.conftest import make_repository
from tests.provider_server import ProviderServer, Reply
from tests.security import hostile_swaps
from tests.security.programs import Model, find_levels, finish, shell, start
from tests.tools.sandbox.levels import require
from yourtool.settings.sandbox_config import SandboxLevel

SECRET = "not-for-any-model-4711"
AT_ONCE = 8
STEPS = """
echo $1 > CLAUDE.md; echo $1 > x/.git/hooks/pre-push; echo $1 > .github/ci.yml
git -C x config user.name n$1; git -C x add notes.txt; git -C x commit --allow-empty -m $1
cat AGENTS.md x/.git/HEAD .github/* .vscode/*
"""


@pytest.fixture
def place():
    """A directory that the sandbox does not replace, as `/tmp` is."""
    require(SandboxLevel.FULL)
    with tempfile.TemporaryDirectory(dir="/var/tmp") as directory:
        yield Path(directory).resolve()


def build(place, name):
    """Return a new workspace, a repository with another one in it, and a home directory."""
    work, home = place / name, place / f"{name}-home"
    (home / ".ssh").mkdir(parents=True)
    (home / ".ssh/id_rsa").write_text(SECRET)
    for inner in (".vscode", ".github", ".husky", "x"):
        (work / inner).mkdir(parents=True)
        (work / inner / "notes.txt").write_text("notes\n")
    for inner in ("AGENTS.md", "CLAUDE.md", ".gitmodules"):
        (work / inner).write_text("")
    make_repository(work)
    make_repository(work / "x")
    return work, home


def look(directory):
    return {
        str(each.relative_to(directory)): each.read_bytes() if each.is_file() else None
        for each in sorted(directory.rglob("*"))
    }


def build_race(work, home, outside, replies):
    """Return replies whose calls start while the first one swaps names with links."""
    program = work / "swaps.py"
    program.write_text(Path(hostile_swaps.__file__).read_text())
    (work / "steps.sh").write_text(STEPS)
    words = (sys.executable, str(program), str(outside), str(home / ".ssh/id_rsa"))
    yield Reply("I swap.", [shell(shlex.join(words), background=True)])
    for number in range(replies):
        yield Reply(calls=[
            shell(f"sh steps.sh {number}"),
            shell(f"cat AGENTS.md .gitmodules; ls -lR . | tail -{number}"),
            ("read_file", {"path": "AGENTS.md" if number % 2 else ".gitmodules"}),
            ("write_file", {"path": f"x/new{number}.txt", "content": "a"}),
        ])  # fmt: skip


@pytest.mark.parametrize(
    ("sessions", "replies"), [(1, 8), pytest.param(70, 40, marks=pytest.mark.security)]
)
@pytest.mark.remaining
def test_no_call_leaves_the_workspace_while_a_command_swaps_names_with_links(
    sessions, replies, place, figures
):
    outside = place / "outside"
    for name in ("hooks", "workflows"):
        (outside / name).mkdir(parents=True)
        (outside / name / "pre-push").write_text("of somebody else\n")
    make_repository(outside)
    before, escapes, calls = look(outside), 0, 0
    for number in range(sessions):
        work, home = build(place, f"work{number}")
        with ProviderServer(
            answer=Model(list(build_race(work, home, outside, replies))).answer
        ) as server:
            code, events = finish(start(work, home, server))
            told = "".join(str(body) for _, body in server.requests)
        calls += sum(each["type"] == "tool.called" for each in events)
        assert set(find_levels(events)) == {SandboxLevel.FULL}, code
        escapes += (SECRET in told) + (look(outside) != before)
    figures("swaps", f"{calls:,} calls, {escapes} escapes")
    assert escapes == 0
    assert calls >= sessions * replies * 3


def churn(directory, ended):
    """Let Unix sockets come and go, as other programs do."""
    program = (
        "import os, shutil, socket, sys, tempfile, time\n"
        "while True:\n"
        "    place = tempfile.mkdtemp(dir=sys.argv[1])\n"
        "    with socket.socket(socket.AF_UNIX) as each:\n"
        "        each.bind(place + '/socket'); each.listen(); time.sleep(.02)\n"
        "    shutil.rmtree(place); time.sleep(.01)\n"
    )
    with subprocess.Popen((sys.executable, "-c", program, str(directory))) as running:
        ended.wait()
        running.kill()


@pytest.mark.parametrize("starts", [AT_ONCE, pytest.param(200, marks=pytest.mark.security)])
@pytest.mark.remaining
def test_each_of_many_starts_has_the_full_sandbox_while_sockets_come_and_go(starts, place, figures):
    ended = threading.Event()
    replies = [Reply("", [shell("echo first")]), Reply("", [shell("echo second")])]
    for directory in (place, Path("/run"), Path("/tmp")):
        threading.Thread(target=churn, args=(directory, ended), daemon=True).start()
    work, home = build(place, "work")
    levels = []
    try:
        with ProviderServer(answer=Model(replies).answer) as server:
            for _ in range(0, starts, AT_ONCE):
                runs = [start(work, home, server) for _ in range(AT_ONCE)]
                for code, events in map(finish, runs):
                    assert code == 0
                    levels += find_levels(events)
    finally:
        ended.set()
    below = sum(each != SandboxLevel.FULL for each in levels)
    figures("starts", f"{len(levels):,} commands of {starts} programs, {below} below `full`")
    assert (len(levels), below) == (2 * starts, 0)


def find_processes(home):
    """Return the numbers of the processes that have this home directory."""
    found = []
    for each in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            if f"HOME={home}".encode() in (each / "environ").read_bytes().split(b"\0"):
                found.append(each.name)
    return found


def wait_for_end(home, temporary):
    """Return what is left of a killed program after up to ten seconds."""
    for _ in range(200):
        left = find_processes(home)
        left += [each.name for each in temporary.iterdir()]
        if not left:
            return []
        time.sleep(0.05)
    return left


@pytest.mark.parametrize("kills", [4, pytest.param(1000, marks=pytest.mark.security)])
def test_nothing_is_left_of_a_program_that_is_killed_at_any_time(
    kills, place, figures, monkeypatch
):
    temporary = place / "temporary"
    temporary.mkdir()
    monkeypatch.setenv("TMPDIR", str(temporary))
    work, home = build(place, "work")
    names, left = sorted(each.name for each in work.iterdir()), []
    line = "trap '' TERM HUP; while :; do sleep .01; done"
    replies = [Reply("", [shell(line, background=True)]), Reply("", [shell(f"{line} # 2")])]
    chance = random.Random(4711)
    with ProviderServer(answer=Model(replies).answer) as server:
        for _ in range(0, kills, 4):
            runs = [start(work, home, server) for _ in range(4)]
            for run in runs:
                time.sleep(chance.uniform(0, 0.5))
                run.send_signal(signal.SIGKILL)
            for run in runs:
                run.communicate()
            left += wait_for_end(home, temporary)
            assert sorted(each.name for each in work.iterdir()) == names
    figures("killed programs", f"{kills:,}, {len(left)} left")
    assert left == []
