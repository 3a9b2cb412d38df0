"""Six dialects as stations of one session, and what happens at each of them."""

import base64
import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from tests.providers.histories import PNG, as_message, image
from tests.providers.recorded_exchanges import (
    READ,
    Playback,
    collect_events,
    complete,
    exchange,
    expected,
    model,
    request,
)
from tests.strategies import Writer
from tests.validator.validate import errors, validate
from yourtool.messages.blobs import store_blob
from yourtool.messages.blocks import (
    AudioBlock,
    DocumentBlock,
    ImageBlock,
    ImageSource,
    TextBlock,
    ToolResultBlock,
    ToolUseBlock,
)
from yourtool.messages.message import Message, Role
from yourtool.messages.metadata import (
    MessageStatus,
    ReplyMetadata,
    ResultMetadata,
    StopReason,
)
from yourtool.models import Model
from yourtool.providers.base import FileRoots, ForcedTool
from yourtool.providers.dialects.base import Dialect
from yourtool.providers.dialects.chat.dialect import ChatDialect
from yourtool.providers.dialects.generate_content.dialect import GenerateContentDialect
from yourtool.providers.dialects.messages.dialect import MessagesDialect
from yourtool.providers.dialects.ollama.dialect import OllamaDialect
from yourtool.providers.dialects.responses.dialect import ResponsesDialect
from yourtool.providers.idle_timer import StreamTimeouts
from yourtool.providers.quirks import find_quirks
from yourtool.providers.requests.request_view import build_request_view
from yourtool.providers.tool_ids import ToolIdMap
from yourtool.providers.wire import WireAdapter

_SOUND, _PAGES = b"RIFF\0\0\0\0WAVEfmt ", b"%PDF-1.7\n"
_SCHEMA = {
    "type": "object",
    "properties": {"a": {"type": "string", "minLength": 2}},
    "required": ["a"],
}
_ROUTED = find_quirks("https://openrouter.ai/api/v1")


class SwapTarget(Struct, frozen=True):
    """One dialect, a model with it, and recorded replies, of which the first calls tools."""

    model: Model
    api: tuple[str, str]
    """Provider and API as the validator calls them."""
    dialect: Callable[[], Dialect]
    turns: str
    """The field of the body that holds the conversation."""
    replies: tuple[str, ...]

    def secrets(self) -> list[str]:
        """Return every signature and sealed thought in the replies."""
        found: list[str] = []
        for name in self.replies:
            right = expected(name)
            found += right["redacted_thinking"]
            found += [reasoning["signature"] for reasoning in right["thinking"]]
            found += [part["signature"] for part in right.get("part_signatures", ())]
        return [secret for secret in found if secret]


def _build_capable_model(provider: str, name: str, *, with_audio: bool = True) -> Model:
    """Return a model that supports everything that its wire format can represent."""
    plain = model(provider, name)
    can = replace(plain.capabilities, supports_documents=True, supports_audio=with_audio)
    return replace(plain, capabilities=can)


SWAP_TARGETS = {
    "anthropic": SwapTarget(
        _build_capable_model("anthropic", "claude-sonnet-4-6"),
        ("anthropic", "messages"),
        MessagesDialect,
        "messages",
        (
            "anthropic-messages-parallel-calls-stream",
            "anthropic-messages-call",
            "anthropic-messages-after-calls-stream",
        ),
    ),
    "openai chat": SwapTarget(
        _build_capable_model("openai", "gpt-4o", with_audio=False),
        ("openai", "chat"),
        lambda: ChatDialect(find_quirks("https://api.openai.com/v1")),
        "messages",
        ("openai-chat-parallel-calls-stream", "openai-chat-after-calls"),
    ),
    "openai responses": SwapTarget(
        _build_capable_model("openai", "gpt-5"),
        ("openai", "responses"),
        ResponsesDialect,
        "input",
        ("openai-responses-parallel-calls", "openai-responses-after-calls-stream"),
    ),
    "google": SwapTarget(
        _build_capable_model("google", "gemini-3.5-flash"),
        ("gemini", "generateContent"),
        GenerateContentDialect,
        "contents",
        (
            "gemini-generate-parallel-calls-stream",
            "gemini-generate-after-calls-stream",
            "gemini-generate-signed-text",
        ),
    ),
    "ollama": SwapTarget(
        _build_capable_model("ollama", "qwen3:8b"),
        ("ollama", "chat"),
        OllamaDialect,
        "messages",
        ("ollama-chat-parallel-calls-stream", "ollama-chat-after-calls"),
    ),
    "openrouter": SwapTarget(
        _build_capable_model("openrouter", "a/b"),
        ("openrouter", "chat"),
        lambda: ChatDialect(_ROUTED),
        "messages",
        ("openrouter-chat-parallel-calls-stream", "openrouter-chat-after-calls-stream"),
    ),
}
_RECORDED_REPLIES = {
    "anthropic": (
        "anthropic-messages-36913693",
        "anthropic-messages-f33dc675",
        "anthropic-messages-ac231c12",
    ),
    "openai chat": ("openai-chat-93025548", "openai-chat-fae50610"),
    "openai responses": ("openai-responses-15aa374b", "openai-responses-74446791"),
    "google": ("gemini-generate-c1aa0e6b", "gemini-generate-ea8f1642", "gemini-generate-422bdae7"),
    "ollama": ("ollama-chat-681d9b76", "ollama-chat-bba8570d"),
    "openrouter": ("openrouter-chat-0f9001b4", "openrouter-chat-570055f8"),
}
RECORDED_SWAP_TARGETS = {
    name: replace(station, replies=_RECORDED_REPLIES[name])
    for name, station in SWAP_TARGETS.items()
}
"""The same with replies of the recorded set."""


class Session:
    """A session that travels; every request on the way is checked by the validator."""

    def __init__(self, blobs: Path) -> None:
        """`blobs`: the directory of stored attachments."""
        self.history: list[Message] = []
        self.ids = ToolIdMap()
        self.problems: list[Any] = []
        self._blobs = blobs
        self._writer = Writer()

    async def run_turns(self, station: SwapTarget) -> None:
        """Run a turn with images, calls and failures, one that is stopped, and one cut short."""
        self._user("What is this?", image(), *self._files())
        for name in station.replies:
            self._answer((await self._reply(station, name)).tool_uses)
        self._user("Once more.")
        call = ToolUseBlock(self._writer.tool_use_id(), "read_file", {"path": "a"})
        stopped = ReplyMetadata(
            model=station.model.id,
            provider=station.model.provider,
            status=MessageStatus.CANCELLED,
            stop_reason=StopReason.CANCELLED,
        )
        self.history.append(
            self._writer.message(Role.ASSISTANT, [TextBlock("I was ab"), call], stopped)
        )
        self._user("Go on.")
        self._answer((await self._reply(station, station.replies[0])).tool_uses[1:])

    def body(self, station: SwapTarget, messages: Sequence[Message]) -> dict[str, Any]:
        """Return the next request after `messages`, without cache breakpoints.

        It is tried with a level of thinking, a forced call and a schema too.
        """
        outgoing = self._request(station, messages)
        forced = replace(outgoing, effort="high", tool_choice=ForcedTool("read_file"))
        for each in (forced, replace(outgoing, effort="high", output_schema=_SCHEMA), outgoing):
            raw = json.loads(station.dialect().to_wire(each).body)
            self.problems += find_problems(station, raw)
        return without_cache_breakpoints(raw)

    async def _reply(self, station: SwapTarget, name: str) -> Message:
        transport = Playback([exchange(name)["response"]["body"].encode()])
        speaker = WireAdapter(
            station.dialect(),
            transport,
            station.model.provider,
            timeouts=StreamTimeouts(linger=0.001),
        )
        events, error = await collect_events(speaker, self._request(station, self.history))
        assert error is None, error
        self.problems += find_problems(station, json.loads(transport.posted[0][1]))
        reply = as_message(complete(events), station.model, self._writer)
        self.history.append(reply)
        return reply

    def _request(self, station: SwapTarget, messages: Sequence[Message]) -> Any:
        system = (
            self._writer.message(Role.SYSTEM, [TextBlock("Be brief.")]),
            self._writer.message(Role.SYSTEM, [TextBlock("It is Friday.")]),
        )
        view = (*system, *build_request_view(messages, station.model))
        places = FileRoots(self._blobs, self._blobs)
        return request(station.model, view, (READ,), tool_ids=self.ids, file_roots=places)

    def _files(self) -> list[Any]:
        """An image, audio and documents: by hash, by bytes, by URL, and one missing."""
        return [
            ImageBlock(
                ImageSource("file_ref", store_blob(self._blobs, base64.b64decode(PNG))), "image/png"
            ),
            AudioBlock(ImageSource("base64", base64.b64encode(_SOUND).decode()), "audio/wav"),
            DocumentBlock(
                ImageSource("file_ref", store_blob(self._blobs, _PAGES)), "application/pdf"
            ),
            DocumentBlock(ImageSource("url", "https://example.org/a.pdf"), "application/pdf"),
            DocumentBlock(ImageSource("base64", "aGk="), "text/plain", "a.txt"),
            image(f"sha256:{'0' * 64}", "file_ref"),
        ]

    def _user(self, words: str, *more: Any) -> None:
        self.history.append(self._writer.message(Role.USER, [TextBlock(words), *more]))

    def _answer(self, calls: Sequence[ToolUseBlock]) -> None:
        for number, call in enumerate(calls):
            content = (TextBlock("no such file"),) if number else (TextBlock("ok"), image())
            result = ToolResultBlock(call.id, content, is_error=bool(number))
            metadata = ResultMetadata(parent_tool_use_id=call.id)
            self.history.append(self._writer.message(Role.TOOL, [result], metadata))


def find_problems(station: SwapTarget, body: dict[str, Any]) -> list[Any]:
    """What the provider would refuse the body for."""
    return errors(validate(*station.api, body, model=station.model.wire_name))


def without_cache_breakpoints(body: Any) -> Any:
    """Return the body without cache breakpoints."""
    if isinstance(body, dict):
        return {
            key: without_cache_breakpoints(part)
            for key, part in body.items()
            if key != "cache_control"
        }
    return [without_cache_breakpoints(part) for part in body] if isinstance(body, list) else body


def to_json(body: Any) -> str:
    """Return a body as text with unescaped strings."""
    return msgspec.json.encode(body).decode()
