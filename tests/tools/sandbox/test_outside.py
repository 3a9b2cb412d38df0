"""Commands that `[sandbox] outside` excepts, and what is typed into one that still runs."""

import asyncio

import pytest
from msgspec.structs import replace

from tests.tools.contexts import call
from tests.tools.sandbox.levels import FixedMeter, build_sandbox, require
from yourtool.settings.sandbox_config import SandboxConfig, SandboxLevel
from yourtool.tools.commands.process_tools import process_input
from yourtool.tools.commands.shell import shell
from yourtool.tools.sandbox.sandbox import Sandbox

FULL, LANDLOCK, NONE = SandboxLevel.FULL, SandboxLevel.LANDLOCK, SandboxLevel.NONE


def excepts(root, line, *outside, level=LANDLOCK):
    """Whether a line is outside a sandbox, which needs not work here."""
    config = SandboxConfig(enabled=True, outside=outside, fallback="landlock")
    meter = FixedMeter(config, level)
    sandbox = Sandbox(config, root, meter)
    assert not sandbox.excepts(line), "before it is measured"
    asyncio.run(sandbox.measure())
    return sandbox.excepts(line)


@pytest.mark.parametrize(
    ("line", "is_outside"),
    [
        ("git push", True),
        ("git push origin main", True),
        ("git push && docker ps 2>&1", True),
        ("cd sub && git push", True),
        ("timeout 60 git push", True),
        ("git push && true", False),
        ("true; git push", False),
        ("git push | cat", False),
        ("git push $(true)", False),
        ("git push $NAME", False),
        ("FOO=1 git push", False),
        ("git push > out", False),
        ("git -c core.pager=x push", False),
        ("bash -c 'git push'", False),
        ("./git push", False),
        ("git pushy", False),
        ("cd .. && git push", False),
        ("git push --receive-pack=./evil", False),
        ("git push ./evil", False),
        ("docker run -v /:/host evil", False),
        ("docker --host=tcp://evil ps", False),
        (".venv/bin/docker ps", False),
    ],
)
def test_line_is_outside_only_if_each_part_of_it_is_named(root, line, is_outside):
    (root / "sub").mkdir()
    assert excepts(root, line, "git push *", "docker *") is is_outside


def test_entry_without_a_star_is_that_command_only(root):
    assert excepts(root, "git push", "git push", "not (a command")
    assert not excepts(root, "git push --force", "git push", "not (a command")


def test_repository_that_lets_git_run_programs_keeps_git_in_the_sandbox(root):
    (root / ".git").mkdir()
    (root / ".git/config").write_text("[core]\n\tsshCommand = ./evil\n")
    assert not excepts(root, "git push", "git push *")


def test_nothing_is_outside_where_there_is_no_sandbox(root):
    assert not excepts(root, "git push", "git push *", level=NONE)


async def test_text_for_a_process_outside_is_asked_about_if_a_level_is_required(
    root, contexts, monkeypatch
):
    monkeypatch.setattr("yourtool.tools.commands.shell.FIRST_OUTPUT_SECONDS", 0.05)
    found = {}
    for required in ("none", "full"):
        context = contexts(sandbox=build_sandbox(root, FULL, require=required, outside=("cat",)))
        arguments = {"command": "cat", "terminal": True, "background": True}
        shown = await shell.preview(shell.parse(arguments), context)
        await call(shell, replace(context, approved=shown), **arguments)
        [process] = context.processes.running
        typed = process_input.parse({"id": process.id, "text": "x"})
        found[required] = (await process_input.preview(typed, context)).protected
        await context.processes.close()
    assert found == {"none": False, "full": True}


async def test_git_stays_inside_while_a_command_could_change_what_it_runs(root, contexts):
    made = build_sandbox(root, FULL, outside=("git push *", "docker *"))
    context = contexts(sandbox=made)
    await call(shell, context, command="true")
    assert made.excepts("git push")
    await call(shell, context, command="sleep 100", background=True)
    assert not made.excepts("git push") and made.excepts("docker ps")
    assert not made.excepts("g'i't push") and not made.excepts("gi\\t push")
    await context.processes.close()
    assert made.excepts("git push")
    await made.close()


async def test_command_does_not_run_in_a_weaker_sandbox_than_its_approval_shows(root, contexts):
    require(LANDLOCK)
    made = build_sandbox(root, FULL)
    context = contexts(sandbox=made)
    arguments = {"command": "echo ran"}
    shown = await shell.preview(shell.parse(arguments), context)
    await made.close()
    made._meter = FixedMeter(made._config, LANDLOCK)
    said = await call(shell, replace(context, approved=shown), **arguments)
    assert said.blocked.cause == "it is `landlock` now, and was `full`"
    assert "ran" not in said.content[0].text.split()
    await made.close()
