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

from yourtool.blobs import is_blob, kept_size
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
    each_block,
)
from yourtool.models import AdapterCapabilities, Model
from yourtool.providers.base import Places
from yourtool.providers.dropped_blocks import Drop, Losses
from yourtool.providers.requests.media import in_mib, terms
from yourtool.providers.requests.placeholders import unsent
from yourtool.text import printable

_ROUND = 2**20
"""Bytes; the room for words grows in such steps, so that what is left out seldom changes."""
_BESIDE = 2**18
"""Bytes for the tools and for all that a dialect puts around words."""


class Fitted(NamedTuple):
    """Messages that a provider does not refuse for their size."""

    messages: tuple[Message, ...]
    remark: str | None = None
    """What the user should know of what has words in its place; None: nothing has."""


class _Piece(NamedTuple):
    number: int
    """Among all that the messages hold, from 0."""
    block: MediaBlock
    size: int
    """Bytes as they are, without base64."""
    needed: bool = False
    """Whether it belongs to the message that is answered."""


class _Load(Struct, frozen=True):
    """What attachments come to together."""

    size: int = 0
    """Bytes in base64."""
    images: int = 0
    wide: int = 0
    """Images with more than `many_images_side` pixels a side."""

    def __add__(self, other: "_Load") -> "_Load":
        return _Load(self.size + other.size, self.images + other.images, self.wide + other.wide)

    def __sub__(self, other: "_Load") -> "_Load":
        return _Load(self.size - other.size, self.images - other.images, self.wide - other.wide)


_Limit: TypeAlias = Literal["size", "images", "wide"]
"""What there can be too much of."""
_Block = TypeVar("_Block", bound=ContentBlock)
_EMPTY = ImageSource("base64", "")


def fit_attachments(
    messages: Sequence[Message], model: Model, places: Places, losses: Losses | None = None
) -> Fitted:
    """Return the messages with words in place of what a request to `model` has no room for.

    Asks the file system for sizes; what is missing there counts as nothing.
    """
    can = model.capabilities
    pieces = [piece for piece in _pieces(messages, places) if terms(piece.block, can).types]
    if not pieces:
        return Fitted(tuple(messages))
    room = max(0, can.max_request_bytes - _words(messages))
    excess = {piece.number: words for piece in pieces if (words := _excess(piece, model))}
    alone = [piece for piece in pieces if piece.number not in excess]
    left = {piece.number for piece in pieces} - _kept(alone, can, room)
    if not left:
        return Fitted(tuple(messages))
    why = list(excess.values())[:1]
    if limit := _overrun(_load(alone, can), can, room):
        why.append(f"{_most(limit, model)}, and the oldest give way")
    numbers, drop = count(), (losses or Losses()).for_model(model)
    shown = tuple(_without(message, left, numbers, drop) for message in messages)
    return Fitted(shown, _remark(len(left), why))


def media_refusal(content: Iterable[ContentBlock], model: Model) -> str | None:
    """Say why a request to `model` cannot hold all of these; None: nothing is too much.

    What is kept in a file already, and what the model takes none of, counts as nothing here.
    """
    can = model.capabilities
    pieces = [
        _Piece(number, block, _size(block.source))
        for number, block in enumerate(content)
        if isinstance(block, MediaBlock) and terms(block, can).types
    ]
    if excess := next((words for piece in pieces if (words := _excess(piece, model))), None):
        return excess
    load = _load(pieces, can)
    limit = _overrun(load, can, max(0, can.max_request_bytes - _ROUND))
    if limit == "size":
        return f"{_most(limit, model)}, and what is attached makes {in_mib(load.size)} of it"
    return _most(limit, model) if limit else None


def _remark(number: int, why: Iterable[str]) -> str:
    what = "1 attachment is" if number == 1 else f"{number:,} attachments are"
    return (
        f"{what} left out of what is sent: {'; '.join(why)}."
        " The session keeps all; a model that takes more gets more."
    )


def _kept(pieces: Iterable[_Piece], can: AdapterCapabilities, room: int) -> set[int]:
    """Return the numbers of those for which there is room."""
    kept: dict[int, _Piece] = {}
    total = _Load()
    for newest in pieces:
        kept[newest.number] = newest
        total += _load([newest], can)
        if _overrun(total, can, room) is None:
            continue
        for piece in sorted(kept.values(), key=lambda each: each.needed or each is newest):
            part = 1 if piece.needed or piece is newest else 2
            if _overrun(total, can, room, part) is None:
                break
            total -= _load([piece], can)
            del kept[piece.number]
    return set(kept)


def _load(pieces: Iterable[_Piece], can: AdapterCapabilities) -> _Load:
    total = _Load()
    for piece in pieces:
        is_image = isinstance(piece.block, ImageBlock)
        wide = is_image and _side(piece.block) > can.many_images_side
        total += _Load((piece.size + 2) // 3 * 4, int(is_image), int(wide))
    return total


def _excess(piece: _Piece, model: Model) -> str | None:
    """Say why something is too large for the model by itself; None: it is not."""
    kind, _, limit = terms(piece.block, model.capabilities)
    named = printable(piece.block.name) if isinstance(piece.block, DocumentBlock) else ""
    name = f"`{named}`" if named else "one"
    if piece.size > limit:
        most, size = in_mib(limit), in_mib(piece.size)
        return f"`{model.id}` takes {kind} of at most {most}, and {name} has {size}"
    side, widest = _side(piece.block), model.capabilities.max_image_side
    if side > widest:
        most = f"{widest:,} pixels a side"
        return f"`{model.id}` takes {kind} of at most {most}, and {name} has {side:,}"
    return None


def _overrun(load: _Load, can: AdapterCapabilities, room: int, part: int = 1) -> _Limit | None:
    """Return what is too much for one of `part` parts; None: nothing is.

    `room`: bytes.
    """
    if load.size * part > room:
        return "size"
    if load.images * part > can.max_images:
        return "images"
    if load.images * part > can.many_images and load.wide:
        return "wide"
    return None


def _most(limit: _Limit, model: Model) -> str:
    can, begin = model.capabilities, f"`{model.id}` takes at most "
    match limit:
        case "size":
            return f"{begin}{in_mib(can.max_request_bytes)} in one request"
        case "images":
            return f"{begin}{can.max_images:,} images in one request"
        case "wide":
            larger = f"more than {can.many_images_side:,} pixels a side"
            return f"{begin}{can.many_images:,} images in one request if one has {larger}"
        case _:
            assert_never(limit)


def _pieces(messages: Sequence[Message], places: Places) -> Iterator[_Piece]:
    asked = next((each for each in reversed(messages) if each.role is Role.USER), None)
    number = 0
    for message in messages:
        for block in each_block(message.content):
            if isinstance(block, MediaBlock):
                size = _size(block.source, places)
                yield _Piece(number, block, size, needed=message is asked)
                number += 1


def _without(message: Message, left: Container[int], numbers: Iterator[int], drop: Drop) -> Message:
    def shown(block: _Block) -> _Block | TextBlock:
        if not isinstance(block, MediaBlock) or next(numbers) not in left:
            return block
        drop(block, message, "a request has no room for it")
        return TextBlock(unsent(block))

    content = tuple(
        replace(block, content=tuple(map(shown, block.content)))
        if isinstance(block, ToolResultBlock)
        else shown(block)
        for block in message.content
    )
    return message if content == message.content else replace(message, content=content)


def _words(messages: Iterable[Message]) -> int:
    """Return how many bytes a request needs beside its attachments, rounded up."""
    bare = sum(len(msgspec.json.encode(_emptied(message.content))) for message in messages)
    return -(-(bare + _BESIDE) // _ROUND) * _ROUND


def _emptied(content: Iterable[ContentBlock]) -> list[ContentBlock]:
    """Return the blocks with nothing in their attachments."""
    return [
        replace(block, source=_EMPTY)
        if isinstance(block, MediaBlock)
        else replace(block, content=tuple(_emptied(block.content)))
        if isinstance(block, ToolResultBlock)
        else block
        for block in content
    ]


def _size(source: ImageSource, places: Places | None = None) -> int:
    """Return the bytes of what a request holds itself; an address stays an address."""
    if source.kind == "base64":
        return len(source.data) // 4 * 3
    if source.kind == "url" or places is None:
        return 0
    try:
        if is_blob(source):
            return kept_size(places.blobs, source.data)
        return (places.workspace / source.data).lstat().st_size
    except (OSError, ValueError, BlobError):
        return 0


def _side(block: MediaBlock) -> int:
    return max(block.pixels or (0,)) if isinstance(block, ImageBlock) else 0
