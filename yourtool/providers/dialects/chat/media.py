"""Media parts of Chat Completions messages."""

from typing import Any

from yourtool.messages.blocks import AudioBlock, DocumentBlock, ImageBlock, MediaBlock
from yourtool.messages.message import Message
from yourtool.providers.base import Request
from yourtool.providers.media_types import IMAGE_TYPES, PDF, PLAIN
from yourtool.providers.requests.media_parts import format_document, prepare_media
from yourtool.providers.requests.placeholders import DEFAULT_PDF_NAME

_AUDIO_FORMATS = {"audio/wav": "wav", "audio/mpeg": "mp3"}
_RELAYED_AUDIO_FORMATS = {**_AUDIO_FORMATS, "audio/ogg": "ogg", "audio/flac": "flac"}
"""Names of audio formats at OpenAI and at OpenRouter
(https://openrouter.ai/docs/guides/overview/multimodal/audio)."""


def media_parts(
    block: MediaBlock, message: Message, request: Request, *, relayed: bool
) -> list[dict[str, Any]]:
    """Return the part for a block; empty if the server does not support it.

    `relayed`: a server such as OpenRouter, which supports more audio formats, and PDF URLs.
    """
    formats = _RELAYED_AUDIO_FORMATS if relayed else _AUDIO_FORMATS
    accepts_url = isinstance(block, ImageBlock) or (isinstance(block, DocumentBlock) and relayed)
    if block.source.kind == "url" and not accepts_url:
        request.drop_log.drop(block, message, request.model, "the API does not fetch it from a URL")
        return []
    media = prepare_media(block, message, request, only=(*IMAGE_TYPES, PDF, PLAIN, *formats))
    if media is None:
        return []
    match block:
        case ImageBlock():
            return [{"type": "image_url", "image_url": {"url": media.data_url}}]
        case AudioBlock():
            audio = {"data": media.data, "format": formats[media.media_type]}
            return [{"type": "input_audio", "input_audio": audio}]
        case DocumentBlock() if media.url is None and media.media_type == PLAIN:
            return [{"type": "text", "text": format_document(block, media)}]
        case DocumentBlock(name=name):
            file = {"filename": name or DEFAULT_PDF_NAME, "file_data": media.data_url}
            return [{"type": "file", "file": file}]
