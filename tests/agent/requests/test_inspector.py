"""What `/request` finds about a request: its parts, its cache breakpoints, and what it had."""

import pytest

from tests.agent.harness import Bench, Checked, play
from tests.store.turns import changed
from yourtool.agent.requests.inspector import (
    RequestSettings,
    inspect_request,
    list_breakpoints,
    list_parts,
)
from yourtool.agent.requests.prompt import build_stable_text, split_stable_text
from yourtool.errors import UsageError
from yourtool.events.model_calls import LlmCallStarted, RequestPart
from yourtool.providers.base import FileRoots
from yourtool.providers.scripted import Scripted, calls, says


@pytest.fixture
def bench(tmp_path):
    return Bench(tmp_path)


def settings(bench):
    places = FileRoots(bench.root / "blobs", bench.workspace)
    return RequestSettings(bench.catalogue, places, "drop", "short")


async def send(bench, *replies, prompts=("one",)):
    """Return the facts of a session, and the requests that its adapter got."""
    adapter = Checked(Scripted(list(replies)))
    session = await bench.session(adapter)
    for prompt in prompts:
        await play(session.send(prompt))
    facts = await bench.store.read(session.id)
    await session.close()
    return facts, adapter.requests


async def test_each_request_is_composed_again_as_it_was_sent(bench):
    facts, sent = await send(
        bench, calls("list_files"), says("done"), says("again"), prompts=("one", "two")
    )
    assert len(sent) == 3
    for number, request in enumerate(sent, 1):
        found = inspect_request(facts, number, settings(bench))
        assert (found.number, found.total) == (number, 3)
        assert [each.content for each in found.messages] == [
            each.content for each in request.messages
        ]
        assert [(each.name, each.description) for each in found.tools] == [
            (each.name, each.description) for each in request.tools
        ]
        assert found.cache.breakpoints == request.cache.breakpoints
    assert inspect_request(facts, None, settings(bench)).number == 3


async def test_parts_add_up_to_the_size_of_the_request(bench):
    facts, _ = await send(bench, calls("list_files"), says("done"))
    found = inspect_request(facts, 2, settings(bench))
    parts = {part.name: part for part in list_parts(found)}
    assert {"system prompt", "tools", "prompts", "tool calls", "tool results"} <= parts.keys()
    assert parts["tools"].pieces == len(found.tools)
    total = sum(part.tokens for part in parts.values())
    assert total == pytest.approx(found.size, abs=len(parts))
    assert sum(part.tokens > 0 for part in parts.values()) == len(parts)


async def test_breakpoints_are_in_order_and_within_the_request(bench):
    facts, _ = await send(bench, says("x"), says("y"), prompts=("one " * 9_000, "two"))
    found = list_breakpoints(inspect_request(facts, 2, settings(bench)))
    sizes = [each.tokens for each in found]
    assert sizes == sorted(sizes)


async def test_changes_since_the_request_before_are_named(bench):
    replies = [says(each) for each in ("one", "two", "a summary", "three", "four", "five")]
    adapter = Checked(Scripted(replies))
    session = await bench.session(adapter)
    for prompt in ("a", "b"):
        await play(session.send(prompt))
    await play(session.compact())
    await play(session.send("c"))
    await play(session.select_model("other"))
    await play(session.send("d"))
    await play(session.tree.move(session.state.messages[1].id))
    await play(session.send("e"))
    facts = await bench.store.read(session.id)
    await session.close()
    found = [inspect_request(facts, number, settings(bench)) for number in range(1, 6)]
    assert [each.changes for each in found] == [
        [],
        [],
        ["the tools", "old messages, which are summarised or omitted"],
        ["the model"],
        ["the tools", "the branch of the conversation"],
    ]
    visible = [each for at, each in enumerate(adapter.requests) if at != 2]
    for inspected, sent in zip(found, visible, strict=True):
        contents = [each.content for each in inspected.messages]
        assert contents == [each.content for each in sent.messages]
    assert "summaries" in {part.name for part in list_parts(found[2])}


async def test_a_request_that_was_not_sent_is_refused(bench):
    facts, _ = await send(bench, says("x"))
    for number in (0, 2):
        with pytest.raises(UsageError, match="1 to 1"):
            inspect_request(facts, number, settings(bench))
    with pytest.raises(UsageError, match="Nothing was sent"):
        inspect_request(facts[:1], None, settings(bench))


def test_the_stable_text_is_split_into_what_it_was_built_of():
    named = [("the user, from A", "be brief\n\n# Skills\nnone"), ("the project, from B", "go")]
    parts = dict(split_stable_text(build_stable_text("here", named, "- a skill")))
    assert parts["skills"] == "- a skill"
    assert parts["instructions"].startswith("the user, from A\n\nbe brief")
    assert "# Surroundings\nhere" in parts["system prompt"]
    assert dict(split_stable_text(build_stable_text("here", ()))).keys() == {"system prompt"}


async def test_tools_of_an_imported_request_can_be_any_text(bench):
    facts, _ = await send(bench, says("x"))
    at = next(at for at, fact in enumerate(facts) if isinstance(fact, LlmCallStarted))
    for text in ("", "no JSON", "[1]", "[" * 5_000):
        part = RequestPart(facts[at].tools.digest, text)
        changed_facts = [*facts[:at], changed(facts[at], tools=part), *facts[at + 1 :]]
        found = inspect_request(changed_facts, 1, settings(bench))
        assert found.tools == ()
        assert "tools" not in {part.name for part in list_parts(found)}
