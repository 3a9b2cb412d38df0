"""Credentials are read after a question, and the program's own directory never."""

import os

import pytest

from tests.agent.harness import ALLOW, DENY, Checked, User, play
from tests.provider_server import ProviderServer, Reply
from yourtool.agent.runtime import Runtime
from yourtool.effects import Decision, Scope, Verdict
from yourtool.events.tools import ToolCompleted, ToolFailed
from yourtool.paths import resolve_paths
from yourtool.permissions.rules import Rule, RuleSet
from yourtool.providers.scripted import Scripted, calls, says
from yourtool.settings.config import Mode, RunOptions

SESSION = Decision(verdict=Verdict.ALLOW, scope=Scope.SESSION)
CANARY = "CANARY-4711"


async def play_calls(bench, user, *lines, **options):
    """Let the model make its calls; return how they ended."""
    session = await bench.session(
        Checked(Scripted([*lines, says("done")])), confirm=user, **options
    )
    events = await play(session.send("go"))
    await session.close()
    return [event for event in events if isinstance(event, ToolCompleted | ToolFailed)]


def text_of(event):
    [result] = event.message.content
    return "".join(block.text for block in result.content)


@pytest.fixture
def env(bench):
    path = bench.workspace / ".env"
    path.write_text(f"TOKEN={CANARY}\n")
    return path


@pytest.mark.parametrize("mode", list(Mode))
@pytest.mark.parametrize(
    "line",
    [
        calls("read_file", path=".env"),
        calls("read_file", path="./src/../.env"),
        calls("read_file", path="link.txt"),
        calls("grep", path=".env", pattern="."),
        calls("read_file", path="hard.txt"),
        calls("grep", path="hard.txt", pattern="."),
    ],
    ids=["read", "detour", "link", "grep", "hard link", "grep in a hard link"],
)
@pytest.mark.sample(3)
async def test_credential_file_needs_approval_in_every_mode(bench, env, mode, line):
    (bench.workspace / "src").mkdir()
    (bench.workspace / "link.txt").symlink_to(".env")
    os.link(env, bench.workspace / "hard.txt")
    user = User(DENY)
    [denied] = await play_calls(bench, user, line, mode=mode)
    assert denied.error_class == "user_denied"
    [question] = user.asked
    assert "may contain credentials" in question.reason
    assert question.rules[0] in (f"{question.title}(.env)", f"{question.title}(hard.txt)")
    [read] = await play_calls(bench, User(ALLOW), line, mode=mode)
    assert CANARY in text_of(read)


async def test_rule_or_session_grant_replaces_the_approval_of_a_credential_file(bench, env):
    line = calls("read_file", path=".env")
    rules = RuleSet(allow=(Rule.parse("read_file(.env)"),))
    [read] = await play_calls(bench, User(DENY), line, rules=rules)
    assert CANARY in text_of(read)
    user = User(SESSION, DENY)
    assert [each.success for each in await play_calls(bench, user, line, line)] == [True, True]
    assert len(user.asked) == 1


async def test_example_of_a_credential_file_needs_no_approval(bench):
    (bench.workspace / ".env.example").write_text("TOKEN=\n")
    [read] = await play_calls(bench, User(DENY), calls("read_file", path=".env.example"))
    assert read.success


async def test_grep_skips_credential_files_and_reports_it(bench, env):
    (bench.workspace / "a.txt").write_text("TOKEN=none\n")
    os.link(env, bench.workspace / "hard.txt")
    (bench.workspace / "tls.key").write_text(CANARY)
    [found] = await play_calls(bench, User(DENY), calls("grep", pattern="TOKEN|CANARY"))
    assert "a.txt:1: TOKEN=none" in text_of(found)
    assert CANARY not in text_of(found)
    assert "2 files that may contain credentials were skipped (`.env`, `tls.key`)" in text_of(found)
    assert "read one with `read_file`, which needs the user's approval" in text_of(found)


@pytest.mark.parametrize("mode", [Mode.ACCEPT_EDITS, Mode.AUTO])
async def test_changing_credentials_needs_approval(bench, env, mode):
    user = User(DENY)
    line = calls("write_file", path=".env", content="x")
    [denied] = await play_calls(bench, user, line, mode=mode)
    assert denied.error_class == "user_denied"
    assert CANARY in env.read_text()


async def test_edit_reveals_nothing_about_unread_credentials(bench, env):
    edits = [{"old": "TOKEN=wrong", "new": "x"}]
    [refused] = await play_calls(bench, User(ALLOW), calls("edit_file", path=".env", edits=edits))
    assert "read it before editing" in refused.error_message
    assert CANARY not in refused.error_message
    edits = [{"old": CANARY, "new": "x"}]
    read, edited = await play_calls(
        bench,
        User(ALLOW),
        calls("read_file", path=".env"),
        calls("edit_file", path=".env", edits=edits),
    )
    assert (read.success, edited.success) == (True, True)
    assert env.read_text() == "TOKEN=x\n"


CALLS = [
    ("read_file", {"path": "{home}/credentials.toml"}),
    ("read_file", {"path": "hard.txt"}),
    ("read_file", {"path": "link/permissions.toml"}),
    ("write_file", {"path": "{home}/permissions.toml", "content": "allow = ['shell']"}),
    ("edit_file", {"path": "{home}/config.toml", "edits": [{"old": "a", "new": "b"}]}),
    ("list_dir", {"path": "{home}"}),
    ("glob", {"pattern": "**", "path": "{home}"}),
    ("grep", {"pattern": ".", "path": "{home}"}),
]


@pytest.mark.parametrize("mode", [Mode.ASK, Mode.ACCEPT_EDITS, Mode.AUTO])
async def test_file_tools_cannot_access_the_home_of_the_program(tmp_path, monkeypatch, mode):
    """No mode, no rule and no approval opens it."""
    workspace, home = tmp_path / "work", tmp_path / "work" / "own"
    home.mkdir(parents=True)
    monkeypatch.setenv("YOURTOOL_HOME", str(home))
    (home / "credentials.toml").write_text(f"schema_version = 1\n# {CANARY}\n")
    (home / "credentials.toml").chmod(0o600)
    (home / "permissions.toml").write_text("schema_version = 1\n")
    (workspace / "link").symlink_to("own")
    os.link(home / "permissions.toml", workspace / "hard.txt")
    made = [
        (name, {key: v.format(home="own") if key == "path" else v for key, v in arguments.items()})
        for name, arguments in CALLS
    ]
    script = [Reply("", made), Reply("", [("grep", {"pattern": CANARY})]), Reply("I see.")]
    with ProviderServer(script) as server:
        for name, value in server.environment.items():
            monkeypatch.setenv(name, value)
        rules = tuple({name for name, _ in CALLS})
        options = RunOptions(workspace=workspace, mode=mode, allow=rules)
        runtime = await Runtime.open(resolve_paths(), options)
        session = await runtime.new_session(User(ALLOW))
        events = await play(session.send("do it"))
        failed = [event for event in events if isinstance(event, ToolFailed)]
        [grepped] = [event for event in events if isinstance(event, ToolCompleted)]
        files = session.list_files(100)
        await session.close()
        await runtime.close()
    assert [event.error_class for event in failed] == ["permission_denied"] * len(CALLS)
    assert all("`yourtool` itself" in event.error_message for event in failed)
    assert "No line matches" in text_of(grepped)
    assert files == ["hard.txt"]
    assert (home / "permissions.toml").read_text() == "schema_version = 1\n"


async def test_names_of_credential_files_are_listed_like_any_others(bench, env):
    user = User()
    [listed] = await play_calls(bench, user, calls("list_dir", path="."))
    assert ".env" in text_of(listed)
    assert CANARY not in text_of(listed)
    assert user.asked == []
