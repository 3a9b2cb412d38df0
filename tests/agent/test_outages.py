"""The table of outages guides automatic choices; explicit requests are sent in any case."""

import pytest

from tests.agent.harness import MODEL, play
from yourtool.agent.routes.routing_rules import DefaultModels
from yourtool.errors import AuthError, NetworkError
from yourtool.events.turns import ProviderRecovered
from yourtool.providers.scripted import Fail, Scripted, ScriptLine, says

REFUSED_KEY = (ScriptLine((Fail(AuthError("bad key", status=401)),)),)
NETWORK_ERRORS = (ScriptLine((Fail(NetworkError("gone")),)),) * 2
OUTAGES = pytest.mark.parametrize("failures", [REFUSED_KEY, NETWORK_ERRORS], ids=["401", "lost"])


def _answers(adapter: Scripted) -> list[str]:
    return [request.model.id for request in adapter.requests]


async def _fail(session, failures, prompt="hello") -> None:
    for _ in failures:
        await play(session.send(prompt))


@OUTAGES
async def test_next_prompt_is_sent_to_the_only_model_although_it_failed(bench, failures):
    adapter = Scripted([*failures, says("Back.")])
    session = await bench.session(adapter)
    await _fail(session, failures)
    assert bench.availability.outage_reason(MODEL.id) is not None
    events = await play(session.send("again"))
    assert session.state.messages[-1].text == "Back."
    route = session.state.last_route
    assert route.chosen_model == MODEL.id
    reason = route.chain[-1].reason
    assert reason.startswith("global default; ")
    assert "`anthropic` " in reason
    assert reason.endswith("tried because no other model is available")
    assert any(isinstance(event, ProviderRecovered) for event in events)
    assert bench.availability.outage_reason(MODEL.id) is None
    await session.close()


@OUTAGES
async def test_retry_makes_an_attempt_and_success_clears_the_outage(bench, failures):
    adapter = Scripted([*failures, *failures[:1], says("Back.")])
    session = await bench.session(adapter)
    await _fail(session, failures)
    await play(session.retry())
    assert bench.availability.outage_reason(MODEL.id) is not None
    await play(session.retry())
    assert session.state.messages[-1].text == "Back."
    assert bench.availability.outage_reason(MODEL.id) is None
    await session.close()


@OUTAGES
async def test_retry_uses_the_failed_model_although_another_is_available(bench, failures):
    adapter = Scripted([*failures, says("Back.")])
    session = await bench.session(adapter, defaults=DefaultModels(MODEL.id, "openai:other"))
    await _fail(session, failures)
    await play(session.retry())
    assert _answers(adapter) == [MODEL.id] * (len(failures) + 1)
    assert session.state.last_route.chain[-1].reason.endswith("tried because you asked")
    await session.close()


@OUTAGES
async def test_model_named_by_the_user_is_used_although_it_failed(bench, failures):
    adapter = Scripted([*failures, *([says("Back.")] * 3)])
    session = await bench.session(adapter)
    await _fail(session, failures)
    await play(session.select_model("test"))
    explanation = "\n".join(session.explain())
    assert "marked unavailable" in explanation
    await play(session.send("chosen for the session"))
    reason = session.state.last_route.chain[-1].reason
    assert reason.startswith("chosen by the user for the session; `anthropic` ")
    assert reason.endswith("tried because you asked")
    assert len(session.explain()) <= 12
    assert session.state.messages[-1].text == "Back."
    await session.close()


@OUTAGES
async def test_model_at_the_start_of_a_message_is_used_although_it_failed(bench, failures):
    adapter = Scripted([*failures, says("Back.")])
    session = await bench.session(adapter)
    await play(session.select_model("other"))
    await _fail(session, failures, "@test hello")
    await play(session.send("@test and now?"))
    assert _answers(adapter) == [MODEL.id] * (len(failures) + 1)
    assert session.state.messages[-1].text == "Back."
    await session.close()


async def test_retry_of_a_message_for_one_model_uses_that_model(bench):
    adapter = Scripted([*REFUSED_KEY, says("Back."), says("Other.")])
    session = await bench.session(adapter)
    await play(session.select_model("other"))
    await play(session.send("@test hello"))
    await play(session.retry())
    await play(session.select_model("other"))
    await play(session.retry())
    assert _answers(adapter) == [MODEL.id, MODEL.id, "openai:other"]
    await session.close()


async def test_automatic_choice_skips_failed_models(bench):
    adapter = Scripted([*REFUSED_KEY, says("Elsewhere.")])
    session = await bench.session(adapter, defaults=DefaultModels(MODEL.id, "openai:other"))
    await play(session.send("hello"))
    await play(session.send("and now?"))
    assert _answers(adapter) == [MODEL.id, "openai:other"]
    assert session.state.last_route.chain[-2].validation_failure == "provider_unavailable"
    await session.close()
