import asyncio
import json

import pytest

from tests.providers.fakes import collect_events, make_message, request
from tests.scripts import calls_badly, pauses
from yourtool.errors import ConfigError, InvalidRequestError, NetworkError, RateLimitError
from yourtool.events.deltas import (
    MessageComplete,
    MessageStart,
    StreamError,
    TextDelta,
    ThinkingDelta,
    TokenUsage,
    ToolUseEnd,
    ToolUseInputDelta,
    ToolUseStart,
    UsageUpdate,
)
from yourtool.interrupt import Interrupt
from yourtool.messages.blocks import TextBlock, ThinkingBlock, ToolUseBlock
from yourtool.messages.message import Role
from yourtool.messages.metadata import StopReason
from yourtool.providers.scripted import (
    Scripted,
    calls,
    counts,
    fails,
    read_script,
    says,
    stops,
    thinks,
)


async def final(adapter, outgoing=None) -> MessageComplete:
    events, error = await collect_events(adapter, outgoing or request())
    assert error is None
    assert isinstance(events[-1], MessageComplete)
    return events[-1]


async def test_words_are_streamed_one_by_one_and_completely():
    text = "I look.\n\n- a\n-  b\n"
    events, _ = await collect_events(Scripted([says(text)]), request())
    deltas = [event.text for event in events if isinstance(event, TextDelta)]
    assert len(deltas) > 4
    assert "".join(deltas) == text
    assert isinstance(events[0], MessageStart)


async def test_reply_with_every_kind_of_step_follows_the_stream_rules():
    line = thinks("Hm, so.", "sig") + says("I look.") + calls("read_file", path="a.txt")
    events, _ = await collect_events(Scripted([line]), request())
    kinds = [type(event) for event in events]
    assert kinds[0] is MessageStart
    assert kinds[-1] is MessageComplete
    assert kinds.index(ThinkingDelta) < kinds.index(TextDelta) < kinds.index(ToolUseStart)
    assert [kinds.count(kind) for kind in (ToolUseStart, ToolUseInputDelta, ToolUseEnd)] == [1] * 3
    indices = [e.content_block_index for e in events if hasattr(e, "content_block_index")]  # pyright: ignore[reportAttributeAccessIssue] - asked just before
    assert indices == sorted(indices)
    complete = events[-1]
    assert isinstance(complete, MessageComplete)
    reasoning, text, call = complete.final_content
    assert reasoning == ThinkingBlock("Hm, so.", "sig")
    assert text == TextBlock("I look.")
    assert isinstance(call, ToolUseBlock)
    assert call.id.startswith("tu_")
    assert (call.name, call.input) == ("read_file", {"path": "a.txt"})
    assert complete.stop_reason is StopReason.TOOL_USE


async def test_each_request_gets_the_next_reply_and_each_session_starts_over():
    adapter = Scripted([says("one"), says("two")])
    assert (await final(adapter)).final_content == (TextBlock("one"),)
    assert (await final(adapter)).final_content == (TextBlock("two"),)
    assert (await final(adapter, request(session_id="other"))).final_content == (TextBlock("one"),)
    _, error = await collect_events(adapter, request())
    assert isinstance(error, InvalidRequestError)
    assert str(error) == "the script of `demo:x` ends after 2 replies"
    assert len(adapter.requests) == 4


async def test_function_can_be_the_script():
    adapter = Scripted(lambda outgoing: says(f"You said {outgoing.messages[-1].text}"))
    complete = await final(adapter, request(make_message(Role.USER, "boo")))
    assert complete.final_content == (TextBlock("You said boo"),)


async def test_failure_before_the_first_word_emits_nothing():
    error = RateLimitError("slow down")
    assert await collect_events(Scripted([fails(error)]), request()) == ([], error)


async def test_failure_after_some_content_emits_it_and_then_raises_the_error():
    broken = NetworkError("cut")
    line = says("half") + calls("read_file", path="a") + fails(broken)
    events, error = await collect_events(Scripted([line]), request())
    assert error is broken
    complete, last = events[-2:]
    assert isinstance(complete, MessageComplete)
    assert complete.stop_reason is StopReason.ERROR
    assert complete.final_content[0] == TextBlock("half")
    assert isinstance(last, StreamError)


async def test_arguments_that_are_not_an_object_are_stored_as_an_error():
    complete = await final(Scripted([calls_badly("read_file", '{"path": ')]))
    [call] = complete.final_content
    assert isinstance(call, ToolUseBlock)
    assert call.input == {}
    assert complete.tool_input_errors[call.id].raw == '{"path": '


async def test_counters_and_stop_reason_can_be_set():
    usage = TokenUsage(input_tokens=7, output_tokens=3, cached_input_tokens=5)
    complete = await final(Scripted([says("x") + counts(usage) + stops(StopReason.MAX_TOKENS)]))
    assert complete.usage == usage
    assert complete.stop_reason is StopReason.MAX_TOKENS


async def test_unset_counters_are_estimated_from_the_texts():
    events, _ = await collect_events(Scripted([says("some words")]), request())
    [update] = [event for event in events if isinstance(event, UsageUpdate)]
    assert update.usage.input_tokens > 0
    assert update.usage.output_tokens > 0


async def test_pace_is_a_sleep_per_word_and_none_without_a_pace():
    naps = []

    async def sleep(seconds):
        naps.append(seconds)

    await final(Scripted([says("a b c")], words_per_second=50, sleep=sleep))
    assert naps == [0.02] * 3
    await final(Scripted([says("a b") + pauses(3)], words_per_second=10, sleep=sleep))
    assert naps[3:] == [0.1, 0.1, 3]
    await final(Scripted([says("a b c")], sleep=sleep))
    assert len(naps) == 6


async def test_stop_preserves_the_words_so_far():
    interrupt = Interrupt()

    async def sleep(_):
        sleep.left -= 1
        if not sleep.left:
            interrupt.request()
            await asyncio.Event().wait()

    sleep.left = 3
    adapter = Scripted([says("one two three four")], words_per_second=80, sleep=sleep)
    complete = await final(adapter, request(interrupt=interrupt))
    assert complete.stop_reason is StopReason.CANCELLED
    assert complete.final_content == (TextBlock("one two"),)


def test_script_can_be_read_from_a_file(tmp_path):
    steps = [
        {"think": "Hm."},
        {"pause": 1},
        {"say": "I look."},
        {"call": "read_file", "input": {"path": "a"}},
        {"usage": {"input_tokens": 1, "output_tokens": 2}},
        {"fail": "rate_limit", "message": "Slow down."},
    ]
    (tmp_path / "s.json").write_text(json.dumps({"replies": [steps, []]}))
    first, second = read_script(tmp_path / "s.json")
    *rest, failure = first.steps
    wanted = (
        thinks("Hm.")
        + pauses(1)
        + says("I look.")
        + calls("read_file", path="a")
        + counts(TokenUsage(input_tokens=1, output_tokens=2))
    )
    assert tuple(rest) == wanted.steps
    assert isinstance(failure.error, RateLimitError)  # pyright: ignore[reportAttributeAccessIssue] - a `Fail`
    assert second.steps == ()


@pytest.mark.parametrize(
    ("content", "complaint"),
    [
        ("{", "is not a script"),
        ('{"replies": [[{"call": "x", "input": {"a": ' + "[" * 100_000, "is not a script"),
        ('{"replies": [[{"say": 5}]]}', r"replies\[0\]\[0\].say"),
        ('{"replies": [[{"says": "x"}]]}', "unknown field `says`"),
        ('{"replies": [[{}]]}', "reply 1: a step has one of `say`"),
        ('{"replies": [[], [{"fail": "boredom"}]]}', "reply 2: `boredom` is none of `rate_limit`"),
    ],
)
def test_invalid_script_is_rejected_with_its_location(tmp_path, content, complaint):
    path = tmp_path / "s.json"
    path.write_text(content)
    with pytest.raises(ConfigError, match=complaint) as caught:
        read_script(path)
    assert str(path) in str(caught.value)


def test_error_names_the_missing_script(tmp_path):
    with pytest.raises(ConfigError, match="cannot be read: No such file"):
        read_script(tmp_path / "none.json")
