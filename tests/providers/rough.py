"""Conversations drawn by a seed: much faster than by strategies, and as odd."""

import random
from collections.abc import Sequence
from typing import Any

from tests.providers.histories import image, reply_metadata
from tests.providers.leftovers import leftovers
from tests.strategies import Writer
from yourtool.messages import (
    AudioBlock,
    ContentBlock,
    DocumentBlock,
    ImageSource,
    Message,
    MessageMetadata,
    MessageStatus,
    RedactedThinkingBlock,
    Role,
    TextBlock,
    ThinkingBlock,
    ToolInputError,
    ToolResultBlock,
    ToolUseBlock,
)

_WORDS = ("", " ", "\n", "hello", "日本語", "\u2028", "x" * 70, "a\x00b", "{}", '"', "🙂", "٣")
_NAMES = ("read_file", "f", "9lives", "über", "a.b:c", "x" * 80)
_PICTURES = (
    image(),
    image("no base64"),
    image("https://example.org/a.png", "url"),
    image("missing.png", "file_ref"),
    image("ftp://example.org/a.png", "url"),
)
_FILES = (
    DocumentBlock(ImageSource("base64", "JVBERi0xLjcK"), "application/pdf", 'a "b".pdf'),
    DocumentBlock(ImageSource("base64", "aGk="), "text/plain"),
    DocumentBlock(ImageSource("url", "https://example.org/a.pdf"), "application/pdf"),
    DocumentBlock(ImageSource("file_ref", f"sha256:{'0' * 64}"), "application/pdf"),
    AudioBlock(ImageSource("base64", "UklGRgAAAABXQVZFZm10IA=="), "audio/wav"),
    AudioBlock(ImageSource("base64", "ZkxhQwAAACI="), "audio/flac"),
    AudioBlock(ImageSource("url", "https://example.org/a.wav"), "audio/wav"),
)
_STATUSES = (MessageStatus.COMPLETE,) * 4 + tuple(MessageStatus)


def legal(seed: int, models: Sequence[str]) -> tuple[Message, ...]:
    """Return a conversation in which every call is answered once, directly after its message."""
    draw, writer = random.Random(seed), Writer()
    messages: list[Message] = []
    for _ in range(draw.randint(1, 4)):
        messages.append(writer.message(Role.USER, _asked(draw)))
        for _ in range(draw.randint(0, 3)):
            said = _said(draw, writer)
            messages.append(writer.message(Role.ASSISTANT, said, _metadata(draw, models, said)))
            for block in said:
                if isinstance(block, ToolUseBlock):
                    metadata = MessageMetadata(parent_tool_use_id=block.id)
                    messages.append(writer.message(Role.TOOL, [_result(draw, block)], metadata))
    return tuple(messages)


def damaged(seed: int, history: Sequence[Message]) -> list[Message]:
    """Return the conversation, or what is left of it after an accident."""
    draw, kept = random.Random(seed), list(history)
    match draw.randint(0, 5):
        case 0:
            kept = kept[: draw.randint(1, len(kept))]
        case 1:
            draw.shuffle(kept)
        case 2:
            kept += draw.choices(kept, k=draw.randint(1, 4))
        case 3:
            del kept[draw.randrange(len(kept))]
        case 4:
            kept = [message for message in kept if message.role is not Role.TOOL]
        case _:
            pass
    return kept


def _asked(draw: random.Random) -> list[ContentBlock]:
    return [
        draw.choice(_PICTURES + _FILES) if draw.random() < 0.3 else TextBlock(draw.choice(_WORDS))
        for _ in range(draw.randint(1, 3))
    ]


def _said(draw: random.Random, writer: Writer) -> list[ContentBlock]:
    kinds = draw.choices(("text", "thought", "sealed", "call"), (4, 2, 1, 3), k=draw.randint(1, 5))
    blocks: list[ContentBlock] = []
    for kind in kinds:
        match kind:
            case "text":
                blocks.append(TextBlock(draw.choice(_WORDS)))
            case "thought":
                signature = draw.choice((None, "", "c2ln"))
                blocks.append(ThinkingBlock(draw.choice(_WORDS), signature))
            case "sealed":
                blocks.append(RedactedThinkingBlock(draw.choice(("", "b3Bh"))))
            case _:
                call = ToolUseBlock(writer.tool_use_id(), draw.choice(_NAMES), _arguments(draw))
                blocks.append(call)
    return blocks


def _arguments(draw: random.Random) -> dict[str, Any]:
    values = (None, True, 0, -1.5, 2**80, "x", [], {}, [1, {"a": None}], {"b": [""]})
    return {draw.choice(_WORDS): draw.choice(values) for _ in range(draw.randint(0, 3))}


def _result(draw: random.Random, call: ToolUseBlock) -> ToolResultBlock:
    parts = tuple(
        draw.choice(_PICTURES) if draw.random() < 0.3 else TextBlock(draw.choice(_WORDS))
        for _ in range(draw.randint(0, 3))
    )
    return ToolResultBlock(call.id, parts, is_error=draw.random() < 0.3)


def _metadata(
    draw: random.Random, models: Sequence[str], said: Sequence[ContentBlock]
) -> MessageMetadata:
    own = reply_metadata(draw.choice(models))
    calls = [block.id for block in said if isinstance(block, ToolUseBlock)]
    errors = {use: ToolInputError(raw="{", error="no JSON") for use in calls[:1]}
    return MessageMetadata(
        model=own.model,
        provider=own.provider,
        routing=own.routing,
        usage=own.usage,
        status=draw.choice(_STATUSES),
        stop_reason=own.stop_reason,
        provider_raw=_raw(draw, own.model or "", said),
        tool_input_errors=errors if errors and draw.random() < 0.1 else None,
    )


def _raw(draw: random.Random, model: str, said: Sequence[ContentBlock]) -> dict[str, Any] | None:
    odd = {"scope": {"provider": "x", "model": "y"}, "blocks": 3}
    return draw.choice((None, odd, leftovers(draw, model, said), leftovers(draw, model, said)))
