"""Recorded exchanges, and a transport that plays them back in pieces of any size."""

import asyncio
import json
from collections.abc import AsyncGenerator, AsyncIterator, Iterable, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from tests.providers.fakes import collect_events
from tests.shared import SHARED
from tests.validator.report import Problem
from tests.validator.validate import errors, validate
from yourtool.effects import SideEffects, ToolDefinition
from yourtool.errors import AdapterError
from yourtool.events.deltas import MessageComplete, StreamEvent
from yourtool.interrupt import Interrupt
from yourtool.messages.message import Message
from yourtool.models import AdapterCapabilities, Model
from yourtool.providers.base import Request, WireResponse
from yourtool.providers.cache_plan import plan_cache
from yourtool.providers.dialects.base import Dialect
from yourtool.providers.dialects.chat.dialect import ChatDialect
from yourtool.providers.dialects.generate_content.dialect import GenerateContentDialect
from yourtool.providers.dialects.messages.dialect import MessagesDialect
from yourtool.providers.dialects.ollama.dialect import OllamaDialect
from yourtool.providers.dialects.responses.dialect import ResponsesDialect
from yourtool.providers.idle_timer import StreamTimeouts
from yourtool.providers.tool_ids import ToolIdMap
from yourtool.providers.wire import WireAdapter

WIRE = SHARED / "wire"
OURS = {
    ("anthropic", "messages"): MessagesDialect,
    ("openai", "chat"): ChatDialect,
    ("openai-compat", "chat"): ChatDialect,
    ("openrouter", "chat"): ChatDialect,
    ("gemini", "generateContent"): GenerateContentDialect,
    ("openai", "responses"): ResponsesDialect,
    ("openai-compat", "responses"): ResponsesDialect,
    ("ollama", "chat"): OllamaDialect,
}


def _index(folder: Path) -> list[str]:
    path = folder / "index.json"
    rows = json.loads(path.read_text("utf-8")) if path.exists() else []
    return [row["id"] for row in rows if (row["provider"], row["api"]) in OURS]


CASSETTES = Path(__file__).parents[1] / "cassettes"
OWN = _index(CASSETTES)
"""Our own exchanges; `cassettes/README.md` describes them."""
COMPATIBLE = sorted(path.stem for path in (WIRE / "compatible" / "exchanges").glob("*.json"))
"""Exchanges of compatible hosts and gateways, which belong to the larger set."""
RECORDED = _index(WIRE) + COMPATIBLE
"""The larger set, which real providers sent; empty where it is absent."""
NAMES = OWN + RECORDED


def cases(names: Iterable[str]) -> list[Any]:
    """Return the names as parameters of a test; recorded ones belong to `make test-recorded`."""
    return [name if name in OWN else recorded(name) for name in names]


def recorded(*values: Any, id: str | None = None) -> Any:  # noqa: A002 - as pytest names it
    """Return the parameters of a test that reads the larger set."""
    return pytest.param(*values, marks=pytest.mark.recorded, id=id)


def sets() -> list[Any]:
    """Return both sets as parameters of a test that reads a whole one."""
    return [pytest.param(OWN, id="own"), recorded(RECORDED, id="recorded")]


SEVERAL_RESPONSES = "openai-responses-90286780"
"""Its body is the responses to four requests, one after the other, and what is expected is the last
of them. No server answers one request so, and nothing is read after the end of a response: the body
is taken apart here."""
COUNTERS = (
    "input_tokens",
    "output_tokens",
    "cached_input_tokens",
    "cache_creation_input_tokens",
)
CLASSES = {
    "anthropic-messages-290c1ad6": "context_overflow",
    "anthropic-messages-c4959a8e": "invalid_request",
    "anthropic-messages-f4476730": "auth",
    "anthropic-messages-f7e80b21": "invalid_request",
    "doc-anthropic-429-spend": "rate_limit",
    "doc-anthropic-500": "server_error",
    "doc-anthropic-502-html": "server_error",
    "doc-anthropic-529": "rate_limit",
    "doc-anthropic-stream-overloaded": "rate_limit",
    "doc-compat-chat-stream-error-string": "context_overflow",
    "doc-gemini-503": "server_error",
    "doc-gemini-stream-error": "server_error",
    "doc-ollama-400-no-tools": "invalid_request",
    "doc-ollama-500-load": "server_error",
    "doc-ollama-stream-error": "other",
    "doc-openai-chat-429": "rate_limit",
    "doc-openai-chat-500": "server_error",
    "doc-openai-chat-stream-error": "server_error",
    "doc-openai-responses-500": "server_error",
    "doc-openrouter-200-error": "server_error",
    "doc-openrouter-402": "invalid_request",
    "gemini-generate-0020aeb5": "invalid_request",
    "gemini-generate-0d4b01b1": "rate_limit",
    "gemini-generate-15f35567": "invalid_request",
    "gemini-generate-476af0c2": "invalid_request",
    "ollama-chat-b3fc8b55": "invalid_request",
    "openai-chat-32844efe": "auth",
    "openai-chat-384bba4b": "invalid_request",
    "openai-chat-a2b716eb": "invalid_request",
    "openai-compat-chat-1b5ad5b7": "invalid_request",
    "openai-compat-chat-1f945b02": "context_overflow",
    "openai-compat-chat-4fc55f4d": "rate_limit",
    "openai-compat-chat-5660631e": "auth",
    "openai-compat-chat-70a11955": "invalid_request",
    "openai-compat-chat-74022e6e": "context_overflow",
    "openai-compat-chat-70e77c17": "auth",
    "openai-compat-chat-b75f859e": "invalid_request",
    "openai-compat-chat-f1f22b77": "invalid_request",
    "openai-responses-2b989848": "context_overflow",
    "openai-responses-3aa508dc": "auth",
    "openai-responses-501de15e": "rate_limit",
    "openai-responses-50adcd5e": "other",
    "openai-responses-cf1b1655": "rate_limit",
    "openrouter-chat-19ec71a1": "invalid_request",
    "openrouter-chat-4e0a6ca6": "rate_limit",
    "openrouter-chat-6279632f": "auth",
}
"""The class of each error of the recorded set."""
READ = ToolDefinition(
    name="read_file",
    description="Read a file.",
    input_schema={
        "type": "object",
        "properties": {"path": {"type": "string"}},
        "required": ["path"],
    },
    side_effects=SideEffects.READ,
)


def _read(kind: str, name: str) -> dict[str, Any]:
    exchanges = WIRE / "compatible" if name in COMPATIBLE else WIRE
    folder = CASSETTES if name in OWN else exchanges
    return json.loads((folder / kind / f"{name}.json").read_text("utf-8"))


@cache
def exchange(name: str) -> dict[str, Any]:
    return _read("exchanges", name)


@cache
def expected(name: str) -> dict[str, Any]:
    return _read("expected", name)


def error_class(name: str) -> str | None:
    """Return the class of the error that an exchange ends with."""
    error = expected(name)["error"]
    return error and (error.get("class") or CLASSES[name])


def _has_text(name: str) -> bool:
    right = expected(name)
    return bool(right["block_order"] or (right["stop_reason"] and not right["error"]))


WITH_TEXT = [name for name in NAMES if _has_text(name)]
"""The events in which a reply starts."""


def responses() -> list[bytes]:
    """Return the parts of SEVERAL_RESPONSES."""
    body = exchange(SEVERAL_RESPONSES)["response"]["body"].encode()
    begin = b"event: response.created"
    return [begin + rest for rest in body.split(begin)[1:]]


def dialect_of(name: str) -> Dialect:
    recorded = exchange(name)
    return OURS[recorded["provider"], recorded["api"]]()


def model(provider: str, name: str = "some-model", **changes: Any) -> Model:
    capabilities = AdapterCapabilities(
        supports_thinking=True,
        supports_images=True,
        supports_prompt_caching=True,
        accepted_image_media_types=("image/png", "image/jpeg", "image/gif", "image/webp"),
    )
    fields = {
        "id": f"{provider}:{name}",
        "wire_name": name,
        "capabilities": capabilities,
        "least_cached_tokens": 0,
    }
    return Model(**{**fields, **changes})


def request(
    model: Model,
    messages: Iterable[Message] = (),
    tools: tuple[ToolDefinition, ...] = (),
    **changes: Any,
) -> Request:
    messages = tuple(messages)
    fields: dict[str, Any] = {
        "request_id": "01R",
        "session_id": "sess_01",
        "message_id": "01M",
        "model": model,
        "messages": messages,
        "tools": tools,
        "max_output_tokens": 4096,
        "cache": plan_cache(messages, tools, model, "short"),
        "tool_ids": ToolIdMap(),
        "interrupt": Interrupt(),
    }
    return Request(**{**fields, **changes})


class Playback:
    """A transport that answers every post with the same bytes; records what was posted."""

    def __init__(
        self,
        chunks: Iterable[bytes],
        status: int = 200,
        headers: Mapping[str, str] | None = None,
        failure: Exception | None = None,
        pause: Any = None,
    ) -> None:
        self._chunks = tuple(chunks)
        self._status = status
        self._headers = dict(headers or {})
        self._failure = failure
        self._pause = pause
        self.posted: list[tuple[str, bytes]] = []
        self.open = 0
        self.closed = False

    def post(self, path: str, body: bytes) -> AbstractAsyncContextManager[WireResponse]:
        self.posted.append((path, body))
        return self._reply()

    @asynccontextmanager
    async def _reply(self) -> AsyncGenerator[WireResponse, None]:
        self.open += 1
        try:
            yield _PlayedResponse(self._status, self._headers, self._body)
        finally:
            self.open -= 1

    async def _body(self) -> AsyncGenerator[bytes, None]:
        for number, chunk in enumerate(self._chunks):
            if number % 50 == 49:
                await asyncio.sleep(0)  # as a socket would, now and then
            yield chunk
        if self._failure is not None:
            raise self._failure
        if self._pause is not None:
            await self._pause()

    async def get(self, path: str) -> Any:
        raise AssertionError(path)

    async def close(self) -> None:
        self.closed = True


class _PlayedResponse:
    def __init__(self, status: int, headers: Mapping[str, str], body: Any) -> None:
        self.status = status
        self.headers = headers
        self._body = body

    def chunks(self) -> AsyncIterator[bytes]:
        return self._body()

    async def read(self) -> bytes:
        return b"".join([chunk async for chunk in self._body()])


def pieces(body: bytes, size: int) -> list[bytes]:
    return [body[at : at + size] for at in range(0, len(body), size)]


def adapter(name: str, transport: Playback, **options: Any) -> WireAdapter:
    options.setdefault("timeouts", StreamTimeouts(linger=0.001))
    return WireAdapter(dialect_of(name), transport, exchange(name)["provider"], **options)


async def play(
    name: str, chunks: Iterable[bytes] | None = None, outgoing: Request | None = None
) -> tuple[list[StreamEvent], AdapterError | None]:
    """Return the events of a recorded exchange and the error that ended it."""
    response = exchange(name)["response"]
    body = response["body"].encode()
    transport = Playback(
        pieces(body, 4096) if chunks is None else chunks, response["status"], response["headers"]
    )
    outgoing = outgoing or request(model(exchange(name)["provider"]))
    return await collect_events(adapter(name, transport), outgoing)


def complete(events: Iterable[StreamEvent]) -> MessageComplete:
    [event] = [event for event in events if isinstance(event, MessageComplete)]
    return event


def problems(provider: str, api: str, body: bytes) -> list[Problem]:
    """Return what the provider would refuse the body for."""
    return errors(validate(provider, api, json.loads(body)))
