"""What a request says in place of what is not there, or cannot be sent."""

from msgspec.structs import replace

from yourtool.messages import (
    AudioBlock,
    ContentBlock,
    DocumentBlock,
    ImageBlock,
    MediaBlock,
    Message,
    TextBlock,
    ToolResultBlock,
    iter_blocks,
)
from yourtool.models import AdapterCapabilities
from yourtool.providers.requests.media import media_support

EMPTY_MESSAGE = "(an empty message)"
"""A user's message that has nothing visible."""
NO_OUTPUT = "(no output)"
"""The result of a tool that said nothing."""
ERROR_PREFIX = "Error: "
"""Begins a tool's result where a dialect has no field that says so."""
FILLER_REPLY = "(noted)"
"""A reply where a model insists on one between the results of tools and the next prompt."""
SEE_BELOW = "(see the images below)"
"""A result that is pictures alone, where a dialect takes none in results."""
IMAGES_LABEL = "The images that the tools returned:"
"""Begins the user's message that those pictures follow in."""
DEFAULT_PDF_NAME = "document.pdf"


def placeholder_for(block: MediaBlock) -> str:
    """Return the words that stand for what a user or a tool showed and a request leaves out."""
    match block:
        case ImageBlock():
            return "(an image that could not be shown to you)"
        case AudioBlock():
            return "(a recording that could not be played to you)"
        case DocumentBlock():
            return "(a document that could not be shown to you)"


def replace_unsupported_media(message: Message, can: AdapterCapabilities) -> Message:
    """Return the message with placeholders for the media of which the model takes none."""
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
