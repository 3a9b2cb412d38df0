"""An approval prompt offers to allow all that stays in the sandbox, in the folder."""

import pytest
from msgspec.structs import replace

from tests.agent.harness import ALLOW, DENY, Checked, User, play
from tests.tools.protection.test_safety_copies import build_repository, make_dirty
from tests.tools.sandbox.levels import build_sandbox, find_reason
from tests.trusted_folders import trust
from yourtool.agent.session.project.project_trust import ProjectTrust, trust_store
from yourtool.events.deltas import Notice
from yourtool.events.tools import ToolCompleted
from yourtool.paths import resolve_paths
from yourtool.permissions.rules import Rule, RuleSet
from yourtool.permissions.trust import find_folder
from yourtool.providers.scripted import Scripted, calls, says
from yourtool.settings.config import Mode
from yourtool.settings.sandbox_config import SandboxLevel

FULL, NONE, LANDLOCK = SandboxLevel.FULL, SandboxLevel.NONE, SandboxLevel.LANDLOCK
CONTAIN = replace(ALLOW, allows_contained=True)


@pytest.fixture(autouse=True)
def measured_level():
    """Measure the machine before a test, whose event loop must not block."""
    find_reason(FULL)


async def ask(bench, *answers, commands=("touch made",), level=FULL, settings=None, **options):
    """Run commands of a model; return the user and the events."""
    user = User(*answers)
    script = [calls("shell", command=each) for each in commands]
    adapter = Checked(Scripted([*script, says("done")]))
    session = await bench.session(adapter, confirm=user, **options)
    session._env.place.sandbox = build_sandbox(bench.workspace, level, **(settings or {}))
    events = await play(session.send("go"))
    await session.close()
    return user, events


def allow_contained(bench):
    trust_store(resolve_paths()).allow_contained(find_folder(bench.workspace))


def is_allowed(bench):
    return ProjectTrust(bench.workspace).examine().allows_contained


async def test_nothing_that_stays_in_the_sandbox_asks_after_the_answer(bench):
    commands = ("touch made", "echo x > y", "sh -c 'rm y'")
    user, events = await ask(bench, CONTAIN, commands=commands)
    [asked] = user.asked
    assert asked.sandbox.folder == str(bench.workspace)
    folder = f"need no approval in {bench.workspace} from now on."
    assert any(isinstance(each, Notice) and each.text.endswith(folder) for each in events)
    user, _ = await ask(bench, DENY, commands=("touch another",))
    assert user.asked == [], "it is stored"
    assert (bench.workspace / "another").exists()


async def test_offer_comes_with_each_question_until_it_is_answered(bench):
    user, _ = await ask(bench, ALLOW, commands=("touch a", "touch b"))
    assert [each.sandbox is not None for each in user.asked] == [True, True]
    assert not is_allowed(bench)


@pytest.mark.parametrize(
    ("level", "settings"),
    [(LANDLOCK, {}), (NONE, {}), (FULL, {"hosts": ("example.org",)})],
)
async def test_weaker_sandbox_offers_nothing_and_the_answer_does_not_count(bench, level, settings):
    user, _ = await ask(bench, DENY, level=level, settings=settings)
    assert user.asked[0].sandbox is None
    allow_contained(bench)
    user, _ = await ask(bench, DENY, level=level, settings=settings)
    assert len(user.asked) == 1


@pytest.mark.parametrize(
    ("command", "options"),
    [
        ("touch .git/hooks/pre-commit", {}),
        ("cat .env", {}),
        ("touch made", {"rules": RuleSet(ask=(Rule.parse("shell(touch *)"),))}),
        ("touch made", {"settings": {"outside": ("touch *",)}}),
        ("git reset --hard", {}),
    ],
)
async def test_command_that_the_answer_does_not_cover_offers_none_and_still_asks(
    bench, command, options
):
    if command.startswith("git"):
        make_dirty(build_repository(bench.workspace))
    user, _ = await ask(bench, DENY, commands=(command,), **options)
    assert user.asked[0].sandbox is None
    allow_contained(bench)
    user, _ = await ask(bench, DENY, commands=(command,), **options)
    assert len(user.asked) == 1


async def test_rules_that_deny_and_plan_mode_apply_despite_the_answer(bench):
    allow_contained(bench)
    for options in ({"rules": RuleSet(deny=(Rule.parse("shell"),))}, {"mode": Mode.PLAN}):
        user, events = await ask(bench, ALLOW, **options)
        assert user.asked == []
        assert not any(isinstance(each, ToolCompleted) for each in events)


async def test_changed_instructions_do_not_end_the_answer(bench):
    file = bench.workspace / "AGENTS.md"
    file.write_text("Use tabs.\n")
    trust(bench.workspace)
    allow_contained(bench)
    file.write_text("Use spaces.\n")
    user, _ = await ask(bench, DENY)
    assert user.asked == []


async def test_nobody_is_offered_it_without_a_person_but_the_stored_answer_counts(bench):
    user, _ = await ask(bench, DENY, interactive=False)
    assert user.asked[0].sandbox is None
    allow_contained(bench)
    user, _ = await ask(bench, DENY, interactive=False)
    assert user.asked == []


async def test_answer_that_cannot_be_stored_allows_once(bench, home):
    def break_store(_):
        (home / "trust.toml").write_text("damaged")
        return CONTAIN

    user, events = await ask(bench, break_store, DENY, commands=("touch a", "touch b"))
    assert len(user.asked) == 2
    start = "Allowed once; the answer is not stored: "
    assert any(isinstance(each, Notice) and each.text.startswith(start) for each in events)


async def test_answer_is_about_the_folder_that_was_shown(bench):
    (bench.workspace / ".git").mkdir()

    def move_the_repository(_):
        (bench.workspace / ".git").rename(bench.workspace.parent / ".git")
        return CONTAIN

    await ask(bench, move_the_repository)
    [folder] = trust_store(resolve_paths()).load_contained()
    assert folder.path == str(bench.workspace)
