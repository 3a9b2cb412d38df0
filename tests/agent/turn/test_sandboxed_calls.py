"""Calls that a sandbox encloses: when they ask, and how they leave it."""

import asyncio
import subprocess

import pytest

from tests.agent.harness import ALLOW, DENY, Checked, User, names, play
from tests.tools.sandbox.levels import WITHOUT_ANY, build_sandbox, find_reason
from tests.trusted_folders import trust
from yourtool.effects import Decision, Verdict
from yourtool.errors import ToolError
from yourtool.events.deltas import Notice
from yourtool.events.tools import ToolCalled, ToolCompleted, ToolFailed
from yourtool.messages.invariants import validate_session
from yourtool.permissions.rules import Rule, RuleSet
from yourtool.providers.scripted import Scripted, calls, says
from yourtool.settings.config import Mode
from yourtool.settings.sandbox_config import SandboxLevel
from yourtool.tools.commands.shell import shell

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
    session._env.place.sandbox = build_sandbox(bench.workspace, level, **(settings or {}))
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
async def test_change_of_a_protected_place_is_made_only_after_a_question(bench, protected, mode):
    user = User(ALLOW)
    said, facts = await run(bench, FULL, BLOCKED, user, mode=mode)
    assert len(user.asked) == (2 if mode is Mode.ASK else 1)
    asked = user.asked[-1]
    assert asked.preview.kind == "diff"
    assert "-be kind" in asked.preview.body
    assert asked.preview.paths == ("AGENTS.md",)
    assert asked.reason.startswith("the command changed protected places: `AGENTS.md`")
    assert asked.rules == ()
    assert not protected.exists()
    assert "[exit code 0]" in said
    assert "[The user allowed these changes, which were made: `AGENTS.md`" in said
    assert facts.count("tool.called") == facts.count("tool.completed") == 1


async def test_change_that_the_command_shows_is_asked_about_once(bench, protected):
    user = User(ALLOW)
    said, facts = await run(bench, FULL, "echo more >> ./AGENTS.md", user)
    assert len(user.asked) == 1
    assert user.asked[0].reason == (
        "it writes to `./AGENTS.md`, a protected place: coding agents follow it, or run what it"
        " names"
    )
    assert protected.read_text() == "be kind\nmore\n"
    assert "[The user allowed these changes, which were made: `AGENTS.md`" in said
    assert "files.changed" in facts


async def test_change_of_another_place_than_the_command_shows_is_asked_about(bench, protected):
    user = User(ALLOW)
    (bench.workspace / ".vscode").mkdir()
    (bench.workspace / "make.sh").write_text("echo > .vscode/tasks.json\n")
    await run(bench, FULL, "echo x >> AGENTS.md; sh make.sh", user)
    assert len(user.asked) == 2


async def test_second_question_shows_only_what_the_first_did_not_name(bench, protected):
    user = User(ALLOW, DENY)
    line = "mkdir -p .vscode; echo {} > .vscode/settings.json; sh tidy.sh"
    said, _ = await run(bench, FULL, line, user)
    named = "it writes to the protected places `.vscode` and `.vscode/settings.json`"
    assert user.asked[0].reason == named
    assert user.asked[1].preview.paths == ("AGENTS.md",)
    assert "`.vscode`" not in user.asked[1].reason
    assert (bench.workspace / ".vscode/settings.json").read_text() == "{}\n"
    assert protected.exists()
    assert "[Taken back, because the user declined it: `AGENTS.md`" in said


async def test_one_question_names_all_places_that_a_command_shows(bench, protected):
    directory = bench.workspace / ".vscode"
    directory.mkdir()
    for name in ("tasks.json", "launch.json"):
        (directory / name).write_text("{}\n")
    user = User(ALLOW)
    line = "cd .vscode && rm tasks.json && echo [] > launch.json && echo a >> ../AGENTS.md"
    said, _ = await run(bench, FULL, line, user)
    assert [each.reason for each in user.asked] == [
        "it writes to the protected places `.vscode/tasks.json`, `.vscode/launch.json` and"
        " `AGENTS.md`"
    ]
    assert (directory / "launch.json").read_text() == "[]\n"
    assert not (directory / "tasks.json").exists()
    assert protected.read_text() == "be kind\na\n"
    assert said.count("[The user allowed") == 1


async def test_first_places_of_a_command_are_named_and_the_others_counted(bench, protected):
    user = User(ALLOW)
    line = "touch AGENTS.md CLAUDE.md .envrc .mcp.json .vscode"
    await run(bench, FULL, line, user)
    assert [each.reason for each in user.asked] == [
        "it writes to the protected places `AGENTS.md`, `CLAUDE.md`, `.envrc` and 2 more"
    ]


async def test_files_of_a_new_directory_that_a_command_shows_are_asked_about_once(bench):
    (bench.workspace / "tasks.json").write_text("{}\n")
    (bench.workspace / "other.json").write_text("{}\n")
    user = User(ALLOW)
    await run(bench, FULL, "install -D tasks.json .vscode/tasks.json", user)
    assert len(user.asked) == 1
    line = "install -D tasks.json .devcontainer/a.json; cd .devc*; cp ../other.json ."
    await run(bench, FULL, line, User(ALLOW, DENY))
    assert not (bench.workspace / ".devcontainer").exists()


@pytest.mark.parametrize(
    ("line", "file"),
    [
        ("(cd sub); git config alias.co checkout", ".git/config"),
        ("(cd sub && git config alias.co checkout)", "sub/.git/config"),
        ("cd sub | git config alias.co checkout", ".git/config"),
        ("pushd sub; git config alias.co checkout", "sub/.git/config"),
    ],
)
async def test_settings_of_git_that_a_line_changes_in_a_subshell_ask_once(bench, line, file):
    for name in (".", "sub"):
        await asyncio.to_thread(
            subprocess.run, ["git", "init", "-q", name], cwd=bench.workspace, check=True
        )
    user = User(ALLOW)
    await run(bench, FULL, line, user)
    assert [each.reason for each in user.asked] == [
        f"it writes to `{file}`, a protected place: git or another version control runs it, or"
        " has its settings there"
    ]
    assert "co = checkout" in (bench.workspace / file).read_text()


async def test_answer_covers_the_settings_that_git_changes_in_a_linked_worktree(bench):
    main = bench.root / "main"
    git = ["git", "-c", "user.name=a", "-c", "user.email=a@example.org"]
    await asyncio.to_thread(subprocess.run, [*git, "init", "-q", str(main)], check=True)
    for words in (
        ["commit", "-q", "--allow-empty", "-m", "a"],
        ["worktree", "add", "-q", "linked"],
    ):
        await asyncio.to_thread(subprocess.run, [*git, *words], cwd=main, check=True)
    bench.workspace = main / "linked"
    user = User(ALLOW)
    await run(bench, FULL, "git config alias.co checkout", user)
    assert [each.reason for each in user.asked] == [
        f"it writes to `{main}/.git/config`, a protected place: git or another version control"
        " runs it, or has its settings there"
    ]
    assert "co = checkout" in (main / ".git/config").read_text()


async def test_change_that_the_user_allowed_can_be_undone(bench, protected):
    _, facts = await run(bench, FULL, BLOCKED, User(ALLOW))
    assert "files.changed" in facts


async def test_undo_of_an_allowed_change_stays_while_a_process_runs(bench):
    (bench.workspace / "write.sh").write_text("echo be kind > AGENTS.md\n")
    replies = [
        calls("shell", command="sleep 60", background=True) + calls("shell", command="sh write.sh"),
        says("done"),
        calls("shell", command="true"),
        says("done"),
    ]
    user = User(*[ALLOW] * 4)
    session = await bench.session(Checked(Scripted(replies)), confirm=user)
    session._env.place.sandbox = build_sandbox(bench.workspace, FULL)
    await play(session.send("go"))
    assert (bench.workspace / "AGENTS.md").exists()
    await play(session.files.undo())
    await play(session.send("go on"))
    await session.close()
    await session._env.place.sandbox.close()
    assert not (bench.workspace / "AGENTS.md").exists()
    assert [each.preview.body for each in user.asked[3:]] == ["true"]


@pytest.mark.parametrize("arguments", [{}, {"background": True}, {"terminal": True}])
async def test_no_way_to_run_a_command_leaves_the_sandbox(bench, protected, arguments):
    line = "echo level:$YOURTOOL_SANDBOX > out; sh tidy.sh"
    await run(bench, FULL, line, User(ALLOW, DENY), arguments=arguments)
    assert (bench.workspace / "out").read_text() == "level:full\n"
    assert protected.exists()


def test_only_argument_about_the_sandbox_is_a_reason():
    known = {"command", "directory", "timeout_seconds", "background", "terminal", "outside"}
    properties = shell.definition.input_schema["properties"]
    assert set(properties) == known
    assert properties["outside"]["type"] == "string"
    for name in ("sandbox", "dangerouslyDisableSandbox", "with_escalated_permissions"):
        with pytest.raises(ToolError, match="unknown field"):
            shell.parse({"command": "ls", name: False})


async def test_declined_change_is_not_made_and_the_note_reaches_the_model(bench, protected):
    user = User(ALLOW, Decision(verdict=Verdict.DENY, note="keep it"))
    said, _ = await run(bench, FULL, BLOCKED, user)
    assert protected.read_text() == "be kind\n"
    assert "[Taken back, because the user declined it: `AGENTS.md`" in said
    assert "Their note: keep it" in said


async def test_run_without_a_terminal_takes_the_change_back_and_says_so(bench, protected):
    user = User(ALLOW)
    said, _ = await run(bench, FULL, BLOCKED, user, mode=Mode.AUTO, interactive=False)
    assert user.asked == []
    assert protected.read_text() == "be kind\n"
    assert "[Taken back, because no user is present to allow it: `AGENTS.md`" in said


@pytest.mark.parametrize("interactive", [True, False])
async def test_user_is_told_what_was_not_taken_back(bench, protected, interactive):
    protected.write_text("x" * 2**21)
    (bench.workspace / ".vscode").mkdir()
    script = "rm AGENTS.md\nchmod 0 .vscode\necho obey > CLAUDE.md\n"
    (bench.workspace / "tidy.sh").write_text(script)
    adapter = Checked(Scripted([calls("shell", command=BLOCKED), says("done")]))
    user = User(DENY)
    session = await bench.session(adapter, confirm=user, mode=Mode.AUTO, interactive=interactive)
    session._env.place.sandbox = build_sandbox(bench.workspace, FULL)
    events = await play(session.send("go"))
    await session.close()
    notices = [each.text for each in events if isinstance(each, Notice)]
    assert "Protected places after a command: the rights of `.vscode` were restored." in notices
    (stays,) = (each for each in notices if "this could not be taken back: `AGENTS.md` (" in each)
    assert "too large" in stays
    assert "CLAUDE.md" not in stays
    taken_back = [each for each in notices if "this was taken back: `CLAUDE.md` (" in each]
    assert len(taken_back) == (0 if interactive else 1)
    assert [each.preview.paths for each in user.asked] == ([("CLAUDE.md",)] if interactive else [])


async def test_command_that_fails_for_another_reason_asks_nothing(bench):
    user = User(ALLOW)
    said, _ = await run(bench, FULL, "exit 3", user, mode=Mode.AUTO)
    assert user.asked == []
    assert said == "(no output)\n[exit code 3]"


async def test_question_shows_the_measured_level(bench):
    for level, text in (
        (FULL, "full sandbox; no network"),
        (SandboxLevel.LANDLOCK, "Landlock sandbox; no network"),
        (NONE, ""),
    ):
        user = User(DENY)
        await run(bench, level, "true", user)
        assert user.asked[0].preview.surroundings == text


async def test_weaker_level_than_required_asks_despite_rules_and_modes(bench):
    rules = RuleSet(allow=(Rule.parse("shell"),))
    for settings, asked in (({"require": "full"}, 1), ({"require": "none"}, 0)):
        user = User(ALLOW)
        options = {"mode": Mode.AUTO, "rules": rules}
        await run(bench, SandboxLevel.LANDLOCK, "true", user, settings=settings, **options)
        assert len(user.asked) == asked


async def test_rule_or_setting_that_allows_does_not_skip_the_question_without_a_sandbox(bench):
    rules = RuleSet(allow=(Rule.parse("shell"),))
    for settings in ({}, {"auto_allow": True}, {"require": "full"}, {"outside": ("touch *",)}):
        user = User(DENY)
        await run(bench, NONE, "touch made", user, settings=settings, rules=rules)
        [asked] = user.asked
        assert asked.consequences.cautions == (f"no sandbox: {WITHOUT_ANY}",)
        assert (asked.rules, asked.trust, asked.sandbox) == ((), None, None)
    assert not (bench.workspace / "made").exists()


async def test_command_that_only_reads_asks_without_a_sandbox(bench):
    trust(bench.workspace)
    user = User(ALLOW)
    said, _ = await run(bench, NONE, "ls", user)
    assert len(user.asked) == 1
    assert said.endswith("[exit code 0]")


async def test_allowed_command_runs_without_the_sandbox_that_is_missing(bench):
    said, _ = await run(bench, NONE, "echo level:$YOURTOOL_SANDBOX", User(ALLOW))
    assert said.startswith("level:\n")


@pytest.mark.parametrize(
    "options", [{"mode": Mode.AUTO}, {"interactive": False}, {"mode": Mode.PLAN}]
)
async def test_command_is_refused_without_a_sandbox_where_nobody_is_asked(bench, options):
    rules, user = RuleSet(allow=(Rule.parse("shell"),)), User(ALLOW)
    adapter = Checked(Scripted([calls("shell", command="touch made"), says("done")]))
    session = await bench.session(adapter, confirm=user, rules=rules, **options)
    session._env.place.sandbox = build_sandbox(bench.workspace, NONE)
    events = await play(session.send("go"))
    await session.close()
    [failed] = [each for each in events if isinstance(each, ToolFailed)]
    assert user.asked == []
    assert not (bench.workspace / "made").exists()
    if options.get("mode") is not Mode.PLAN:
        assert f"switched on and cannot be used: {WITHOUT_ANY}" in failed.error_message
        for way in ("`--no-sandbox`", "`[sandbox] enabled = false`"):
            assert way in failed.error_message


IN_TEMPORARY = (
    "cp tidy.sh /var/tmp/tidy.sh",
    "cp tidy.sh /var/tmp/",
    "mkdir -p /var/tmp/a/b && touch /var/tmp/a/b/c",
    "make test > /var/tmp/out.txt 2>&1",
    "make test 2>&1 | tee /var/tmp/out.txt",
    "ls /var/tmp && cat /var/tmp/out.txt",
    "grep -rn x /var/tmp/a | head -3 > /var/tmp/found",
)
"""Commands that the rules below cover but for their paths."""
COVERING = ("cp *", "mkdir *", "touch *", "make test", "tee *")


def get_rules():
    return RuleSet(allow=tuple(Rule.parse(f"shell({each})") for each in COVERING))


@pytest.mark.parametrize("line", IN_TEMPORARY)
async def test_rule_covers_a_path_in_the_temporary_directory_of_the_full_sandbox(
    bench, protected, line
):
    trust(bench.workspace)
    user = User(DENY)
    _, facts = await run(bench, FULL, line, user, rules=get_rules())
    assert [each.reason for each in user.asked] == []
    assert facts.count("tool.completed") == 1


@pytest.mark.parametrize("line", IN_TEMPORARY)
@pytest.mark.parametrize(
    ("level", "settings"),
    [
        (FULL, {"hosts": ("example.org",)}),
        (FULL, {"writable": ("/var/tmp",)}),
        (SandboxLevel.LANDLOCK, {}),
        (NONE, {"enabled": False}),
        (NONE, {}),
    ],
)
async def test_rule_covers_no_temporary_path_of_the_machine(
    bench, protected, line, level, settings
):
    trust(bench.workspace)
    user = User(DENY)
    await run(bench, level, line, user, settings=settings, rules=get_rules())
    assert len(user.asked) == 1


@pytest.mark.parametrize("line", IN_TEMPORARY[:2])
async def test_rule_covers_no_temporary_path_of_a_command_that_runs_outside(bench, protected, line):
    trust(bench.workspace)
    user = User(DENY)
    rules = RuleSet(allow=(*get_rules().allow, Rule.parse(f"sandbox_outside({line})")))
    await run(bench, FULL, line, user, settings={"outside": (line,)}, rules=rules)
    assert [each.preview.is_outside for each in user.asked] == [True]


async def test_rule_covers_no_temporary_path_where_the_model_asks_to_leave_the_sandbox(
    bench, protected
):
    trust(bench.workspace)
    user = User(DENY)
    arguments = {"outside": "it needs the network"}
    line = "cp tidy.sh /var/tmp/tidy.sh"
    await run(bench, FULL, line, user, rules=get_rules(), arguments=arguments)
    assert len(user.asked) == 1


async def test_rule_covers_no_path_that_only_starts_in_the_temporary_directory(bench, protected):
    trust(bench.workspace)
    for path in ("/var/tmp/../out", "/var/tmpx/out", "/var/out", "/dev/shm/out", "~/out"):
        user = User(DENY)
        await run(bench, FULL, f"cp tidy.sh {path}", user, rules=get_rules())
        assert len(user.asked) == 1, path


async def test_rule_covers_no_program_of_the_temporary_directory(bench, protected):
    trust(bench.workspace)
    for line in ("/var/tmp/cp a b", "sh /var/tmp/tidy.sh", "python3 /var/tmp/a.py", "cd /var/tmp"):
        user = User(DENY)
        await run(bench, FULL, line, user, rules=get_rules())
        assert len(user.asked) == 1, line


async def test_sandbox_that_is_switched_off_asks_nothing_more(bench):
    rules, user = RuleSet(allow=(Rule.parse("shell"),)), User(DENY)
    said, _ = await run(bench, NONE, "echo ran", user, settings={"enabled": False}, rules=rules)
    assert user.asked == []
    assert said.startswith("ran\n")


async def test_start_of_a_call_has_the_level_in_which_it_runs(bench):
    for level in (FULL, NONE):
        adapter = Checked(Scripted([calls("shell", command="true"), says("done")]))
        session = await bench.session(adapter, confirm=User(ALLOW))
        session._env.place.sandbox = build_sandbox(bench.workspace, level)
        events = await play(session.send("go"))
        await session.close()
        [called] = [each for each in events if isinstance(each, ToolCalled)]
        [done] = [each for each in events if isinstance(each, ToolCompleted)]
        assert called.sandbox is level
        assert done.message.metadata.details["sandbox"] == level.value


async def test_result_of_a_second_run_outside_has_its_level(bench):
    line = "getent ahosts r.example.org"
    adapter = Checked(Scripted([calls("shell", command=line), says("done")]))
    session = await bench.session(adapter, confirm=User(ALLOW))
    session._env.place.sandbox = build_sandbox(bench.workspace, FULL)
    events = await play(session.send("go"))
    await session.close()
    [done] = [each for each in events if isinstance(each, ToolCompleted)]
    assert done.message.metadata.details["sandbox"] == "none"


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
    session._env.place.sandbox = build_sandbox(bench.workspace, FULL)
    [fact] = [
        each
        for each in await play(session.run_shell("echo level:$YOURTOOL_SANDBOX", shared=True))
        if names([each]) == ["shell.ran"]
    ]
    assert "level:\n" in fact.message.text
    await session.close()


@pytest.mark.parametrize("reason", ["", "it needs my key"])
async def test_git_outside_does_not_run_beside_a_command_that_can_change_what_it_runs(
    bench, reason
):
    workspace = bench.workspace
    ran = workspace.parent / "ran"
    line = "git init -q && git remote add o ssh://host.invalid/x"
    await asyncio.to_thread(subprocess.run, line, shell=True, cwd=workspace, check=True)
    (workspace / "evil.py").write_text(f"""
import os, time
from pathlib import Path
settings = Path(".git/config").read_text()
end = time.monotonic() + 1.5
while time.monotonic() < end:
    Path(".git/new").write_text(settings + '[core]\\n sshCommand = "touch {ran}; false"\\n')
    os.rename(".git/new", ".git/config")
""")
    fetching = calls("shell", command="; ".join(["git fetch o"] * 12), outside=reason)
    replies = [calls("shell", command="python3 evil.py") + fetching, says("done")]
    rules = RuleSet(
        allow=(Rule("shell", "python3 evil.py"), Rule("shell", "git fetch *")),
    )
    answers = (ALLOW, DENY) if reason else (DENY,)
    session = await bench.session(Checked(Scripted(replies)), confirm=User(*answers), rules=rules)
    outside = () if reason else ("git fetch *",)
    session._env.place.sandbox = build_sandbox(workspace, FULL, outside=outside)
    events = await play(session.send("go"))
    await session.close()
    await session._env.place.sandbox.close()
    said = str([each for each in events if isinstance(each, ToolCompleted | ToolFailed)])
    assert "Could not read from remote repository" in said, "git ran, outside"
    assert not ran.exists()
