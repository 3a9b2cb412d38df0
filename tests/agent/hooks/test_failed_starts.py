"""A hook that did not run is reported and decides nothing."""

import shutil

import pytest

from tests.agent.hooks.scripts import ran, run, write
from yourtool.agent.hooks.hook import build_hook
from yourtool.events.deltas import Notice
from yourtool.settings.hook_config import HookConfig


async def play_hook(bench, command, seconds=10):
    """Play a turn with one hook and one edit; return its fact and the warnings."""
    hook = build_hook(HookConfig("PreToolUse", command, "Write", seconds), "user")
    _, events = await run(bench, [hook], write())
    [fact] = ran(events)
    warnings = [each.text for each in events if isinstance(each, Notice)]
    return fact, [each for each in warnings if "hook" in each.lower()]


@pytest.mark.parametrize(
    "command",
    [
        "python3 missing.py",
        'python3 "$CLAUDE_PROJECT_DIR"/.hooks/missing.py',
        "python3 ~/missing.py",
        "timeout 5 python3 -u /nonexistent/missing.py --strict",
        "sh missing.sh",
        "perl missing.pl",
        "awk -f missing.awk",
        "bash missing.sh",
        "cat | nowhere-program",
        "./missing.sh",
        "if true",
        "echo 'x",
    ],
)
async def test_hook_that_did_not_run_decides_nothing_and_is_reported(bench, command):
    if (name := command.split()[0]) == "perl" and shutil.which(name) is None:
        pytest.skip("there is no Perl")
    fact, warnings = await play_hook(bench, command)
    assert fact.verdict == "failed"
    assert (bench.workspace / "a.txt").exists()
    assert len(warnings) == 1 and "failed" in warnings[0]


async def test_report_names_the_missing_file(bench):
    fact, [warning] = await play_hook(bench, "python3 hooks/missing.py")
    assert fact.exit_code == 2
    assert "there is no file `hooks/missing.py`" in warning


async def test_hook_that_times_out_decides_nothing_and_is_reported(bench):
    fact, [warning] = await play_hook(bench, "sleep 60", seconds=0.2)
    assert fact.verdict == "failed" and "it was stopped after 0.2 s" in warning
    assert (bench.workspace / "a.txt").exists()


@pytest.mark.parametrize(
    "reason",
    ["cannot open a.txt", "a.txt: No such file", "guard.py says: cannot open it", "syntax error"],
)
async def test_reason_of_a_hook_that_ran_is_a_denial_whatever_it_says(bench, tmp_path, reason):
    script = tmp_path / "guard.py"
    script.write_text(f"import sys\nprint({reason!r}, file=sys.stderr)\nsys.exit(2)\n")
    fact, warnings = await play_hook(bench, f"cd {tmp_path} && python3 guard.py --strict")
    assert fact.verdict == "deny" and fact.reason == reason and not warnings
    assert not (bench.workspace / "a.txt").exists()
