"""Encoded conversation of a session.

The next request has the same messages and a few more, so only these are written and encoded. A
message is encoded once it is final: before the first cache breakpoint, because breakpoints move on,
and followed by another wire item, because consecutive messages of a role can become one item.
"""

from abc import ABC, abstractmethod
from collections.abc import Container, Sequence
from copy import copy, deepcopy
from operator import is_
from typing import Any, Generic, Self, TypeVar

import msgspec

from yourtool.messages.blobs import is_blob
from yourtool.messages.blocks import MediaBlock, canonical_json, iter_blocks
from yourtool.messages.memo import has_media
from yourtool.messages.message import Message, Role

R = TypeVar("R")
W = TypeVar("W", bound="HistoryWriter[Any]")

MAX_CACHED_BYTES = 16 * 2**20
"""Largest encoded beginning; messages after it are encoded for every request."""


class HistoryWriter(ABC, Generic[R]):
    """Writes the messages of a request as wire items; a message changes only the last item."""

    def __init__(self, request: R) -> None:
        self.request = request
        self.items: list[Any] = []

    @abstractmethod
    def add(self, message: Message) -> None:
        """Write a message, which is not a system message."""

    def finish(self) -> None:
        """Write what follows the last message."""
        return

    def copy_for(self, request: R) -> Self:
        """Return a writer for another request, with the same state."""
        twin = copy(self)
        twin.request, twin.items = request, deepcopy(self.items)
        return twin

    def take_final_items(self) -> list[Any]:
        """Remove and return the items that later messages cannot change."""
        final, self.items = self.items[:-1], self.items[-1:]
        return final


class EncodedHistory:
    """The encoded beginning of the conversation, for one session and its last model.

    While a request is built, another one in a thread is built without it.
    """

    def __init__(self) -> None:
        self._last: _Beginning[Any] | None = None

    @property
    def size(self) -> int:
        """Bytes of the encoded beginning."""
        return len(self._last.encoded) if self._last else 0

    def write(
        self,
        messages: Sequence[Message],
        marked: Container[str | None],
        writer: W,
        key: tuple[Any, ...],
    ) -> W:
        """Return a writer that has written `messages`; its first item can be the encoded beginning.

        `marked`: ids of the messages with cache breakpoints. `writer`: a new one for this request.
        `key`: everything else that the items depend on.
        """
        conversation = [message for message in messages if message.role is not Role.SYSTEM]
        final = _count_final(conversation, marked)
        last, self._last = self._last, None
        if last is None or not last.is_start_of(conversation, final, key):
            last = _Beginning(key, writer)
        last.extend(conversation[len(last.source) : final], writer.request)
        rest = last.writer.copy_for(writer.request)
        for message in conversation[len(last.source) :]:
            rest.add(message)
        rest.finish()
        if last.encoded:
            rest.items.insert(0, msgspec.Raw(last.encoded))
        self._last = last
        return rest


class _Beginning(Generic[W]):
    """The encoded items of the messages in `source`, except the last item."""

    def __init__(self, key: tuple[Any, ...], writer: W) -> None:
        self._key = key
        self.writer = writer
        """The writer that wrote `source`; it still has the last item."""
        self.source: list[Message] = []
        self.encoded = b""

    def is_start_of(self, messages: Sequence[Message], final: int, key: tuple[Any, ...]) -> bool:
        """Return whether a request has this beginning; `final`: its number of final messages."""
        return (
            self._key == key and len(self.source) <= final and all(map(is_, self.source, messages))
        )

    def extend(self, messages: Sequence[Message], request: Any) -> None:
        """Encode the next final messages, which belong to `request`."""
        if not messages or len(self.encoded) > MAX_CACHED_BYTES:
            return
        writer = self.writer.copy_for(request)
        for message in messages:
            if _depends_on_files(message):
                break
            writer.add(message)
            self.source.append(message)
        if items := writer.take_final_items():
            encoded = canonical_json(items)[1:-1]
            self.encoded = b",".join((self.encoded, encoded)) if self.encoded else encoded
        self.writer = writer


def _count_final(messages: Sequence[Message], marked: Container[str | None]) -> int:
    """Return the number of messages before the first cache breakpoint."""
    return next((at for at, message in enumerate(messages) if message.id in marked), len(messages))


def _depends_on_files(message: Message) -> bool:
    """Return whether a file of the workspace, which can change, is part of the message."""
    return has_media(message) and any(
        isinstance(block, MediaBlock)
        and block.source.kind == "file_ref"
        and not is_blob(block.source)
        for block in iter_blocks(message.content)
    )
