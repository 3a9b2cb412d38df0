"""Cached values of messages.

Each value is computed once for a message, for work that every request repeats.
"""

from collections.abc import Callable, Sequence
from typing import Any, Generic, TypeVar, cast
from weakref import ref

from yourtool.messages.blocks import MediaBlock, iter_blocks
from yourtool.messages.message import Message

T = TypeVar("T")


class _Reference(ref[Message]):
    """A reference with the place of its message, which a callback cannot compute any more."""

    __slots__ = ("place",)

    place: int


_references: dict[int, _Reference] = {}
"""One for each message, which all caches share, because it is larger than most values."""
_caches: list[dict[int, Any]] = []


def _forget(gone: Any, references: Any = _references, caches: Any = _caches) -> None:
    # The defaults are for the end of the interpreter, when the names of the module are gone.
    references.pop(gone.place, None)
    for values in caches:
        values.pop(gone.place, None)


class MessageMemo(Generic[T]):
    """Cache of a function of one message, whose value is never None and depends on nothing else.

    Messages are compared by identity. Their values are dropped when they are freed, so a value must
    not refer to its message.
    """

    def __init__(self, compute: Callable[[Message], T]) -> None:
        self._compute = compute
        self._values: dict[int, T] = {}
        _caches.append(self._values)

    def __len__(self) -> int:
        """Return the number of cached values."""
        return len(self._values)

    def __call__(self, message: Message) -> T:
        """Return the value of a message."""
        place = id(message)
        if (value := self._values.get(place)) is None:
            value = self._compute(message)
            if place not in _references:
                reference = _references[place] = _Reference(message, _forget)
                reference.place = place
            self._values[place] = value
        return value

    def values(self, messages: Sequence[Message]) -> list[T]:
        """Return the values of messages in order; about 0.1 µs for each that is cached."""
        found = list(map(self._values.get, map(id, messages)))
        if None not in found:
            return cast(list[T], found)
        return [
            self(message) if value is None else value
            for message, value in zip(messages, found, strict=True)
        ]


def _has_media(message: Message) -> bool:
    return any(isinstance(block, MediaBlock) for block in iter_blocks(message.content))


has_media = MessageMemo(_has_media)
"""Whether a message, or a tool result in it, has an image, audio or a document."""
