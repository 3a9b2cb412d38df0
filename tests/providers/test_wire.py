import asyncio
import itertools
import json
import logging
from contextlib import asynccontextmanager

import pytest
from msgspec.structs import replace

from tests.providers.recorded_exchanges import (
    Playback,
    adapter,
    cases,
    collect_events,
    complete,
    exchange,
    model,
    pieces,
    play,
    recorded,
    request,
)
from tests.providers.stream_rules import broken_rules
from tests.strategies import Writer
from yourtool.errors import (
    ErrorCode,
    InvalidRequestError,
    NetworkError,
    RateLimitError,
    ServerError,
)
from yourtool.events.deltas import (
    MessageComplete,
    MessageStart,
    StreamError,
    TextDelta,
    TextEnd,
    ToolUseEnd,
    ToolUseStart,
    UsageUpdate,
)
from yourtool.messages.blocks import TextBlock
from yourtool.messages.message import Role
from yourtool.messages.metadata import StopReason
from yourtool.providers.dialects.chat.dialect import ChatDialect
from yourtool.providers.dialects.messages.dialect import MessagesDialect
from yourtool.providers.idle_timer import StreamTimeouts
from yourtool.providers.wire import WireAdapter

THINKING_AND_CALL = "anthropic-messages-call-stream"
TWO_CALLS = "anthropic-messages-parallel-calls-stream"
CHAT_TEXT = "openai-chat-text-stream"
STREAMS = cases(
    [
        THINKING_AND_CALL,
        TWO_CALLS,
        CHAT_TEXT,
        "anthropic-messages-server-tool-stream",
        "openai-chat-parallel-calls-stream",
        "openrouter-chat-parallel-calls-stream",
        "anthropic-messages-36913693",
        "anthropic-messages-f33dc675",
        "anthropic-messages-27a3d8fc",
        "openai-chat-93025548",
        "openai-chat-fae50610",
        "openrouter-chat-94f311c8",
    ]
)
EVERY_OFFSET = 4_500
IMPATIENT = StreamTimeouts(first_event=0.02, content=0.02, linger=0.001)
RESETS = [
    NetworkError("reset"),
    ConnectionResetError("reset"),
    BrokenPipeError("reset"),
    asyncio.IncompleteReadError(b"", 1),
    TimeoutError(),
]


def body_of(name):
    return exchange(name)["response"]["body"].encode()


def request_for(name, **changes):
    return request(model(exchange(name)["provider"]), **changes)


async def forever():
    await asyncio.Event().wait()


@pytest.mark.soak
@pytest.mark.parametrize("name", STREAMS)
async def test_reset_at_every_byte_offset_is_a_typed_error(name, caplog):
    caplog.set_level(logging.ERROR)
    await reset_at_every(1 if len(body_of(name)) < EVERY_OFFSET else 17, name)


@pytest.mark.parametrize("name", STREAMS)
async def test_reset_at_any_byte_offset_is_a_typed_error(name, caplog):
    caplog.set_level(logging.ERROR)
    await reset_at_every(37, name)


async def reset_at_every(step, name):
    body = body_of(name)
    for offset in range(0, len(body), step):
        failure = RESETS[offset % len(RESETS)]
        transport = Playback([body[:offset]], failure=failure)
        events, error = await collect_events(adapter(name, transport), request_for(name))
        assert broken_rules(events) == []
        assert transport.open == 0
        if error is None:  # all that matters had arrived
            assert complete(events).stop_reason not in (StopReason.ERROR, StopReason.CANCELLED)
            assert offset > len(body) - 2_000
            continue
        assert isinstance(error, NetworkError)
        if events:
            assert complete(events).stop_reason is StopReason.ERROR
            assert isinstance(events[-1], StreamError)
            assert events[-1].error_class == "network"


@pytest.mark.parametrize("name", STREAMS)
async def test_stream_that_ends_without_a_stop_reason_is_an_error(name):
    body = body_of(name)
    for offset in range(0, len(body) // 2, 7):
        events, error = await play(name, [body[:offset]])
        assert isinstance(error, NetworkError)
        assert broken_rules(events) == []


@pytest.mark.parametrize("name", STREAMS)
async def test_stop_at_every_position_ends_the_reply_as_cancelled(name):
    complete_events = (await play(name))[0]
    read = (
        len(complete_events) - 2
        if isinstance(complete_events[-2], TextEnd)
        else len(complete_events) - 1
    )
    for position in range(read):
        outgoing = request_for(name)
        transport = Playback(pieces(body_of(name), 64), pause=forever)
        events = []
        async for event in adapter(name, transport).stream(outgoing):
            events.append(event)
            if len(events) == position + 1 and not isinstance(event, MessageComplete):
                assert outgoing.interrupt.request() is True
                assert outgoing.interrupt.request() is False
        assert broken_rules(events) == []
        assert transport.open == 0
        assert complete(events).stop_reason is StopReason.CANCELLED
        assert isinstance(events[-1], MessageComplete)


@pytest.mark.parametrize("size", [1, 100, 1_500])
async def test_stop_during_network_silence_ends_the_reply_immediately(size):
    body = body_of(TWO_CALLS)[:size]
    outgoing = request_for(TWO_CALLS)
    transport = Playback([body], pause=forever)
    asyncio.get_running_loop().call_later(0.01, outgoing.interrupt.request)
    async with asyncio.timeout(1):
        events, error = await collect_events(adapter(TWO_CALLS, transport), outgoing)
    assert error is None
    assert complete(events).stop_reason is StopReason.CANCELLED
    assert broken_rules(events) == []


async def test_stop_before_the_response_gives_an_empty_reply():
    outgoing = request_for(CHAT_TEXT)
    outgoing.interrupt.request()
    events, error = await collect_events(adapter(CHAT_TEXT, Playback([])), outgoing)
    assert error is None
    complete_events = complete(events)
    assert complete_events.final_content == ()
    assert (complete_events.usage.input_tokens, complete_events.usage.output_tokens) == (0, 0)


async def test_open_calls_of_a_stopped_reply_end_once_and_never_run():
    body = body_of(TWO_CALLS)
    cut = body.index(b"input_json_delta")
    outgoing = request_for(TWO_CALLS)
    transport = Playback([body[:cut]], pause=forever)
    events = []
    async for event in adapter(TWO_CALLS, transport).stream(outgoing):
        events.append(event)
        if isinstance(event, ToolUseStart):
            outgoing.interrupt.request()
    [end] = [event for event in events if isinstance(event, ToolUseEnd)]
    assert end.final_input == {}
    assert end.tool_use_id in complete(events).tool_input_errors


async def test_silence_before_the_first_event_is_a_network_error():
    speaker = adapter(CHAT_TEXT, Playback([], pause=forever), timeouts=IMPATIENT)
    events, error = await collect_events(speaker, request_for(CHAT_TEXT))
    assert events == []
    assert isinstance(error, NetworkError)
    assert str(error) == "`openai` sent nothing of a reply for 0.02 seconds"
    assert error.code is ErrorCode.STALLED


@pytest.mark.parametrize(
    "ping", [b'event: ping\ndata: {"type": "ping"}\n\n', b": keep-alive\n\n", b"\n"]
)
async def test_pings_do_not_count_as_content(ping):
    beginning = body_of(THINKING_AND_CALL)
    beginning = beginning[: beginning.index(b"event: message_delta")]

    class Pinging(Playback):
        async def _body(self):
            yield beginning
            while True:
                await asyncio.sleep(0.002)
                yield ping

    speaker = adapter(THINKING_AND_CALL, Pinging([]), timeouts=IMPATIENT)
    async with asyncio.timeout(1):
        events, error = await collect_events(speaker, request_for(THINKING_AND_CALL))
    assert isinstance(error, NetworkError)
    assert "sent nothing" in str(error)
    assert complete(events).stop_reason is StopReason.ERROR


@pytest.mark.parametrize("ping", [b'event: ping\ndata: {"type": "ping"}\n\n', b"\n" * 1_000])
async def test_flood_of_pings_does_not_extend_the_idle_timeout(ping):
    beginning = body_of(THINKING_AND_CALL)
    beginning = beginning[: beginning.index(b"event: message_delta")]
    now, pings = 0.0, 0

    class Flooding(Playback):
        async def _body(self):
            nonlocal now, pings
            yield beginning
            for _ in range(200):
                now, pings = now + 1, pings + 1
                yield ping
                await asyncio.sleep(0.001)  # as the network does

    provider = exchange(THINKING_AND_CALL)["provider"]
    dialect = MessagesDialect()
    speaker = WireAdapter(dialect, Flooding([]), provider, clock=lambda: now)
    _, error = await collect_events(speaker, request_for(THINKING_AND_CALL))
    assert isinstance(error, NetworkError)
    assert error.code is ErrorCode.STALLED
    assert 0 <= pings - StreamTimeouts().content <= 3  # one each second, a few are read ahead


async def test_time_of_the_consumer_does_not_count_as_idle_time():
    body = body_of(THINKING_AND_CALL)
    now = 0.0
    speaker = adapter(THINKING_AND_CALL, Playback(pieces(body, 64)), clock=lambda: now)
    events = []
    async for event in speaker.stream(request_for(THINKING_AND_CALL)):
        events.append(event)
        now += 1_000
    assert isinstance(events[-1], MessageComplete)


STALLS = {
    "anthropic-messages-parallel-calls-stream": [
        b": x\n\n",
        b'event: ping\ndata: {"type": "ping"}\n\n',
    ],
    "openai-chat-text-stream": [b": OPENROUTER PROCESSING\n\n", b'data: {"choices": []}\n\n'],
    "openai-compat-chat-text-stream": [b": ping\n\n", b"\n"],
    "openai-responses-call-stream": [
        b": x\n\n",
        b'data: {"type":"response.in_progress","response":{"status":"in_progress"}}\n\n',
    ],
    "gemini-generate-call-stream": [b"\r\n", b'data: {"usageMetadata":{"promptTokenCount":1}}\n\n'],
    "ollama-chat-parallel-calls-stream": [b"\n", b'{"message":{"content":""},"done":false}\n'],
}


@pytest.mark.parametrize("name", STALLS)
@pytest.mark.req("R-ADP-09")
async def test_empty_events_do_not_count_as_content_in_any_dialect(name):
    """Pings, comments, blank lines and counters keep a connection alive and no reply."""
    body = body_of(name)
    mark = b"\n" if name.startswith("ollama") else b"\r\n\r\n" if b"\r\n\r\n" in body else b"\n\n"
    beginning = body[: body.index(mark) + len(mark)]

    class Stalling(Playback):
        async def _body(self):
            yield beginning
            for ping in itertools.cycle(STALLS[name]):
                await asyncio.sleep(0.002)
                yield ping

    speaker = adapter(name, Stalling([]), timeouts=IMPATIENT)
    async with asyncio.timeout(1):
        events, error = await collect_events(speaker, request_for(name))
    assert isinstance(error, NetworkError)
    assert "sent nothing" in str(error)
    assert not events or complete(events).stop_reason is StopReason.ERROR


async def test_slow_consumer_does_not_cause_a_timeout():
    transport = Playback(pieces(body_of(CHAT_TEXT), 200))
    speaker = adapter(CHAT_TEXT, transport, timeouts=IMPATIENT)
    events = []
    async for event in speaker.stream(request_for(CHAT_TEXT)):
        events.append(event)
        if len(events) < 4:
            await asyncio.sleep(0.03)
    assert complete(events).stop_reason is StopReason.END_TURN


async def test_server_that_never_closes_does_not_delay_the_end_of_the_reply():
    transport = Playback([body_of(CHAT_TEXT)], pause=forever)
    async with asyncio.timeout(1):
        events, error = await collect_events(adapter(CHAT_TEXT, transport), request_for(CHAT_TEXT))
    assert error is None
    assert complete(events).stop_reason is StopReason.END_TURN


@pytest.mark.parametrize("padding", [b"", b"\n     \n" * 50])
async def test_json_document_is_accepted_instead_of_a_stream(padding):
    document = {
        "choices": [
            {
                "message": {
                    "content": "hello",
                    "tool_calls": [
                        {"id": "c1", "function": {"name": "read_file", "arguments": "{}"}}
                    ],
                },
                "finish_reason": "tool_calls",
            }
        ],
        "usage": {"prompt_tokens": 3, "completion_tokens": 2},
    }
    body = padding + json.dumps(document).encode()
    for size in (1, 7, len(body)):
        speaker = WireAdapter(ChatDialect(), Playback(pieces(body, size)), "openai")
        events, error = await collect_events(speaker, request(model("openai")))
        assert error is None
        assert broken_rules(events) == []
        assert complete(events).stop_reason is StopReason.TOOL_USE
        assert complete(events).final_content[0] == TextBlock("hello")


@pytest.mark.parametrize("dialect", [MessagesDialect(), ChatDialect()])
@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"<html>captive portal</html>",
        b'{"choices": [',
        b"[1, 2]",
        b'{"detail": "no"}',
        b"data: {\n\n",
        b"data: [" + b"[" * 100_000 + b"\n\n",
        b'data: "text"\n\n',
        b"data: \xff\xfe\n\n",
    ],
)
async def test_body_that_is_not_a_reply_is_a_typed_error(dialect, body):
    speaker = WireAdapter(dialect, Playback([body]), "openai")
    events, error = await collect_events(speaker, request(model("openai")))
    assert events == []
    assert error is not None
    assert "`openai`" in str(error) or "the stream" in str(error)


async def test_request_that_fails_before_its_first_content_yields_nothing():
    body = body_of(THINKING_AND_CALL)
    before_content = body[: body.index(b"event: content_block_delta")]
    events, error = await play(THINKING_AND_CALL, [before_content])
    assert events == []
    assert isinstance(error, NetworkError)


@pytest.mark.parametrize("failure", RESETS[1:])
async def test_failure_to_connect_is_a_network_error(failure):
    class Unreachable(Playback):
        @asynccontextmanager
        async def _reply(self):
            raise failure
            yield

    events, error = await collect_events(
        adapter(CHAT_TEXT, Unreachable([])), request_for(CHAT_TEXT)
    )
    assert events == []
    assert isinstance(error, NetworkError)
    assert error.retryable
    assert error.__cause__ is failure


@pytest.mark.parametrize("text", ["half a character: \ud83d"])
async def test_conversation_that_cannot_be_encoded_is_a_typed_error(text):
    history = [Writer().message(Role.USER, [TextBlock(text)])]
    for name in (CHAT_TEXT, TWO_CALLS):
        events, error = await collect_events(
            adapter(name, Playback([])), request(model(exchange(name)["provider"]), history)
        )
        assert events == []
        assert isinstance(error, InvalidRequestError)
        assert "something that cannot be sent" in str(error)


async def test_rejected_request_yields_nothing_and_names_the_provider():
    transport = Playback([b'{"error": {"message": "slow down"}}'], 429, {"retry-after": "2"})
    events, error = await collect_events(adapter(CHAT_TEXT, transport), request_for(CHAT_TEXT))
    assert events == []
    assert isinstance(error, RateLimitError)
    assert error.retry_after == 2
    assert str(error) == "`openai` is rate limited (429): slow down"


async def test_error_inside_a_stream_preserves_earlier_content():
    events, error = await play("openai-chat-stream-error-stream")
    assert isinstance(error, ServerError)
    assert complete(events).final_content == (TextBlock("The ferry leaves"),)
    assert isinstance(events[-1], StreamError)
    assert events[-1].error_class == "server_error"


@pytest.mark.parametrize(
    ("name", "tokens"),
    [("openrouter-chat-stream-error-stream", 24), recorded("openrouter-chat-19ec71a1", 43)],
)
async def test_counters_after_an_error_are_read(name, tokens):
    events, error = await play(name)
    assert error is not None
    assert complete(events).usage.input_tokens == tokens


async def test_missing_usage_is_estimated_and_flagged(caplog):
    events, _ = await play("openai-chat-no-usage-stream")
    usage = complete(events).usage
    assert usage.estimated
    assert usage.output_tokens > 20
    assert "did not report its token usage" in caplog.text


async def test_usage_is_emitted_as_soon_as_it_arrives():
    events, _ = await play(THINKING_AND_CALL)
    assert isinstance(events[0], MessageStart)
    assert isinstance(events[1], UsageUpdate)
    assert events[1].usage.input_tokens == 60


async def test_closing_the_stream_closes_the_connection():
    transport = Playback(pieces(body_of(CHAT_TEXT), 100), pause=forever)
    stream = adapter(CHAT_TEXT, transport).stream(request_for(CHAT_TEXT))
    async for event in stream:
        if isinstance(event, TextDelta):
            break
    await stream.aclose()
    assert transport.open == 0


async def test_latency_is_measured_with_the_given_clock():
    now = 10.0

    class Late(Playback):
        async def _body(self):
            nonlocal now
            now = 12.5
            yield body_of(CHAT_TEXT)

    speaker = adapter(CHAT_TEXT, Late([]), clock=lambda: now)
    events, _ = await collect_events(speaker, request_for(CHAT_TEXT))
    assert complete(events).latency_ms == 2500


async def test_closing_the_adapter_closes_its_transport():
    transport = Playback([])
    await adapter(CHAT_TEXT, transport).close()
    assert transport.closed


async def test_request_that_was_encoded_ahead_is_encoded_once(monkeypatch):
    encoded, to_wire = [], ChatDialect.to_wire

    def count(self, sent):
        encoded.append(sent.request_id)
        return to_wire(self, sent)

    monkeypatch.setattr(ChatDialect, "to_wire", count)
    sent = request(model(exchange(CHAT_TEXT)["provider"]))
    playbacks = [Playback(pieces(body_of(CHAT_TEXT), 999)) for _ in range(2)]
    ahead, at_once = (adapter(CHAT_TEXT, each) for each in playbacks)
    ahead.encode_ahead(sent)
    await collect_events(ahead, sent)
    assert encoded == [sent.request_id]
    await collect_events(at_once, sent)
    assert playbacks[0].posted == playbacks[1].posted


async def test_another_request_than_the_one_that_was_encoded_ahead_is_sent_as_it_is():
    first = request(model(exchange(CHAT_TEXT)["provider"]))
    second = replace(first, request_id="another", max_output_tokens=7)
    playback = Playback(pieces(body_of(CHAT_TEXT), 999))
    sending = adapter(CHAT_TEXT, playback)
    sending.encode_ahead(first)
    await collect_events(sending, second)
    assert b":7" in playback.posted[0][1]


async def test_request_that_cannot_be_encoded_ahead_fails_when_it_is_sent():
    history = [Writer().message(Role.USER, [TextBlock("half a character: \ud83d")])]
    sending = adapter(CHAT_TEXT, Playback([]))
    sent = request(model(exchange(CHAT_TEXT)["provider"]), history)
    sending.encode_ahead(sent)
    events, error = await collect_events(sending, sent)
    assert events == []
    assert isinstance(error, InvalidRequestError)
