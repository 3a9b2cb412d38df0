"""What `/context` finds about the next request: exactly what is sent, and why."""

import pytest

from tests.agent.harness import MODEL, Checked, play
from tests.agent.turn.test_compaction import Limited, open_session, talk
from yourtool.agent.requests.inspector import list_parts
from yourtool.errors import UsageError
from yourtool.events.context import ContextOverridden
from yourtool.messages.message import Role
from yourtool.providers.scripted import Scripted, calls, says

pytestmark = pytest.mark.req("R-EASE-04")


async def override(session, message, choice):
    return await play(session.context.override(message.id, choice))


async def test_next_request_has_what_was_composed_and_the_prompt(bench):
    script = [calls("list_dir"), says("done"), calls("list_dir"), says("again"), says("end")]
    adapter = Checked(Scripted(script))
    session = await bench.session(adapter)
    await play(session.send("one"))
    await play(session.send("two"))
    prompt, reply, _, _, _, dropped, *_ = session.state.messages
    await override(session, prompt, "truncated")
    await override(session, reply, "pinned")
    await override(session, dropped, "omitted")
    composed = await session.context.compose()
    await play(session.send("three"))
    sent = adapter.requests[-1]
    assert [each.content for each in sent.messages][:-1] == [e.content for e in composed.messages]
    assert sent.tools == composed.tools
    assert sent.model == composed.model
    assert composed.size > 0
    assert sum(each.tokens for each in list_parts(composed)) == pytest.approx(composed.size, abs=9)
    await session.close()


async def test_nothing_is_stored_or_sent_when_the_next_request_is_composed(bench):
    adapter = Checked(Scripted([says("done")]))
    session = await bench.session(adapter)
    await play(session.send("one"))
    facts = await bench.store.read(session.id)
    await session.context.compose()
    assert await bench.store.read(session.id) == facts
    assert len(adapter.requests) == 1
    await session.close()


async def test_each_message_has_a_reason(bench):
    model = Limited()
    session = await open_session(bench, model)
    await talk(session, 11)
    first, *_, last = session.state.messages
    pinned = session.state.messages[2]
    await override(session, pinned, "pinned")
    await override(session, last, "truncated")
    entries = (await session.context.compose()).entries
    reasons = {each.source.id: each.reason for each in entries}
    assert first.id not in reasons
    assert entries[0].reason.startswith("in place of ")
    assert entries[0].kind == "summaries"
    assert reasons[pinned.id] == "you pinned it"
    assert reasons[last.id] == "you shortened it"
    assert reasons[session.state.prompts[-1].id] == "since the summary"
    await override(session, last, "omitted")
    [gone] = [e for e in (await session.context.compose()).entries if e.source.id == last.id]
    assert (gone.sent, gone.tokens) == (None, 0)
    assert gone.reason == "not sent: you omitted it"
    await session.close()


async def test_results_of_an_omitted_reply_name_the_reason(bench):
    session = await bench.session(Scripted([calls("list_dir"), says("done")]))
    await play(session.send("one"))
    _, reply, result, _ = session.state.messages
    await override(session, reply, "omitted")
    entries = {each.source.id: each for each in (await session.context.compose()).entries}
    assert entries[result.id].reason == "not sent: it belongs to an omitted reply"
    await session.close()


@pytest.mark.remaining
async def test_pinned_messages_survive_every_summary(bench):
    model = Limited()
    session = await open_session(bench, model)
    await talk(session, 2)
    pinned = session.state.messages[0]
    await override(session, pinned, "pinned")
    await talk(session, 20)
    assert len(model.summarised) > 1
    assert all(pinned.id in {m.id for m in each.messages} for each in model.requests[2:])
    await session.close()


async def test_last_prompt_cannot_be_omitted_and_a_choice_is_stored_once(bench):
    session = await bench.session(Scripted([says("done")]))
    await play(session.send("one"))
    prompt, reply = session.state.messages
    with pytest.raises(UsageError, match="last prompt is always sent"):
        await override(session, prompt, "omitted")
    [fact] = await override(session, reply, "omitted")
    assert fact == ContextOverridden(
        id=fact.id, timestamp=fact.timestamp, session_id=session.id, target=reply.id,
        override="omitted",
    )  # fmt: skip
    assert await override(session, reply, "omitted") == []
    await session.close()


async def test_choices_survive_a_resume_and_apply_to_another_model(bench):
    adapter = Checked(Scripted([says("done"), says("again"), says("end")]))
    session = await bench.session(adapter)
    await play(session.send("one"))
    await play(session.send("two"))
    await override(session, session.state.messages[0], "omitted")
    await session.close()
    resumed = await bench.session(adapter, resume=session.id)
    await play(resumed.select_model("openai:other"))
    await play(resumed.send("three"))
    texts = [each.text for each in adapter.requests[-1].messages if each.role is not Role.SYSTEM]
    assert "one" not in texts
    assert texts[-1] == "three"
    assert adapter.requests[-1].model.id != MODEL.id
    await resumed.close()
