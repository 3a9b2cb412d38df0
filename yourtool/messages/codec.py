"""Stored form of content and metadata.

It skips unknown parts of newer versions.
"""

import functools
import logging
import re
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from decimal import Decimal, InvalidOperation
from typing import Any, cast

import msgspec

from yourtool.foundation.text import MAX_JSON_DEPTH
from yourtool.messages.blocks import (
    AudioBlock,
    ContentBlock,
    DocumentBlock,
    ImageBlock,
    RedactedThinkingBlock,
    TextBlock,
    ThinkingBlock,
    ToolResultBlock,
    ToolUseBlock,
    canonical_json,
)
from yourtool.messages.message import METADATA_TYPES, Role
from yourtool.messages.metadata import (
    MessageMetadata,
    ReplyMetadata,
    RequestOptions,
    RoutingDecisionRecord,
)
from yourtool.messages.usage import UsageExtra

_log = logging.getLogger(__name__)

_OBJECT = msgspec.json.Decoder(dict[str, Any])

_MAX_DEPTH = MAX_JSON_DEPTH + 10
"""Maximum depth of a stored value: that of external JSON, plus the blocks around it."""
_SHORT = 32
"""Characters of an amount of which equal ones share an instance."""
_STRING = re.compile(r'"[^"\\]*(?:\\.[^"\\]*)*"', re.DOTALL)
_BRACKET = re.compile(r"[\[\]{}]")
_NO_METADATA = {role: kind() for role, kind in METADATA_TYPES.items()}

_INTERNED_FIELDS: Mapping[str, Any] = {
    "model": str,
    "provider": str,
    "routing": RoutingDecisionRecord,
    "request": RequestOptions,
    "usage_extra": UsageExtra,
}
"""Metadata that is equal in thousands of replies, which share one instance."""

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
    """Decode stored blocks; blocks of an unknown type are skipped with a warning.

    `where` names the row in the warning.

    Raises:
        msgspec.DecodeError: the data is not JSON, or a known block is invalid.
        ValueError: it is not text, or nested too deeply.
    """
    require_shallow(data)
    try:
        return _content_decoder().decode(data)
    except msgspec.ValidationError:
        return _known_content(data, where)


def encode_metadata(metadata: MessageMetadata) -> bytes:
    """Encode metadata for storage; fields with default values are omitted."""
    return canonical_json(metadata)


def decode_metadata(data: bytes | str, role: Role, *, where: str) -> MessageMetadata:
    """Decode the stored metadata of a message; unknown fields are skipped with a warning.

    A field is unknown by its name, also if only other roles have it, or by a value that this
    version does not define.

    Raises:
        msgspec.DecodeError: the data is not a JSON object.
        ValueError: it is not text, or nested too deeply.
    """
    require_shallow(data)
    if data in ("{}", b"{}"):
        return _NO_METADATA[role]
    raw, kind = _OBJECT.decode(data), METADATA_TYPES[role]
    unknown = raw.keys() - metadata_fields(role)
    try:
        if isinstance(source := raw.get("import"), dict):
            _intern_texts(cast("dict[str, Any]", source), ("system", "format"))
        interned = raw | _intern_fields(raw) if kind is ReplyMetadata else raw
        metadata = msgspec.convert(interned, kind)
    except msgspec.ValidationError:
        unknown |= {name for name, value in raw.items() if not _is_readable(name, value, kind)}
        metadata = msgspec.convert({name: raw[name] for name in raw.keys() - unknown}, kind)
    if unknown:
        _log.warning("skipped unknown metadata %s in %s", sorted(unknown), where)
    return metadata


def require_shallow(data: object) -> None:
    """Check that stored JSON is text and shallow enough for every encoder and decoder.

    Raises:
        ValueError: it is not text, or nested too deeply.
    """
    if not isinstance(data, str | bytes):
        raise ValueError(f"{type(data).__name__} instead of JSON")
    text = data if isinstance(data, str) else data.decode()
    if len(text) <= _MAX_DEPTH or text.count("{") + text.count("[") <= _MAX_DEPTH:
        return
    depth = 0
    for bracket in _BRACKET.findall(_STRING.sub("", text)):
        depth += 1 if bracket in "{[" else -1
        if depth > _MAX_DEPTH:
            raise ValueError("nested too deeply")


@functools.lru_cache(maxsize=256)
def intern_value(value: Any) -> Any:
    """Return the first equal value, so that equal values share one instance."""
    return value


@functools.cache
def metadata_fields(role: Role) -> frozenset[str]:
    """Return the stored names of the metadata of a role."""
    return frozenset(METADATA_TYPES[role].__struct_encode_fields__)


@functools.cache
def _content_decoder() -> msgspec.json.Decoder[tuple[ContentBlock, ...]]:
    return msgspec.json.Decoder(tuple[ContentBlock, ...])


def _intern_fields(raw: Mapping[str, Any]) -> dict[str, Any]:
    usage: dict[str, Any] | None = raw.get("usage")
    if isinstance(usage, dict):
        _intern_texts(usage, ("pricing_version",))
        if isinstance(cost := usage.get("cost_usd"), str) and len(cost) < _SHORT:
            with suppress(InvalidOperation):
                usage["cost_usd"] = _read_amount(cost)
    extra: dict[str, Any] | None = raw.get("usage_extra")
    shares_extra = isinstance(extra, dict) and not extra.keys() & {"reported_cost_usd", "receipt"}
    return {
        name: intern_value(msgspec.convert(raw[name], kind))
        for name, kind in _INTERNED_FIELDS.items()
        if raw.get(name) is not None and (name != "usage_extra" or shares_extra)
    }


@functools.lru_cache(maxsize=256)
def _read_amount(text: str) -> Decimal:
    """Return an amount; equal texts share an instance, and the number of decimals stays."""
    return Decimal(text)


def _intern_texts(raw: dict[str, Any], names: Iterable[str]) -> None:
    """Let fields of many messages share equal texts."""
    for name in names:
        if isinstance(text := raw.get(name), str):
            raw[name] = intern_value(text)


def _is_readable(name: str, value: Any, kind: type[MessageMetadata]) -> bool:
    try:
        msgspec.convert({name: value}, kind)
    except msgspec.ValidationError:
        return False
    return True


def _known_content(data: bytes | str, where: str) -> tuple[ContentBlock, ...]:
    blocks, unknown = list[ContentBlock](), list[Any]()
    for raw in msgspec.json.decode(data, type=list[dict[str, Any]]):
        if (kind := BLOCK_TYPES.get(str(raw.get("type", "")))) is None:
            unknown.append(raw.get("type"))
            continue
        if kind is ToolResultBlock and isinstance(raw.get("content"), list):
            raw["content"], parts = _known_parts(raw["content"])
            unknown += parts
        blocks.append(msgspec.convert(raw, kind))
    if unknown:
        _log.warning("skipped blocks of unknown type %s in %s", unknown, where)
    return tuple(blocks)


def _known_parts(content: list[Any]) -> tuple[list[Any], list[Any]]:
    """Split the content of a tool result into known parts and unknown types."""
    kinds = [_kind_of(part) for part in content]
    known = [part for part, kind in zip(content, kinds, strict=True) if kind in ("text", "image")]
    return known, [kind for kind in kinds if kind not in ("text", "image")]


def _kind_of(part: Any) -> Any:
    return cast("dict[str, Any]", part).get("type") if isinstance(part, dict) else part
