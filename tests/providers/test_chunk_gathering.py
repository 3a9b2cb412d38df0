import asyncio
import json
from contextlib import aclosing

import pytest

from tests.providers.dialect_cases import sse
from tests.providers.recorded_exchanges import Playback, collect_events, model, request
from tests.strategies import Writer
from yourtool.messages.blocks import TextBlock
from yourtool.messages.message import Role
from yourtool.providers import chunk_gathering
from yourtool.providers.chunk_gathering import gather_chunks
from yourtool.providers.dialects.chat.dialect import ChatDialect
from yourtool.providers.wire import WireAdapter

CHUNKS = [b"%d " % number for number in range(200)]


def always():
    return True


async def paced(chunks=CHUNKS):
    """Chunks as a network brings them."""
    for chunk in chunks:
        await asyncio.sleep(0.001)
        yield chunk


async def at_once(chunks):
    """What a network brings during a delay, which one read returns."""
    waiting = asyncio.Queue()

    async def receive():
        async for chunk in chunks:
            waiting.put_nowait(chunk)
        waiting.put_nowait(None)

    receiving = asyncio.create_task(receive())
    while (chunk := await waiting.get()) is not None:
        yield chunk
    await receiving


async def gathered(chunks, may_delay=always):
    async with aclosing(gather_chunks(chunks, may_delay)) as pieces:
        return [piece async for piece in pieces]


@pytest.fixture
def endless_delay(monkeypatch):
    """Make a delay last until the test fails."""
    monkeypatch.setattr(chunk_gathering, "_DELAY_SECONDS", 3600)


async def test_chunks_that_follow_each_other_are_handed_on_together(monkeypatch):
    monkeypatch.setattr(chunk_gathering, "_DELAY_SECONDS", 0.05)
    pieces = await gathered(at_once(paced()))
    assert b"".join(pieces) == b"".join(CHUNKS)
    assert len(pieces) < 100


@pytest.mark.usefixtures("endless_delay")
async def test_beginning_of_a_response_is_handed_on_as_it_arrives():
    assert await gathered(paced(CHUNKS[:16])) == CHUNKS[:16]
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(1):
            await gathered(paced())


@pytest.mark.usefixtures("endless_delay")
async def test_reply_that_arrives_at_full_speed_is_not_delayed():
    large = [bytes(2**14)] * 40
    assert b"".join(await gathered(paced(large))) == b"".join(large)


@pytest.mark.usefixtures("endless_delay")
async def test_chunks_are_unchanged_if_a_delay_is_not_allowed():
    assert await gathered(paced(), lambda: False) == CHUNKS


async def test_error_follows_the_bytes_before_it():
    async def broken():
        yield b"one"
        yield b"two"
        raise ConnectionError("lost")

    pieces = []
    with pytest.raises(ConnectionError, match="lost"):
        async for piece in gather_chunks(broken(), always):
            pieces.append(piece)
    assert b"".join(pieces) == b"onetwo"


async def test_stopped_consumer_closes_the_source():
    closed = []

    async def endless():
        try:
            yield b"first"
            await asyncio.Event().wait()
        finally:
            closed.append(True)

    async def consume():
        async with aclosing(gather_chunks(endless(), always)) as pieces:
            async for _ in pieces:
                started.set()

    started = asyncio.Event()
    task = asyncio.create_task(consume())
    await started.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert closed == [True]


async def test_little_is_read_ahead_of_a_slow_consumer():
    taken = 0

    async def flood():
        nonlocal taken
        while taken < 10_000:
            taken += 1
            yield bytes(1024)

    async with aclosing(gather_chunks(flood(), always)) as pieces:
        await anext(pieces)
        for _ in range(20):
            await asyncio.sleep(0.001)
        assert taken <= 600


@pytest.mark.usefixtures("endless_delay")
async def test_arguments_of_a_tool_call_are_not_delayed():
    def event(delta, finish=None):
        return sse(json.dumps({"choices": [{"delta": delta, "finish_reason": finish}]}).encode())

    def call(arguments, **more):
        function = {"arguments": arguments, **more}
        return event({"tool_calls": [{"index": 0, "id": "call_1", "function": function}]})

    start, rest = call('{"path": "', name="read_file"), [call("a")] * 60
    end = [call('"}'), event({}, "tool_calls"), sse(b"[DONE]")]

    class Paced(Playback):
        async def _body(self):
            async for chunk in paced([start, *rest, *end]):
                yield chunk

    adapter = WireAdapter(ChatDialect(), Paced([]), "openai")
    prompt = Writer().message(Role.USER, [TextBlock("Read it.")])
    async with asyncio.timeout(60):
        events, error = await collect_events(adapter, request(model("openai"), [prompt]))
    assert error is None
    assert events[-1].final_content[0].input == {"path": "a" * 60}
