"""Sentences of the prompt about the sandbox."""

import pytest

from tests.agent.harness import Checked, play
from tests.tools.sandbox.levels import build_sandbox, find_reason
from yourtool.agent.requests.prompt import build_sandbox_text
from yourtool.providers.scripted import Scripted, says
from yourtool.settings.sandbox_config import SandboxLevel

FULL, NONE = SandboxLevel.FULL, SandboxLevel.NONE


@pytest.fixture(autouse=True)
def measured_level():
    """Measure the machine before a test, whose event loop must not block."""
    find_reason(FULL)


async def read_prompts(bench, level, turns, **settings):
    """Return the stable part of the prompt in each turn."""
    adapter = Checked(Scripted([says("done") for _ in range(turns)]))
    session = await bench.session(adapter)
    session._env.place.sandbox = sandbox = build_sandbox(bench.workspace, level, **settings)
    for _ in range(turns):
        await play(session.send("go"))
    await session.close()
    await sandbox.close()
    return [each.system[0] for each in adapter.requests]


async def test_prompt_names_what_commands_can_do_in_the_sandbox_that_they_have(bench):
    [prompt] = await read_prompts(bench, FULL, 1)
    assert build_sandbox_text(FULL) in prompt
    assert "They have no network and share 127.0.0.1" in prompt
    [prompt] = await read_prompts(bench, FULL, 1, hosts=("a.example",))
    assert "They only reach a.example and share 127.0.0.1" in prompt


async def test_prompt_names_a_missing_sandbox(bench):
    [prompt] = await read_prompts(bench, NONE, 1)
    assert "Commands run without a sandbox, with the rights of the user." in prompt


async def test_prompt_stays_the_same_in_a_session(bench):
    first, second = await read_prompts(bench, FULL, 2)
    assert first == second


@pytest.mark.parametrize("level", SandboxLevel)
def test_every_level_has_at_most_two_lines(level):
    assert 1 <= len(build_sandbox_text(level).splitlines()) <= 2
