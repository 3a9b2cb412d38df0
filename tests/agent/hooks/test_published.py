"""Hooks in the form in which they are published for other agents have the same effect here."""

import sys
from pathlib import Path

import pytest

from tests.agent.hooks.scripts import ran, results, run, write
from yourtool.agent.hooks.hook import build_hook
from yourtool.events.files import FilesChanged
from yourtool.providers.scripted import calls, says
from yourtool.settings.hook_config import HookConfig

PUBLISHED = Path(__file__).with_name("published")


def hook(event, name, matcher=""):
    file = PUBLISHED / name
    command = f"{sys.executable} {file}" if file.suffix == ".py" else str(file)
    return build_hook(HookConfig(event, command, matcher), "user")


@pytest.mark.parametrize(
    ("command", "reason"),
    [
        ("grep -r x .", "use rg, not grep"),
        ("rm -rf build", "no rm -rf"),
        ("git commit -m x --no-verify", "commit with the checks"),
        ("echo fine", ""),
    ],
)
async def test_guard_of_commands_refuses_with_its_reason(bench, command, reason):
    _, events = await run(bench, [hook("PreToolUse", "guard.py", "Bash")], calls(
        "shell", command=command))  # fmt: skip
    [result] = results(events)
    if reason:
        assert reason in result
        assert ran(events)[0].verdict == "deny"
    else:
        assert result.startswith("fine")


async def test_formatter_changes_the_file_and_the_next_edit_applies_to_it(bench):
    formatter = hook("PostToolUse", "format.sh", "Edit|Write|MultiEdit")
    edit = calls("edit_file", path="a.py", edits=[{"old": "x = 1\n", "new": "y = 2\n"}])
    _, events = await run(bench, [formatter], write("a.py", "x   =  1   \n"), edit)
    assert (bench.workspace / "a.py").read_text() == "y = 2\n"
    changes = [each for each in events if isinstance(each, FilesChanged)]
    assert len(changes) == 3  # the write, what the formatter made of it, the edit
    assert changes[0].tool_use_id == changes[1].tool_use_id


async def test_formatter_leaves_other_files_alone(bench):
    formatter = hook("PostToolUse", "format.sh", "Edit|Write|MultiEdit")
    await run(bench, [formatter], write("a.txt", "x   =  1   \n"))
    assert (bench.workspace / "a.txt").read_text() == "x   =  1   \n"


async def test_gate_continues_the_turn_while_the_tests_fail(bench):
    (bench.workspace / "checks.py").write_text("assert open('a.txt').read() == 'right\\n'\n")
    gate = hook("Stop", "test_gate.sh")
    replies = [write("a.txt", "wrong\n"), says("Done."), write("a.txt", "right\n")]
    session, events = await run(bench, [gate], *replies)
    assert [each.verdict for each in ran(events)] == ["block", "none"]
    assert any("The tests fail" in each.text for each in session.state.conversation)
    assert (bench.workspace / "a.txt").read_text() == "right\n"


@pytest.mark.parametrize("path", [".env", "secrets/key.txt"])
async def test_protected_files_are_refused_by_json(bench, path):
    _, events = await run(bench, [hook("PreToolUse", "protect.py", "Edit|Write")], write(path, "x"))
    assert "is protected" in results(events)[0]
    assert not (bench.workspace / path).exists()
