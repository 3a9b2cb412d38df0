"""How many tokens a prompt probably has, without asking anybody.

Bytes of UTF-8 are counted, not characters, so that scripts with three bytes a character weigh what
they cost. Prose has about 3.5 bytes a token, JSON about 2.4. A picture costs its pixels by 750
(https://docs.claude.com/en/docs/build-with-claude/vision).
"""

import base64
import binascii
from collections.abc import Sequence

from yourtool.effects import ToolDefinition
from yourtool.messages import (
    ContentBlock,
    ImageBlock,
    Message,
    RedactedThinkingBlock,
    TextBlock,
    ThinkingBlock,
    ToolUseBlock,
    canonical_json,
)
from yourtool.providers.images import dimensions

_TEXT_BYTES = 3.5
_JSON_BYTES = 2.4
_PER_MESSAGE = 4
_PER_TOOL = 12
_PIXELS = 750
_LARGEST_IMAGE = 1_600
_HEADER = 64 * 1024


def estimate_tokens(messages: Sequence[Message], tools: Sequence[ToolDefinition]) -> int:
    """Guess how many tokens the messages and the tools are."""
    said = sum(
        _PER_MESSAGE + sum(_block(block) for block in message.content) for message in messages
    )
    offered = sum(
        _PER_TOOL
        + estimate_text(tool.name)
        + estimate_text(tool.description)
        + _json(canonical_json(tool.input_schema))
        for tool in tools
    )
    return round(said + offered)


def estimate_text(text: str) -> float:
    """Guess how many tokens a text is."""
    size = len(text) if text.isascii() else len(text.encode("utf-8", "replace"))
    return size / _TEXT_BYTES


def _json(encoded: bytes) -> float:
    return len(encoded) / _JSON_BYTES


def _block(block: ContentBlock) -> float:
    match block:
        case TextBlock(text):
            return estimate_text(text)
        case ThinkingBlock(text):
            return estimate_text(text)
        case RedactedThinkingBlock(data):
            return estimate_text(data)
        case ToolUseBlock():
            return _PER_TOOL + _json(canonical_json(block.input))
        case ImageBlock():
            return _image(block)
        case _:
            return _PER_TOOL + sum(_block(part) for part in block.content)


def _image(image: ImageBlock) -> float:
    if image.source.kind != "base64":
        return _LARGEST_IMAGE
    try:
        size = dimensions(base64.b64decode(image.source.data[:_HEADER]))
    except (binascii.Error, ValueError):
        return _LARGEST_IMAGE
    if size is None:
        return _LARGEST_IMAGE
    return min(_LARGEST_IMAGE, max(1, size[0] * size[1] // _PIXELS))
