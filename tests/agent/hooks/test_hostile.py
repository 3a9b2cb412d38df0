"""Hooks that break the form or misbehave are contained: the turn continues, with a warning."""

import asyncio
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.agent.harness import DENY, User, play
from tests.agent.hooks.scripts import decide, ran, results, run, write
from yourtool.agent.hooks.execution import MAX_OUTPUT
from yourtool.agent.hooks.hook import build_hook
from yourtool.agent.hooks.hooks import Hooks
from yourtool.errors import UsageError
from yourtool.events.deltas import Notice
from yourtool.events.turns import TurnCancelled
from yourtool.foundation.masking import Mask
from yourtool.providers.scripted import Scripted, calls, says
from yourtool.settings.config import Mode
from yourtool.settings.hook_config import HookConfig

CANARY = "sk-ant-CANARY-4711-do-not-leak"


def warnings(events):
    return [each.text for each in events if isinstance(each, Notice) and each.level == "warning"]


HALF = {
    "half an object": 'print(\'{"decision": "blo\')',
    "an invalid value": 'print(\'{"hookSpecificOutput": {"permissionDecision": "maybe"}}\')',
    "a number for an object": "print('{\"hookSpecificOutput\": 7}')",
    "a list for a text": 'print(\'{"decision": "block", "reason": ["x"]}\')',
    "deep nesting": "print('{\"a\":' + '[' * 100_000)",
    "bytes that are no text": "sys.stdout.buffer.write(b'{\\xff\\xfe')",
    "exit code 1": "sys.stderr.write('oh no'); sys.exit(1)",
    "a signal": "os.kill(os.getpid(), 9)",
    "a missing program": "os.execvp('/does/not/exist', ['x'])",
}


@pytest.mark.sample(3)
@pytest.mark.parametrize("body", HALF.values(), ids=HALF)
async def test_what_is_not_understood_decides_nothing_and_warns(bench, scripts, body):
    hook = scripts.hook("PreToolUse", body)
    _, events = await run(bench, [hook], write())
    assert [each.verdict for each in ran(events)] == ["failed"]
    assert any(hook.name in each for each in warnings(events))
    assert (bench.workspace / "a.txt").exists()


async def test_command_that_does_not_exist_is_a_warning(bench):
    hook = build_hook(HookConfig("PreToolUse", "no-such-program-4711 --x"), "user")
    _, events = await run(bench, [hook], write())
    [fact] = ran(events)
    assert fact.verdict == "failed"
    assert (bench.workspace / "a.txt").exists()


async def test_sleeping_hook_is_stopped_at_its_timeout(bench, scripts):
    hook = scripts.hook("PreToolUse", "time.sleep(600)", timeout=0.3)
    _, events = await run(bench, [hook], write())
    [fact] = ran(events)
    assert fact.exit_code is None
    assert "stopped after 0.3 s" in fact.reason
    assert results(events)[0].startswith("Created")


@pytest.mark.remaining
async def test_children_of_a_hook_end_with_it(bench, scripts, tmp_path):
    pids = tmp_path / "pids"
    body = (
        "import signal\n"
        "for new in (False, True):\n"
        "    child = subprocess.Popen(['sleep', '600'], start_new_session=new)\n"
        f"    open({str(pids)!r}, 'a').write(f'{{child.pid}}\\n')\n"
        "if os.fork() == 0:\n"
        f"    open({str(pids)!r}, 'a').write(f'{{os.getpid()}}\\n')\n"
        "    signal.signal(signal.SIGTERM, signal.SIG_IGN)\n"
        "    time.sleep(600)\n"
    )
    await run(bench, [scripts.hook("PreToolUse", body)], write())
    for pid in map(int, await asyncio.to_thread(lambda: pids.read_text().split())):
        state = Path(f"/proc/{pid}/stat")
        assert not os.path.exists(state) or " Z " in state.read_text()  # noqa: PTH110, ASYNC240


async def test_flood_of_output_is_read_and_cut(bench, scripts):
    body = (
        "for _ in range(50):\n"
        "    sys.stdout.write('x' * 2**20)\n"
        "sys.stderr.write('y' * 2**20)\n"
        "sys.exit(2)\n"
    )
    _, events = await run(bench, [scripts.hook("PreToolUse", body)], write())
    [fact] = ran(events)
    assert fact.verdict == "deny"
    assert len(fact.reason) <= 2_000
    assert len(results(events)[0]) < MAX_OUTPUT


async def test_object_that_is_longer_than_what_is_read_decides_nothing(bench, scripts):
    body = 'print(\'{"reason": "\' + \'x\' * 100_000 + \'", "decision": "deny"}\')'
    _, events = await run(bench, [scripts.hook("PreToolUse", body)], write())
    assert "more than is read" in ran(events)[0].reason


async def test_hook_that_reads_no_input_gets_large_input(bench, scripts):
    hook = build_hook(HookConfig("PostToolUse", "true"), "user")
    _, events = await run(bench, [hook], write(content="x\n" * 100_000))
    assert ran(events)[0].exit_code == 0


async def test_stop_ends_a_running_hook_and_the_turn(bench, scripts):
    hook = scripts.hook("PreToolUse", "open('started', 'w'); time.sleep(600)")
    model = Scripted([write(), says("never")])
    session = await bench.session(model, settings={"hooks": Hooks([hook])}, mode=Mode.AUTO)
    playing = asyncio.create_task(play(session.send("go")))
    while not os.path.exists(bench.workspace / "started"):  # noqa: PTH110, ASYNC240
        await asyncio.sleep(0.02)
    assert session.cancel()
    events = await playing
    assert isinstance(events[-1], TurnCancelled)
    stored = ran(await bench.store.read(session.id))
    assert [(each.exit_code, each.verdict) for each in stored] == [(None, "failed")]
    assert not (bench.workspace / "a.txt").exists()


async def test_hook_has_no_key_in_its_environment_and_none_reaches_the_model(
    bench, scripts, monkeypatch
):
    monkeypatch.setenv("ANTHROPIC_API_KEY", CANARY)
    hook = scripts.hook(
        "PreToolUse", f"sys.stderr.write(' '.join(sorted(os.environ))+{CANARY!r}); exit(2)"
    )
    _, events = await run(bench, [hook], write(), mask=Mask([CANARY]))
    assert CANARY not in results(events)[0]
    assert "ANTHROPIC_API_KEY" not in results(events)[0]
    assert all(CANARY not in each.reason for each in ran(events))


async def test_turn_in_hooks_of_hooks_is_refused_unless_it_has_no_hooks(
    bench, scripts, monkeypatch
):
    hook = scripts.hook("UserPromptSubmit", "print(os.environ['YOURTOOL_HOOK_DEPTH'])")
    monkeypatch.setenv("YOURTOOL_HOOK_DEPTH", "2")
    session, _ = await run(bench, [hook])
    assert "3" in session.state.conversation[0].text
    monkeypatch.setenv("YOURTOOL_HOOK_DEPTH", "3")
    with pytest.raises(UsageError, match="Hooks started `yourtool` 3 times in one another"):
        await play(session.send("again"))
    assert len(ran(await bench.store.read(session.id))) == 1
    await run(bench, [])


@pytest.mark.remaining
def test_hook_that_starts_the_program_does_so_three_times(tmp_path):
    home, count = tmp_path / ".yourtool", tmp_path / "count"
    home.mkdir(mode=0o700)
    again = f"echo x >> {count}; {sys.executable} -m yourtool -p more -m demo:tour >&2"
    hook = f'[[hooks]]\nevent = "UserPromptSubmit"\ncommand = {json.dumps(again)}\n'
    (home / "config.toml").write_text(f"{hook}[sandbox]\nenabled = false\n")
    command = [sys.executable, "-m", "yourtool", "-p", "hi", "-m", "demo:tour"]
    env = {"HOME": str(tmp_path), "PATH": os.environ["PATH"]}
    (tmp_path / "work").mkdir()
    done = subprocess.run(command, cwd=tmp_path / "work", env=env, capture_output=True, text=True)
    assert "3 times in one another" in done.stderr, done.stderr
    assert count.read_text() == "x\n" * 3


async def test_hook_of_a_project_allows_and_changes_nothing(bench, scripts):
    user = User(DENY)
    changed = {"file_path": "b.txt", "content": "y"}
    hooks = [
        scripts.answer(event, decide("allow", updatedInput=changed), source="project")
        for event in ("PreToolUse", "PermissionRequest")
    ]
    _, events = await run(bench, hooks, write(), mode=Mode.ASK, confirm=user)
    assert [each.preview.paths for each in user.asked] == [("a.txt",)]
    assert not list(bench.workspace.iterdir())
    assert any("which only yours can" in each for each in warnings(events))


async def test_hook_of_a_project_denies_asks_and_adds_context(bench, scripts):
    more = {"hookSpecificOutput": {"additionalContext": "use tabs"}}
    deny = scripts.answer("PreToolUse", decide("deny"), "Write", source="project")
    context = scripts.answer("PostToolUse", more, "Bash", source="project")
    _, events = await run(bench, [deny, context], write(), calls("shell", command="true"))
    assert "refuses it" in results(events)[0]
    assert "use tabs" in results(events)[1]
