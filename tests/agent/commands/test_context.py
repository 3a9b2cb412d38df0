"""`/context`: the list of what the next request has, its keys, and the same as text."""

import pytest

from tests.agent.commands.test_handlers import collect, open_conversation
from yourtool.agent.commands.base import Choose, Report, ShowMessage
from yourtool.errors import UsageError
from yourtool.events.context import ContextOverridden
from yourtool.messages.message import Role

pytestmark = pytest.mark.req("R-EASE-04", "R-CTX-07")


@pytest.fixture
async def talk(tmp_path, monkeypatch):
    async with open_conversation(tmp_path, monkeypatch) as conversation:
        yield conversation


def get_row(choose, value):
    return next(each for each in choose.choices if each.value == value)


def find_action(choose, key):
    return next(each.then for each in choose.actions if each.key == key)


async def test_list_has_the_parts_and_each_message_with_tokens(talk):
    [found] = await talk.run("/context")
    assert isinstance(found, Choose)
    assert "of 1,000,000 tokens" in found.title
    groups = [each.group for each in found.choices]
    assert groups == sorted(groups, key=["In every request", "Conversation"].index)
    tools = get_row(found, "part:tools")
    assert int(tools.cells[0].replace(",", "")) > 500
    assert "in every request" in tools.cells[1]
    prompt, reply = talk.session.state.messages
    assert get_row(found, prompt.id).title == "prompt: hello"
    assert get_row(found, reply.id).title.startswith("reply: Hello.")


async def test_keys_pin_shorten_omit_and_reset_a_message(talk):
    [found] = await talk.run("/context")
    reply = talk.session.state.messages[1]
    marks = []
    for key in ("ctrl+p", "ctrl+s", "ctrl+x", "ctrl+r"):
        fact, found = await collect(find_action(found, key)(reply.id))
        assert isinstance(fact, ContextOverridden)
        assert found.current == reply.id
        marks.append(get_row(found, reply.id).mark)
    assert marks == ["+", "~", "-", ""]
    [same] = await collect(find_action(found, "ctrl+x")("part:tools"))
    assert isinstance(same, Choose)


async def test_enter_shows_what_is_sent_and_what_is_stored(talk):
    prompt, reply = talk.session.state.messages
    await talk.run("/context 2 omit")
    [found] = await talk.run("/context")
    [report] = await collect(found.then(reply.id))
    assert report.sections[-1].rows == (("sent", "nothing"), ("stored", "Hello."))
    [report] = await collect(found.then(prompt.id))
    assert report.sections[-1].rows == (("sent", "hello"),)
    [report] = await collect(found.then("part:tools"))
    assert "read_file" in dict(report.sections[0].rows)
    [report] = await collect(found.then("part:system prompt"))
    assert "moment" in dict(report.sections[0].rows)
    [place] = await collect(find_action(found, "ctrl+o")(prompt.id))
    assert place == ShowMessage(prompt.id)


async def test_text_has_parts_cache_and_numbered_messages(talk):
    [report] = await talk.run("/context list")
    rows = {each.title: dict(each.rows) for each in report.sections}
    assert rows["Model"]["anthropic:claude-sonnet-4-6"] == "1,000,000 tokens"
    assert rows["Next request, estimated"]["free"].startswith("99")
    assert "hello" in rows["Messages"]["1 prompt"]
    assert any("the first" in each for each in rows["Cache breakpoints"].values())


async def test_numbers_change_messages_and_mistakes_are_named(talk):
    [fact] = await talk.run("/context 2 pin")
    assert (fact.override, fact.target) == ("pinned", talk.session.state.messages[1].id)
    [shown] = await talk.run("/context 1")
    assert isinstance(shown, Report)
    for mistake in ("/context 3 pin", "/context x", "/context 1 burn"):
        with pytest.raises(UsageError, match="`pin`"):
            await talk.run(mistake)


async def test_original_of_a_summary_is_a_list_whose_messages_can_be_pinned(talk):
    with pytest.raises(UsageError, match="No message is summarised"):
        await talk.run("/context original")
    async for _ in talk.session.send("again"):
        pass
    first, *_ = talk.session.state.messages
    async for _ in talk.session.compact():
        pass
    [found] = await talk.run("/context")
    [summary] = [each for each in found.choices if each.title.startswith("summaries")]
    [originals] = await collect(find_action(found, "ctrl+o")(summary.value))
    assert [each.title for each in originals.choices] == ["prompt: hello", "reply: Hello."]
    assert await collect(originals.then(first.id)) == [ShowMessage(first.id)]
    await collect(find_action(originals, "ctrl+p")(first.id))
    assert first in talk.session.state.conversation
    [originals] = await talk.run("/context original")
    assert get_row(originals, first.id).mark == "+"


async def test_keys_of_the_user_are_masked(tmp_path, monkeypatch):
    secret = "sk-" + "a1b2c3d4" * 5
    monkeypatch.setenv("SOME_API_KEY", secret)
    async with open_conversation(tmp_path, monkeypatch, prompt=f"is {secret} a key") as talk:
        [found] = await talk.run("/context")
        prompt = next(e for e in talk.session.state.messages if e.role is Role.USER)
        [report] = await collect(found.then(prompt.id))
        assert secret not in f"{found}{report}"
