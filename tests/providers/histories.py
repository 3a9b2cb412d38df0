"""A conversation that has one of everything, and ways to make a recorded reply a message."""

import base64
from decimal import Decimal

import msgspec

from tests.strategies import Writer
from yourtool.events.deltas import MessageComplete
from yourtool.messages.blocks import (
    ImageBlock,
    ImageSource,
    RedactedThinkingBlock,
    TextBlock,
    ThinkingBlock,
    ToolResultBlock,
    ToolUseBlock,
)
from yourtool.messages.codec import decode_content, decode_metadata, encode_content, encode_metadata
from yourtool.messages.message import Message, Role
from yourtool.messages.metadata import (
    ReplyMetadata,
    ResultMetadata,
    RoutingDecisionRecord,
    RoutingMode,
    StopReason,
)
from yourtool.messages.usage import Usage
from yourtool.models import Model

PNG = base64.b64encode(
    b"\x89PNG\r\n\x1a\n" + b"\0\0\0\rIHDR" + b"\0\0\0\x20" + b"\0\0\0\x10" + b"\0" * 5
).decode()


def image(data: str = PNG, kind: str = "base64", media_type: str = "image/png") -> ImageBlock:
    return ImageBlock(ImageSource(kind, data), media_type)


def reply_metadata(model: str) -> ReplyMetadata:
    """Metadata of a complete reply."""
    return ReplyMetadata(
        model=model,
        provider=model.partition(":")[0],
        routing=RoutingDecisionRecord(
            mode=RoutingMode.DEFAULT, chosen_model=model, reason="global default"
        ),
        usage=Usage(
            input_tokens=100,
            output_tokens=10,
            cost_usd=Decimal("0.01"),
            pricing_version="2026-05-08",
            latency_ms=900,
        ),
        stop_reason=StopReason.END_TURN,
    )


def build_full_history(model: Model) -> tuple[Message, ...]:
    """Return a conversation with one of everything, as `model` would have had it."""
    writer, own = Writer(), reply_metadata(model.id)
    first, second = writer.tool_use_id(), writer.tool_use_id()
    return (
        writer.message(Role.SYSTEM, [TextBlock("You write code."), TextBlock("Be brief.")]),
        writer.message(Role.SYSTEM, [TextBlock("Today is a Friday.")]),
        writer.message(Role.USER, [TextBlock("What is in this picture?"), image()]),
        writer.message(
            Role.ASSISTANT,
            [
                ThinkingBlock("I should look.", "c2ln"),
                RedactedThinkingBlock("b3BhcXVl"),
                TextBlock("Let me look."),
                ToolUseBlock(first, "read_file", {"path": "b.txt", "limit": 5, "a": "ü"}),
                ToolUseBlock(second, "read_file", {}),
            ],
            own,
        ),
        writer.message(
            Role.TOOL,
            [ToolResultBlock(first, (TextBlock("one"), TextBlock("two"), image()))],
            ResultMetadata(parent_tool_use_id=first),
        ),
        writer.message(
            Role.TOOL,
            [ToolResultBlock(second, (TextBlock("`path` is required"),), is_error=True)],
            ResultMetadata(parent_tool_use_id=second),
        ),
        writer.message(Role.ASSISTANT, [TextBlock("It is a cat.")], own),
        writer.message(
            Role.USER, [TextBlock("And this?"), image("https://example.org/cat.png", "url")]
        ),
    )


def stored(message: Message) -> Message:
    """Return the message as it comes back from the store."""
    return msgspec.structs.replace(
        message,
        content=decode_content(encode_content(message.content), where="test"),
        metadata=decode_metadata(encode_metadata(message.metadata), message.role, where="test"),
    )


def as_message(event: MessageComplete, model: Model, writer: Writer) -> Message:
    """Return a finished reply as the loop stores it."""
    metadata = msgspec.structs.replace(
        reply_metadata(model.id),
        provider_raw=event.provider_raw,
        stop_reason=event.stop_reason,
        tool_input_errors=event.tool_input_errors or None,
    )
    return stored(writer.message(Role.ASSISTANT, event.final_content, metadata))
