"""A session over providers, restarts and outages: what is stored and sent stays whole."""

from decimal import Decimal

import pytest

from tests.agent.harness import ALLOW, DENY, MODEL, User, names, play
from yourtool.errors import AuthError, ContextOverflowError, InvalidRequestError
from yourtool.events.deltas import TokenUsage
from yourtool.events.turns import (
    ProviderRecovered,
    ProviderUnavailable,
    RouteDecided,
    TurnCompleted,
)
from yourtool.messages.invariants import validate_session
from yourtool.messages.message import ReplyMessage
from yourtool.providers.scripted import Scripted, calls, counts, fails, says
from yourtool.routing.availability import Availability
from yourtool.settings.agent_config import Limits

READ = calls("read_file", path="a.txt")


async def test_stored_session_of_two_providers_continues_with_a_third(bench):
    """The message contract's required test 2: every call id resolves, nothing raises."""
    (bench.workspace / "a.txt").write_text("a cat\n")
    first = Scripted([READ, says("one"), READ, says("two"), READ, says("three")])
    session = await bench.session(first)
    for text in ("@test read it", "@other read it", "@test and again"):
        await play(session.send(text))
    stored = list(session.state.messages)
    await session.close()
    third = Scripted([says("never")] * 3 + [says("I saw all of it.")])
    resumed = await bench.session(third, resume=session.id)
    assert resumed.state.messages == stored
    again = resumed.state.messages
    assert [each.metadata.provider_raw for each in again if isinstance(each, ReplyMessage)] == [
        each.metadata.provider_raw for each in stored if isinstance(each, ReplyMessage)
    ]
    await play(resumed.select_model("blind"))
    await play(resumed.send("what did they see?"))
    [request] = third.requests
    assert request.model.id == "openai:blind"
    assert validate_session(request.messages) == []
    uses = [use.id for message in request.messages for use in message.tool_uses]
    assert len(uses) == 3
    assert [m.result.tool_use_id for m in request.messages if m.result] == uses
    assert resumed.state.messages[: len(stored)] == stored
    await resumed.close()


async def test_outage_and_its_end_are_stored_and_the_only_model_is_still_tried(bench):
    """R-RTE-05 at the session."""
    script = [fails(AuthError("no")), says("hello"), says("back")]
    session = await bench.session(Scripted(script))
    events = await play(session.send("hi"))
    [unavailable] = [event for event in events if isinstance(event, ProviderUnavailable)]
    assert (unavailable.provider, unavailable.scope, unavailable.trigger_reason) == (
        "anthropic", "provider_wide", "auth_error"
    )  # fmt: skip
    failed = next(e for e in events if names([e]) == ["llm.call_failed"])
    assert unavailable.parent_event_id == failed.id
    events = await play(session.send("again"))
    [route] = [event for event in events if isinstance(event, RouteDecided)]
    assert route.chosen_model == MODEL.id
    assert "tried because no other model" in route.chain[-1].reason
    assert [event.provider for event in events if isinstance(event, ProviderRecovered)] == [
        "anthropic"
    ]
    events = await play(session.send("and you?"))
    [route] = [event for event in events if isinstance(event, RouteDecided)]
    assert "tried because" not in route.chain[-1].reason
    stored = await bench.store.read(session.id)
    assert sum(isinstance(fact, ProviderUnavailable) for fact in stored) == 1
    await session.close()


async def test_outage_ends_after_five_minutes_and_the_next_turn_reports_it(bench):
    """R-RTE-05 at the session."""
    clock = [0.0]
    bench.availability = Availability(lambda: clock[0])
    session = await bench.session(Scripted([fails(AuthError("no")), says("hello")]))
    await play(session.send("hi"))
    clock[0] = 301.0
    events = await play(session.send("again"))
    assert names(events)[:3] == ["turn.started", "routing.provider_recovered", "route.decided"]
    [recovered] = [event for event in events if isinstance(event, ProviderRecovered)]
    assert recovered.parent_event_id == next(iter(events)).id
    assert events[-1].stop_reason == "end_turn"
    await session.close()


@pytest.mark.parametrize(("answer", "requests"), [(ALLOW, 3), (DENY, 1)])
async def test_cost_limit_of_a_turn_pauses_for_approval(bench, answer, requests):
    """R-LOOP-07, and the paused question of the turn's state machine."""
    (bench.workspace / "a.txt").write_text("x")
    dear = counts(TokenUsage(input_tokens=100_000, output_tokens=0))
    again = calls("read_file", path="a.txt", offset=2)
    adapter = Scripted([READ + dear, again + dear, says("end")])
    user = User(answer)
    limits = Limits(max_cost_per_turn_usd=Decimal("0.5"))
    session = await bench.session(adapter, confirm=user, limits=limits)
    events = await play(session.send("go"))
    [question] = user.asked
    assert question.kind == "limit"
    assert "has cost $0.3000, and the next request costs at least $0.3" in question.title
    assert len(adapter.requests) == requests
    assert isinstance(events[-1], TurnCompleted)
    assert validate_session(session.state.messages) == []
    await session.close()


@pytest.mark.parametrize("error", [InvalidRequestError("no"), ContextOverflowError("too long")])
@pytest.mark.req("R-RTE-05")
async def test_rejected_requests_never_disable_a_model(bench, error):
    def answer(request):
        is_last = request.messages[-1].text == "and now?"
        return says("still here") if is_last else fails(error)

    session = await bench.session(Scripted(answer))
    for _ in range(6):
        events = await play(session.send("hi"))
        assert not any(isinstance(event, ProviderUnavailable) for event in events)
    await play(session.send("and now?"))
    assert session.state.messages[-1].text == "still here"
    await session.close()
