"""A fork and its original continue, each with valid requests for every provider (R-PER-08)."""

import pytest

from tests.agent.harness import Checked, play
from yourtool.providers.dialects.messages.dialect import MessagesDialect
from yourtool.providers.scripted import Scripted, calls, says, thinks
from yourtool.store.forks import fork


@pytest.mark.req("R-PER-08")
async def test_fork_sends_the_bytes_of_its_original_and_both_continue(bench):
    (bench.workspace / "a.txt").write_text("x\n")
    read = thinks("I need it.", "c2lnbmVk") + says("I read.") + calls("read_file", path="a.txt")
    original = Scripted([read, says("It is x."), says("left")])
    session = await bench.session(Checked(original))
    await play(session.send("what is in a.txt?"))
    fork_id = await fork(bench.store, session.id)
    copied = Scripted([says("right"), says("still right")])
    forked = await bench.session(Checked(copied), resume=fork_id)
    assert forked.state.cost_usd == 0 < session.state.cost_usd
    assert forked.state.turn_count == 1
    for each in (session, forked):
        await play(each.send("and now?"))
    ours, theirs = original.requests[-1], copied.requests[0]
    assert b"c2lnbmVk" in MessagesDialect().to_wire(theirs).body
    assert [m.content for m in theirs.messages if not m.tool_uses and not m.result] == [
        m.content for m in ours.messages if not m.tool_uses and not m.result
    ]
    assert session.state.messages[-1].text == "left"
    assert forked.state.messages[-1].text == "right"
    await play(forked.send("once more"))
    assert forked.state.messages[-1].text == "still right"
    await session.close()
    await forked.close()


async def test_fork_of_a_session_killed_in_a_turn_omits_that_turn(bench):
    session = await bench.session(Checked(Scripted([says("one"), says("two")])))
    await play(session.send("first"))
    events = session.send("second")
    await anext(events)  # the turn has started and never continues
    fork_id = await fork(bench.store, session.id)
    await events.aclose()
    forked = await bench.session(Checked(Scripted([says("on")])), resume=fork_id)
    await play(forked.send("go on"))
    assert [each.text for each in forked.state.messages] == ["first", "one", "go on", "on"]
    await session.close()
    await forked.close()
