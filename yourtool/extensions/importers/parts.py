"""Message parts that several formats share."""

import base64
import binascii
from collections.abc import Callable
from typing import Any

import msgspec

from yourtool.extensions.importers.source import Object, as_list, as_object, as_text, decode
from yourtool.extensions.importers.transcript import (
    UNKNOWN_MODEL,
    Call,
    Nothing,
    Part,
    Transcript,
    Unknown,
    UnknownEntry,
)
from yourtool.foundation.text import storable, storable_json
from yourtool.messages.blobs import reference_of
from yourtool.messages.blocks import ImageBlock, ImageSource, TextBlock, canonical_json

MAX_UNKNOWN_BYTES = 2**18
"""Bytes of the JSON of a block of an unknown kind that is stored."""
MAX_UNKNOWN_ENTRIES_BYTES = 2**24
"""Bytes of the JSON of all entries of unknown kinds of a file that are stored."""
_MAX_KIND = 80
NO_IMAGE = "[image that cannot be read]"
"""The text in place of such an image."""
_IMAGE_TYPES = ("image/png", "image/jpeg", "image/gif", "image/webp")
_MAGIC = {
    b"\x89PNG": "image/png",
    b"\xff\xd8\xff": "image/jpeg",
    b"GIF8": "image/gif",
    b"RIFF": "image/webp",
}
_PROVIDERS = {
    "openai-codex": "openai",
    "azure-openai-responses": "openai",
    "amazon-bedrock": "bedrock",
}
"""Our names of providers by those of other programs; the others are the same."""


def build_call(call_id: str, name: str, arguments: object) -> Call:
    """Return a call; `arguments` are an object, or a text that should be the JSON of one."""
    try:
        raw = decode(arguments or "{}") if isinstance(arguments, str) else arguments
        if not isinstance(raw, dict):
            raise ValueError("the arguments are no JSON object")
        fields: dict[str, Any] = storable_json(raw)
    except (ValueError, RecursionError) as error:
        text = arguments if isinstance(arguments, str) else _encode(arguments)
        return Call(call_id, name, {}, str(error)[:200], storable(text))
    return Call(call_id, name, fields)


def _encode(value: object) -> str:
    try:
        return msgspec.json.encode(value).decode()
    except (TypeError, ValueError, RecursionError):
        return ""


def build_image(transcript: Transcript, data: str, media_type: str = "") -> ImageBlock | None:
    """Return an image whose bytes are an attachment; None, with a loss, if it cannot be read."""
    try:
        content = base64.b64decode(data.rpartition(",")[2], validate=True)
    except (binascii.Error, ValueError):
        content = b""
    sniffed = next((kind for magic, kind in _MAGIC.items() if content.startswith(magic)), "")
    media_type = sniffed or media_type
    if not content or media_type not in _IMAGE_TYPES:
        transcript.losses["an image that cannot be read"] += 1
        return None
    reference = reference_of(content)
    transcript.attachments[reference] = content
    return ImageBlock(ImageSource("file_ref", reference), media_type)


def build_parts(
    transcript: Transcript,
    content: object,
    read_part: Callable[[dict[str, Any]], TextBlock | ImageBlock | None],
) -> tuple[Part, ...]:
    """Return the blocks of a content, which is a text or a list of parts.

    `read_part` returns None for a part of an unknown kind.
    """
    if isinstance(content, str):
        text = as_text(content)
        return (TextBlock(text),) if text else ()
    blocks = list[Part]()
    for part in as_list(content):
        fields = dict(as_object(part))
        if isinstance(part, str):
            blocks.append(TextBlock(as_text(part)))
        elif (block := read_part(fields)) is not None:
            blocks.append(block)
        else:
            blocks.append(keep_unknown(transcript, fields))
    return tuple(block for block in blocks if not isinstance(block, TextBlock) or block.text)


def keep_unknown(transcript: Transcript, raw: Object) -> Unknown:
    """Return a block of an unknown kind as it is; for requests it is a loss.

    A block that is too large or too deep is only named.
    """
    kind = as_text(raw.get("type"))[:80] or "without a type"
    transcript.losses[f"a block `{kind}`, which no model gets"] += 1
    try:
        fields: dict[str, Any] = storable_json(dict(raw))
        size = len(canonical_json(fields))
    except (ValueError, RecursionError):
        fields, size = {}, MAX_UNKNOWN_BYTES + 1
    if size > MAX_UNKNOWN_BYTES:
        fields = {"type": kind}
    return Unknown(fields)


def keep_entry(
    transcript: Transcript, raw: Object, kind: str, word: str = "an entry"
) -> UnknownEntry | Nothing:
    """Return an entry of an unknown kind as it is, and name it in the report; `word`: what it is.

    One that is too large or too deep is only named, and so are all after very many.
    """
    name = f"{word} `{storable(kind)[:_MAX_KIND]}`"
    try:
        text = canonical_json(storable_json(dict(raw))).decode()
    except (ValueError, RecursionError):
        text = ""
    room = MAX_UNKNOWN_ENTRIES_BYTES - transcript.unknown_bytes
    if not text or len(text.encode()) > min(MAX_UNKNOWN_BYTES, room):
        transcript.losses[f"{name}, too large to store"] += 1
        return Nothing()
    transcript.unknown_bytes += len(text.encode())
    transcript.losses[f"{name}, which no model gets"] += 1
    return UnknownEntry(system=transcript.system, kind=storable(kind)[:_MAX_KIND], text=text)


def build_model(provider: str, name: str) -> str:
    """Return the canonical id of a model."""
    if not name:
        return UNKNOWN_MODEL
    provider = _PROVIDERS.get(provider, provider)
    return f"{provider or 'import'}:{name}"
