"""Calls that a sandbox encloses: when they ask, and how they leave it."""

import pytest

from tests.agent.harness import ALLOW, DENY, Checked, User, names, play
from tests.tools.sandbox.levels import build_sandbox, find_reason
from yourtool.config import Mode
from yourtool.effects import Decision, Verdict
from yourtool.errors import ToolError
from yourtool.events.tools import ToolCompleted
from yourtool.messages.invariants import validate_session
from yourtool.permissions.rules import Rule, RuleSet
from yourtool.providers.scripted import Scripted, calls, says
from yourtool.sandbox_config import SandboxLevel
from yourtool.tools.shell import shell

FULL, NONE = SandboxLevel.FULL, SandboxLevel.NONE
BLOCKED = "sh tidy.sh"
"""What it changes is not visible in the command."""


@pytest.fixture(autouse=True)
def measured_level():
    """Measure the machine before a test, whose event loop must not block."""
    find_reason(FULL)


async def run(bench, level, line, user, *, settings=None, arguments=None, **options):
    """Play a call of `shell`; return its result and the names of the facts."""
    adapter = Checked(Scripted([calls("shell", command=line, **(arguments or {})), says("done")]))
    session = await bench.session(adapter, confirm=user, **options)
    session._env.sandbox = build_sandbox(bench.workspace, level, **(settings or {}))
    events = await play(session.send("go"))
    assert validate_session(session.state.messages) == []
    await session.close()
    found = [each for each in events if isinstance(each, ToolCompleted)]
    blocks = found[-1].message.content[0].content if found else ()
    return "\n".join(block.text for block in blocks), names(events)


@pytest.fixture
def protected(bench):
    (bench.workspace / "AGENTS.md").write_text("be kind\n")
    (bench.workspace / "tidy.sh").write_text("rm AGENTS.md\n")
    return bench.workspace / "AGENTS.md"


@pytest.mark.parametrize("mode", [Mode.ASK, Mode.AUTO])
async def test_blocked_command_runs_outside_only_after_a_new_question(bench, protected, mode):
    user = User(ALLOW)
    said, facts = await run(bench, FULL, BLOCKED, user, mode=mode)
    retry = user.asked[-1]
    assert len(user.asked) == (2 if mode is Mode.ASK else 1)
    assert retry.preview.surroundings == "outside the sandbox, with all your rights"
    assert not retry.preview.protected
    assert retry.preview.editable is None
    assert retry.reason.startswith("it failed in the sandbox: the sandbox protects files")
    assert retry.rules == ()
    assert not protected.exists()
    assert "[The user allowed this second run outside the sandbox.]" in said
    assert facts.count("tool.called") == 1
    assert facts.count("tool.completed") == 1


async def test_command_whose_sandbox_cannot_be_built_is_offered_outside(bench, tmp_path):
    (bench.workspace / ".git").symlink_to(tmp_path)
    user = User(ALLOW)
    said, _ = await run(bench, FULL, "echo ran", user)
    assert user.asked[1].reason.endswith("`.git` is a symbolic link, so it cannot be protected")
    assert said.startswith("ran\n")
    user = User(ALLOW, DENY)
    said, _ = await run(bench, FULL, "touch ran", user)
    assert not (bench.workspace / "ran").exists()


@pytest.mark.parametrize("arguments", [{}, {"background": True}, {"terminal": True}])
async def test_no_way_to_run_a_command_leaves_the_sandbox(bench, protected, arguments):
    line = "echo level:$YOURTOOL_SANDBOX > out; sh tidy.sh"
    await run(bench, FULL, line, User(ALLOW, DENY), arguments=arguments)
    assert (bench.workspace / "out").read_text() == "level:full\n"
    assert protected.exists()


def test_arguments_of_a_command_are_known_and_none_is_about_the_sandbox():
    known = {"command", "directory", "timeout_seconds", "background", "terminal"}
    assert set(shell.definition.input_schema["properties"]) == known
    for name in ("sandbox", "dangerouslyDisableSandbox", "with_escalated_permissions"):
        with pytest.raises(ToolError, match="unknown field"):
            shell.parse({"command": "ls", name: False})


async def test_changed_command_is_no_answer_to_the_question_about_leaving_the_sandbox(
    bench, protected
):
    changed = Decision(verdict=Verdict.EDIT, edited_input={"command": "rm AGENTS.md"})
    user = User(ALLOW, changed)
    said, _ = await run(bench, FULL, BLOCKED, user)
    assert user.asked[1].preview.editable is None
    assert protected.exists()
    assert "The user declined to run it outside the sandbox." in said


async def test_declined_command_stays_in_the_sandbox_and_the_note_reaches_the_model(
    bench, protected
):
    user = User(ALLOW, Decision(verdict=Verdict.DENY, note="keep it"))
    said, _ = await run(bench, FULL, BLOCKED, user)
    assert protected.exists()
    assert "The user declined to run it outside the sandbox. Their note: keep it" in said
    assert "Probable cause: the sandbox protects files" in said


async def test_run_without_a_terminal_never_leaves_the_sandbox(bench, protected):
    user = User(ALLOW)
    said, _ = await run(bench, FULL, BLOCKED, user, mode=Mode.AUTO, interactive=False)
    assert user.asked == []
    assert protected.exists()
    assert "Probable cause" in said


async def test_command_that_fails_for_another_reason_asks_nothing(bench):
    user = User(ALLOW)
    said, _ = await run(bench, FULL, "exit 3", user, mode=Mode.AUTO)
    assert user.asked == []
    assert said == "(no output)\n[exit code 3]"


async def test_question_shows_the_measured_level(bench):
    for level, text in ((FULL, "full sandbox; no network"), (NONE, "no sandbox (full: ")):
        user = User(DENY)
        await run(bench, level, "true", user)
        assert user.asked[0].preview.surroundings.startswith(text)


async def test_missing_required_level_asks_despite_rules_and_modes(bench):
    rules = RuleSet(allow=(Rule.parse("shell"),))
    for settings, asked in (({"require": "full"}, 1), ({"require": "none"}, 0)):
        user = User(ALLOW)
        await run(bench, NONE, "true", user, settings=settings, mode=Mode.AUTO, rules=rules)
        assert len(user.asked) == asked


async def test_commands_run_unasked_in_a_full_sandbox_if_the_setting_allows_it(bench):
    user = User(DENY)
    said, _ = await run(bench, FULL, "echo ran", user, settings={"auto_allow": True})
    assert user.asked == []
    assert "ran" in said


async def test_auto_allow_allows_nothing_without_the_full_sandbox(bench):
    user = User(DENY)
    await run(bench, NONE, "echo ran", user, settings={"auto_allow": True})
    assert len(user.asked) == 1


async def test_deny_rules_and_plan_mode_apply_in_the_sandbox(bench):
    denied = RuleSet(deny=(Rule.parse("shell(touch*)"),))
    for options in ({"rules": denied}, {"mode": Mode.PLAN}):
        user = User(ALLOW)
        await run(bench, FULL, "touch made", user, settings={"auto_allow": True}, **options)
        assert user.asked == []
        assert not (bench.workspace / "made").exists()


async def test_command_of_the_user_is_not_in_the_sandbox(bench):
    session = await bench.session(Checked(Scripted([says("never")])))
    session._env.sandbox = build_sandbox(bench.workspace, FULL)
    [fact] = [
        each
        for each in await play(session.run_shell("echo level:$YOURTOOL_SANDBOX", shared=True))
        if names([each]) == ["shell.ran"]
    ]
    assert "level:\n" in fact.message.text
    await session.close()
