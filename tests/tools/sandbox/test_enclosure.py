"""An enclosure is what was intended, or it is not used; it ends with its program."""

import asyncio
import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from tests.tools.contexts import call
from tests.tools.sandbox.levels import (
    FixedMeter,
    build_sandbox,
    count_processes,
    require,
    write_restricted,
)
from yourtool.settings.sandbox_config import SandboxConfig, SandboxLevel
from yourtool.tools.commands.shell import shell
from yourtool.tools.sandbox import bubblewrap, enclosure, sandboxes
from yourtool.tools.sandbox.confinement import Means, find_means
from yourtool.tools.sandbox.enclosure import EnclosureError, open_enclosure
from yourtool.tools.sandbox.layout import RUN, TEMPORARY, Layout
from yourtool.tools.sandbox.sandbox import Sandbox

FULL, NONE, PARTIAL = SandboxLevel.FULL, SandboxLevel.NONE, SandboxLevel.PARTIAL
PRIVATE = (TEMPORARY[0], RUN)


class Machine(FixedMeter):
    """A machine with some program in place of bubblewrap."""

    def __init__(self, program):
        super().__init__(SandboxConfig(enabled=True), FULL)
        self.means = Means(str(program), None, 0)


def write_program(path, text):
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(0o755)
    return path


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("echo 'bwrap: No permissions for namespaces' >&2; exit 1", "No permissions"),
        ("exit 0", "it did not answer"),
        ('while [ "$1" != -- ]; do shift; done; shift; exec "$@"', "is not mounted"),
    ],
)
async def test_program_that_confines_nothing_is_no_sandbox(text, problem, root, tmp_path):
    require(FULL)
    made = Sandbox(SandboxConfig(enabled=True), root, Machine(write_program(tmp_path / "b", text)))
    measured = await made.measure()
    assert measured.level is NONE
    assert measured.reasons[0].startswith("the sandbox could not start: ")
    assert problem in measured.reasons[0] or "Operation not permitted" in measured.reasons[0]
    assert made.unavailable == measured.reasons[0]


async def test_failure_is_repeated_at_once_and_at_the_next_command(root, tmp_path, contexts):
    require(FULL)
    real, count = find_means().bubblewrap, tmp_path / "count"
    count.write_text("")
    text = f'echo x >> {count}; [ $(wc -l < {count}) -gt 2 ] && exec {real} "$@"; exit 1'
    made = Sandbox(SandboxConfig(enabled=True), root, Machine(write_program(tmp_path / "b", text)))
    assert (await made.measure()).level is NONE
    assert count.read_text().count("x") == 2
    assert (await made.measure()).level is FULL
    assert made.unavailable is None
    await made.close()


def test_source_that_another_program_replaced_is_noticed(root, monkeypatch):
    require(FULL)
    found = bubblewrap.find_intended

    def find_earlier(layout):
        return [
            {**each, "inode": 1} if each["path"] == str(root) else each for each in found(layout)
        ]

    monkeypatch.setattr(bubblewrap, "find_intended", find_earlier)
    with pytest.raises(EnclosureError, match="another file is at"):
        open_enclosure(find_means().bubblewrap, Layout(workspace=root, private=PRIVATE))


def test_mount_that_was_not_intended_is_noticed(root, tmp_path, monkeypatch):
    require(FULL)
    build = bubblewrap.build_arguments

    def build_more(*arguments):
        *start, end = build(*arguments)
        return [*start, "--bind", "/var", "/var", end]

    monkeypatch.setattr(bubblewrap, "build_arguments", build_more)
    with pytest.raises(EnclosureError, match="`/var` can be written"):
        open_enclosure(find_means().bubblewrap, Layout(workspace=root, private=PRIVATE))


@pytest.mark.parametrize("rounds", [10, pytest.param(500, marks=pytest.mark.security)])
def test_links_that_are_swapped_in_meanwhile_lead_nowhere(rounds, root, tmp_path):
    """A hostile process exchanges a directory that is mounted with a link to another project."""
    require(FULL)
    victim, kept = tmp_path / "victim", tmp_path / "kept"
    (victim / "hooks").mkdir(parents=True)
    git = root / ".git"
    (git / "hooks").mkdir(parents=True)
    ended = threading.Event()

    def swap():
        while not ended.is_set():
            try:
                git.rename(kept)
                git.symlink_to(victim)
                git.unlink()
                kept.rename(git)
            except OSError:
                pass

    layout = Layout(workspace=root, private=PRIVATE, pinned=(git,), sealed=(git / "hooks",))
    swapping = threading.Thread(target=swap)
    swapping.start()
    try:
        opened = 0
        for _ in range(rounds):
            try:
                enclosure = open_enclosure(find_means().bubblewrap, layout)
            except (EnclosureError, OSError):
                continue
            opened += 1
            mounts = Path(f"/proc/{enclosure._process.pid}/root")
            assert mounts.exists()
            enclosure.close()
    finally:
        ended.set()
        swapping.join()
    assert list((victim / "hooks").iterdir()) == []


async def test_workspace_that_is_the_home_directory_has_no_full_sandbox(home):
    made = build_sandbox(home, FULL, auto_allow=True)
    assert (await made.measure()).level is PARTIAL
    assert not made.allows_commands
    assert made.describe().startswith("partial sandbox: your home directory is the workspace")
    await made.close()


async def test_enclosure_that_was_killed_is_made_again(root, contexts):
    made = build_sandbox(root, FULL)
    context = contexts(sandbox=made)
    await call(shell, context, command="true")
    made._enclosure._process.kill()
    made._enclosure._process.wait()
    assert (await call(shell, context, command="echo again")).success
    await made.close()


async def test_one_runner_serves_all_commands(root, contexts):
    made = build_sandbox(root, FULL)
    context = contexts(sandbox=made)
    found = set()
    for _ in range(3):
        await call(shell, context, command="true")
        found.add(made._enclosure)
    assert len(found) == 1
    await asyncio.gather(*(call(shell, context, command="sleep .1") for _ in range(20)))
    await made.close()


@pytest.mark.parametrize("has_rights", [True, False])
def test_nothing_is_left_when_the_program_is_killed(has_rights, root, tmp_path):
    require(FULL)
    program = find_means().bubblewrap if has_rights else write_restricted(tmp_path)
    script = f"""
import asyncio, os
from pathlib import Path
from yourtool.tools.sandbox import bubblewrap
bubblewrap.find_bubblewrap = lambda: {str(program)!r}
from yourtool.settings.sandbox_config import SandboxConfig
from yourtool.tools.processes.process import ShellCommand, run_process
from yourtool.tools.sandbox.sandboxes import Sandboxes
class Sink:
    def feed(self, data): os.write(1, data)
    def close(self): pass
async def main():
    box = Sandboxes(SandboxConfig(enabled=True)).build(Path({str(root)!r}))
    line = "trap '' TERM; echo > alive; echo up; while :; do echo >> alive; sleep .01; done"
    command = ShellCommand(("/bin/sh", "-c", line), Path({str(root)!r}), {{"PATH": os.defpath}})
    async with box.enclose(command) as enclosed:
        await run_process(enclosed.command, Sink(), seconds=None)
asyncio.run(main())
"""
    temporary = root.parent / "temporary"
    temporary.mkdir()
    environment = {**os.environ, "TMPDIR": str(temporary)}
    program = subprocess.Popen(
        [sys.executable, "-c", script], stdout=subprocess.PIPE, env=environment
    )
    assert program.stdout is not None
    assert program.stdout.readline() == b"up\n"
    os.kill(program.pid, signal.SIGKILL)
    program.wait()
    program.stdout.close()
    for _ in range(100):
        size = (root / "alive").stat().st_size
        time.sleep(0.05)
        if (root / "alive").stat().st_size == size:
            break
    else:
        pytest.fail("the command still runs")
    assert list(temporary.iterdir()) == []
    assert [path.name for path in root.iterdir()] == ["alive"]


@pytest.mark.parametrize("has_rights", [True, False])
async def test_end_of_the_sandbox_ends_what_runs_in_it(
    has_rights, root, contexts, tmp_path, monkeypatch
):
    require(FULL)
    monkeypatch.setattr("yourtool.tools.commands.shell.FIRST_OUTPUT_SECONDS", 0.05)
    program = find_means().bubblewrap if has_rights else write_restricted(tmp_path)
    made = Sandbox(SandboxConfig(enabled=True), root, Machine(program))
    context, name = contexts(sandbox=made), f"end-{os.getpid()}"
    await call(shell, context, command=f"exec -a {name} sleep 100", background=True)
    while count_processes(name) == 0:
        await asyncio.sleep(0.01)
    await made.close()
    assert count_processes(name) == 0
    await context.processes.close()


async def test_sandboxes_of_a_process_share_one_enclosure_for_a_workspace(root):
    boxes = sandboxes.Sandboxes(SandboxConfig(enabled=True))
    assert boxes.build(root) is boxes.build(root)
    await boxes.close()


async def test_program_that_never_answers_is_tried_once(root, tmp_path, monkeypatch):
    require(FULL)
    monkeypatch.setattr(enclosure, "_READY_SECONDS", 0.3)
    count = tmp_path / "count"
    program = write_program(tmp_path / "b", f"echo x >> {count}; exec sleep 100")
    made = Sandbox(SandboxConfig(enabled=True), root, Machine(program))
    assert (await made.measure()).reasons[0] == "the sandbox could not start: it did not answer"
    assert count.read_text() == "x\n"
    await made.close()


@pytest.mark.skipif(os.getuid() != 0, reason="mounts")
def test_workspace_on_a_read_only_mount_can_be_read(root):
    require(FULL)
    (root / "a.txt").write_text("read\n")
    script = f"""
import asyncio, os, sys
from pathlib import Path
from yourtool.settings.sandbox_config import SandboxConfig
from yourtool.tools.processes.process import ShellCommand, run_process
from yourtool.tools.sandbox.sandboxes import Sandboxes
class Sink:
    def feed(self, data): os.write(1, data)
    def close(self): pass
async def main():
    root = Path({str(root)!r})
    box = Sandboxes(SandboxConfig(enabled=True)).build(root)
    line = "cat a.txt; touch b.txt"
    command = ShellCommand(("/bin/sh", "-c", line), root, {{"PATH": os.defpath}})
    async with box.enclose(command) as enclosed:
        await run_process(enclosed.command, Sink(), seconds=None)
    await box.close()
asyncio.run(main())
"""
    mount = f"mount --bind {root} {root} && mount -o remount,bind,ro {root}"
    line = ["unshare", "-m", "sh", "-c", f'{mount} && exec "$0" -c "$1"', sys.executable, script]
    done = subprocess.run(line, capture_output=True, text=True, check=False)
    if "unshare" in done.stderr or "mount:" in done.stderr:
        pytest.skip(f"no mount namespace: {done.stderr}")
    assert done.stdout.startswith("read\n"), done.stderr
    assert "Read-only file system" in done.stdout


@pytest.mark.remaining
def test_python_with_a_roundabout_path_starts_the_sandbox(root):
    require(FULL)
    place = Path(sys.executable).parent
    script = "from yourtool.tools.sandbox.enclosure import open_enclosure\n"
    script += "from yourtool.tools.sandbox.layout import Layout\nfrom pathlib import Path\n"
    script += f"open_enclosure({find_means().bubblewrap!r}, Layout(workspace=Path({str(root)!r}), "
    script += "private=(Path('/tmp'), Path('/run')))).close()"
    roundabout = f"{place}/../bin/{Path(sys.executable).name}"
    subprocess.run([roundabout, "-c", script], check=True, cwd=root)
