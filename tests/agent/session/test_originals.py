"""`expand_message`: what a model can read of messages that requests have only a part of."""

import pytest

from tests.agent.harness import play
from tests.agent.turn.test_compaction import PARAGRAPH, Limited, open_session, talk
from yourtool.agent.session.originals import Originals
from yourtool.errors import ToolError
from yourtool.providers.estimate import estimate_tokens
from yourtool.tools.builtin import default_toolbox
from yourtool.tools.guidance.expansion import EXPAND_MESSAGE, MAX_CHARACTERS, build_expand_message

pytestmark = pytest.mark.req("R-SEED-03", "D9")


async def open_compacted(bench):
    session = await open_session(bench, Limited())
    await talk(session, 3)
    await play(session.compact())
    return session


def has_tool(request):
    return EXPAND_MESSAGE in {each.name for each in request.tools}


async def test_tool_is_offered_from_the_first_summary_on(bench):
    model = Limited()
    session = await open_session(bench, model)
    await talk(session, 2)
    assert not any(map(has_tool, model.requests))
    await play(session.compact())
    await play(session.send("Next."))
    assert has_tool(model.requests[-1])
    await session.close()


async def test_tool_is_offered_while_a_message_is_shortened(bench):
    model = Limited()
    session = await open_session(bench, model)
    await talk(session, 1)
    prompt = session.state.messages[0]
    for override, offered in (("truncated", True), ("pinned", False)):
        await play(session.context.override(prompt.id, override))
        await play(session.send("Next."))
        assert has_tool(model.requests[-1]) is offered
    await session.close()


async def test_summary_names_the_numbers_of_its_prompts(bench):
    session = await open_compacted(bench)
    text = session.state.conversation[0].text
    assert "has the originals by number, 1 to 4" in text
    assert '1 "Prompt 0. The quick' in text
    assert '3 "Prompt 1. The quick' in text
    await play(session.context.override(session.state.messages[0].id, "omitted"))
    assert "Prompt 0" not in session.state.conversation[0].text
    await session.close()


async def test_numbers_stay_the_same_after_a_second_summary(bench):
    session = await open_compacted(bench)
    read = Originals(session.state).read
    before = [read(str(number), 0) for number in range(1, 5)]
    await talk(session, 2)
    await play(session.compact())
    assert [read(str(number), 0) for number in range(1, 5)] == before
    assert "Prompt 2." in read("5", 0)
    await session.close()


async def test_model_reads_a_message_by_number_and_by_id_in_pages(bench):
    session = await open_compacted(bench)
    await play(session.send("A novel. " + PARAGRAPH * 5))
    read = Originals(session.state).read
    assert "[User]\nPrompt 0. The quick" in read("1", 0)
    prompt = session.state.prompts[-1]
    first = read(prompt.id, 0)
    assert f"`offset` {MAX_CHARACTERS} continues" in first
    assert "more characters" not in read(prompt.id, MAX_CHARACTERS)
    await session.close()


async def test_mistakes_and_omitted_messages_are_refused(bench):
    session = await open_compacted(bench)
    read = Originals(session.state).read
    with pytest.raises(ToolError, match="1 to 4"):
        read("9", 0)
    with pytest.raises(ToolError, match="smaller `offset`"):
        read("1", 99_999)
    await play(session.context.override(session.state.messages[0].id, "omitted"))
    with pytest.raises(ToolError, match="the user removed the message"):
        read("1", 0)
    await session.close()


@pytest.mark.parametrize("model", ["anthropic:claude-sonnet-4-6", "openai:gpt-5"])
def test_tool_has_at_most_120_tokens(model):
    tool = build_expand_message(lambda name, _: name)
    before = estimate_tokens((), default_toolbox().definitions, model)
    after = estimate_tokens((), (*default_toolbox().definitions, tool.definition), model)
    assert after - before <= 120
