"""Silent calls of a model: recorded and counted, but neither shown nor part of the conversation."""

import json
from decimal import Decimal

import pytest

from tests.agent.harness import MODEL, play
from yourtool.agent.history.channel import Channel
from yourtool.agent.session.system_prompt import system_messages
from yourtool.agent.turn.model_call import ModelCall, call_silently
from yourtool.agent.turn.request import SilentRequest
from yourtool.agent.turn.turn import ProjectOffers, Turn, TurnMeans, TurnPrompt
from yourtool.errors import ServerError
from yourtool.events.deltas import TextDelta
from yourtool.events.model_calls import LlmCallCompleted, LlmCallFailed, LlmCallStarted
from yourtool.ids import new_id
from yourtool.interrupt import Interrupt, Interrupted
from yourtool.messages.blocks import TextBlock
from yourtool.messages.message import MESSAGE_TYPES, Role, now
from yourtool.messages.metadata import RoutingDecisionRecord, RoutingMode
from yourtool.providers.scripted import Scripted, fails, says
from yourtool.store.markdown import to_markdown
from yourtool.tools.workspace.file_reads import FileReads


def turn_of(session):
    """Return a turn after the last one of a session."""
    env, last = session._env, session.state.facts[-1].id
    return Turn(
        session_id=session.id,
        state=session.state,
        channel=Channel(session.record),
        interrupt=Interrupt(),
        env=env,
        model=MODEL,
        means=TurnMeans(
            env.requests.registry.adapter(MODEL),
            env.tools.toolbox,
            RoutingDecisionRecord(
                mode=RoutingMode.DEFAULT, chosen_model=MODEL.id, reason="the default"
            ),
            effort=None,
        ),
        prompt=TurnPrompt(
            (), lambda: system_messages(session.workspace, session.id, session.mode)[1]
        ),
        project=ProjectOffers(
            session.trust.find_offer, session.trust.find_sandbox_offer, lambda _paths: ([], [])
        ),
        reads=FileReads(),
        root=last,
        parent=last,
    )


def message(session, role, text):
    return MESSAGE_TYPES[role](
        id=new_id(),
        session_id=session.id,
        role=role,
        content=(TextBlock(text),),
        created_at=now(),
    )


def title_request(session):
    return SilentRequest(
        "title",
        [message(session, Role.USER, "Name this conversation.")],
        system=[message(session, Role.SYSTEM, "You name conversations.")],
    )


async def test_silent_call_is_recorded_and_counted_and_nothing_else(bench):
    script = Scripted([says("hello"), says("Greetings"), says("again")])
    session = await bench.session(script)
    await play(session.send("hi"))
    before = list(session.state.messages), session.state.branch.context_tokens
    cost, last_reply = session.state.cost_usd, session.state.branch.counted_replies[MODEL.id]
    turn = turn_of(session)
    end = await call_silently(turn, title_request(session))
    assert isinstance(end, LlmCallCompleted)
    assert end.message.text == "Greetings"
    assert end.usage.cost_usd > 0
    assert turn.counts.cost == end.usage.cost_usd
    assert session._env.spending.budget.cost == session.state.cost_usd == cost + end.usage.cost_usd
    assert (list(session.state.messages), session.state.branch.context_tokens) == before
    assert session.state.branch.counted_replies[MODEL.id] is last_reply
    started, ended = session.state.facts[-2:]
    assert isinstance(started, LlmCallStarted)
    assert ended == end
    assert started.purpose == ended.purpose == "title"
    assert (started.parent_event_id, ended.parent_event_id) == (turn.root, started.id)
    sent = script.requests[-1]
    assert [each.text for each in sent.messages] == [
        "You name conversations.",
        "Name this conversation.",
    ]
    assert (sent.tools, sent.output_schema) == ((), None)
    assert (turn.parent, turn.counts.requests) == (turn.root, 0)
    await play(session.send("and now?"))
    texts = [each.text for each in script.requests[-1].messages if each.role != Role.SYSTEM]
    assert texts == ["hi", "hello", "and now?"]
    await session.close()


async def test_resumed_session_has_the_cost_of_a_silent_call_and_not_its_reply(bench):
    session = await bench.session(Scripted([says("hello"), says("Greetings")]))
    await play(session.send("hi"))
    await call_silently(turn_of(session), title_request(session))
    await session.close()
    resumed = await bench.session(Scripted([]), resume=session.id)
    assert resumed.state.cost_usd == session.state.cost_usd
    assert [each.text for each in resumed.state.messages] == ["hi", "hello"]
    await resumed.close()


async def test_silent_reply_is_neither_exported_as_markdown_nor_found(bench):
    session = await bench.session(Scripted([says("hello"), says("Greetings")]))
    await play(session.send("hi"))
    await call_silently(turn_of(session), title_request(session))
    await session.close()
    assert len(await bench.store.search("hello")) == 1
    assert len(await bench.store.search("Greetings")) == 0
    document = b"".join(to_markdown(await bench.store.read(session.id), str)).decode()
    assert "hello" in document
    assert "Greetings" not in document


async def test_stored_form_of_a_visible_call_has_no_purpose(bench):
    session = await bench.session(Scripted([says("hello"), says("Greetings")]))
    await play(session.send("hi"))
    await call_silently(turn_of(session), title_request(session))
    await session.close()
    query = "SELECT payload_json FROM events WHERE type LIKE 'llm.%' ORDER BY id"
    rows = await bench.database.read(lambda connection: connection.execute(query).fetchall())
    assert ["purpose" in json.loads(row[0]) for row in rows] == [False, False, True, True]


async def test_failed_silent_call_does_not_fail_the_turn(bench):
    session = await bench.session(Scripted([says("hello"), fails(ServerError("gone"))]))
    await play(session.send("hi"))
    end = await call_silently(turn_of(session), title_request(session))
    assert isinstance(end, LlmCallFailed)
    assert (end.purpose, end.error_message_redacted) == ("title", "gone")
    assert session.state.branch.last_error is None
    assert not session.state.branch.last_turn_failed
    await session.close()


async def test_silent_call_above_the_cost_limit_is_not_sent(bench):
    script = Scripted([says("hello")])
    session = await bench.session(script, max_cost=Decimal("0.01"))
    await play(session.send("hi"))
    session._env.spending.budget.cost = Decimal("0.01")
    end = await call_silently(turn_of(session), title_request(session))
    assert isinstance(end, LlmCallFailed)
    assert "exceeds the limit of" in end.error_message_redacted
    assert len(script.requests) == 1
    await session.close()


async def test_stopped_silent_call_stops_the_turn(bench):
    session = await bench.session(Scripted([says("hello"), says("Greetings")]))
    await play(session.send("hi"))
    turn = turn_of(session)
    turn.interrupt.request()
    with pytest.raises(Interrupted):
        await call_silently(turn, title_request(session))
    await session.close()


async def test_visible_call_shows_its_events_and_has_no_purpose(bench):
    session = await bench.session(Scripted([says("hello"), says("more")]))
    await play(session.send("hi"))
    turn = turn_of(session)
    ends = []

    async def call():
        ends.append(await ModelCall(turn).run())

    events = await play(turn.channel.run(call))
    [end] = ends
    assert "".join(each.text for each in events if isinstance(each, TextDelta)) == "more"
    assert events[-1] == end
    assert isinstance(end, LlmCallCompleted)
    assert not end.purpose
    assert turn.parent == end.id
    await session.close()
