"""Limits of attachments in a request.

Its images, audio and documents are limited to those that the model accepts. A provider rejects a
request that is too large, and would reject it again in every later turn. When the newest attachment
does not fit, the oldest are omitted until the rest is half of the limit: the cached prefix of the
conversation then changes rarely instead of in every turn. Attachments of the current user message
are omitted last.
"""

from collections.abc import Container, Iterable, Iterator, Sequence
from itertools import compress, count
from typing import Literal, NamedTuple, TypeAlias, TypeVar, assert_never

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from yourtool.errors import BlobError
from yourtool.foundation.text import printable
from yourtool.messages.blobs import get_blob_size, is_blob
from yourtool.messages.blocks import (
    ContentBlock,
    DocumentBlock,
    ImageBlock,
    ImageSource,
    MediaBlock,
    TextBlock,
    ToolResultBlock,
    iter_blocks,
)
from yourtool.messages.memo import MessageMemo, has_media
from yourtool.messages.message import Message, Role
from yourtool.models import AdapterCapabilities, Model
from yourtool.providers.base import FileRoots
from yourtool.providers.dropped_blocks import DropCallback, DropLog
from yourtool.providers.requests.media_parts import format_mib, media_support
from yourtool.providers.requests.placeholders import placeholder_for

_TEXT_SIZE_STEP = 2**20
"""Bytes; the size of the text is rounded up to this, so the selection rarely changes."""
_OVERHEAD = 2**18
"""Bytes for the tools and the JSON around the text."""


class FittedMessages(NamedTuple):
    """Messages within the limits of a provider."""

    messages: tuple[Message, ...]
    notice: str | None = None
    """A notice about omitted attachments, or None."""


class _Attachment(Struct, frozen=True):
    number: int
    """Its index among all attachments of the messages, from 0."""
    block: MediaBlock
    size: int
    """Bytes before base64."""
    is_current: bool = False
    """Whether it belongs to the last user message."""


class _Total(Struct, frozen=True):
    """The total size of several attachments."""

    size: int = 0
    """Bytes in base64."""
    images: int = 0
    large_images: int = 0
    """Images with more than `many_images_side` pixels a side."""

    def __add__(self, other: "_Total") -> "_Total":
        return _Total(
            self.size + other.size,
            self.images + other.images,
            self.large_images + other.large_images,
        )

    def __sub__(self, other: "_Total") -> "_Total":
        return _Total(
            self.size - other.size,
            self.images - other.images,
            self.large_images - other.large_images,
        )


_Limit: TypeAlias = Literal["size", "images", "wide"]
"""The limit that is exceeded."""
_Block = TypeVar("_Block", bound=ContentBlock)
_NO_DATA = ImageSource("base64", "")


def fit_attachments(
    messages: Sequence[Message], model: Model, places: FileRoots, losses: DropLog | None = None
) -> FittedMessages:
    """Return the messages with placeholders for attachments that do not fit in a request.

    Reads sizes from the file system; a missing file has size 0.
    """
    can = model.capabilities
    if not any(has_media.values(messages)):
        return FittedMessages(tuple(messages))
    attachments = [
        attachment
        for attachment in _find_attachments(messages, places)
        if media_support(attachment.block, can).types
    ]
    if not attachments:
        return FittedMessages(tuple(messages))
    room = max(0, can.max_request_bytes - _text_size(messages))
    excess = {
        attachment.number: words
        for attachment in attachments
        if (words := _find_excess(attachment, model))
    }
    alone = [attachment for attachment in attachments if attachment.number not in excess]
    omitted = {attachment.number for attachment in attachments} - _select_fitting(alone, can, room)
    if not omitted:
        return FittedMessages(tuple(messages))
    reasons = list(excess.values())[:1]
    if limit := _find_exceeded_limit(_sum_up(alone, can), can, room):
        reasons.append(f"{_describe_limit(limit, model)}, and the oldest are omitted first")
    numbers, drop = count(), (losses or DropLog()).for_model(model)
    shown = tuple(
        _replace_omitted(message, omitted, numbers, drop) if media else message
        for message, media in zip(messages, has_media.values(messages), strict=True)
    )
    return FittedMessages(shown, _format_notice(len(omitted), reasons))


def find_attachment_problem(content: Iterable[ContentBlock], model: Model) -> str | None:
    """Return why these attachments do not fit in a request to `model`; None if they fit.

    Stored files and attachments that the model does not support are not counted.
    """
    can = model.capabilities
    attachments = [
        _Attachment(number, block, _source_size(block.source))
        for number, block in enumerate(content)
        if isinstance(block, MediaBlock) and media_support(block, can).types
    ]
    if excess := next(
        (words for attachment in attachments if (words := _find_excess(attachment, model))), None
    ):
        return excess
    total = _sum_up(attachments, can)
    limit = _find_exceeded_limit(total, can, max(0, can.max_request_bytes - _TEXT_SIZE_STEP))
    if limit == "size":
        size = format_mib(total.size)
        return f"{_describe_limit(limit, model)}, and the attachments have {size}"
    return _describe_limit(limit, model) if limit else None


def _format_notice(number: int, reasons: Iterable[str]) -> str:
    subject = "1 attachment is" if number == 1 else f"{number:,} attachments are"
    return (
        f"{subject} omitted from the request: {'; '.join(reasons)}."
        " The session still contains all of them; a model with higher limits receives more."
    )


def _select_fitting(
    attachments: Iterable[_Attachment], can: AdapterCapabilities, room: int
) -> set[int]:
    """Return the numbers of the attachments that fit."""
    selected: dict[int, _Attachment] = {}
    total = _Total()
    for newest in attachments:
        selected[newest.number] = newest
        total += _sum_up([newest], can)
        if _find_exceeded_limit(total, can, room) is None:
            continue
        for attachment in sorted(
            selected.values(), key=lambda each: each.is_current or each is newest
        ):
            part = 1 if attachment.is_current or attachment is newest else 2
            if _find_exceeded_limit(total, can, room, part) is None:
                break
            total -= _sum_up([attachment], can)
            del selected[attachment.number]
    return set(selected)


def _sum_up(attachments: Iterable[_Attachment], can: AdapterCapabilities) -> _Total:
    total = _Total()
    for attachment in attachments:
        is_image = isinstance(attachment.block, ImageBlock)
        large_images = is_image and _longest_side(attachment.block) > can.many_images_side
        total += _Total((attachment.size + 2) // 3 * 4, int(is_image), int(large_images))
    return total


def _find_excess(attachment: _Attachment, model: Model) -> str | None:
    """Return why a single attachment is too large for the model; None if it fits."""
    kind, _, limit = media_support(attachment.block, model.capabilities)
    named = printable(attachment.block.name) if isinstance(attachment.block, DocumentBlock) else ""
    name = f"`{named}`" if named else "one"
    if attachment.size > limit:
        most, size = format_mib(limit), format_mib(attachment.size)
        return f"`{model.id}` takes {kind} of at most {most}, and {name} has {size}"
    side, widest = _longest_side(attachment.block), model.capabilities.max_image_side
    if side > widest:
        most = f"{widest:,} pixels a side"
        return f"`{model.id}` takes {kind} of at most {most}, and {name} has {side:,}"
    return None


def _find_exceeded_limit(
    total: _Total, can: AdapterCapabilities, room: int, part: int = 1
) -> _Limit | None:
    """Return the limit that `total` exceeds, divided by `part`; None if it exceeds none.

    `room`: bytes.
    """
    if total.size * part > room:
        return "size"
    if total.images * part > can.max_images:
        return "images"
    if total.images * part > can.many_images and total.large_images:
        return "wide"
    return None


def _describe_limit(limit: _Limit, model: Model) -> str:
    can, prefix = model.capabilities, f"`{model.id}` takes at most "
    match limit:
        case "size":
            return f"{prefix}{format_mib(can.max_request_bytes)} in one request"
        case "images":
            return f"{prefix}{can.max_images:,} images in one request"
        case "wide":
            larger = f"more than {can.many_images_side:,} pixels a side"
            return f"{prefix}{can.many_images:,} images in one request if one has {larger}"
        case _:
            assert_never(limit)


def _find_attachments(messages: Sequence[Message], places: FileRoots) -> Iterator[_Attachment]:
    asked = next((each for each in reversed(messages) if each.role is Role.USER), None)
    number = 0
    for message in compress(messages, has_media.values(messages)):
        for block in iter_blocks(message.content):
            if isinstance(block, MediaBlock):
                size = _source_size(block.source, places)
                yield _Attachment(number, block, size, is_current=message is asked)
                number += 1


def _replace_omitted(
    message: Message, omitted: Container[int], numbers: Iterator[int], drop: DropCallback
) -> Message:
    def shown(block: _Block) -> _Block | TextBlock:
        if not isinstance(block, MediaBlock) or next(numbers) not in omitted:
            return block
        drop(block, message, "the request has no room for it")
        return TextBlock(placeholder_for(block))

    content = tuple(
        replace(block, content=tuple(map(shown, block.content)))
        if isinstance(block, ToolResultBlock)
        else shown(block)
        for block in message.content
    )
    return message if content == message.content else replace(message, content=content)


def _text_size(messages: Sequence[Message]) -> int:
    """Return the bytes of a request without its attachments, rounded up."""
    bare = sum(_text_sizes.values(messages))
    return -(-(bare + _OVERHEAD) // _TEXT_SIZE_STEP) * _TEXT_SIZE_STEP


_text_sizes = MessageMemo(lambda message: len(msgspec.json.encode(_without_data(message.content))))


def _without_data(content: Iterable[ContentBlock]) -> list[ContentBlock]:
    """Return the blocks with the data of attachments removed."""
    return [
        replace(block, source=_NO_DATA)
        if isinstance(block, MediaBlock)
        else replace(block, content=tuple(_without_data(block.content)))
        if isinstance(block, ToolResultBlock)
        else block
        for block in content
    ]


def _source_size(source: ImageSource, places: FileRoots | None = None) -> int:
    """Return the bytes that a source adds to the request; 0 for a URL."""
    if source.kind == "base64":
        return len(source.data) // 4 * 3
    if source.kind == "url" or places is None:
        return 0
    try:
        if is_blob(source):
            return get_blob_size(places.blobs, source.data)
        return (places.workspace / source.data).lstat().st_size
    except (OSError, ValueError, BlobError):
        return 0


def _longest_side(block: MediaBlock) -> int:
    return max(block.pixels or (0,)) if isinstance(block, ImageBlock) else 0
