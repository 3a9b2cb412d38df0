"""The tables of `docs/providers.md`: which content a request to each provider contains.

They are measured: a sample conversation is sent through each dialect, and the request is searched.
"""

import logging
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, TypeVar

from msgspec.structs import replace

from yourtool.effects import SideEffects, ToolDefinition
from yourtool.events.deltas import MessageComplete
from yourtool.events.facts import UNSTAMPED
from yourtool.ids import new_id
from yourtool.interrupt import Interrupt
from yourtool.messages.blocks import (
    AudioBlock,
    ContentBlock,
    DocumentBlock,
    ImageBlock,
    ImageSource,
    TextBlock,
    ThinkingBlock,
    ToolResultBlock,
    canonical_json,
)
from yourtool.messages.message import (
    Message,
    PromptMessage,
    ReplyMessage,
    ResultMessage,
    Role,
)
from yourtool.messages.metadata import ReplyMetadata
from yourtool.models import AdapterCapabilities, Model, ModelId
from yourtool.paths import Paths
from yourtool.providers.base import ForcedTool, Request
from yourtool.providers.cache_plan import plan_cache
from yourtool.providers.catalogue.models import Catalogue
from yourtool.providers.dialects.base import Dialect
from yourtool.providers.provider_specs import BUILT_IN, ProviderSpec
from yourtool.providers.registry import load_dialect
from yourtool.providers.replies.reply import Reply
from yourtool.providers.requests import request_view
from yourtool.providers.requests.media_parts import format_mib
from yourtool.providers.tool_ids import ToolIdMap

ROOT = Path(__file__).parents[1]
_IMAGE = "iVBORw0KGgoAAAANSUhEUgAAACAAAAAQAAAAAAA="
_PDF, _WAV, _FLAC = "JVBERi0xLjcK", "UklGRgAAAABXQVZFZm10IA==", "ZkxhQwAAACI="
M = TypeVar("M", PromptMessage, ReplyMessage, ResultMessage)

_REASONING, _SIGNATURE, _ENCRYPTED = "(thought)", "c2lnbmVk", "c2VhbGVk"
_SCHEMA = {"type": "object", "properties": {"path": {"type": "string", "title": "(a field)"}}}
_TOOL = ToolDefinition(
    name="read_file", description="x", input_schema=_SCHEMA, side_effects=SideEffects.READ
)
_ITEM = {"type": "reasoning", "summary": [{"type": "summary_text", "text": _REASONING}]}
_CALL = {"name": _TOOL.name, "arguments": "{}"}
_PART = {"functionCall": {"name": _TOOL.name}, "thoughtSignature": _SIGNATURE}
_CALLS = ("call_1", "call_2")
_CHAT_CALLS = [{"id": call, "function": _CALL} for call in _CALLS]
_REPLIES: dict[str, dict[str, Any]] = {
    "messages": {
        "content": [
            {"type": "thinking", "thinking": _REASONING, "signature": _SIGNATURE},
            {"type": "redacted_thinking", "data": _ENCRYPTED},
            *({"type": "tool_use", "id": call, "name": _TOOL.name} for call in _CALLS),
        ]
    },
    "responses": {
        "output": [
            {**_ITEM, "encrypted_content": _ENCRYPTED},
            *({"type": "function_call", "call_id": call, **_CALL} for call in _CALLS),
        ]
    },
    "chat": {
        "reasoning_details": [
            {"type": "reasoning.text", "text": _REASONING, "signature": _SIGNATURE},
            {"type": "reasoning.encrypted", "data": _ENCRYPTED},
        ],
        "tool_calls": _CHAT_CALLS,
    },
    "others": {"reasoning_content": _REASONING, "tool_calls": _CHAT_CALLS},
    "generate-content": {"parts": [{"text": _REASONING, "thought": True}, _PART, _PART]},
    "ollama": {"thinking": _REASONING, "tool_calls": [{"function": _CALL}] * 2},
}
"""A reply with every kind of reasoning and calls per wire format; `others`: servers with `chat`."""
_ENVELOPES: dict[str, Callable[[dict[str, Any]], dict[str, Any]]] = {
    "chat": lambda message: {"choices": [{"message": message}]},
    "generate-content": lambda content: {"candidates": [{"content": content}]},
    "ollama": lambda message: {"message": message, "done": True},
}
"""The envelope of the reply in each wire format."""
_OTHER_SERVERS = ProviderSpec(name="others", api="chat", label="Servers like OpenAI's")


def providers_table() -> str:
    """Return the tables of `docs/providers.md`."""
    rows = [row for row in BUILT_IN if row.api != "scripted"]
    head = ["| provider | `api` | key | address |", "|---|---|---|---|"]
    for row in rows:
        keys = ", ".join(f"`{name}`" for name in row.key_env) or "–"
        head.append(f"| `{row.name}` | `{row.api}` | {keys} | `{row.base_url}` |")
    names = " | ".join(f"`{row.name}`" for row in rows)
    table = [f"| | {names} | others with `chat` |", f"|---|---{'|---' * len(rows)}|"]
    found = [_request_contents(row) for row in (*rows, _OTHER_SERVERS)]
    table += [f"| {what} | {' | '.join(each[what] for each in found)} |" for what in found[0]]
    most = [f"| at most | {names} | others |", table[1]]
    empty = Paths(home=ROOT / "docs", data=ROOT, state=ROOT, cache=ROOT)  # adds no model
    shipped = {model.id: model for model in Catalogue.load(empty).all()}
    limits = [_limits(shipped.get(row.default_model or "")) for row in (*rows, _OTHER_SERVERS)]
    most += [f"| {what} | {' | '.join(each[what] for each in limits)} |" for what in limits[0]]
    return "\n".join([*head, "", *table, "", *most]) + "\n"


def _limits(model: Model | None) -> dict[str, str]:
    """Return the request limits of a provider's default model, or the defaults without one."""
    can = model.capabilities if model else AdapterCapabilities()
    return {
        "one image (`max_image_bytes`)": format_mib(can.max_image_bytes),
        "one PDF or audio file (`max_file_bytes`)": format_mib(can.max_file_bytes),
        "images in a request (`max_images`)": f"{can.max_images:,}",
        "the request (`max_request_bytes`)": format_mib(can.max_request_bytes),
    }


def _request_contents(row: ProviderSpec) -> dict[str, str]:
    """Return which parts of a conversation the request of a provider contains."""
    model, dialect = _sample_model(row), load_dialect(row)
    reply = canonical_json(
        _ENVELOPES.get(row.api, dict)(_REPLIES.get(row.name) or _REPLIES[row.api])
    )
    logging.disable(logging.WARNING)
    own, foreign, forced, formed = (
        dialect.to_wire(asked).body.decode()
        for asked in (
            _sample(model, _history(_reply_of(model, dialect, reply))),
            _sample(model, _history(_reply_of_another_model())),
            _sample(model, (), tools=(_TOOL,), tool_choice=ForcedTool(_TOOL.name)),
            _sample(model, (), output_schema=_TOOL.input_schema),
        )
    )
    logging.disable(logging.NOTSET)

    def returned(mark: str) -> str:
        return "–" if mark not in reply.decode() else "sent back" if mark in own else "omitted"

    aside = "in a message after it" if "images that the tools returned" in own else "in the result"
    flagged = '"is_error":true' in own or '{"error":' in own
    is_forced = '"tool_choice"' in forced or "allowedFunctionNames" in forced
    return {
        "its own reasoning": returned(_REASONING),
        "its signatures": returned(_SIGNATURE),
        "encrypted reasoning": returned(_ENCRYPTED),
        "another model's reasoning": "sent" if _REASONING in foreign else "omitted",
        "image URLs": "sent" if "https://example.org" in own else "omitted",
        "images in tool results": aside if _IMAGE in own else "omitted",
        "PDFs": "sent" if _PDF in own else "omitted",
        "PDF URLs": "sent" if "a.pdf" in own else "omitted",
        "audio (WAV, MP3)": "sent" if _WAV in own else "omitted",
        "audio (Ogg, FLAC)": "sent" if _FLAC in own else "omitted",
        "failed tool results": "error flag" if flagged else "text",
        "forced tool call": "yes" if is_forced else "as the only tool",
        "output schema": "sent" if "(a field)" in formed else "omitted",
        "cache breakpoints": "yes" if "cache_control" in own else "no",
        "stop sequences": "sent" if "(stop)" in own else "omitted",
    }


def _sample_model(row: ProviderSpec) -> Model:
    can = AdapterCapabilities(
        supports_thinking=True,
        supports_images=True,
        supports_audio=True,
        supports_documents=True,
        supports_prompt_caching=True,
    )
    name = ModelId.parse(row.default_model).name if row.default_model else "some-model"
    return Model(id=f"{row.name}:{name}", wire_name=name, capabilities=can, least_cached_tokens=0)


def _sample(model: Model, conversation: Sequence[Message], **options: Any) -> Request:
    system = replace(_message(PromptMessage, TextBlock("(system)")), role=Role.SYSTEM)
    messages = (system, *request_view.build_request_view(conversation, model))
    return Request(
        request_id="",
        session_id="",
        message_id="",
        model=model,
        messages=messages,
        max_output_tokens=32_000,
        stop_sequences=("(stop)",),
        cache=plan_cache(messages, (), model, "short"),
        tool_ids=ToolIdMap(),
        interrupt=Interrupt(),
        **options,
    )


def _reply_of(model: Model, dialect: Dialect, document: bytes) -> ReplyMessage:
    """Return a reply as the provider's own adapter reads and keeps it."""
    reply = Reply(_sample(model, ()), api=dialect.api)
    *_, whole = (*dialect.build_parser(reply).parse_document(document), *reply.finish())
    assert isinstance(whole, MessageComplete), "the last event of a reply"
    metadata = ReplyMetadata(
        model=model.id, provider=model.provider, provider_raw=whole.provider_raw
    )
    return _reply(whole.final_content, metadata)


def _reply_of_another_model() -> ReplyMessage:
    content = (ThinkingBlock(_REASONING, _SIGNATURE), TextBlock("x"))
    return _reply(content, ReplyMetadata(model="other:model"))


def _history(reply: Message) -> list[Message]:
    picture = ImageBlock(ImageSource("base64", _IMAGE), "image/png")
    linked = ImageBlock(ImageSource("url", "https://example.org/a.png"), "image/png")
    results = [
        ToolResultBlock(call.id, (TextBlock("x"), *([] if number else [picture])), bool(number))
        for number, call in enumerate(reply.tool_uses)
    ]
    return [
        _message(PromptMessage, TextBlock("?"), linked, *_files()),
        reply,
        *(_message(ResultMessage, result) for result in results),
        _message(PromptMessage, TextBlock("?")),
    ]


def _files() -> tuple[ContentBlock, ...]:
    return (
        DocumentBlock(ImageSource("base64", _PDF), "application/pdf"),
        DocumentBlock(ImageSource("url", "https://example.net/a.pdf"), "application/pdf"),
        AudioBlock(ImageSource("base64", _WAV), "audio/wav"),
        AudioBlock(ImageSource("base64", _FLAC), "audio/flac"),
    )


def _reply(content: tuple[ContentBlock, ...], metadata: ReplyMetadata) -> ReplyMessage:
    return replace(_message(ReplyMessage, *content), metadata=metadata)


def _message(kind: type[M], *content: ContentBlock) -> M:
    return kind(id=new_id(), session_id="", content=content, created_at=UNSTAMPED)
