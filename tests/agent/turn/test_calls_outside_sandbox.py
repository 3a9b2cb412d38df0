"""Commands that `[sandbox] outside` excepts: they run outside, and only as they are named."""

import pytest

from tests.agent.harness import ALLOW, DENY, User
from tests.agent.turn.test_sandboxed_calls import run
from tests.tools.sandbox.levels import WITHOUT_ANY, find_reason
from yourtool.effects import Decision, Verdict
from yourtool.permissions.rules import Rule, RuleSet
from yourtool.settings.config import Mode
from yourtool.settings.sandbox_config import SandboxLevel

FULL, NONE = SandboxLevel.FULL, SandboxLevel.NONE
SHOW = "sh level.sh"
OUTSIDE = "outside the sandbox, with all your rights"


@pytest.fixture(autouse=True)
def measured_level():
    """Measure the machine before a test, whose event loop must not block."""
    find_reason(FULL)


@pytest.fixture(autouse=True)
def script(bench):
    (bench.workspace / "level.sh").write_text("echo level:$YOURTOOL_SANDBOX:$1\n")


async def play(bench, line, user, *, outside=("sh level.sh *",), level=FULL, **options):
    """Return what a command printed."""
    settings = {"outside": outside, **options.pop("settings", {})}
    said, _ = await run(bench, level, line, user, settings=settings, **options)
    return said


async def test_named_command_runs_outside_and_the_question_says_so(bench):
    user = User(ALLOW)
    assert (await play(bench, f"{SHOW} it", user)).startswith("level::it\n")
    [asked] = user.asked
    assert asked.preview.surroundings == OUTSIDE
    assert not asked.preview.protected


@pytest.mark.parametrize("arguments", [{"background": True}, {"terminal": True}])
async def test_question_also_names_the_way_in_which_it_runs(bench, arguments):
    user = User(DENY)
    await play(bench, SHOW, user, arguments=arguments)
    assert user.asked[0].preview.surroundings.startswith(f"{OUTSIDE}; ")


async def test_line_with_another_part_stays_in_the_sandbox(bench):
    user = User(ALLOW)
    said = await play(bench, f"{SHOW} && true", user)
    assert user.asked[0].preview.surroundings == "full sandbox; no network"
    assert said.startswith("level:full:\n")


async def test_auto_allow_allows_nothing_outside(bench):
    user = User(ALLOW)
    await play(bench, SHOW, user, settings={"auto_allow": True})
    assert len(user.asked) == 1
    user = User(DENY)
    await play(bench, f"{SHOW} && true", user, settings={"auto_allow": True})
    assert user.asked == []


@pytest.mark.parametrize(("required", "asked"), [("full", 1), ("landlock", 1), ("none", 0)])
async def test_required_level_asks_about_a_command_outside(bench, required, asked):
    user = User(ALLOW)
    rules = RuleSet(allow=(Rule.parse("shell"),))
    settings = {"require": required}
    said = await play(bench, SHOW, user, settings=settings, mode=Mode.AUTO, rules=rules)
    assert len(user.asked) == asked
    assert said.startswith("level::")


async def test_rules_that_deny_and_plan_mode_apply_outside(bench):
    denied = RuleSet(deny=(Rule.parse("shell(sh*)"),))
    for options in ({"rules": denied}, {"mode": Mode.PLAN}):
        user = User(ALLOW)
        said = await play(bench, SHOW, user, **options)
        assert user.asked == []
        assert "level:" not in said


async def test_command_that_the_user_changed_is_judged_again(bench):
    for first, changed, level in ((SHOW, f"{SHOW}; true", "full"), (f"{SHOW}; true", SHOW, "")):
        edit = Decision(verdict=Verdict.EDIT, edited_input={"command": changed})
        said = await play(bench, first, User(edit, ALLOW))
        assert f"level:{level}:\n" in said


async def test_failure_outside_is_not_offered_again(bench):
    (bench.workspace / "level.sh").write_text("echo Read-only file system; exit 1\n")
    user = User(ALLOW)
    said = await play(bench, SHOW, user)
    assert len(user.asked) == 1
    assert "Probable cause" not in said


async def test_question_does_not_speak_of_a_sandbox_that_does_not_work(bench):
    user = User(DENY)
    await play(bench, SHOW, user, level=NONE)
    assert user.asked[0].preview.surroundings == ""
    assert user.asked[0].consequences.cautions == (f"no sandbox: {WITHOUT_ANY}",)
