"""Placeholders for content in requests."""

from collections.abc import Iterator, Sequence

from msgspec.structs import replace

from yourtool.events.context import LeftOut
from yourtool.messages.blocks import (
    AudioBlock,
    ContentBlock,
    DocumentBlock,
    ImageBlock,
    MediaBlock,
    TextBlock,
    ToolResultBlock,
    iter_blocks,
)
from yourtool.messages.memo import has_media
from yourtool.messages.message import Message
from yourtool.models import AdapterCapabilities, Model
from yourtool.providers.requests.media_parts import media_support

EMPTY_MESSAGE = "(an empty message)"
"""A user message without visible content."""
NO_OUTPUT = "(no output)"
"""A tool result without output."""
ERROR_PREFIX = "Error: "
"""Prefix of failed tool results in dialects without an error field."""
FILLER_REPLY = "(noted)"
"""A reply between tool results and the next prompt, for models that require one."""
SEE_BELOW = "(see the images below)"
"""A result with images only, in dialects without images in results."""
IMAGES_LABEL = "The images that the tools returned:"
"""First line of the user message with the images of tool results."""
DEFAULT_PDF_NAME = "document.pdf"


def placeholder_for(block: MediaBlock) -> str:
    """Return the placeholder for an attachment that is not sent."""
    match block:
        case ImageBlock():
            return "(an image that could not be shown to you)"
        case AudioBlock():
            return "(a recording that could not be played to you)"
        case DocumentBlock():
            return "(a document that could not be shown to you)"


def replace_unsupported_media(message: Message, can: AdapterCapabilities) -> Message:
    """Return the message with placeholders for attachments that the model does not support."""
    media = [each for each in iter_blocks(message.content) if isinstance(each, MediaBlock)]
    if all(media_support(each, can).types for each in media):
        return message

    def sent(block: ContentBlock) -> ContentBlock:
        if isinstance(block, MediaBlock) and not media_support(block, can).types:
            return TextBlock(placeholder_for(block))
        if isinstance(block, ToolResultBlock):
            return replace(block, content=tuple(map(sent, block.content)))
        return block

    return replace(message, content=tuple(map(sent, message.content)))


def find_unsupported_media(messages: Sequence[Message], model: Model) -> Iterator[LeftOut]:
    """Yield the attachments of messages that a model gets placeholders for."""
    for message, media in zip(messages, has_media.values(messages), strict=True):
        for block in iter_blocks(message.content) if media else ():
            if isinstance(block, MediaBlock):
                support = media_support(block, model.capabilities)
                if not support.types:
                    kind = str(type(block).__struct_config__.tag)
                    yield LeftOut(message.id, kind, f"`{model.id}` takes no {support.kind}")
