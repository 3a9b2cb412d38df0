"""The name server of an enclosure: what it notes, and what it answers."""

import os
import shutil
import subprocess
import sysconfig
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.tools.contexts import call
from tests.tools.sandbox.levels import SYSTEM_PYTHON, build_sandbox
from yourtool.settings.sandbox_config import SandboxLevel
from yourtool.tools.commands.shell import shell
from yourtool.tools.sandbox.names import build_answer, parse_question
from yourtool.tools.sandbox.network.refusals import Refusals, RefusedHost

FULL = SandboxLevel.FULL
ASK = "getent ahosts {}"
"""Asks for the addresses of a name."""


def build_question(name, kind=1, flags=0x0100, more=b""):
    labels = b"".join(bytes([len(each)]) + each for each in name.split(b".") if each)
    head = b"\x12\x34" + flags.to_bytes(2, "big") + b"\0\1" + bytes(6)
    return head + labels + b"\0" + kind.to_bytes(2, "big") + b"\0\1" + more


def test_question_for_a_name_is_understood():
    found = parse_question(build_question(b"Registry.Example.org", kind=28, more=b"option"))
    assert (found.name, found.kind) == ("registry.example.org", 28)
    answer = build_answer(found, is_local=False)
    assert answer[:4] == b"\x12\x34\x85\x83"
    assert answer[12:] == build_question(b"Registry.Example.org", kind=28)[12:]


def test_local_name_has_the_loopback_address():
    answer = build_answer(parse_question(build_question(b"localhost")), is_local=True)
    assert answer[3] == 0x80
    assert answer[-4:] == bytes((127, 0, 0, 1))
    other = build_answer(parse_question(build_question(b"localhost", kind=15)), is_local=True)
    assert other[6:8] == b"\0\0"


@pytest.mark.parametrize(
    "data",
    [
        b"",
        build_question(b"")[:13],
        build_question(b""),
        build_question(b"a b"),
        build_question(b"a\nb"),
        build_question(b"caf\xc3\xa9"),
        build_question(b".".join([b"a" * 63] * 5)),
        build_question(b"name", flags=0x8180),
        build_question(b"name", flags=0x2800),
        build_question(b"name")[:-1],
        build_question(b"name").replace(b"\0\1\0\0\0\0\0\0", b"\0\2\0\0\0\0\0\0"),
        b"\0" * 12 + b"\xc0\x0c\0\1\0\1",
        build_question(b"name") + b"x" * 2000,
    ],
)
def test_other_message_is_no_question(data):
    assert parse_question(data) is None


@given(st.binary(max_size=80).map(lambda tail: build_question(b"a")[:12] + tail))
def test_any_message_has_a_short_name_of_usual_characters_or_none(data):
    if (found := parse_question(data)) is not None:
        assert len(found.name) < 254
        assert found.name.isascii()
        assert found.name.isprintable()
        assert len(build_answer(found, is_local=True)) < len(data) + 64


def test_host_is_certain_only_if_one_command_runs():
    refusals = Refusals()
    refusals.note("before.example")
    with refusals.watching() as first:
        refusals.note("one.example")
        with refusals.watching() as second:
            refusals.note("two.example")
        refusals.note("one.example")
    refusals.note("after.example")
    assert list(first.values()) == [RefusedHost("one.example"), RefusedHost("two.example", False)]
    assert list(second.values()) == [RefusedHost("two.example", False)]


def test_hosts_of_a_command_are_limited():
    refusals = Refusals()
    with refusals.watching() as found:
        for number in range(1000):
            refusals.note(f"h{number}.example")
    assert len(found) == 20


async def test_host_that_a_command_asks_for_is_the_cause_of_its_failure(root, contexts):
    sandbox = build_sandbox(root, FULL)
    context = contexts(sandbox=sandbox)
    output = await call(shell, context, command=ASK.format("Registry.example.org"))
    assert output.blocked.is_certain
    assert output.blocked.hosts == ("registry.example.org",)
    cause = "the command asked for `registry.example.org`, and the sandbox has no network"
    assert output.blocked.cause == cause
    again = await call(shell, context, command=f"{ASK.format('other.example')}; exit 3")
    assert again.blocked.hosts == ("other.example",)
    assert again.details["exit_code"] == 3
    await sandbox.close()


async def test_pipe_does_not_hide_the_cause(root, contexts):
    sandbox = build_sandbox(root, FULL)
    complain = "{ getent ahosts r.example || echo ENOTFOUND r.example; } 2>&1 | tail"
    output = await call(shell, contexts(sandbox=sandbox), command=complain)
    assert output.success
    assert output.blocked.is_certain
    silent = await call(
        shell, contexts(sandbox=sandbox), command=f"{ASK.format('u.example')}; true"
    )
    assert silent.success
    assert not silent.blocked.is_certain
    await sandbox.close()


async def test_names_of_this_machine_are_found_and_not_noted(root, contexts):
    sandbox = build_sandbox(root, FULL)
    line = f"{ASK.format('localhost')} && {ASK.format('a.localhost')} && getent hosts $HOSTNAME"
    output = await call(shell, contexts(sandbox=sandbox), command=line)
    assert output.success, output.content
    assert output.blocked is None
    await sandbox.close()


async def test_program_that_reads_no_settings_of_names_is_seen_as_well(root, contexts):
    sandbox = build_sandbox(root, FULL)
    code = (
        "import socket; s = socket.socket(2, 2); s.connect(('127.0.0.1', 53));"
        f"s.send({build_question(b'raw.example')!r}); s.settimeout(5);"
        "raise SystemExit(s.recv(512)[3])"
    )
    output = await call(shell, contexts(sandbox=sandbox), command=f'python3 -c "{code}"')
    assert output.blocked.hosts == ("raw.example",)
    await sandbox.close()


def test_names_are_seen_for_an_ordinary_user(tmp_path):
    setpriv, python = shutil.which("setpriv"), shutil.which(SYSTEM_PYTHON, path="/usr/bin:/bin")
    if os.getuid() != 0 or not setpriv or not python:
        pytest.skip("needs root, `setpriv` and a Python of the system")
    paths = os.pathsep.join((str(Path(__file__).parents[3]), sysconfig.get_path("purelib")))
    run = subprocess.run(
        [setpriv, "--reuid", "65534", "--regid", "65534", "--clear-groups", python, "-B", "-m",
         "tests.tools.sandbox.ask_for_name"],
        env={"PATH": os.defpath, "PYTHONPATH": paths, "HOME": "/nonexistent"},
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert run.stdout.strip() in ("n.example", "no sandbox"), run.stderr
