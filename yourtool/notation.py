"""How content and metadata are written down, and read again by a version that may know less."""

import functools
import logging
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from yourtool.messages import (
    AudioBlock,
    ContentBlock,
    DocumentBlock,
    ImageBlock,
    MessageMetadata,
    RedactedThinkingBlock,
    TextBlock,
    ThinkingBlock,
    ToolResultBlock,
    ToolUseBlock,
    canonical_json,
)

_log = logging.getLogger(__name__)

_OBJECT = msgspec.json.Decoder(dict[str, Any])

BLOCK_TYPES: Mapping[str, type[ContentBlock]] = {
    "text": TextBlock,
    "tool_use": ToolUseBlock,
    "tool_result": ToolResultBlock,
    "image": ImageBlock,
    "audio": AudioBlock,
    "document": DocumentBlock,
    "thinking": ThinkingBlock,
    "redacted_thinking": RedactedThinkingBlock,
}


def encode_content(content: Sequence[ContentBlock]) -> bytes:
    """Encode blocks for storage; deterministic."""
    return canonical_json(content)


def decode_content(data: bytes | str, *, where: str) -> tuple[ContentBlock, ...]:
    """Decode stored blocks; a kind this version does not know is skipped with a warning.

    `where` names the row in that warning.

    Raises:
        msgspec.DecodeError: the data is not JSON, or a known block does not have its shape.
    """
    try:
        return _content_decoder().decode(data)
    except msgspec.ValidationError:
        return _known_content(data, where)


def encode_metadata(metadata: MessageMetadata) -> bytes:
    """Encode metadata for storage; fields at their default are left out."""
    return canonical_json(metadata)


def decode_metadata(data: bytes | str, *, where: str) -> MessageMetadata:
    """Decode stored metadata; what this version does not know is skipped with a warning.

    A field is unknown by its name, or by a value that this version has no word for.

    Raises:
        msgspec.DecodeError: the data is not a JSON object.
    """
    raw = _OBJECT.decode(data)
    unknown = raw.keys() - _metadata_fields()
    try:
        metadata = msgspec.convert(raw, MessageMetadata)
    except msgspec.ValidationError:
        unknown |= {name for name, value in raw.items() if not _is_readable(name, value)}
        metadata = msgspec.convert(
            {name: raw[name] for name in raw.keys() - unknown}, MessageMetadata
        )
    if unknown:
        _log.warning("skipped unknown metadata %s in %s", sorted(unknown), where)
    return metadata


@functools.cache
def _content_decoder() -> msgspec.json.Decoder[tuple[ContentBlock, ...]]:
    return msgspec.json.Decoder(tuple[ContentBlock, ...])


@functools.cache
def _metadata_fields() -> frozenset[str]:
    return frozenset(MessageMetadata.__struct_encode_fields__)


def _is_readable(name: str, value: Any) -> bool:
    try:
        msgspec.convert({name: value}, MessageMetadata)
    except msgspec.ValidationError:
        return False
    return True


def _known_content(data: bytes | str, where: str) -> tuple[ContentBlock, ...]:
    blocks, unknown = list[ContentBlock](), list[Any]()
    for raw in msgspec.json.decode(data, type=list[dict[str, Any]]):
        if (kind := BLOCK_TYPES.get(raw.get("type", ""))) is None:
            unknown.append(raw.get("type"))
            continue
        if kind is ToolResultBlock:
            raw["content"], parts = _known_parts(raw.get("content", []))
            unknown += parts
        blocks.append(msgspec.convert(raw, kind))
    if unknown:
        _log.warning("skipped blocks of unknown type %s in %s", unknown, where)
    return tuple(blocks)


def _known_parts(content: list[dict[str, Any]]) -> tuple[list[dict[str, Any]], list[Any]]:
    """Split what a tool result holds into the parts that can be read and the types that cannot."""
    known = [part for part in content if part.get("type") in ("text", "image")]
    return known, [part.get("type") for part in content if part not in known]
