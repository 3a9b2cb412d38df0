"""Hooks of a project run only after the user trusts it, and those of the user as configured."""

import json
import sys
from typing import get_args

import pytest

from tests.agent.harness import User, play
from tests.agent.hooks.scripts import ran, results, write
from tests.trusted_folders import trust
from yourtool.agent.hooks.hook import TrustedPrograms, build_hook
from yourtool.agent.runtime import Runtime
from yourtool.agent.session.project.project_trust import ProjectTrust
from yourtool.agent.session.project.session_hooks import build_own_hooks, read_project_hooks
from yourtool.events.deltas import Notice
from yourtool.paths import resolve_paths
from yourtool.permissions.trust import Trust
from yourtool.providers.scripted import Scripted, says
from yourtool.settings.config import Mode, RunOptions, config_file
from yourtool.settings.hook_config import HookConfig, HookEvent

DENY = "import sys; sys.stderr.write('no'); sys.exit(2)\n"


@pytest.fixture
def project(bench):
    directory = bench.workspace / ".yourtool"
    directory.mkdir()
    (directory / "guard.py").write_text(f"open('ran', 'w'); {DENY}")
    (directory / "config.toml").write_text(
        f'[[hooks]]\nevent = "PreToolUse"\ncommand = "{sys.executable} .yourtool/guard.py"\n'
    )
    return bench.workspace


async def turn(bench):
    model = Scripted([write(), says("Done.")])
    session = await bench.session(model, mode=Mode.AUTO)
    return await play(session.send("go"))


async def test_nothing_runs_before_trust(bench, project):
    events = await turn(bench)
    assert not ran(events)
    assert not (project / "ran").exists()
    assert (project / "a.txt").exists()


async def test_no_hook_of_a_hostile_project_runs_before_trust(bench, tmp_path):
    directory, canary = bench.workspace / ".yourtool", tmp_path / "canary"
    directory.mkdir()
    lines = (f"touch {canary}", f"sh -c 'echo $HOME > {canary}'", f"x=1; > {canary}")
    (directory / "config.toml").write_text(
        "".join(
            f"[[hooks]]\nevent = {json.dumps(event)}\ncommand = {json.dumps(line)}\n"
            for event in get_args(HookEvent)
            for line in lines
        )
    )
    session = await bench.session(Scripted([write(), says("One."), says("Two.")]))
    events = await play(session.send("go")) + await play(session.send("@other go"))
    await session.close()
    assert not ran(events)
    assert not ran(await bench.store.read(session.id))
    assert not canary.exists()


async def test_declined_project_runs_nothing(bench, project):
    trust(project, trusted=False)
    assert not ran(await turn(bench))
    assert not (project / "ran").exists()


async def test_trusted_project_can_deny(bench, project):
    trust(project)
    events = await turn(bench)
    [fact] = ran(events)
    assert (fact.source, fact.verdict) == ("project", "deny")
    assert not (project / "a.txt").exists()
    assert "refuses it: no" in results(events)[0]


@pytest.mark.parametrize("name", [".yourtool/config.toml", ".yourtool/guard.py"])
async def test_change_of_settings_or_script_needs_a_new_answer(bench, project, name):
    trust(project)
    with (project / name).open("a") as file:
        file.write("\n# changed\n")
    assert ProjectTrust(project).examine().status is Trust.CHANGED
    assert not ran(await turn(bench))
    assert not (project / "ran").exists()


NAMED = {
    "a name with a space": "sh 'my guard.sh'",
    "a directory before": "cd tools && ./guard.sh",
    "a line in a line": "bash -c 'cd tools; sh guard.sh'",
    "a pattern": "sh tools/*.sh",
    "a default value": "sh ${CLAUDE_PROJECT_DIR:-.}/tools/guard.sh",
    "the working directory": 'sh "$PWD/tools/guard.sh"',
    "a variable": "BASH_ENV=tools/guard.sh bash -c true",
    "standard input": "sh <tools/guard.sh",
    "an escape": "sh tools/gu\\ard.sh",
}


@pytest.mark.sample(3)
@pytest.mark.parametrize("line", NAMED.values(), ids=NAMED)
async def test_script_that_is_named_in_another_form_counts(bench, line):
    workspace = bench.workspace
    (workspace / "tools").mkdir()
    (workspace / ".yourtool").mkdir()
    for script in (workspace / "tools" / "guard.sh", workspace / "my guard.sh"):
        script.write_text("true\n")
        script.chmod(0o755)
    hook = f'[[hooks]]\nevent = "PreToolUse"\ncommand = {json.dumps(line)}\n'
    (workspace / ".yourtool" / "config.toml").write_text(hook)
    trust(workspace)
    assert ran(await turn(bench))
    for script in (workspace / "tools" / "guard.sh", workspace / "my guard.sh"):
        script.write_text(f"touch '{workspace}/canary'\n")
    assert not ran(await turn(bench))
    assert not (workspace / "canary").exists()


async def test_script_that_the_model_changed_does_not_run_in_the_same_turn(bench):
    workspace = bench.workspace
    (workspace / "tools").mkdir()
    (workspace / ".yourtool").mkdir()
    (workspace / "tools" / "guard.py").write_text("pass\n")
    (workspace / ".yourtool" / "config.toml").write_text(
        f'[[hooks]]\nevent = "PostToolUse"\ncommand = "{sys.executable} tools/guard.py"\n'
    )
    trust(workspace)
    change = write("tools/guard.py", "open('canary', 'w')\n")
    model = Scripted([write("a.txt"), change, write("b.txt"), says("Done.")])
    session = await bench.session(model, mode=Mode.ACCEPT_EDITS)
    found = ran(await play(session.send("go")))
    assert [each.verdict for each in found] == ["none", "failed", "failed"]
    assert "`tools/guard.py` has changed" in found[-1].reason
    assert not (workspace / "canary").exists()


async def test_file_that_appears_during_a_session_runs_in_no_hook_of_the_user(bench):
    line = f"{sys.executable} tools/guard.py"
    hooks = build_own_hooks([HookConfig("PostToolUse", line)])
    new = write("tools/guard.py", "open('canary', 'w')\n")
    model = Scripted([new, write("a.txt"), says("Done.")])
    session = await bench.session(model, settings={"hooks": hooks}, mode=Mode.ACCEPT_EDITS)
    found = ran(await play(session.send("go")))
    assert "you do not trust the folder" in found[-1].reason
    assert not (bench.workspace / "canary").exists()


def test_end_of_a_long_script_counts(project):
    script = project / ".yourtool/guard.py"
    script.write_text("#" * 100_000)
    trust(project)
    with script.open("a") as file:
        file.write("x")
    assert ProjectTrust(project).examine().status is Trust.CHANGED


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ('[[hooks]]\nevent = "PreToolUs"\ncommand = "x"\n', "did you mean `PreToolUse`"),
        ('[[hooks]]\nevent = "Stop"\ncommand = "x"\nmatcher = "("\n', "not a pattern of RE2"),
        ('[[hooks]]\nevent = "Stop"\n', "`command`"),
        ("hooks = 3\n", "must be a list of tables"),
    ],
)
async def test_mistake_of_a_project_is_named_and_the_turn_goes_on(bench, project, text, words):
    (project / ".yourtool/config.toml").write_text(text)
    trust(project)
    events = await turn(bench)
    assert any(words in each.text for each in events if isinstance(each, Notice))
    assert (project / "a.txt").exists()


@pytest.mark.parametrize("line", ["$CLAUDE_PROJECT_DIR/x.py", "python3 x.py", "./x.py --all"])
async def test_hook_of_the_user_that_names_a_file_of_the_workspace_waits_for_trust(bench, line):
    (bench.workspace / "x.py").write_text(DENY)
    config = HookConfig("PreToolUse", line)
    model = Scripted([write("a.txt"), says("Done.")])
    session = await bench.session(model, settings={"hooks": build_own_hooks([config])})
    events = await play(session.send("go"))
    [failed] = ran(events)
    assert failed.verdict == "failed" and "you do not trust the folder" in failed.reason
    assert any("names `x.py`" in each.text for each in events if isinstance(each, Notice))
    trusted = TrustedPrograms(is_trusted=True)
    assert not trusted.find_problem(build_hook(config, "user"), bench.workspace.resolve())


async def test_hook_of_the_user_elsewhere_runs_without_trust(bench):
    hook = build_hook(HookConfig("PreToolUse", "jq -r .x"), "user")
    assert not TrustedPrograms().find_problem(hook, bench.workspace.resolve())


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (
            '[[hooks]]\nevent = "Stop"\ncommand = "x"\n[[hooks]]\nevent = "Sto"\n',
            ":5: `hooks.2.event`",
        ),
        ('[[hooks]]\nevent = "Stop"\ncommand = "x"\nmatcher = "(?<=a)b"\n', ":1: `hooks.1`"),
        ('[[hooks]]\nevent = "Stop"\ncommand = ""\n', ":3: `hooks.1.command`"),
        ('[[hooks]]\nevent = "Stop"\ncommand = "x"\ntimeout = 0\n', ":4: `hooks.1.timeout`"),
        ('[[hooks]]\nevnt = "Stop"\n', "did you mean `event`?"),
    ],
)
async def test_mistake_of_the_user_is_reported_with_its_line(tmp_path, text, words):
    config_file(resolve_paths()).write_text(text)
    runtime = await Runtime.open(resolve_paths(), RunOptions(workspace=tmp_path))
    [warning] = runtime.take_warnings()
    await runtime.close()
    assert words in warning and "every call needs an approval" in warning
    assert runtime.config.hooks == ()


async def test_hooks_of_the_settings_run_in_a_session(tmp_path):
    log, workspace = tmp_path / "log", tmp_path / "work"
    workspace.mkdir()
    config_file(resolve_paths()).write_text(
        f'[[hooks]]\nevent = "UserPromptSubmit"\ncommand = "tee {log}"\n'
    )
    runtime = await Runtime.open(resolve_paths(), RunOptions(workspace=workspace))
    session = await runtime.new_session(User())
    await play(session.send("hello"))
    assert '"prompt":"hello"' in log.read_text()
    await session.close()
    await runtime.close()


async def test_files_that_are_not_trusted_have_no_hooks(project):
    found = ProjectTrust(project).examine()
    assert read_project_hooks(found) == ((), ())
