"""What the user chose for a session is stored with it and comes back with it."""

import json

import pytest

from tests.agent.harness import Checked, User, play
from tests.provider_server import ProviderServer, Reply
from tests.providers.histories import image
from yourtool.agent.runtime import Runtime
from yourtool.errors import SwapRefusedError
from yourtool.events.catalog import FACT_TYPES
from yourtool.events.sessions import SessionEffortSelected, SessionModelRefused
from yourtool.messages.blocks import TextBlock
from yourtool.paths import resolve_paths
from yourtool.providers.dialects.chat.dialect import ChatDialect
from yourtool.providers.scripted import Scripted, says
from yourtool.settings.config import RunOptions, config_file


async def _start_runtime(workspace, **options):
    return await Runtime.open(resolve_paths(), RunOptions(workspace=workspace, **options))


@pytest.fixture
def server(monkeypatch):
    with ProviderServer([Reply("Yes.")] * 4) as server:
        for name, value in server.environment.items():
            monkeypatch.setenv(name, value)
        yield server


def _efforts(server) -> list[str | None]:
    return [body.get("output_config", {}).get("effort") for _, body in server.requests]


async def test_effort_from_the_command_line_is_restored_with_the_session(tmp_path, server):
    config_file(resolve_paths()).write_text('effort = "low"\n')
    runtime = await _start_runtime(tmp_path, model="sonnet", effort="high")
    session = await runtime.new_session(User())
    await play(session.send("hello"))
    await session.close()
    await runtime.close()
    runtime = await _start_runtime(tmp_path)
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
    runtime = await _start_runtime(tmp_path, effort="medium")
    session = await runtime.resume(session.id, User())
    await play(session.send("in between"))
    await session.close()
    await runtime.close()
    assert _efforts(server) == ["high", "high", None, "medium"]


async def test_session_without_a_chosen_effort_uses_the_settings(tmp_path, server):
    runtime = await _start_runtime(tmp_path, model="sonnet")
    session = await runtime.new_session(User())
    await play(session.send("hello"))
    await session.close()
    await runtime.close()
    config_file(resolve_paths()).write_text('effort = "low"\n')
    runtime = await _start_runtime(tmp_path)
    session = await runtime.resume(session.id, User())
    assert session.effort == "low"
    await session.close()
    await runtime.close()


async def test_effort_chosen_during_a_turn_is_stored_after_it(bench):
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


def test_effort_event_is_in_the_catalog():
    assert FACT_TYPES["session.effort_selected"] is SessionEffortSelected


PIXEL = (TextBlock("what is it?"), image())


async def _session_with_an_image(bench, *replies):
    adapter = Scripted([says("A pixel."), *map(says, replies)])
    session = await bench.session(Checked(adapter))
    await play(session.send("hello"))
    await play(session.send(PIXEL))
    return session, adapter


def _images_in(request) -> list[str]:
    body = json.loads(ChatDialect().to_wire(request).body)
    return [message["content"] for message in body["messages"] if message["role"] == "user"]


async def test_rejected_model_is_stored_with_the_reason_and_shown(bench):
    session, _ = await _session_with_an_image(bench, "Yes.")
    with pytest.raises(SwapRefusedError) as refused:
        await play(session.select_model("blind"))
    [fact] = [each for each in session.state.facts if isinstance(each, SessionModelRefused)]
    assert (fact.model, fact.validation_failure) == ("openai:blind", "no_vision_support")
    assert fact.reason == str(refused.value)
    assert f"Refused: {fact.reason}" in session.explain()
    assert len(session.explain()) <= 12
    assert refused.value.fork_at == session.state.prompts[1].id
    await session.close()
    again = await bench.session(Scripted([]), resume=session.id)
    assert f"Refused: {fact.reason}" in again.explain()
    await play(again.select_model("other"))
    assert not any(line.startswith("Refused") for line in again.explain())
    await again.close()


async def test_model_rejected_during_a_turn_is_stored_after_it(bench):
    session, _ = await _session_with_an_image(bench, "Yes.")
    async for event in session.send("and now?"):
        if event.__struct_config__.tag == "llm.call_started":
            with pytest.raises(SwapRefusedError):
                await play(session.select_model("blind"))
    assert isinstance(session.state.facts[-1], SessionModelRefused)
    assert session.state.facts[-1].turn_id is None
    await session.close()


async def test_model_without_vision_gets_placeholders_if_the_user_chose_so(bench):
    session, adapter = await _session_with_an_image(bench, "In words.", "Still.", "Seen again.")
    await play(session.select_model("blind", use_placeholders=True))
    assert (session.state.model, session.state.model_refusal) == ("openai:blind", None)
    await play(session.send("go on"))
    stand_in = "(an image that could not be shown to you)"
    assert stand_in in str(_images_in(adapter.requests[-1]))
    await session.close()
    session = await bench.session(adapter, resume=session.id)
    await play(session.select_model("blind"))
    await play(session.send("and now?"))
    assert adapter.requests[-1].model.id == "openai:blind"
    assert stand_in in str(_images_in(adapter.requests[-1]))
    await play(session.select_model("test"))
    await play(session.send("you can see it"))
    assert "image_url" in str(_images_in(adapter.requests[-1]))
    await session.close()


async def test_image_after_the_choice_of_placeholders_is_rejected_like_any_other(bench):
    session, adapter = await _session_with_an_image(bench, "In words.")
    await play(session.select_model("blind", use_placeholders=True))
    await play(session.send((TextBlock("and this?"), image())))
    assert session.state.branch.last_turn_failed
    assert session.state.last_route.chain[-1].validation_failure == "no_vision_support"
    assert len(adapter.requests) == 2
    await session.close()


async def test_image_placeholders_need_no_space_for_images(bench):
    session, _ = await _session_with_an_image(bench)
    await play(session.send((TextBlock("more"), *[image()] * 8)))
    await play(session.select_model("other"))
    with_images = (await session.context.compose()).size
    await play(session.select_model("blind", use_placeholders=True))
    assert with_images > (await session.context.compose()).size + 300
    await session.close()
