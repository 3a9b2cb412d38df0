"""`/btw`: side questions."""

import asyncio
import threading
from decimal import Decimal

import pytest

from tests.agent.harness import play
from tests.provider_server import Reply
from yourtool.agent.commands.base import Report, ShowAnswer
from yourtool.errors import UsageError, YourtoolError


async def ask(talk, question):
    [shown] = await talk.run(f"/btw {question}")
    assert isinstance(shown, ShowAnswer) and shown.title == question
    return "".join([piece async for piece in shown.pieces])


def texts(body):
    found = []
    for message in body["messages"]:
        content = message["content"]
        found += [content] if isinstance(content, str) else [b.get("text", "") for b in content]
    return found


async def test_side_question_is_answered_and_is_in_no_later_request(open_conversation):
    async with open_conversation(Reply("Hello."), Reply("It is Python."), Reply("Yes.")) as talk:
        await play(talk.session.send("hi"))
        assert await ask(talk, "which language?") == "It is Python."
        await play(talk.session.send("go on"))
        _, aside, later = talk.bodies()
        assert any("which language?" in each for each in texts(aside))
        assert not any("language" in each or "Python" in each for each in texts(later))
        assert [each.text for each in talk.session.state.messages] == [
            "hi", "Hello.", "go on", "Yes.",
        ]  # fmt: skip


async def test_side_question_has_the_start_of_the_conversation_as_it_was_sent(open_conversation):
    async with open_conversation(Reply("Hello."), Reply("It is."), Reply("Yes.")) as talk:
        await play(talk.session.send("hi"))
        await ask(talk, "why?")
        await play(talk.session.send("go on"))
        _, aside, later = talk.bodies()
        assert aside["system"] == later["system"] and aside["tools"] == later["tools"]
        assert aside.get("tool_choice") == later.get("tool_choice")
        assert texts(aside)[:2] == texts(later)[:2] == ["hi", "Hello."]


async def test_side_question_counts_in_cost_and_is_found_again(open_conversation):
    async with open_conversation(Reply("Hello."), Reply("It is **so**.")) as talk:
        await play(talk.session.send("hi"))
        before = talk.session.state.cost_usd
        await ask(talk, "why?")
        assert talk.session.state.cost_usd > before
        [cost] = await talk.run("/cost")
        assert any("aside" in name for each in cost.sections for name, _ in each.rows)
        resumed = talk.session.id
    async with open_conversation(resume=resumed) as talk:
        [found] = await talk.run("/btw")
        assert isinstance(found, Report)
        [section] = found.sections
        assert section.title == "why?" and section.rows[0][1] == "It is **so**."


async def test_side_question_is_answered_while_a_turn_runs(open_conversation):
    go, asked = threading.Event(), threading.Event()

    def answer(_path, body):
        if any("side question" in each for each in texts(body)):
            return Reply("Three files.")
        asked.set()
        return Reply("Done.", before_piece=lambda: go.wait(10))

    async with open_conversation(answer=answer) as talk:
        turn = asyncio.create_task(play(talk.session.send("work")))
        await asyncio.to_thread(asked.wait, 10)
        assert await ask(talk, "how many?") == "Three files."
        assert talk.session.busy
        go.set()
        await turn
        assert talk.session.state.messages[-1].text == "Done."
        assert talk.session.limit_reached is None


async def test_second_side_question_waits_for_nothing_and_names_the_reason(open_conversation):
    go = threading.Event()
    async with open_conversation(Reply("a b c d e", before_piece=lambda: go.wait(10))) as talk:
        [shown] = await talk.run("/btw first?")
        reading = asyncio.create_task(anext(shown.pieces))
        await asyncio.sleep(0.05)
        with pytest.raises(UsageError, match="Another side question is being answered"):
            await talk.run("/btw second?")
        go.set()
        await reading
        await shown.pieces.aclose()


async def test_stopped_side_question_keeps_what_arrived_with_its_cost(open_conversation):
    async with open_conversation(Reply("one two three " * 50, pause=0.01)) as talk:
        [shown] = await talk.run("/btw count?")
        assert await anext(shown.pieces)
        shown.stop()
        rest = "".join([each async for each in shown.pieces])
        assert len(rest) < 500
        [found] = await talk.run("/btw")
        assert found.sections[0].rows[0][1].startswith("one two three")
        assert talk.session.state.cost_usd > 0


async def test_call_in_place_of_an_answer_is_asked_again_without_tools(open_conversation):
    call = Reply(calls=(("read_file", {"path": "a"}),))
    async with open_conversation(call, Reply("Without a tool.")) as talk:
        assert await ask(talk, "what?") == "Without a tool."
        assert talk.bodies()[-1]["tool_choice"] == {"type": "none"}
        await play(talk.session.send("hi"))  # the call is open nowhere


async def test_failed_side_question_is_one_sentence(open_conversation):
    failed = Reply(status=400, body=b'{"error": {"type": "invalid_request_error", "message": "x"}}')
    async with open_conversation(failed) as talk:
        with pytest.raises(YourtoolError, match="There is no answer: "):
            await ask(talk, "what?")
        assert not talk.session.state.branch.last_turn_failed


async def test_budget_stops_a_side_question_and_not_the_session(open_conversation):
    async with open_conversation(Reply("Hello."), max_cost=Decimal("0.0000001")) as talk:
        with pytest.raises(YourtoolError, match="There is no answer: "):
            await ask(talk, "what?")
        assert talk.session.limit_reached is None and not talk.bodies()


async def test_list_without_a_side_question_says_so(open_conversation):
    async with open_conversation() as talk:
        [notice] = await talk.run("/btw")
        assert notice.text == "There is no side question; `/btw QUESTION` asks one."
