"""Hooks in the sandbox: what they can reach, and that they decide as they do without it."""

import asyncio
import os
import random
import sys
from contextlib import suppress
from pathlib import Path

import pytest

from tests.agent.harness import play
from tests.tools.sandbox.levels import build_sandbox, find_reason
from tests.trusted_folders import trust
from yourtool.agent.hooks.hook import build_hook
from yourtool.agent.hooks.hooks import Hooks
from yourtool.agent.tool_servers import build_environments
from yourtool.events.deltas import Notice
from yourtool.events.hooks import HookRan
from yourtool.providers.scripted import Scripted, calls, says
from yourtool.settings.config import Config, Mode
from yourtool.settings.hook_config import HookConfig
from yourtool.settings.sandbox_config import SandboxLevel

LEVELS = (SandboxLevel.FULL, SandboxLevel.LANDLOCK)
CANARY = "sk-ant-canary-0123456789abcdefghij"


@pytest.fixture(autouse=True)
def measured_levels():
    """Measure the machine before a test, whose event loop must not block."""
    for level in LEVELS:
        find_reason(level)


async def run(bench, level, event, command, *, seconds=10, source="project", **settings):
    """Play a turn with one hook and one edit; return the events and the text for the model."""
    hook = build_hook(HookConfig(event, command, "", seconds), source)
    (bench.workspace / "src").mkdir(exist_ok=True)  # Landlock cannot add files next to a protected
    model = Scripted([calls("write_file", path="a.txt", content="a\n"), says("Done.")])
    hooks, built = Hooks([hook]), build_environments(Config())
    trust(bench.workspace)
    options = {"hooks": hooks, "environments": built}
    session = await bench.session(model, settings=options, mode=Mode.AUTO)
    place = session._env.place
    readable = place.workspace.readable
    place.sandbox = build_sandbox(bench.workspace, level, readable=readable, **settings)
    events = await play(session.send("go"))
    await session.close()
    return events, "\n".join(each.text for each in session.state.messages)


def outcomes(events):
    return [(each.exit_code, each.verdict) for each in events if isinstance(each, HookRan)]


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.req("T9")
async def test_hook_changes_the_workspace_and_nothing_outside(bench, level, tmp_path):
    outside = tmp_path / "outside.txt"
    command = f"echo in > src/inside.txt; echo out > {outside}; exit 0"
    events, _ = await run(bench, level, "PostToolUse", command)
    assert outcomes(events) == [(0, "none")]
    assert (bench.workspace / "src/inside.txt").read_text() == "in\n"
    assert not outside.exists()


async def test_hook_of_the_user_runs_outside_with_all_variables_but_keys_of_providers(
    bench, tmp_path, monkeypatch
):
    monkeypatch.setenv("ANTHROPIC_API_KEY", CANARY)
    monkeypatch.setenv("MY_TOKEN", "mine")
    outside = tmp_path / "outside.txt"
    events, _ = await run(
        bench, SandboxLevel.FULL, "PostToolUse", f"env > {outside}", source="user"
    )
    assert outcomes(events) == [(0, "none")]
    assert CANARY not in outside.read_text() and "MY_TOKEN=mine\n" in outside.read_text()


@pytest.mark.parametrize(
    "command", ["./format.sh", "sh format.sh", "bin/format", "format", "true | format"]
)
async def test_hook_of_the_user_that_runs_what_models_can_write_is_in_the_sandbox(
    bench, tmp_path, monkeypatch, command
):
    outside = tmp_path / "outside.txt"
    monkeypatch.setenv("PATH", f"{bench.workspace}/bin:{os.environ['PATH']}")
    (bench.workspace / "bin").mkdir()
    for name in ("format.sh", "bin/format"):
        (bench.workspace / name).write_text(f"#!/bin/sh\ntouch src/in {outside} 2>&1\ntrue\n")
        (bench.workspace / name).chmod(0o700)
    events, _ = await run(bench, SandboxLevel.FULL, "PostToolUse", command, source="user")
    assert outcomes(events) == [(0, "none")]
    assert (bench.workspace / "src/in").exists() and not outside.exists()


@pytest.mark.parametrize(
    ("source", "settings", "is_outside"),
    [
        ("user", {"outside": ("./touch.sh *",)}, True),
        ("user", {"outside": ("true *",)}, False),
        ("project", {"outside": ("touch *",)}, False),
        ("user", {"outside": ("./touch.sh *",), "require": "full"}, False),
    ],
)
async def test_setting_excepts_hooks_of_the_user_only(
    bench, tmp_path, source, settings, is_outside
):
    outside = tmp_path / "outside.txt"
    (bench.workspace / "touch.sh").write_text(f"#!/bin/sh\ntouch {outside}\n")
    (bench.workspace / "touch.sh").chmod(0o700)
    command = "./touch.sh now" if source == "user" else f"touch {outside}"
    await run(bench, SandboxLevel.FULL, "PostToolUse", command, source=source, **settings)
    assert outside.exists() == is_outside


@pytest.mark.parametrize(("source", "runs"), [("user", True), ("project", False)])
async def test_only_hooks_of_the_user_run_without_the_sandbox_that_is_missing(bench, source, runs):
    command = "touch src/ran"
    events, _ = await run(bench, SandboxLevel.NONE, "PostToolUse", command, source=source)
    assert (bench.workspace / "src/ran").exists() == runs
    assert outcomes(events) == [(0, "none") if runs else (None, "failed")]


@pytest.mark.parametrize("level", LEVELS)
async def test_hook_in_the_sandbox_denies_a_call(bench, level):
    command = "grep -q write_file && { echo 'not this file' >&2; exit 2; }"
    events, _ = await run(bench, level, "PreToolUse", command)
    assert outcomes(events) == [(2, "deny")]
    assert not (bench.workspace / "a.txt").exists()


@pytest.mark.parametrize("level", LEVELS)
async def test_hook_reaches_no_host(bench, level, tcp_port):
    command = (
        f"bash -c 'echo x > /dev/tcp/127.0.0.1/{tcp_port.number}' 2>/dev/null && exit 0; exit 9"
    )
    events, _ = await run(bench, level, "PostToolUse", command)
    assert outcomes(events) == [(9, "failed")]
    assert tcp_port.count == 0


@pytest.mark.parametrize("level", LEVELS)
async def test_hook_has_no_keys_in_its_environment(bench, level, monkeypatch):
    monkeypatch.setenv("ANTHROPIC_API_KEY", CANARY)
    monkeypatch.setenv("MY_TOKEN", CANARY)
    await run(
        bench, level, "PostToolUse", "env > src/env.txt; cat /proc/*/environ >> src/env.txt; true"
    )
    assert CANARY not in (bench.workspace / "src/env.txt").read_text("utf-8", "replace")


@pytest.mark.parametrize("level", LEVELS)
async def test_hook_that_hangs_is_stopped_with_what_it_started(bench, level):
    seconds = f"600.{random.randrange(10**9)}"
    command = f"sleep {seconds} & setsid sleep {seconds} & touch src/started; sleep {seconds}"
    events, _ = await run(bench, level, "PostToolUse", command, seconds=2)
    [(code, verdict)] = outcomes(events)
    assert (code, verdict) == (None, "failed")
    assert [each for each in events if isinstance(each, Notice) and each.level == "warning"]
    assert (bench.workspace / "src/started").exists()
    while find_processes(seconds):
        await asyncio.sleep(0.02)


def find_processes(argument):
    """Return the processes that were started with an argument and have not ended."""
    found = []
    for entry in Path("/proc").iterdir():
        with suppress(OSError):
            if entry.name.isdigit() and argument in (entry / "cmdline").read_text():
                found.append(entry.name)
    return found


@pytest.mark.parametrize("level", LEVELS)
async def test_transcript_can_be_read_in_the_sandbox(bench, level):
    program = (
        "import json, sys; given = json.load(sys.stdin);"
        " open('src/seen.txt', 'w').write(open(given['transcript_path']).read())"
    )
    command = f'{sys.executable} -S -c "{program}"'
    events, _ = await run(bench, level, "PreToolUse", command)
    assert outcomes(events) == [(0, "none")]
    assert "go" in (bench.workspace / "src/seen.txt").read_text()
