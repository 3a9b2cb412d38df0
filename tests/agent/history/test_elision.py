"""A model that finds the conversation too long gets it without what tools returned long ago."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.agent.harness import MODEL, OTHER, Checked, play
from tests.providers.histories import image
from tests.strategies import Writer
from yourtool.agent.history.elision import (
    MAX_INTACT_CHARACTERS,
    OUTPUT_PLACEHOLDER,
    elide_tool_outputs,
    next_elision,
)
from yourtool.agent.history.summary_texts import INSTRUCTIONS
from yourtool.errors import ContextOverflowError, ErrorClass, NetworkError
from yourtool.events.deltas import Notice
from yourtool.events.model_calls import LlmCallFailed
from yourtool.events.turns import TurnCompleted
from yourtool.messages.blocks import TextBlock, ToolResultBlock
from yourtool.messages.invariants import validate_session
from yourtool.messages.message import Role
from yourtool.messages.metadata import StopReason
from yourtool.providers.scripted import Scripted, calls, fails, says

FILE = "some words of a file\n" * 100
LARGEST = 20_000
"""More characters than six of its outputs have."""


def request_text(request):
    return [message for message in request.messages if message.role is not Role.SYSTEM]


def size(request):
    return sum(
        len(part.text)
        for message in request_text(request)
        for block in message.content
        for part in (block.content if isinstance(block, ToolResultBlock) else (block,))
        if isinstance(part, TextBlock)
    )


def reader(room):
    """Return a model that reads a file twice for each prompt, if it has room for the prompt."""

    def answer(request):
        if size(request) > room():
            return fails(ContextOverflowError("too long"))
        since = 0
        for message in reversed(request_text(request)):
            if message.is_prompt:
                break
            since += message.role is Role.ASSISTANT
        return calls("read_file", path="a.txt") if since < 2 else says("I have read it.")

    return Checked(Scripted(answer))


def failures(events):
    return [event for event in events if isinstance(event, LlmCallFailed)]


@pytest.mark.parametrize("room", range(0, LARGEST, 1_000))
@pytest.mark.req("R10")
@pytest.mark.sample(3)
async def test_full_context_window_of_any_size_ends_no_session_and_never_loops(bench, room):
    (bench.workspace / "a.txt").write_text(FILE)
    limit = LARGEST
    adapter = reader(lambda: limit)
    session = await bench.session(adapter)
    await play(session.send("read it"))
    remaining, before = list(session.state.messages), len(adapter.requests)
    limit = room
    events = await play(session.send("and again"))
    last_event = events[-1]
    assert isinstance(last_event, TurnCompleted)
    least = len("read it" + "and again" + "I have read it.") + 4 * len(OUTPUT_PLACEHOLDER)
    assert (last_event.stop_reason is StopReason.END_TURN) == (room > least)
    assert len(failures(events)) <= 4
    assert all(each.error_class == ErrorClass.CONTEXT_OVERFLOW for each in failures(events))
    assert session.state.messages[: len(remaining)] == remaining
    assert validate_session(session.state.messages) == []
    for request in adapter.requests[before:]:
        if INSTRUCTIONS in request.messages[-1].text:
            continue
        assert "and again" in [message.text for message in request.messages]
    limit = LARGEST
    await play(session.send("once more"))
    assert session.state.messages[-1].text == "I have read it."
    await session.close()


async def test_elided_results_stay_elided_for_this_model_and_after_a_resume(bench):
    (bench.workspace / "a.txt").write_text(FILE)
    limit = LARGEST
    adapter = reader(lambda: limit)
    session = await bench.session(adapter)
    await play(session.send("read it"))
    limit = size(adapter.requests[-1]) * 5 // 4
    events = await play(session.send("and again"))
    notices = [event.text for event in events if isinstance(event, Notice)]
    assert len(failures(events)) == 1
    assert any("omit old tool outputs" in text and MODEL.id in text for text in notices)
    limit = LARGEST
    await play(session.send("fine?"))
    sent = adapter.requests[-1]
    await session.close()
    resumed = await bench.session(adapter, resume=session.id)
    await play(resumed.retry())
    assert OUTPUT_PLACEHOLDER in str(adapter.requests[-1].messages)
    assert request_text(adapter.requests[-1])[: len(request_text(sent))] == request_text(sent)
    limit = 10 * LARGEST
    await play(resumed.send(f"@{OTHER.aliases[0]} and you?"))
    assert OUTPUT_PLACEHOLDER not in str(adapter.requests[-1].messages)
    await resumed.close()


async def test_overflow_after_the_first_text_is_not_retried(bench):
    (bench.workspace / "a.txt").write_text(FILE)
    broken = says("I was") + fails(ContextOverflowError("full"))
    session = await bench.session(Scripted([calls("read_file", path="a.txt"), broken]))
    events = await play(session.send("read it"))
    assert len(failures(events)) == 1
    assert events[-1].stop_reason is StopReason.ERROR
    await session.close()


async def test_other_failures_elide_nothing(bench):
    (bench.workspace / "a.txt").write_text(FILE)
    script = [calls("read_file", path="a.txt"), fails(NetworkError("gone")), says("fine")]
    adapter = Checked(Scripted(script))
    session = await bench.session(adapter)
    await play(session.send("read it"))
    await play(session.retry())
    assert OUTPUT_PLACEHOLDER not in str(adapter.requests[-1].messages)
    await session.close()


async def test_request_limit_applies_to_retries_after_elision(bench):
    (bench.workspace / "a.txt").write_text(FILE)
    script = [calls("read_file", path="a.txt"), fails(ContextOverflowError("full")), says("no")]
    adapter = Checked(Scripted(script))
    session = await bench.session(adapter, max_requests=2)
    await play(session.send("read it"))
    assert len(adapter.requests) == 2
    await session.close()


PARTS = st.lists(
    st.sampled_from(
        [
            (Role.USER, 10),
            (Role.ASSISTANT, 10),
            (Role.TOOL, 10),
            (Role.TOOL, MAX_INTACT_CHARACTERS + 1),
            (Role.TOOL, None),
        ]
    )
)


@given(PARTS)
def test_elision_continues_until_all_outputs_are_elided_and_changes_nothing_else(parts):
    writer = Writer()
    messages = []
    for role, length in parts:
        output = image() if length is None else TextBlock("x" * length)
        block = ToolResultBlock("tu_1", (output,)) if role is Role.TOOL else output
        messages.append(writer.message(role, [block]))
    heavy = sum(
        length is None or (role, length) == (Role.TOOL, MAX_INTACT_CHARACTERS + 1)
        for role, length in parts
    )
    cut, left, rounds = None, heavy, 0
    while (further := next_elision(messages, cut)) is not None:
        assert cut is None or further > cut
        cut, rounds = further, rounds + 1
        visible = elide_tool_outputs(messages, cut)
        out = sum(each != other for each, other in zip(messages, visible, strict=True))
        assert out > heavy - left
        left = heavy - out
        assert [each.id for each in visible] == [each.id for each in messages]
        assert all(
            each == other or each.role is Role.TOOL
            for each, other in zip(messages, visible, strict=True)
        )
        assert elide_tool_outputs(visible, cut) == visible
    assert left == 0
    assert rounds <= 3
