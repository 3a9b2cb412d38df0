"""Replies of any size and shape leave the event loop free (the watchdog looks)."""

import asyncio
import itertools
import json

import pytest

from tests.providers.fakes import collect_events, request
from tests.providers.recorded_exchanges import Playback
from yourtool.errors import OtherAdapterError
from yourtool.events.deltas import MessageComplete, StreamError, TextDelta
from yourtool.messages.metadata import StopReason
from yourtool.providers import wire
from yourtool.providers.dialects.chat.dialect import ChatDialect
from yourtool.providers.dialects.chat.response import ChatParser
from yourtool.providers.json_access import MAX_VALUES, decode
from yourtool.providers.replies import block_builders
from yourtool.providers.replies.block_builders import MAX_BLOCKS
from yourtool.providers.wire import WireAdapter

PIECE = 2**17
DONE = b"data: [DONE]\n\n"


def data(value):
    return f"data: {json.dumps(value)}\n\n".encode()


def delta(finish=None, **fields):
    return data({"choices": [{"index": 0, "delta": fields, "finish_reason": finish}]})


def arguments(text):
    return delta(tool_calls=[{"index": 0, "id": "a", "function": {"name": "x", "arguments": text}}])


def many_names():
    return json.dumps({str(number): number for number in range(200_000)})


def in_pieces(text):
    return b"".join(arguments(text[at : at + 4_000]) for at in range(0, len(text), 4_000))


REPLIES = {
    "halves of characters": lambda: data(
        {"choices": [{"delta": {"content": "\ud83d" * 1_000_000}}]}
    ),
    "unknown objects": lambda: data({"x": [{"a": 1}] * 250_000}),
    "many arguments in one event": lambda: arguments(many_names()),
    "many arguments in many events": lambda: in_pieces(many_names()),
    "one document": lambda: json.dumps(
        {
            "x": [{"a": 1}] * 250_000,
            "choices": [{"message": {"content": "Yes."}, "finish_reason": "stop"}],
        }
    ).encode(),
}


async def play_body(body, dialect=None):
    pieces = [body[at : at + PIECE] for at in range(0, len(body), PIECE)]
    adapter = WireAdapter(dialect or ChatDialect(), Playback(pieces), "acme")
    return await collect_events(adapter, request())


@pytest.mark.parametrize("name", REPLIES)
@pytest.mark.sample(6)
async def test_large_reply_does_not_block_the_event_loop(name):
    body = await asyncio.to_thread(REPLIES[name])
    if not body.startswith(b"{"):
        body += delta(finish="stop", content=" End.") + DONE
    events, error = await play_body(body)
    assert error is None
    assert isinstance(events[-1], MessageComplete)


class Faulty(ChatDialect):
    """Has a bug behind the first words of a large event."""

    def build_parser(self, reply):
        return FaultyParser(reply)


class FaultyParser(ChatParser):
    def parse(self, frame):
        yield from super().parse(frame)
        raise LookupError("a bug")


async def test_content_before_a_bug_in_a_large_event_is_emitted():
    events, error = await play_body(delta(content="word " * 20_000), Faulty())
    assert isinstance(error, OtherAdapterError)
    assert [event.text for event in events if isinstance(event, TextDelta)] == ["word " * 20_000]


async def test_other_tasks_run_between_the_events_of_one_chunk():
    turns = 0

    async def count():
        nonlocal turns
        while True:
            await asyncio.sleep(0)
            turns += 1

    counting = asyncio.create_task(count())
    events, error = await play_body(delta(content="w") * 1_600 + delta(finish="stop") + DONE)
    counting.cancel()
    assert error is None
    texts = [event.text for event in events if isinstance(event, TextDelta)]
    assert "".join(texts) == "w" * 1_600
    assert turns >= 50


@pytest.mark.parametrize("many", [b"1,", b"[[[[[[[[]]]]]]]],", b'{"":{"":{"":{"":1}}}},'])
def test_json_with_too_many_values_is_rejected(many):
    size = max(many.count(b","), many.count(b"["), many.count(b"{"))
    with pytest.raises(ValueError, match="more than 262,144 values"):
        decode(b"[" + many * (MAX_VALUES // size + 1) + b"1]")


class Endless(Playback):
    """A server that repeats one event for ever."""

    async def _body(self):
        while True:
            yield self._chunks[0]
            await asyncio.sleep(0)


@pytest.mark.parametrize(
    "event",
    [
        delta(content="word " * 200),
        delta(reasoning_content="word " * 200),
        delta(
            tool_calls=[{"index": 0, "id": "a", "function": {"name": "x", "arguments": " " * 900}}]
        ),
    ],
)
async def test_endless_reply_is_cut_off_with_an_error(monkeypatch, event):
    monkeypatch.setattr(block_builders, "MAX_CHARACTERS", 100_000)
    events, error = await collect_events(
        WireAdapter(ChatDialect(), Endless([event]), "acme"), request()
    )
    assert isinstance(error, OtherAdapterError) and not error.retryable
    assert str(error) == "the reply is longer than 100,000 characters; it was cut off"
    assert isinstance(events[-1], StreamError)
    complete = events[-2]
    assert isinstance(complete, MessageComplete)
    assert complete.stop_reason is StopReason.ERROR


async def test_endless_response_without_content_is_cut_off_with_an_error(monkeypatch):
    monkeypatch.setattr(wire, "STREAM_LIMIT", 2**20)
    ping = b": ping\n\n" * 1_000
    adapter = WireAdapter(ChatDialect(), Endless([ping]), "acme")
    events, error = await collect_events(adapter, request())
    assert isinstance(error, OtherAdapterError)
    assert not events
    assert str(error) == "the response is larger than 1 MiB; it was cut off"


def many_calls():
    for number in itertools.count():
        call = {"index": number, "id": f"c{number}", "function": {"name": "x", "arguments": "{}"}}
        yield delta(tool_calls=[call])


@pytest.mark.parametrize(
    "pieces",
    [
        pytest.param(many_calls, id="calls"),
        pytest.param(
            lambda: itertools.cycle([delta(content="a"), delta(reasoning_content="b")]), id="blocks"
        ),
    ],
)
@pytest.mark.remaining
async def test_reply_with_too_many_parts_is_cut_off_with_an_error(pieces):
    some = itertools.islice(pieces(), MAX_BLOCKS + 1)
    events, error = await collect_events(
        WireAdapter(ChatDialect(), Playback(some), "acme"), request()
    )
    assert str(error) == "the reply has more than 10,000 parts; it was cut off"
    assert isinstance(events[-2], MessageComplete)
