"""Settings of git that a command changes and needs while it runs."""

import asyncio
import subprocess

import pytest

from tests.agent.harness import ALLOW, Checked, User, play
from tests.tools.sandbox.levels import build_sandbox, find_reason
from yourtool.providers.scripted import Scripted, calls, says
from yourtool.settings.config import Mode
from yourtool.settings.sandbox_config import SandboxLevel

FULL = SandboxLevel.FULL
URL = "https://git.example/x.git"


@pytest.fixture(autouse=True)
def repository(bench):
    find_reason(FULL)  # before a test, whose event loop must not block
    subprocess.run(["git", "init", "-q"], cwd=bench.workspace, check=True)
    return bench.workspace


async def run(bench, line, **options):
    """Play a command that outlasts the looks at settings; return what was asked, and the result."""
    user = User(ALLOW)
    script = Checked(Scripted([calls("shell", command=line), says("done")]))
    session = await bench.session(script, confirm=user, **options)
    session._env.place.sandbox = build_sandbox(bench.workspace, FULL)
    await play(session.send("go"))
    messages = [each for each in session.state.messages if each.role == "tool"]
    await session.close()
    await session._env.place.sandbox.close()
    return user.asked, "".join(block.text for block in messages[-1].content[0].content)


def read_config(bench):
    return (bench.workspace / ".git/config").read_text()


async def test_allowed_setting_is_in_force_while_the_command_runs(bench):
    line = "git config core.pager 'less -F'; sleep 0.5; git config --get core.pager"
    asked, said = await run(bench, line)
    assert len(asked) == 1
    assert said.startswith("less -F\n")
    assert "less -F" in await asyncio.to_thread(read_config, bench)


async def test_setting_that_an_allowed_command_removes_again_is_gone(bench):
    line = "git config core.hooksPath .husky; sleep 0.5; git config --unset core.hooksPath"
    asked, _ = await run(bench, line)
    assert len(asked) == 1
    assert "husky" not in await asyncio.to_thread(read_config, bench)


@pytest.mark.parametrize("options", [{}, {"mode": Mode.AUTO, "interactive": False}])
async def test_remote_that_the_line_names_is_there_while_the_command_runs(bench, options):
    line = f"git remote add up {URL}; sleep 0.5; git remote -v"
    _, said = await run(bench, line, **options)
    assert f"up\t{URL} (fetch)" in said
    assert URL in await asyncio.to_thread(read_config, bench)


async def test_remote_that_a_command_removes_again_is_gone(bench):
    line = f"git remote add up {URL}; sleep 0.5; git remote remove up && git remote"
    _, said = await run(bench, line)
    assert "error" not in said
    assert URL not in await asyncio.to_thread(read_config, bench)
