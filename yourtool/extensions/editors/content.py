"""Prompt content from blocks of the protocol."""

import base64
import binascii
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TypeAlias
from urllib.parse import unquote, urlsplit

from acp.schema import (
    AudioContentBlock,
    EmbeddedResourceContentBlock,
    ImageContentBlock,
    ResourceContentBlock,
    TextContentBlock,
    TextResourceContents,
)

from yourtool.agent.input.attachments import MAX_TEXT_BYTES, attachment_from_bytes
from yourtool.errors import UsageError
from yourtool.foundation.text import printable, storable
from yourtool.messages.blocks import ContentBlock, TextBlock, build_file_block

PromptBlock: TypeAlias = (
    TextContentBlock
    | ImageContentBlock
    | AudioContentBlock
    | ResourceContentBlock
    | EmbeddedResourceContentBlock
)
_NAMES = {ImageContentBlock: "the image", AudioContentBlock: "the audio"}


def to_blocks(
    prompt: Sequence[PromptBlock], workspace: Path, mask: Callable[[str], str]
) -> tuple[ContentBlock, ...]:
    """Return the content of a message: one text first, then what is attached to it.

    A link to a file of the workspace becomes a mention of it. `mask` replaces keys in attached
    texts. Blocks: images are checked and scaled.

    Raises:
        UsageError: the prompt is empty, or a block is too large, damaged or of an unknown type.
    """
    texts, attached = list[str](), list[ContentBlock]()
    for block in prompt:
        match block:
            case TextContentBlock(text=text):
                texts.append(storable(text))
            case ResourceContentBlock(uri=uri):
                texts.append(_to_mention(uri, workspace))
            case EmbeddedResourceContentBlock():
                attached.append(_to_attachment(block, workspace, mask))
            case ImageContentBlock(data=data) | AudioContentBlock(data=data):
                attached.append(attachment_from_bytes(_decode(data), _NAMES[type(block)]).block)
    text = "".join(texts)
    if not text.strip() and not attached:
        raise UsageError("the prompt is empty")
    return (TextBlock(text), *attached) if text.strip() else tuple(attached)


def get_path(uri: str) -> Path | None:
    """Return the path of a `file:` URI, or of an absolute path; None for any other address."""
    try:
        parts = urlsplit(uri)
    except ValueError:
        return None
    if parts.scheme == "file" and parts.netloc in ("", "localhost"):
        return Path(unquote(parts.path))
    return Path(uri) if uri.startswith("/") else None


def _to_mention(uri: str, workspace: Path) -> str:
    """Return the text by which a prompt mentions what a link is about."""
    if (name := _find_name(uri, workspace)) is not None and not any(map(str.isspace, name)):
        return f"@{name}"
    return f"<{storable(uri)}>"


def _find_name(uri: str, workspace: Path) -> str | None:
    """Return the path of a file relative to the workspace; None if it is not in it."""
    path = get_path(uri)
    if path is None or not path.is_relative_to(workspace) or path == workspace:
        return None
    return storable(str(path.relative_to(workspace)))


def _to_attachment(
    block: EmbeddedResourceContentBlock, workspace: Path, mask: Callable[[str], str]
) -> ContentBlock:
    resource = block.resource
    name = _find_name(resource.uri, workspace) or storable(resource.uri)
    if not isinstance(resource, TextResourceContents):
        return attachment_from_bytes(_decode(resource.blob), Path(name).name or name).block
    if len(resource.text.encode("utf-8", "replace")) > MAX_TEXT_BYTES:
        size = f"{MAX_TEXT_BYTES // 2**10} KiB"
        raise UsageError(f"`{printable(name)}` is larger than {size}; link to the file instead")
    return build_file_block(printable(name).replace("\n", " "), mask(storable(resource.text)))


def _decode(data: str) -> bytes:
    try:
        return base64.b64decode(data, validate=True)
    except (binascii.Error, ValueError) as error:
        raise UsageError("the data of an attachment is not valid base64") from error
