"""How much a request may hold of pictures, recordings and documents, and what is left out of it.

A provider refuses a request that is too large, and would refuse it again in every later turn. So
the oldest are left out as soon as the newest would not go in any more, and then as many that the
rest is half of what is taken: the beginning of the conversation, which providers keep, changes
seldom instead of in every turn. The message of the user that is answered keeps its own the longest.
"""

from collections.abc import Container, Iterable, Iterator, Sequence
from itertools import count
from typing import Literal, NamedTuple, TypeAlias, TypeVar, assert_never

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from yourtool.blobs import get_blob_size, is_blob
from yourtool.errors import BlobError
from yourtool.messages import (
    ContentBlock,
    DocumentBlock,
    ImageBlock,
    ImageSource,
    MediaBlock,
    Message,
    Role,
    TextBlock,
    ToolResultBlock,
    iter_blocks,
)
from yourtool.models import AdapterCapabilities, Model
from yourtool.providers.base import FileRoots
from yourtool.providers.dropped_blocks import DropCallback, DropLog
from yourtool.providers.requests.media import format_mib, media_support
from yourtool.providers.requests.placeholders import placeholder_for
from yourtool.text import printable

_TEXT_SIZE_STEP = 2**20
"""Bytes; the room for words grows in such steps, so that what is left out seldom changes."""
_OVERHEAD = 2**18
"""Bytes for the tools and for all that a dialect puts around words."""


class FittedMessages(NamedTuple):
    """Messages that a provider does not refuse for their size."""

    messages: tuple[Message, ...]
    notice: str | None = None
    """What the user should know of what has words in its place; None: nothing has."""


class _Attachment(NamedTuple):
    number: int
    """Among all that the messages hold, from 0."""
    block: MediaBlock
    size: int
    """Bytes as they are, without base64."""
    is_current: bool = False
    """Whether it belongs to the message that is answered."""


class _Total(Struct, frozen=True):
    """What attachments come to together."""

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
"""What there can be too much of."""
_Block = TypeVar("_Block", bound=ContentBlock)
_NO_DATA = ImageSource("base64", "")


def fit_attachments(
    messages: Sequence[Message], model: Model, places: FileRoots, losses: DropLog | None = None
) -> FittedMessages:
    """Return the messages with words in place of what a request to `model` has no room for.

    Asks the file system for sizes; what is missing there counts as nothing.
    """
    can = model.capabilities
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
    left = {attachment.number for attachment in attachments} - _select_fitting(alone, can, room)
    if not left:
        return FittedMessages(tuple(messages))
    why = list(excess.values())[:1]
    if limit := _find_exceeded_limit(_sum_up(alone, can), can, room):
        why.append(f"{_describe_limit(limit, model)}, and the oldest give way")
    numbers, drop = count(), (losses or DropLog()).for_model(model)
    shown = tuple(_replace_omitted(message, left, numbers, drop) for message in messages)
    return FittedMessages(shown, _format_notice(len(left), why))


def find_attachment_problem(content: Iterable[ContentBlock], model: Model) -> str | None:
    """Say why a request to `model` cannot hold all of these; None: nothing is too much.

    What is kept in a file already, and what the model takes none of, counts as nothing here.
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


def _format_notice(number: int, why: Iterable[str]) -> str:
    what = "1 attachment is" if number == 1 else f"{number:,} attachments are"
    return (
        f"{what} left out of what is sent: {'; '.join(why)}."
        " The session keeps all; a model that takes more gets more."
    )


def _select_fitting(
    attachments: Iterable[_Attachment], can: AdapterCapabilities, room: int
) -> set[int]:
    """Return the numbers of those for which there is room."""
    kept: dict[int, _Attachment] = {}
    total = _Total()
    for newest in attachments:
        kept[newest.number] = newest
        total += _sum_up([newest], can)
        if _find_exceeded_limit(total, can, room) is None:
            continue
        for attachment in sorted(kept.values(), key=lambda each: each.is_current or each is newest):
            part = 1 if attachment.is_current or attachment is newest else 2
            if _find_exceeded_limit(total, can, room, part) is None:
                break
            total -= _sum_up([attachment], can)
            del kept[attachment.number]
    return set(kept)


def _sum_up(attachments: Iterable[_Attachment], can: AdapterCapabilities) -> _Total:
    total = _Total()
    for attachment in attachments:
        is_image = isinstance(attachment.block, ImageBlock)
        large_images = is_image and _longest_side(attachment.block) > can.many_images_side
        total += _Total((attachment.size + 2) // 3 * 4, int(is_image), int(large_images))
    return total


def _find_excess(attachment: _Attachment, model: Model) -> str | None:
    """Say why something is too large for the model by itself; None: it is not."""
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
    """Return what is too much for one of `part` parts; None: nothing is.

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
    can, begin = model.capabilities, f"`{model.id}` takes at most "
    match limit:
        case "size":
            return f"{begin}{format_mib(can.max_request_bytes)} in one request"
        case "images":
            return f"{begin}{can.max_images:,} images in one request"
        case "wide":
            larger = f"more than {can.many_images_side:,} pixels a side"
            return f"{begin}{can.many_images:,} images in one request if one has {larger}"
        case _:
            assert_never(limit)


def _find_attachments(messages: Sequence[Message], places: FileRoots) -> Iterator[_Attachment]:
    asked = next((each for each in reversed(messages) if each.role is Role.USER), None)
    number = 0
    for message in messages:
        for block in iter_blocks(message.content):
            if isinstance(block, MediaBlock):
                size = _source_size(block.source, places)
                yield _Attachment(number, block, size, is_current=message is asked)
                number += 1


def _replace_omitted(
    message: Message, left: Container[int], numbers: Iterator[int], drop: DropCallback
) -> Message:
    def shown(block: _Block) -> _Block | TextBlock:
        if not isinstance(block, MediaBlock) or next(numbers) not in left:
            return block
        drop(block, message, "a request has no room for it")
        return TextBlock(placeholder_for(block))

    content = tuple(
        replace(block, content=tuple(map(shown, block.content)))
        if isinstance(block, ToolResultBlock)
        else shown(block)
        for block in message.content
    )
    return message if content == message.content else replace(message, content=content)


def _text_size(messages: Iterable[Message]) -> int:
    """Return how many bytes a request needs beside its attachments, rounded up."""
    bare = sum(len(msgspec.json.encode(_without_data(message.content))) for message in messages)
    return -(-(bare + _OVERHEAD) // _TEXT_SIZE_STEP) * _TEXT_SIZE_STEP


def _without_data(content: Iterable[ContentBlock]) -> list[ContentBlock]:
    """Return the blocks with nothing in their attachments."""
    return [
        replace(block, source=_NO_DATA)
        if isinstance(block, MediaBlock)
        else replace(block, content=tuple(_without_data(block.content)))
        if isinstance(block, ToolResultBlock)
        else block
        for block in content
    ]


def _source_size(source: ImageSource, places: FileRoots | None = None) -> int:
    """Return the bytes of what a request holds itself; an address stays an address."""
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
