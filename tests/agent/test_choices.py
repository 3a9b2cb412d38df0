"""What the user chose for a session is stored with it and comes back with it."""

import pytest

from tests.agent.harness import User, play
from tests.provider_server import ProviderServer, Reply
from yourtool.agent.runtime import RunOptions, Runtime
from yourtool.config import config_file
from yourtool.events import FACT_TYPES, SessionEffortSelected
from yourtool.paths import resolve_paths
from yourtool.providers.scripted import Scripted, says


async def _opened(workspace, **options):
    return await Runtime.open(resolve_paths(), RunOptions(workspace=workspace, **options))


@pytest.fixture
def server(monkeypatch):
    with ProviderServer([Reply("Yes.")] * 4) as server:
        for name, value in server.environment.items():
            monkeypatch.setenv(name, value)
        yield server


def _efforts(server) -> list[str | None]:
    return [body.get("output_config", {}).get("effort") for _, body in server.requests]


async def test_the_effort_of_the_command_line_comes_back_with_the_session(tmp_path, server):
    config_file(resolve_paths()).write_text('effort = "low"\n')
    runtime = await _opened(tmp_path, model="sonnet", effort="high")
    session = await runtime.new_session(User())
    await play(session.send("hello"))
    await session.close()
    await runtime.close()
    runtime = await _opened(tmp_path)
    session = await runtime.resume(session.id, User())
    assert session.effort == "high"
    await play(session.send("and now?"))
    await play(session.select_effort(None))
    await session.close()
    session = await runtime.resume(session.id, User())
    assert session.effort is None
    await play(session.send("as you like"))
    await session.close()
    await runtime.close()
    runtime = await _opened(tmp_path, effort="medium")
    session = await runtime.resume(session.id, User())
    await play(session.send("in between"))
    await session.close()
    await runtime.close()
    assert _efforts(server) == ["high", "high", None, "medium"]


async def test_a_session_without_a_chosen_effort_follows_the_settings(tmp_path, server):
    runtime = await _opened(tmp_path, model="sonnet")
    session = await runtime.new_session(User())
    await play(session.send("hello"))
    await session.close()
    await runtime.close()
    config_file(resolve_paths()).write_text('effort = "low"\n')
    runtime = await _opened(tmp_path)
    session = await runtime.resume(session.id, User())
    assert session.effort == "low"
    await session.close()
    await runtime.close()


async def test_an_effort_chosen_during_a_turn_is_stored_after_it(bench):
    session = await bench.session(Scripted([says("One."), says("Two.")]))
    turn = session.send("hello")
    async for event in turn:
        if event.__struct_config__.tag == "llm.call_started":
            await play(session.select_effort("low"))
            assert session.effort == "low"
            assert session.state.effort is None
    assert session.state.effort == session.state.facts[-1]
    assert session.state.effort.turn_id is None
    await session.close()
    again = await bench.session(Scripted([]), resume=session.id)
    assert again.effort == "low"
    await again.close()


def test_the_event_of_an_effort_is_in_the_catalog():
    assert FACT_TYPES["session.effort_selected"] is SessionEffortSelected
