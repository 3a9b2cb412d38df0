"""How much a request may hold of pictures, recordings and documents, and what is left out of it.

A provider refuses a request that is too large, and would refuse it again in every later turn. So
the oldest are left out as soon as the newest would not go in any more, and then as many that the
rest is half of what is taken: the beginning of the conversation, which providers keep, changes
seldom instead of in every turn. The message of the user that is answered keeps its own the longest.
"""

from collections.abc import Callable, Container, Iterable, Iterator, Sequence
from itertools import count
from pathlib import Path
from typing import NamedTuple, TypeAlias, TypeVar

import msgspec
from msgspec.structs import replace

from yourtool.blobs import is_blob, kept_size
from yourtool.errors import BlobError
from yourtool.messages import (
    AudioBlock,
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
from yourtool.models import Model
from yourtool.providers.requests.loss import dropped
from yourtool.providers.requests.stand_ins import unsent

_ROUND = 2**20
"""Bytes; the room for words grows in such steps, so that what is left out seldom changes."""
_BESIDE = 2**18
"""Bytes for the tools and for all that a dialect puts around words."""


class Places(NamedTuple):
    """Where the bytes are that messages refer to."""

    blobs: Path
    workspace: Path


class Fitted(NamedTuple):
    """Messages that a provider does not refuse for their size."""

    messages: tuple[Message, ...]
    left_out: int
    """How many attachments have words in their place."""


class _Piece(NamedTuple):
    number: int
    """Among all that the messages hold, from 0."""
    block: MediaBlock
    size: int
    """Bytes as they are, without base64."""
    needed: bool = False
    """Whether it belongs to the message that is answered."""


_Fits: TypeAlias = Callable[[Sequence[_Piece], int], bool]
"""Whether pieces go into one part of so many of what is taken."""
_Block = TypeVar("_Block", bound=ContentBlock)


def fitted(messages: Sequence[Message], model: Model, places: Places) -> Fitted:
    """Return the messages with words in place of what a request to `model` has no room for.

    Asks the file system for sizes; what is missing there counts as nothing.
    """
    pieces = [piece for piece in _pieces(messages, places) if _is_taken(piece.block, model)]
    if not pieces:
        return Fitted(tuple(messages), 0)
    room = model.capabilities.max_request_bytes - _words(messages)
    alone = [piece for piece in pieces if _excess(piece, model) is None]
    kept = _kept(alone, lambda some, part: _overrun(some, model, room, part) is None)
    left = {piece.number for piece in pieces} - {piece.number for piece in kept}
    if not left:
        return Fitted(tuple(messages), 0)
    numbers = count()
    shown = tuple(_without(message, left, numbers, model.provider) for message in messages)
    return Fitted(shown, len(left))


def refusal(content: Iterable[ContentBlock], model: Model) -> str | None:
    """Say why a request to `model` cannot hold all of these; None: nothing is too much.

    What is kept in a file already, and what the model takes none of, counts as nothing here.
    """
    pieces = [
        _Piece(number, block, _size(block.source))
        for number, block in enumerate(content)
        if isinstance(block, MediaBlock) and _is_taken(block, model)
    ]
    excess = next((words for piece in pieces if (words := _excess(piece, model))), None)
    return excess or _overrun(pieces, model, model.capabilities.max_request_bytes - _ROUND)


def _kept(pieces: Iterable[_Piece], fits: _Fits) -> list[_Piece]:
    kept: list[_Piece] = []
    for newest in pieces:
        kept.append(newest)
        if fits(kept, 1):
            continue
        old = [piece for piece in kept if not piece.needed and piece is not newest]
        while old and not fits(kept, 2):
            kept.remove(old.pop(0))
        while not fits(kept, 1):
            kept.pop(0)
    return kept


def _excess(piece: _Piece, model: Model) -> str | None:
    """Say why something is too large for the model by itself; None: it is not."""
    can, name, side = model.capabilities, "one", _side(piece.block)
    match piece.block:
        case ImageBlock():
            kind, limit = "images", can.max_image_bytes
        case AudioBlock():
            kind, limit = "recordings", can.max_file_bytes
        case DocumentBlock():
            kind, limit = "documents", can.max_file_bytes
            name = f"`{piece.block.name}`" if piece.block.name else name
    if piece.size > limit:
        most, size = _in_mib(limit), _in_mib(piece.size)
        return f"`{model.id}` takes {kind} of at most {most}, and {name} has {size}"
    if side > can.max_image_side:
        most = f"{can.max_image_side:,} pixels a side"
        return f"`{model.id}` takes {kind} of at most {most}, and {name} has {side:,}"
    return None


def _overrun(pieces: Sequence[_Piece], model: Model, room: int, part: int = 1) -> str | None:
    """Say what is too much of all pieces for one of `part` parts; None: nothing is."""
    can, begin = model.capabilities, f"`{model.id}` takes at most "
    size = sum((piece.size + 2) // 3 * 4 for piece in pieces)
    if size * part > room:
        most = _in_mib(can.max_request_bytes)
        return f"{begin}{most} in one request, and what is attached makes {_in_mib(size)} of it"
    sides = [_side(piece.block) for piece in pieces if isinstance(piece.block, ImageBlock)]
    if len(sides) * part > can.max_images:
        return f"{begin}{can.max_images:,} images in one request"
    if len(sides) * part > can.many_images and max(sides) > can.many_images_side:
        larger = f"more than {can.many_images_side:,} pixels a side"
        return f"{begin}{can.many_images:,} images in one request if one has {larger}"
    return None


def _pieces(messages: Sequence[Message], places: Places) -> Iterator[_Piece]:
    asked = next((each for each in reversed(messages) if each.role is Role.USER), None)
    number = 0
    for message in messages:
        for block in each_block(message.content):
            if isinstance(block, MediaBlock):
                size = _size(block.source, places)
                yield _Piece(number, block, size, needed=message is asked)
                number += 1


def _is_taken(block: MediaBlock, model: Model) -> bool:
    can = model.capabilities
    match block:
        case ImageBlock():
            return can.supports_images
        case AudioBlock():
            return can.supports_audio
        case DocumentBlock():
            return can.supports_documents


def _without(
    message: Message, left: Container[int], numbers: Iterator[int], provider: str
) -> Message:
    def shown(block: _Block) -> _Block | TextBlock:
        if not isinstance(block, MediaBlock) or next(numbers) not in left:
            return block
        dropped(block, message, provider, "a request has no room for it")
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
    bare = 0
    for message in messages:
        bare += len(msgspec.json.encode(message.content)) - sum(
            len(block.source.data)
            for block in each_block(message.content)
            if isinstance(block, MediaBlock)
        )
    return -(-(bare + _BESIDE) // _ROUND) * _ROUND


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


def _in_mib(size: int) -> str:
    return f"{size / 2**20:.3g} MiB"
