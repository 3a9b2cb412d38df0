"""Pictures, recordings and documents as parts of a message of Chat Completions."""

from typing import Any

from yourtool.messages import AudioBlock, DocumentBlock, ImageBlock, MediaBlock, Message
from yourtool.providers.base import Request
from yourtool.providers.media_types import IMAGE_TYPES, PDF, PLAIN
from yourtool.providers.requests.media import as_text, sendable
from yourtool.providers.requests.placeholders import PDF_NAME

_SOUNDS = {"audio/wav": "wav", "audio/mpeg": "mp3"}
_MORE_SOUNDS = {**_SOUNDS, "audio/ogg": "ogg", "audio/flac": "flac"}
"""What recordings are called, at OpenAI and behind OpenRouter
(https://openrouter.ai/docs/guides/overview/multimodal/audio)."""


def media_parts(
    block: MediaBlock, message: Message, request: Request, *, relayed: bool
) -> list[dict[str, Any]]:
    """Return the part for a block, if the server takes such.

    `relayed`: a server such as OpenRouter, which takes more kinds of sound, and PDFs by address.
    """
    sounds = _MORE_SOUNDS if relayed else _SOUNDS
    is_fetched = isinstance(block, ImageBlock) or (isinstance(block, DocumentBlock) and relayed)
    if block.source.kind == "url" and not is_fetched:
        request.losses.drop(block, message, request.model, "it is not fetched from an address")
        return []
    media = sendable(block, message, request, only=(*IMAGE_TYPES, PDF, PLAIN, *sounds))
    if media is None:
        return []
    match block:
        case ImageBlock():
            return [{"type": "image_url", "image_url": {"url": media.data_url}}]
        case AudioBlock():
            sound = {"data": media.data, "format": sounds[media.media_type]}
            return [{"type": "input_audio", "input_audio": sound}]
        case DocumentBlock() if media.url is None and media.media_type == PLAIN:
            return [{"type": "text", "text": as_text(block, media)}]
        case DocumentBlock(name=name):
            file = {"filename": name or PDF_NAME, "file_data": media.data_url}
            return [{"type": "file", "file": file}]
