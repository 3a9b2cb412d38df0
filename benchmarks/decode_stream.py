"""Time to turn the bytes of a stream into events, against a bare decode of the same chunks.

Run as `python -m benchmarks.decode_stream`. Prints one line of JSON: for each dialect microseconds
per event of the bytes-to-events path, of the same inside an adapter, and of bare
`msgspec.json.decode`, and the ratio of the first to the last; best of several runs.
"""

import asyncio
import json
import time
from collections.abc import Callable
from contextlib import asynccontextmanager

import msgspec

from yourtool.interrupt import Interrupt
from yourtool.models import AdapterCapabilities, Model
from yourtool.providers.base import Request
from yourtool.providers.dialects.base import Dialect
from yourtool.providers.dialects.chat.dialect import ChatDialect
from yourtool.providers.dialects.messages.dialect import MessagesDialect
from yourtool.providers.replies.body_decoder import BodyDecoder
from yourtool.providers.replies.reply import Reply
from yourtool.providers.tool_ids import ToolIdMap
from yourtool.providers.wire import WireAdapter

ENDS = {
    "anthropic": [],
    "openai_chat": [b'{"usage":{"prompt_tokens":1,"completion_tokens":1}}', b"[DONE]"],
}
EVENTS = 20_000
RUNS = 5
CHUNK = 4_096


def anthropic_chunks() -> list[bytes]:
    head = {"type": "message_start", "message": {"usage": {"input_tokens": 1, "output_tokens": 1}}}
    chunks = [head, {"type": "content_block_start", "index": 0, "content_block": {"type": "text"}}]
    chunks += [
        {
            "type": "content_block_delta",
            "index": 0,
            "delta": {"type": "text_delta", "text": f" word{number % 97}"},
        }
        for number in range(EVENTS)
    ]
    return [json.dumps(chunk).encode() for chunk in [*chunks, {"type": "message_stop"}]]


def chat_chunks() -> list[bytes]:
    return [
        json.dumps(
            {
                "id": "chatcmpl-0123456789",
                "object": "chat.completion.chunk",
                "created": 1_700_000_000,
                "model": "gpt-5",
                "choices": [
                    {
                        "index": 0,
                        "delta": {"content": f" word{number % 97}"},
                        "logprobs": None,
                        "finish_reason": None,
                    }
                ],
                "obfuscation": "abcdefgh",
            }
        ).encode()
        for number in range(EVENTS)
    ]


def request() -> Request:
    model = Model(id="some:model", wire_name="model", capabilities=AdapterCapabilities())
    return Request(
        request_id="r",
        session_id="s",
        message_id="m",
        model=model,
        messages=(),
        max_output_tokens=1,
        tool_ids=ToolIdMap(),
        interrupt=Interrupt(),
    )


def translate(dialect: Dialect, body: bytes) -> int:
    framing, parser, events = BodyDecoder(), dialect.build_parser(Reply(request())), 0
    for at in range(0, len(body), CHUNK):
        for frame in framing.feed(body[at : at + CHUNK]):
            for _ in parser.parse(frame):
                events += 1
    return events


def best(work: Callable[..., object], *arguments: object) -> float:
    """Return the shortest of several runs in seconds."""
    times: list[float] = []
    for _ in range(RUNS):
        started = time.perf_counter()
        work(*arguments)
        times.append(time.perf_counter() - started)
    return min(times)


class Memory:
    """A transport with its response in memory, with the methods that an adapter needs."""

    def __init__(self, body: bytes) -> None:
        self._body = body
        self.status = 200
        self.headers: dict[str, str] = {}

    @asynccontextmanager
    async def post(self, *_: object):
        yield self

    async def chunks(self):
        for at in range(0, len(self._body), CHUNK):
            yield self._body[at : at + CHUNK]


def adapt(dialect: Dialect, body: bytes) -> None:
    async def read() -> None:
        adapter = WireAdapter(dialect, Memory(body), "some")  # pyright: ignore[reportArgumentType]
        async for _ in adapter.stream(request()):
            pass

    asyncio.run(read())


def bare(chunks: list[bytes]) -> None:
    decode = msgspec.json.decode
    for chunk in chunks:
        decode(chunk)


def measure() -> dict[str, dict[str, float]]:
    """Return microseconds per event of each dialect, and the ratios."""
    results: dict[str, dict[str, float]] = {}
    for name, dialect, chunks in (
        ("anthropic", MessagesDialect(), anthropic_chunks()),
        ("openai_chat", ChatDialect(), chat_chunks()),
    ):
        body = b"".join(b"event: x\ndata: " + chunk + b"\n\n" for chunk in [*chunks, *ENDS[name]])
        ours, floor = best(translate, dialect, body), best(bare, chunks)
        results[name] = {
            "us_per_event": round(ours / EVENTS * 1e6, 2),
            "us_per_event_in_adapter": round(best(adapt, dialect, body) / EVENTS * 1e6, 2),
            "us_per_bare_decode": round(floor / EVENTS * 1e6, 2),
            "ratio": round(ours / floor, 2),
        }
    return results


if __name__ == "__main__":
    print(json.dumps({"decode_stream": measure()}))
