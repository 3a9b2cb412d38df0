"""Which files a check is about, and how much of its output counts."""

import pytest

from tests.tools.sandbox.levels import build_sandbox, find_reason
from tests.tools.test_background import is_alive
from yourtool.settings.agent_config import CheckConfig
from yourtool.settings.sandbox_config import SandboxLevel
from yourtool.tools.commands.check import (
    MAX_BYTES,
    CheckResult,
    format_results,
    matching_files,
    run_check,
)
from yourtool.tools.processes.output import HEAD_TAIL_BYTES


@pytest.mark.parametrize(
    ("globs", "expected"),
    [
        ((), ["a.py", "src/b.py", "c.md"]),
        (("*.py",), ["a.py", "src/b.py"]),
        (("src/**", "*.md"), ["src/b.py", "c.md"]),
    ],
)
def test_globs_choose_files_as_in_gitignore(globs, expected):
    check = CheckConfig(run=("true",), files=globs)
    assert matching_files(check, ["a.py", "src/b.py", "c.md"]) == expected


@pytest.mark.parametrize("count", [1, 3, 200])
def test_results_of_all_checks_together_are_bounded(count):
    results = [CheckResult(f"check{each}", "ok", "é" * 9_000) for each in range(count)]
    assert len(format_results(results, ["file"] * 9).encode()) <= MAX_BYTES


async def test_output_of_a_check_has_no_control_sequences(contexts):
    check = CheckConfig(run=("printf", "\\033[31mwrong\\033[0m type\\033]0;title\\007\\n"))
    result = await run_check("types", check, ["a"], contexts())
    assert result.output == "wrong type"


@pytest.mark.parametrize(
    "command",
    [
        "yes",
        "trap '' TERM; while :; do sleep .05; done",
        "(setsid sleep 60 & echo $! > pid); sleep 60",
    ],
    ids=["flood", "ignores SIGTERM", "forks away"],
)
async def test_check_that_never_ends_is_stopped_with_its_processes(contexts, root, command):
    check = CheckConfig(run=("sh", "-c", command), seconds=0.5)
    result = await run_check("slow", check, ["a"], contexts())
    assert result.status.startswith("stopped after 0.5 s")
    assert len(result.output) <= 3 * HEAD_TAIL_BYTES
    if (pid := root / "pid").exists() and pid.read_text().strip():
        assert not is_alive(int(pid.read_text()))


async def test_check_runs_in_the_sandbox(root, contexts, tmp_path):
    outside = tmp_path / "outside"
    check = CheckConfig(run=("sh", "-c", f"touch inside; touch {outside}"))
    context = contexts(sandbox=build_sandbox(root, SandboxLevel.FULL))
    await run_check("write", check, ["a"], context)
    assert (root / "inside").exists()
    assert not outside.exists()


@pytest.fixture
def measured_level():
    """Measure the machine before a test, whose event loop must not block."""
    find_reason(SandboxLevel.LANDLOCK)


@pytest.mark.usefixtures("measured_level")
async def test_check_does_not_run_below_the_required_level(root, contexts):
    sandbox = build_sandbox(root, SandboxLevel.LANDLOCK, require="full")
    check = CheckConfig(run=("touch", "inside"))
    result = await run_check("write", check, ["a"], contexts(sandbox=sandbox))
    assert "too weak" in result.status
    assert not (root / "inside").exists()


async def test_check_does_not_run_without_the_sandbox_that_is_switched_on(root, contexts):
    check = CheckConfig(run=("touch", "inside"))
    context = contexts(sandbox=build_sandbox(root, SandboxLevel.NONE))
    result = await run_check("write", check, ["a"], context)
    assert result.status.startswith("not run, because there is no sandbox: bubblewrap")
    assert result.status.endswith("the test does not use it")
    assert not (root / "inside").exists()


async def test_check_without_a_program_is_named(contexts):
    result = await run_check("empty", CheckConfig(), ["a"], contexts())
    assert "`run`" in result.status
