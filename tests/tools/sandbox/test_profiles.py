"""Machines whose AppArmor takes all rights from what bubblewrap starts, such as newer Ubuntu's."""

import asyncio
import os
import socket
import sys

import pytest

from tests.tools.contexts import call
from tests.tools.sandbox.levels import (
    FixedMeter,
    count_processes,
    probe_enclosure,
    write_restricted,
)
from yourtool.settings.sandbox_config import SandboxConfig, SandboxLevel
from yourtool.tools.commands.process_tools import process_stop
from yourtool.tools.commands.shell import shell
from yourtool.tools.sandbox.confinement import Means, find_means
from yourtool.tools.sandbox.probes import find_broken_claims
from yourtool.tools.sandbox.sandbox import Sandbox

FULL, NONE = SandboxLevel.FULL, SandboxLevel.NONE
DAEMON = "setsid -f bash -c 'trap \"\" TERM; touch started; exec -a {name} sleep 100'"


@pytest.fixture
def means(tmp_path):
    """The means of a machine on which nothing in the sandbox has a right."""
    return Means(str(write_restricted(tmp_path)), None, find_means().landlock_abi)


@pytest.fixture
async def made(means, root):
    meter = FixedMeter(SandboxConfig(enabled=True), FULL)
    meter.means = means
    made = Sandbox(SandboxConfig(enabled=True), root, meter)
    yield made
    await made.close()


@pytest.fixture
async def context(made, contexts, monkeypatch):
    monkeypatch.setattr("yourtool.tools.commands.shell.FIRST_OUTPUT_SECONDS", 0.05)
    made_for = contexts(sandbox=made)
    yield made_for
    await made_for.processes.close()


def test_all_claims_of_the_full_level_hold(means):
    result = probe_enclosure(means)
    assert result.problem is None
    assert find_broken_claims(FULL, result) == frozenset()


async def test_level_is_full_as_on_other_machines(made):
    assert (await made.measure()).level is FULL


async def test_what_a_command_leaves_ends_with_it(root, context):
    name = f"left-{os.getpid()}"
    (root / "leave.sh").write_text(DAEMON.format(name=name))
    line = "bash leave.sh; until [ -e started ]; do sleep .01; done"
    assert (await call(shell, context, command=line)).success
    assert count_processes(name) == 0


async def test_command_that_ignores_its_end_is_killed(context):
    name = f"deaf-{os.getpid()}"
    line = f"trap '' TERM; bash -c 'exec -a {name} sleep 100'"
    done = await call(shell, context, command=line, timeout_seconds=1)
    assert not done.success
    assert count_processes(name) == 0


async def test_command_cannot_signal_what_ends_it_or_another_call(root, context):
    await call(shell, context, command="echo $$ > pid; sleep 100", background=True)
    while not (root / "pid").exists():
        await asyncio.sleep(0.01)
    other = (root / "pid").read_text().strip()
    line = f"for each in 1 2 $PPID {other} -1; do kill -9 $each; done; grep -c . /proc/{other}/maps"
    done = await call(shell, context, command=line)
    assert done.content[0].text.lower().count("not permitted") >= 4
    assert (await call(shell, context, command=f"test -e /proc/{other}")).success
    await call(process_stop, context, id="p1")
    assert not (await call(shell, context, command=f"test -e /proc/{other}")).success


async def test_sockets_in_the_workspace_are_covered(root, made, contexts):
    connect = "import socket,sys; s=socket.socket(socket.AF_UNIX); s.connect('s.sock')"
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(root / "s.sock"))
        server.listen()
        done = await call(shell, contexts(sandbox=made), command=f'python3 -c "{connect}"')
    assert not done.success
    assert (await made.measure()).level is FULL
    assert (root / "s.sock").is_socket()


OLD_KERNEL = """
import ctypes, os, struct, sys
load = (0x20, 0, 0, 0)
jump = (0x15, 0, 1, 444)  # landlock_create_ruleset
rules = (load, jump, (0x06, 0, 0, 0x00050000 | 38), (0x06, 0, 0, 0x7FFF0000))
code = ctypes.create_string_buffer(b"".join(struct.pack("HBBI", *each) for each in rules))
libc = ctypes.CDLL(None)
assert libc.prctl(38, 1, 0, 0, 0) == 0
assert libc.prctl(22, 2, struct.pack("HP", len(rules), ctypes.addressof(code)), 0, 0) == 0
os.execv(sys.argv[1], sys.argv[1:])
"""
"""Starts a program for which the kernel has no Landlock."""


async def test_older_kernel_has_no_full_sandbox(means, root, tmp_path):
    """A command could end the process that ends it, and leave others."""
    (tmp_path / "old.py").write_text(OLD_KERNEL)
    program = tmp_path / "old"
    line = f'exec {sys.executable} {tmp_path}/old.py {means.bubblewrap} "$@"'
    program.write_text(f"#!/bin/sh\n{line}\n")
    program.chmod(0o755)
    meter = FixedMeter(SandboxConfig(enabled=True), FULL)
    meter.means = Means(str(program), None, 0)
    made = Sandbox(SandboxConfig(enabled=True), root, meter)
    measured = await made.measure()
    assert measured.level is NONE
    assert "can stop the process that ends it" in measured.reasons[0]
    await made.close()
