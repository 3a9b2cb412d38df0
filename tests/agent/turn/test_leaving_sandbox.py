"""Calls that ask to leave the sandbox: the argument alone never does."""

import asyncio
import subprocess

import pytest

from tests.agent.harness import ALLOW, DENY, Checked, User, play
from tests.tools.sandbox.levels import build_sandbox, find_reason
from yourtool.effects import Decision, Verdict
from yourtool.events.tools import ToolCompleted, ToolFailed
from yourtool.permissions.rules import Rule, RuleSet
from yourtool.providers.scripted import Scripted, calls, says
from yourtool.settings.config import Mode
from yourtool.settings.sandbox_config import SandboxLevel

FULL, NONE = SandboxLevel.FULL, SandboxLevel.NONE
OUTSIDE = "outside the sandbox, with all your rights"
SHOW = "sh level.sh"


@pytest.fixture(autouse=True)
def script(bench):
    find_reason(FULL)  # before a test, whose event loop must not block
    (bench.workspace / "level.sh").write_text("echo level:$YOURTOOL_SANDBOX: | tee -a out\n")


async def run(bench, user, *, line=SHOW, level=FULL, settings=None, **options):
    """Play a call that asks to leave the sandbox; return its result."""
    call = calls("shell", command=line, outside="it needs my keys")
    session = await bench.session(Checked(Scripted([call, says("done")])), confirm=user, **options)
    session._env.place.sandbox = build_sandbox(bench.workspace, level, **(settings or {}))
    events = await play(session.send("go"))
    await session.close()
    await session._env.place.sandbox.close()
    [ended] = [each for each in events if isinstance(each, ToolCompleted | ToolFailed)]
    return "\n".join(block.text for block in ended.message.content[0].content)


@pytest.mark.parametrize("mode", [Mode.ASK, Mode.ACCEPT_EDITS, Mode.AUTO])
async def test_asking_to_leave_the_sandbox_is_a_question_in_every_mode(bench, mode):
    rules, settings = RuleSet(allow=(Rule.parse("shell"),)), {"auto_allow": True}
    user = User(ALLOW)
    said = await run(bench, user, mode=mode, rules=rules, settings=settings)
    [asked] = user.asked
    assert asked.preview.surroundings == OUTSIDE
    assert asked.preview.leaving == "the model gives the reason: it needs my keys"
    assert said.startswith("level::\n")


async def test_argument_alone_never_leaves_the_sandbox(bench):
    denied = RuleSet(deny=(Rule.parse("shell(sh *)"),))
    for user, options in (
        (User(DENY), {}),
        (User(ALLOW), {"mode": Mode.PLAN}),
        (User(ALLOW), {"rules": denied}),
    ):
        await run(bench, user, **options)
        assert not (bench.workspace / "out").exists()


async def test_changed_command_is_asked_about_with_its_reason(bench):
    changed = Decision(verdict=Verdict.EDIT, edited_input={"command": SHOW, "outside": "mine"})
    user = User(changed, DENY)
    await run(bench, user)
    build = user.asked[0].preview.editable.build_input
    assert build("true")["outside"] == "it needs my keys"
    assert user.asked[1].preview.leaving.endswith("mine")
    inside = Decision(verdict=Verdict.EDIT, edited_input={"command": SHOW})
    assert (await run(bench, User(inside, ALLOW))).startswith("level:full:\n")


async def test_long_reason_is_cut(bench):
    user = User(DENY)
    call = calls("shell", command=SHOW, outside="x" * 5000)
    session = await bench.session(Checked(Scripted([call, says("done")])), confirm=user)
    session._env.place.sandbox = build_sandbox(bench.workspace, FULL)
    await play(session.send("go"))
    await session.close()
    await session._env.place.sandbox.close()
    assert len(user.asked[0].preview.leaving) < 400


async def test_asking_to_leave_is_refused_if_no_user_is_present(bench):
    said = await run(bench, User(ALLOW), mode=Mode.AUTO, interactive=False)
    assert not (bench.workspace / "out").exists()
    assert "no user is present to answer" in said
    assert "`[sandbox] outside` of `config.toml`" in said


async def test_setting_covers_a_command_that_asks_to_leave(bench):
    user = User(DENY)
    said = await run(bench, user, mode=Mode.AUTO, settings={"outside": ("sh level.sh",)})
    assert user.asked == []
    assert said.startswith("level::\n")


async def test_argument_means_nothing_without_a_sandbox(bench):
    user = User(DENY)
    await run(bench, user, level=NONE, mode=Mode.AUTO)
    assert user.asked == []


def git(directory, *arguments):
    names = ("-c", "user.name=a", "-c", "user.email=a@example.org", "-c", "commit.gpgsign=false")
    subprocess.run(("git", *names, *arguments), cwd=directory, check=True, capture_output=True)


async def run_line(bench, user, line):
    session = await bench.session(
        Checked(Scripted([calls("shell", command=line), says("done")])), confirm=user
    )
    session._env.place.sandbox = build_sandbox(bench.workspace, FULL)
    await play(session.send("go"))
    await session.close()
    await session._env.place.sandbox.close()


@pytest.mark.parametrize("line", ["rm -rf .git && git init -q", "echo true > .git/hooks/pre-push"])
async def test_allowed_change_of_hooks_is_made_outside_and_whole(bench, line):
    await asyncio.to_thread(git, bench.workspace, "init", "-q")
    user = User(ALLOW)
    await run_line(bench, user, line)
    [asked] = user.asked
    assert asked.preview.surroundings == OUTSIDE
    assert asked.preview.leaving.endswith("has hooks of git, which are read-only in the sandbox")
    assert (bench.workspace / ".git/hooks/pre-push").exists() is ("pre-push" in line)
    assert (bench.workspace / ".git/HEAD").exists()


@pytest.mark.parametrize("line", ["git config --global a.b c", "echo alias x=y >> ~/.bashrc"])
async def test_write_to_settings_of_the_user_asks_to_leave_before_it_fails(bench, line):
    user = User(DENY)
    await run_line(bench, user, line)
    [asked] = user.asked
    assert asked.preview.leaving.endswith("is read-only in the sandbox")


@pytest.mark.parametrize(
    ("setting", "line", "verb"),
    [
        ("commit.gpgSign", "git add . && git commit -qm a", "commit"),
        ("", "git commit -q -S -m a", "commit"),
        ("tag.gpgSign", "git tag -m a v1", "tag"),
        ("commit.gpgSign", "git commit -q --no-gpg-sign -m a", ""),
        ("commit.gpgSign", "git status && git tag v1", ""),
        ("", "git commit -qm a", ""),
    ],
)
async def test_command_that_signs_asks_to_leave_before_it_fails(bench, setting, line, verb):
    await asyncio.to_thread(git, bench.workspace, "init", "-q")
    if setting:
        await asyncio.to_thread(git, bench.workspace, "config", setting, "true")
    user = User(DENY)
    await run_line(bench, user, line)
    [asked] = user.asked
    reason = f"`git {verb}` signs with a key of yours, which the sandbox hides" if verb else ""
    assert asked.preview.leaving == reason
