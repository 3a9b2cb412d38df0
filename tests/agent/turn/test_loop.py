"""The turn, whole: real session, store and tools; the model is scripted."""

import asyncio
from contextlib import aclosing
from decimal import Decimal

import pytest
from msgspec.structs import replace

from tests.agent.harness import ALLOW, DENY, LIMITS, MODEL, Checked, User, names, play
from tests.scripts import calls_badly, pauses
from yourtool.agent.history import recorder
from yourtool.effects import SideEffects
from yourtool.errors import InvalidRequestError, NetworkError, RateLimitError, UsageError
from yourtool.events.deltas import MessageComplete, Notice, TextDelta, TokenUsage, ToolUseStart
from yourtool.events.model_calls import LlmCallCompleted, LlmCallFailed
from yourtool.events.tools import ToolCalled, ToolCompleted, ToolFailed
from yourtool.events.turns import RouteDecided, TurnCompleted, TurnStarted
from yourtool.ids import new_id
from yourtool.messages.blocks import TextBlock, ToolUseBlock
from yourtool.messages.invariants import validate_message, validate_session
from yourtool.messages.message import PromptMessage, Role, now
from yourtool.messages.metadata import (
    Audience,
    MessageStatus,
    PromptMetadata,
    StopReason,
)
from yourtool.providers.retry import RetryingAdapter
from yourtool.providers.scripted import (
    Scripted,
    calls,
    counts,
    fails,
    says,
    stops,
)
from yourtool.settings.agent_config import Limits
from yourtool.settings.config import Mode
from yourtool.tools.base import Args, ToolContext, tool

READ = calls("read_file", path="a.txt")


class Nothing(Args, frozen=True):
    """No arguments."""


def valid(session):
    """The stored history is legal, and nothing in it is unanswered (R-LOOP-02)."""
    problems = [p for message in session.state.messages for p in validate_message(message)]
    return [*problems, *validate_session(session.state.messages)] == []


async def test_plain_exchange_stores_two_messages_and_one_terminal_fact(bench):
    session = await bench.session(Checked(Scripted([says("A ULID is an identifier.")])))
    events = await play(session.send("What is a ULID?"))
    assert names(events) == [
        "turn.started",
        "route.decided",
        "llm.call_started",
        "llm.call_completed",
        "turn.completed",
    ]
    prompt, reply = session.state.messages
    assert (prompt.role, reply.role) == (Role.USER, Role.ASSISTANT)
    assert reply.metadata.routing.reason == "global default"
    assert reply.metadata.usage.pricing_version.startswith("2026-01-01@")
    assert valid(session)
    await session.close()


async def test_tool_round_trip_sends_two_requests_with_one_turn_id(bench):
    (bench.workspace / "a.txt").write_text("a cat\n")
    adapter = Checked(Scripted([says("I look.") + READ, says("It says: a cat.")]))
    session = await bench.session(adapter)
    events = await play(session.send("What is in a.txt?"))
    assert names(events)[2:] == [
        "llm.call_started",
        "llm.call_completed",
        "tool.called",
        "tool.completed",
        "llm.call_started",
        "llm.call_completed",
        "turn.completed",
    ]
    roles = [message.role for message in session.state.messages]
    assert roles == [Role.USER, Role.ASSISTANT, Role.TOOL, Role.ASSISTANT]
    result = session.state.messages[2].result
    assert "a cat" in result.content[0].text
    assert len({fact.turn_id for fact in session.state.facts if fact.turn_id}) == 1
    assert valid(session)
    await session.close()


async def test_parent_ids_of_every_event_of_a_turn_lead_to_its_start(bench):
    """R-EVT-02."""
    (bench.workspace / "a.txt").write_text("x")
    script = [READ + calls("write_file", path="b.txt", content="y"), READ, says("done")]
    session = await bench.session(Checked(Scripted(script)), confirm=User(ALLOW))
    await play(session.send("go"))
    by_id = {fact.id: fact for fact in session.state.facts}
    [start] = [fact for fact in session.state.facts if fact.__struct_config__.tag == "turn.started"]
    for fact in session.state.facts:
        if fact.turn_id is None:
            continue
        while fact.parent_event_id is not None:
            fact = by_id[fact.parent_event_id]
        assert fact is start
    tags = {fact.id: fact.__struct_config__.tag for fact in session.state.facts}
    edges = {
        (tags.get(fact.parent_event_id), tags[fact.id])
        for fact in session.state.facts
        if fact.turn_id
    }
    assert edges == {
        (None, "turn.started"),
        ("turn.started", "routing.snapshot"),
        ("turn.started", "route.decided"),
        ("turn.started", "llm.call_started"),
        ("llm.call_started", "llm.call_completed"),
        ("tool.called", "files.changed"),
        ("llm.call_completed", "policy.snapshot"),
        ("llm.call_completed", "tool.confirmation_requested"),
        ("tool.confirmation_requested", "tool.confirmation_resolved"),
        ("llm.call_completed", "tool.called"),
        ("tool.called", "files.changed"),
        ("tool.called", "tool.completed"),
        ("tool.completed", "llm.call_started"),
        ("llm.call_completed", "turn.completed"),
    }
    await session.close()


@pytest.mark.parametrize("answer", [ALLOW, DENY])
async def test_nothing_is_written_before_approval(bench, answer):
    """R-CONF-01."""
    script = [calls("write_file", path="new.txt", content="hi\n"), says("ok")]
    user = User(answer)
    session = await bench.session(Checked(Scripted(script)), confirm=user)
    events = await play(session.send("write it"))
    [question] = user.asked
    assert question.preview.kind == "diff"
    assert "+hi" in question.preview.body
    assert (bench.workspace / "new.txt").exists() is (answer is ALLOW)
    assert ("tool.called" in names(events)) is (answer is ALLOW)
    assert valid(session)
    await session.close()


async def test_rejection_reaches_the_model_with_the_text_of_the_user(bench):
    """R-LOOP-12."""
    adapter = Scripted([calls("shell", command="rm -rf build"), says("I will not.")])
    denied = DENY.__class__(verdict=DENY.verdict, note="use make clean")
    session = await bench.session(Checked(adapter), confirm=User(denied))
    events = await play(session.send("clean"))
    [failed] = [event for event in events if isinstance(event, ToolFailed)]
    assert failed.error_class == "user_denied"
    assert "use make clean" in adapter.requests[1].messages[-1].result.content[0].text
    await session.close()


async def test_reply_cut_by_the_output_limit_never_runs_its_last_call(bench):
    """R-LOOP-04, R-ADP-06."""
    cut = calls_badly("write_file", '{"path": "a.py", "content": "def f():')
    script = [says("Here.") + cut + stops(StopReason.MAX_TOKENS), says("again")]
    user = User(ALLOW)
    session = await bench.session(Checked(Scripted(script)), confirm=user)
    events = await play(session.send("write"))
    assert not user.asked
    assert not (bench.workspace / "a.py").exists()
    assert "tool.input_invalid" in names(events)
    assert "tool.called" not in names(events)
    assert valid(session)
    await session.close()


@pytest.mark.parametrize(("interactive", "way"), [(True, "/continue"), (False, "`--continue`")])
async def test_reply_cut_by_the_output_limit_names_the_continuation_of_the_front_end(
    bench, interactive, way
):
    script = [says("half a") + stops(StopReason.MAX_TOKENS)]
    session = await bench.session(Checked(Scripted(script)), interactive=interactive)
    events = await play(session.send("write"))
    [notice] = [each for each in events if isinstance(each, Notice)]
    assert f" {way} continues it." in notice.text
    await session.close()


async def test_text_cut_by_the_output_limit_is_stored_with_a_notice(bench):
    """R-LOOP-04."""
    script = [says("half a") + stops(StopReason.MAX_TOKENS), says("sentence.")]
    session = await bench.session(Checked(Scripted(script)))
    events = await play(session.send("say"))
    assert any(isinstance(event, Notice) and "/continue" in event.text for event in events)
    assert session.state.messages[-1].text == "half a"
    await session.close()


async def test_failed_request_preserves_the_partial_text_and_the_session(bench):
    """R-LOOP-05, R-LOOP-02."""
    script = [says("I was saying") + fails(NetworkError("the line broke")), says("fine")]
    adapter = Checked(Scripted(script))
    session = await bench.session(adapter)
    events = await play(session.send("talk"))
    assert names(events)[-2:] == ["llm.call_failed", "turn.completed"]
    partial = session.state.messages[-1]
    assert partial.metadata.status is MessageStatus.ERROR
    assert partial.text == "I was saying"
    await play(session.send("go on"))
    assert session.state.messages[-1].text == "fine"
    assert valid(session)
    await session.close()


@pytest.mark.req("R-SWP-02")
async def test_conversation_without_sendable_content_is_rejected_before_sending(bench):
    adapter = Checked(Scripted([says("never")]))
    session = await bench.session(adapter)
    hidden = PromptMetadata(audience=Audience.USER)
    prompt = PromptMessage(id=new_id(), session_id=session.id, metadata=hidden,
                    content=(TextBlock("for the user alone"),), created_at=now())  # fmt: skip
    started = TurnStarted(
        user_message_hash="", estimated_input_tokens=0, has_images=False,
        has_tool_calls_in_history=False, message=prompt,
    )  # fmt: skip
    session.state.apply(started)
    events = await play(session.retry())
    (failed,) = (event for event in events if isinstance(event, LlmCallFailed))
    assert failed.error_class == "invalid_request"
    assert adapter.requests == []
    await session.close()


@pytest.mark.req("D1")
async def test_reply_that_its_provider_ended_with_an_error_is_stored_as_an_error(bench):
    """It came whole, and is no answer: the next request goes without it."""
    script = [says("Let me") + stops(StopReason.ERROR), says("Here it is.")]
    adapter = Checked(Scripted(script))
    session = await bench.session(adapter)
    events = await play(session.send("talk"))
    assert session.state.messages[-1].metadata.status is MessageStatus.ERROR
    assert events[-1].stop_reason is StopReason.ERROR
    await play(session.retry())
    assert "Let me" not in str(adapter.requests[-1].messages)
    assert session.state.messages[-1].text == "Here it is."
    assert valid(session)
    await session.close()


async def test_call_cut_by_the_end_of_a_request_is_reported_and_never_stored(bench):
    script = [says("Look:") + calls("list_dir", path=".") + fails(NetworkError("the line broke"))]
    session = await bench.session(Checked(Scripted(script)))
    events = await play(session.send("look"))
    (start,) = (event for event in events if isinstance(event, ToolUseStart))
    (failed,) = (event for event in events if isinstance(event, LlmCallFailed))
    assert failed.cut_calls == {start.tool_use_id: "list_dir"}
    assert session.state.messages[-1].content == (TextBlock("Look:"),)
    assert valid(session)
    await session.close()


async def test_retry_does_not_repeat_the_user_message(bench):
    """R-LOOP-06."""
    script = [fails(InvalidRequestError("no")), says("yes")]
    session = await bench.session(Checked(Scripted(script)))
    await play(session.send("please"))
    events = await play(session.retry())
    assert [m.role for m in session.state.messages] == [Role.USER, Role.ASSISTANT]
    assert names(events)[-1] == "turn.completed"
    await session.close()


async def test_retry_of_an_interrupted_turn_sends_a_valid_request(bench):
    script = [says("half") + fails(NetworkError("gone")), says("whole")]
    session = await bench.session(Checked(Scripted(script)))
    await play(session.send("please"))
    await play(session.retry())
    assert session.state.messages[-1].text == "whole"
    assert valid(session)
    await session.close()


async def test_every_failed_attempt_is_stored_with_its_number(bench):
    """R-ADP-16."""

    async def no_wait(seconds):
        del seconds

    script = [fails(RateLimitError("slow")), fails(RateLimitError("slow")), says("now")]
    session = await bench.session(Checked(RetryingAdapter(Scripted(script), sleep=no_wait)))
    events = await play(session.send("hi"))
    failed = [event for event in events if isinstance(event, LlmCallFailed)]
    assert [each.retry_count for each in failed] == [0, 1]
    assert names(events)[-2:] == ["llm.call_completed", "turn.completed"]
    await session.close()


async def test_request_limit_pauses_for_approval_and_approval_allows_as_many_again(bench):
    """R-LOOP-07."""
    (bench.workspace / "a.txt").write_text("x")
    script = [calls("read_file", path="a.txt", offset=n) for n in range(1, 6)] + [says("end")]
    user = User(ALLOW)
    session = await bench.session(
        Checked(Scripted(script)), confirm=user, limits=Limits(max_requests_per_turn=2)
    )
    events = await play(session.send("loop"))
    assert [question.kind for question in user.asked] == ["limit", "limit"]
    assert events[-1].llm_call_count == 6
    await session.close()


async def test_option_for_requests_replaces_the_limit_of_the_settings(bench):
    (bench.workspace / "a.txt").write_text("x")
    script = [calls("read_file", path="a.txt", offset=n) for n in range(1, 6)] + [says("end")]
    user = User(DENY)
    limits = Limits(max_requests_per_turn=2)
    session = await bench.session(
        Checked(Scripted(script)), confirm=user, limits=limits, max_requests=9
    )
    events = await play(session.send("loop"))
    assert user.asked == [] and events[-1].llm_call_count == 6
    await session.close()


async def test_option_for_the_cost_replaces_the_limit_of_the_settings(bench):
    (bench.workspace / "a.txt").write_text("x")
    script = [calls("read_file", path="a.txt", offset=n) for n in range(1, 4)] + [says("end")]
    limits = Limits(max_cost_per_turn_usd=Decimal("0.000001"))
    for most, asked in ((None, 1), (Decimal(9), 0)):
        user = User(DENY)
        session = await bench.session(
            Checked(Scripted(script)), confirm=user, limits=limits, max_cost=most
        )
        await play(session.send("loop"))
        assert len(user.asked) == asked
        await session.close()


async def test_stop_at_a_limit_gives_open_calls_a_result(bench):
    """R-LOOP-07, R-LOOP-02."""
    script = [READ, READ, says("never")]
    (bench.workspace / "a.txt").write_text("x")
    session = await bench.session(
        Checked(Scripted(script)), confirm=User(DENY), limits=Limits(max_requests_per_turn=1)
    )
    events = await play(session.send("loop"))
    assert isinstance(events[-1], TurnCompleted)
    assert session.limit_reached
    assert valid(session)
    await session.close()


async def test_hard_request_limit_stops_without_approval(bench):
    user = User(ALLOW)
    (bench.workspace / "a.txt").write_text("x")
    session = await bench.session(
        Checked(Scripted([READ, says("never")])), confirm=user, max_requests=1
    )
    events = await play(session.send("go"))
    assert not user.asked
    assert [e.error_class for e in events if isinstance(e, ToolFailed)] == ["permission_denied"]
    assert session.limit_reached.startswith("The limit of 1 model requests is reached; `--max-tu")
    assert valid(session)
    await session.close()


async def test_cost_limit_stops_before_the_request_that_would_exceed_it(bench):
    adapter = Scripted([says("never")])
    session = await bench.session(Checked(adapter), max_cost=Decimal("0.000001"))
    events = await play(session.send("go"))
    assert not adapter.requests
    assert isinstance(events[-1], TurnCompleted)
    assert "exceeds the limit" in session.limit_reached
    await session.close()


async def test_cost_is_counted_per_completed_request_even_in_a_failed_turn(bench):
    """R-LOOP-08, R-CST-01."""
    (bench.workspace / "a.txt").write_text("x")
    used = counts(TokenUsage(input_tokens=1_000_000, output_tokens=100_000))
    script = [READ + used, fails(InvalidRequestError("no"))]
    session = await bench.session(Checked(Scripted(script)), limits=LIMITS)
    await play(session.send("go"))
    assert session.state.cost_usd == Decimal("4.5")
    await session.close()


async def test_empty_reply_is_stored_and_the_next_request_is_valid(bench):
    session = await bench.session(Checked(Scripted([stops(StopReason.END_TURN), says("hi")])))
    await play(session.send("one"))
    await play(session.send("two"))
    assert valid(session)
    await session.close()


async def test_second_send_during_a_turn_is_rejected_and_cancels_nothing(bench):
    """R-LOOP-10, the core's part: the screen queues."""
    session = await bench.session(Checked(Scripted([says("one two three")])))
    async with aclosing(session.send("first")) as events:
        async for event in events:
            if isinstance(event, TextDelta):
                with pytest.raises(UsageError):
                    await play(session.send("second"))
            last = event
    assert isinstance(last, TurnCompleted)
    await session.close()


async def cancel_when(session, text, condition):
    """Send, cancel at the first event that meets the condition, and return all events."""
    seen = []
    async with aclosing(session.send(text)) as events:
        async for event in events:
            seen.append(event)
            if condition(event):
                condition = lambda _: False  # noqa: E731 - once is enough
                assert session.cancel() is True
                assert session.cancel() is False
    return seen


async def test_cancel_during_the_stream_flushes_then_fails_then_cancels(bench):
    """R-LOOP-03, the first case."""
    script = [says("one two") + pauses(30) + says("three"), says("next")]
    session = await bench.session(Checked(Scripted(script)))
    events, streaming = [], asyncio.Event()

    async def listen():
        async for event in session.send("go"):
            events.append(event)
            if isinstance(event, TextDelta):
                streaming.set()

    sending = asyncio.create_task(listen())
    await streaming.wait()
    assert session.cancel()
    await sending
    complete = [event for event in events if isinstance(event, MessageComplete)]
    assert [each.stop_reason for each in complete] == [StopReason.CANCELLED]
    assert names(events)[-2:] == ["llm.call_failed", "turn.cancelled"]
    assert events[-2].error_class == "cancelled"
    assert "tool.failed" not in names(events)
    assert session.state.messages[-1].metadata.status is MessageStatus.CANCELLED
    await play(session.send("and now?"))
    assert valid(session)
    await session.close()


async def test_cancel_during_a_tool_fails_it_after_cleanup_then_cancels(bench):
    """R-LOOP-03, the second case."""
    script = [calls("shell", command="echo started; sleep 30"), says("next")]
    session = await bench.session(Checked(Scripted(script)))
    events = await cancel_when(
        session, "go", lambda e: "tool_output" in str(type(e).__struct_config__.tag)
    )
    assert names(events)[-2:] == ["tool.failed", "turn.cancelled"]
    failed = events[-2]
    assert failed.error_class == "cancelled"
    assert "started" in failed.error_message
    assert names(events).count("llm.call_failed") == 0
    await play(session.send("and now?"))
    assert valid(session)
    await session.close()


async def test_cancel_between_reply_and_calls_fails_every_call_without_running_it(bench):
    """R-LOOP-03, the third case."""
    (bench.workspace / "a.txt").write_text("x")
    session = await bench.session(Checked(Scripted([READ + READ, says("next")])))
    events = await cancel_when(session, "go", lambda e: isinstance(e, LlmCallCompleted))
    assert names(events)[-3:] == ["tool.failed", "tool.failed", "turn.cancelled"]
    assert "tool.called" not in names(events)
    await play(session.send("and now?"))
    assert valid(session)
    await session.close()


async def test_cancel_during_an_approval_resolves_it_as_cancelled(bench):
    """R-CONF-07."""

    class Nobody:
        async def __call__(self, confirmation):
            del confirmation
            await asyncio.sleep(3600)

    script = [calls("shell", command="true") + calls("shell", command="false"), says("next")]
    session = await bench.session(Checked(Scripted(script)), confirm=Nobody())
    sending = asyncio.create_task(play(session.send("go")))
    while "tool.confirmation_requested" not in names(session.state.facts):
        await asyncio.sleep(0.001)
    session.cancel()
    events = await sending
    resolved = [e for e in events if getattr(e, "decision", None)]
    assert [each.decision for each in resolved] == ["cancelled"]
    assert names(events)[-3:] == ["tool.failed", "tool.failed", "turn.cancelled"]
    assert valid(session)
    await session.close()


async def test_exactly_one_route_is_decided_per_turn_even_without_a_usable_model(bench):
    """R-RTE-06."""
    session = await bench.session(Checked(Scripted([says("hello")])))
    session.state.model = "nokey:x"
    events = await play(session.send("hi"))
    [route] = [event for event in events if isinstance(event, RouteDecided)]
    assert route.winner_index == -1
    assert names(events) == ["turn.started", "route.decided", "turn.completed"]
    session.state.model = None
    await play(session.retry())
    assert [m.role for m in session.state.messages] == [Role.USER, Role.ASSISTANT]
    await session.close()


async def test_swap_during_a_turn_applies_to_the_next_turn(bench):
    """R-LOOP-09."""
    script = [says("one two"), says("three"), says("four")]
    adapter = Scripted(script)
    session = await bench.session(Checked(adapter))
    async with aclosing(session.send("first")) as events:
        async for event in events:
            if isinstance(event, TextDelta) and session.state.pending_model is None:
                notices = [
                    *await play(session.select_model("blind")),
                    *await play(session.select_model("other")),
                ]
    assert all(isinstance(notice, Notice) for notice in notices)
    assert adapter.requests[0].model.id == MODEL.id
    await play(session.send("second"))
    assert adapter.requests[1].model.id == "openai:other"
    assert session.state.messages[-1].metadata.routing.mode == "manual"
    await play(session.select_model(None))
    await play(session.send("third"))
    assert adapter.requests[2].model.id == MODEL.id
    await session.close()


async def test_swap_applies_to_the_next_turn_even_if_the_end_was_not_consumed(bench):
    """R-LOOP-09."""
    adapter = Scripted([says("one two"), says("three"), says("four")])
    session = await bench.session(adapter)
    async with aclosing(session.send("first")) as events:
        async for event in events:
            if isinstance(event, TextDelta):
                await play(session.select_model("other"))
                break
    assert session.state.pending_model == "openai:other"
    await play(session.send("second"))
    assert adapter.requests[1].model.id == "openai:other"
    async with aclosing(session.send("third")) as events:
        async for event in events:
            if isinstance(event, TextDelta):
                await play(session.select_model(None))
                break
    await session.close()
    resumed = await bench.session(Scripted([]), resume=session.id)
    assert resumed.state.model is None
    await resumed.close()


async def test_next_turn_can_start_as_soon_as_the_terminal_fact_is_seen(bench):
    session = await bench.session(Scripted([says("one"), says("two") + pauses(30)]))
    first = session.send("first")
    async for event in first:
        if isinstance(event, TurnCompleted):
            break
    second = asyncio.create_task(play(session.send("second")))
    while not session.busy:
        await asyncio.sleep(0.001)
    await first.aclose()
    assert session.busy
    await asyncio.sleep(0.02)
    assert session.cancel()
    assert names(await second)[-1] == "turn.cancelled"
    assert len({fact.turn_id for fact in session.state.facts if fact.turn_id}) == 2
    assert valid(session)
    await session.close()


async def test_session_is_idle_when_a_slow_front_end_sees_the_end_of_a_turn(bench):
    session = await bench.session(Scripted([says("word " * 100)]))
    events = []
    async with aclosing(session.send("go")) as stream:
        async for event in stream:
            events.append(event)
            if len(events) % 7 == 0:
                await asyncio.sleep(0.001)
            assert session.busy is not isinstance(event, TurnCompleted)
    assert isinstance(events[-1], TurnCompleted)
    assert len(events) > 100
    await session.close()


async def test_closing_the_stream_stops_a_tool_and_leaves_no_task(bench):
    stopped = []

    @tool(SideEffects.NONE)
    async def sleep_long(args: Nothing, context: ToolContext) -> str:
        """Sleep until it is stopped."""
        try:
            await asyncio.sleep(30)
        finally:
            stopped.append(True)
        return ""

    script = [calls("sleep_long"), says("done")]
    session = await bench.session(Scripted(script), tools=[sleep_long])
    before = asyncio.all_tasks()
    async with aclosing(session.send("go")) as events:
        async for event in events:
            if isinstance(event, ToolCalled):
                break
    assert not session.busy
    await asyncio.sleep(0)
    assert stopped
    assert asyncio.all_tasks() == before
    await session.close()


async def test_limits_of_a_run_count_all_its_turns(bench):
    used = counts(TokenUsage(input_tokens=100_000, output_tokens=0))
    script = [says("one") + used] * 5
    adapter = Scripted(script)
    session = await bench.session(adapter, max_requests=2)
    for text in ("a", "b", "c"):
        await play(session.send(text))
    assert len(adapter.requests) == 2
    assert session.limit_reached.startswith("The limit of 2 model requests is reached; `--max-tu")
    await session.close()
    spent = await bench.session(Scripted(script), max_cost=Decimal("0.301"), resume=session.id)
    await play(spent.send("what was spent before does not count"))
    assert spent.limit_reached is None
    await play(spent.send("but this is too much"))
    assert "exceeds the limit" in spent.limit_reached
    await spent.close()


async def test_invalid_history_is_never_sent(bench):
    """R-CAN-03."""
    inner = Scripted([says("one"), says("never")])
    session = await bench.session(inner)
    await play(session.send("first"))
    reply = session.state.messages[1]
    foreign = ToolUseBlock("call_1", "read_file", {"path": "a"})
    session.state.branch._sent[1] = replace(reply, content=(foreign,))
    events = await play(session.send("second"))
    [failed] = [event for event in events if isinstance(event, LlmCallFailed)]
    assert failed.error_class == "invalid_request"
    assert "`call_1` is not an id of ours" in failed.error_message_redacted
    assert len(inner.requests) == 1
    await session.close()


async def test_leading_alias_applies_to_one_turn_only(bench):
    """R-RTE-01 at the session."""
    adapter = Scripted([says("one"), says("two")])
    session = await bench.session(Checked(adapter))
    await play(session.send("@other what is this?"))
    await play(session.send("and that?"))
    assert [request.model.id for request in adapter.requests] == ["openai:other", MODEL.id]
    assert adapter.requests[0].messages[-1].text == "what is this?"
    await session.close()


async def test_resumed_session_equals_its_log(bench):
    """R-PER-04."""
    (bench.workspace / "a.txt").write_text("x")
    session = await bench.session(Checked(Scripted([READ, says("done")])))
    await play(session.select_model("other"))
    await play(session.send("go"))
    messages, cost = session.state.messages, session.state.cost_usd
    await session.close()
    again = await bench.session(Checked(Scripted([says("more")])), resume=session.id)
    assert again.state.messages == messages
    assert again.state.cost_usd == cost
    assert again.state.model == "openai:other"
    await play(again.send("go on"))
    assert valid(again)
    await again.close()


async def test_turn_abandoned_by_its_consumer_is_closed_before_the_next(bench):
    (bench.workspace / "a.txt").write_text("x")
    session = await bench.session(Checked(Scripted([READ, says("done")])))
    async with aclosing(session.send("go")) as events:
        async for event in events:
            if isinstance(event, LlmCallCompleted):
                break
    assert not session.busy
    again = await play(session.send("again"))
    assert names(again)[:3] == ["tool.failed", "turn.cancelled", "turn.started"]
    assert (again[1].partial_llm_calls, again[1].partial_tool_calls) == (1, 1)
    assert valid(session)
    await session.close()


async def test_parallel_results_have_the_order_of_the_calls(bench):
    """R-TOOL-13."""
    fast_is_done = asyncio.Event()

    @tool(SideEffects.NONE)
    async def slow(args: Nothing, context: ToolContext) -> str:
        """Wait for the other."""
        await fast_is_done.wait()
        return "slow"

    @tool(SideEffects.NONE)
    async def fast(args: Nothing, context: ToolContext) -> str:
        """Be first."""
        fast_is_done.set()
        return "fast"

    script = Scripted([calls("slow") + calls("fast"), says("done")])
    session = await bench.session(script, tools=[slow, fast])
    events = await play(session.send("go"))
    finished = [e.tool_use_id for e in events if isinstance(e, ToolCompleted)]
    requested = [
        block.id for block in session.state.messages[1].content if isinstance(block, ToolUseBlock)
    ]
    assert finished == requested[::-1]
    results = [message.result for message in session.state.messages if message.result]
    assert [result.tool_use_id for result in results] == requested
    assert valid(session)
    await session.close()


async def test_cancellation_of_the_consumer_is_not_swallowed(bench):
    session = await bench.session(Checked(Scripted([says("one") + pauses(30)])))
    sending = asyncio.create_task(play(session.send("go")))
    await asyncio.sleep(0.03)
    sending.cancel()
    with pytest.raises(asyncio.CancelledError):
        await sending
    assert not session.busy
    await session.close()


class Counted:
    """A store that lists the names of the facts of each transaction."""

    def __init__(self, store) -> None:
        self.store, self.transactions = store, []

    async def append(self, *facts):
        self.transactions.append(names(facts))
        await self.store.append(*facts)


async def play_counted(session, log, prompt):
    """Return the names of the facts that a turn showed, each after it was stored."""
    shown = []
    async with aclosing(session.send(prompt)) as events:
        async for event in events:
            shown += names([event])
            assert len(shown) <= sum(map(len, log.transactions))
    return shown


@pytest.mark.parametrize(
    ("call", "transactions"),
    [
        (READ, [["llm.call_completed", "tool.called", "tool.completed", "llm.call_started"]]),
        (
            calls("shell", command="echo hi"),
            [["llm.call_completed", "tool.called"], ["tool.completed", "llm.call_started"]],
        ),
    ],
)
async def test_call_without_effects_takes_one_transaction_and_another_takes_two(
    bench, call, transactions, monkeypatch
):
    monkeypatch.setattr(recorder, "DEFERRED_SECONDS", 60)
    (bench.workspace / "a.txt").write_text("a cat\n")
    script = [READ, says("again") + call, says("done")]
    session = await bench.session(Checked(Scripted(script)), mode=Mode.AUTO)
    log = session.record._log = Counted(bench.store)
    shown = await play_counted(session, log, "do it")
    first = ["turn.started"], ["route.decided", "llm.call_started"], ["llm.call_completed"]
    start = ["tool.called", "tool.completed", "llm.call_started"]
    last = ["llm.call_completed"], ["turn.completed"]
    assert log.transactions == [*first, start, *transactions, *last]
    assert shown == [name for transaction in log.transactions for name in transaction]


async def test_start_of_a_slow_tool_without_effects_is_shown_while_it_runs(bench):
    may_end = asyncio.Event()

    @tool(SideEffects.READ)
    async def look(args: Nothing, context: ToolContext) -> str:
        """Look for a long time."""
        await may_end.wait()
        return "seen"

    script = [calls("look"), says("done")]
    session = await bench.session(Checked(Scripted(script)), tools=[look])
    shown = []
    async with aclosing(session.send("look")) as events:
        async for event in events:
            shown += names([event])
            if shown[-1:] == ["tool.called"]:
                may_end.set()
    assert shown[-5:-2] == ["tool.called", "tool.completed", "llm.call_started"]


async def test_reply_is_stored_before_the_user_is_asked_about_its_call(bench):
    stored = []

    async def confirm(confirmation):
        stored.extend(names(await bench.store.read(session.id)))
        return ALLOW

    script = [calls("write_file", path="b.txt", content="b\n"), says("done")]
    session = await bench.session(Checked(Scripted(script)), confirm=confirm)
    await play(session.send("write it"))
    assert stored[-2:] == ["llm.call_completed", "tool.confirmation_requested"]


async def test_reply_is_stored_and_shown_before_the_user_is_asked_about_a_limit(bench):
    (bench.workspace / "a.txt").write_text("a cat\n")
    stored, shown = [], []

    async def confirm(confirmation):
        stored.extend(names(await bench.store.read(session.id)))
        assert shown[-1] == "llm.call_completed"
        return ALLOW

    session = await bench.session(
        Checked(Scripted([READ, says("done")])),
        confirm=confirm,
        limits=replace(LIMITS, max_requests_per_turn=1),
    )
    async with aclosing(session.send("read it")) as events:
        async for event in events:
            shown += names([event])
    assert stored[-1] == "llm.call_completed"
    assert shown[-1] == "turn.completed"
