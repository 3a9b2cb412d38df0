"""Builders for the blocks of a reply.

Pieces of text are collected in a list and joined once. A block gets its index in the content when
its first event is streamed.
"""

from collections.abc import Hashable
from typing import Any

from yourtool.errors import OtherAdapterError
from yourtool.events.deltas import (
    StreamEvent,
    TextDelta,
    TextEnd,
    TextStart,
    ThinkingDelta,
    ThinkingEnd,
    ThinkingStart,
    ToolUseEnd,
    ToolUseInputDelta,
    ToolUseStart,
)
from yourtool.foundation.text import encodable, storable
from yourtool.messages.blocks import (
    ContentBlock,
    RedactedThinkingBlock,
    TextBlock,
    ThinkingBlock,
    ToolUseBlock,
)
from yourtool.messages.metadata import ToolInputError
from yourtool.providers.replies.arguments import ArgumentsScanner, parse_arguments
from yourtool.providers.replies.spoilt_arguments import read_arguments

MAX_CHARACTERS = 4_000_000
"""Largest reply: several times what any model can generate."""
MAX_BLOCKS = 10_000
RAW_LIMIT = 2_000
"""Characters stored of arguments that are not a JSON object."""


class ReplySize:
    """The size of a reply so far."""

    def __init__(self) -> None:
        self._characters = self._blocks = 0

    def add(self, *, characters: int = 0, blocks: int = 0) -> None:
        """Count what arrived.

        Raises:
            OtherAdapterError: the reply is too large.
        """
        self._characters += characters
        self._blocks += blocks
        if self._characters > MAX_CHARACTERS:
            raise OtherAdapterError(
                f"the reply is longer than {MAX_CHARACTERS:,} characters; it was cut off"
            )
        if self._blocks > MAX_BLOCKS:
            raise OtherAdapterError(f"the reply has more than {MAX_BLOCKS:,} parts; it was cut off")


class BlockBuilder:
    """Base of the builders: the pieces of a block, and how many of them were streamed."""

    def __init__(self, key: Hashable = None) -> None:
        self.key = key
        """The provider's identifier of the block; None if only its kind identifies it."""
        self.parts: list[str] = []
        self.index = -1
        """Its index in the content; -1 until its first event."""
        self.notes: list[dict[str, Any]] = []
        """Data in addition to the text that only the provider can read, such as citations."""
        self.pending_surrogate = ""
        """A high surrogate at the end of a piece, until the low surrogate arrives."""
        self.is_ended = False
        """Whether its end event was streamed; later pieces are in the final content only."""
        self._drained = 0

    @property
    def can_start(self) -> bool:
        """Whether the start event can be streamed."""
        return bool(self.parts)

    @property
    def is_closed(self) -> bool:
        """Whether later blocks can be streamed."""
        return True

    def append(self, text: str) -> None:
        """Add a piece; a high surrogate at its end waits for the low one."""
        if self.pending_surrogate or not text.isascii():
            text = f"{self.pending_surrogate}{text}".encode("utf-16-le", "surrogatepass").decode(
                "utf-16-le", "surrogatepass"
            )
            self.pending_surrogate = text[-1] if "\ud800" <= text[-1:] <= "\udbff" else ""
            text = text.removesuffix(self.pending_surrogate)
        if text := self.clean(text):
            self.parts.append(text)

    def clean(self, text: str) -> str:
        """Return `text` without what the block cannot contain."""
        return storable(text)

    def flush(self) -> None:
        """Add a pending surrogate without its other half."""
        if self.pending_surrogate:
            self.parts.append(self.clean(self.pending_surrogate))
            self.pending_surrogate = ""

    def start(self, message_id: str) -> list[StreamEvent]:
        """Return the start event of the block, if its kind has one."""
        raise NotImplementedError

    def end(self, message_id: str, unfinished: str | None = None) -> list[StreamEvent]:
        """Return the end event of the block, once; `unfinished`: why a call is incomplete."""
        if self.is_ended:
            return []
        self.is_ended = True
        return self._end(message_id, unfinished)

    def drain_events(self, message_id: str) -> list[StreamEvent]:
        """Return the events for the pieces that were not streamed yet."""
        new = self.parts[self._drained :] if self._drained else self.parts
        self._drained = len(self.parts)
        return [self._delta(message_id, part) for part in new]

    def restate(self, text: str) -> None:
        """Replace all pieces with `text`; if some were streamed, no more are."""
        self.parts, self._drained, self.pending_surrogate = [text], int(self.index >= 0), ""

    def content(self) -> ContentBlock:
        """Return the finished block."""
        raise NotImplementedError

    def _end(self, message_id: str, unfinished: str | None) -> list[StreamEvent]:
        raise NotImplementedError

    def _delta(self, message_id: str, part: str) -> StreamEvent:
        raise NotImplementedError


class TextBuilder(BlockBuilder):
    """Builder for text."""

    def start(self, message_id: str) -> list[StreamEvent]:
        """Return `text_start`."""
        return [TextStart(message_id=message_id, content_block_index=self.index)]

    def _end(self, message_id: str, unfinished: str | None) -> list[StreamEvent]:
        text = "".join(self.parts)
        return [TextEnd(message_id=message_id, content_block_index=self.index, text=text)]

    def _delta(self, message_id: str, part: str) -> StreamEvent:
        return TextDelta(message_id=message_id, content_block_index=self.index, text=part)

    def content(self) -> ContentBlock:
        """Return the text block."""
        return TextBlock("".join(self.parts))


class ThinkingBuilder(BlockBuilder):
    """Builder for reasoning, which can be a signature without text."""

    signature: str | None = None
    is_altered = False
    """Whether the text had to be changed, so that its signature is invalid."""
    is_hidden = False
    """Whether the provider reports only that the model reasoned."""
    _signature_shown = False

    @property
    def can_start(self) -> bool:
        """Whether there is text or a signature, or the reasoning is hidden."""
        return bool(self.parts) or self.signature is not None or self.is_hidden

    def clean(self, text: str) -> str:
        """Return encodable `text`; NUL characters stay, because the signature covers them."""
        clean = encodable(text)
        self.is_altered = self.is_altered or clean != text
        return clean

    def start(self, message_id: str) -> list[StreamEvent]:
        """Return `thinking_start`."""
        return [ThinkingStart(message_id=message_id, content_block_index=self.index)]

    def drain_events(self, message_id: str) -> list[StreamEvent]:
        """Return the events that were not streamed yet; the signature comes last."""
        events = super().drain_events(message_id)
        if self.signature is not None and not self._signature_shown:
            self._signature_shown = True
            events.append(
                ThinkingDelta(
                    message_id=message_id,
                    content_block_index=self.index,
                    text="",
                    signature=self.signature,
                )
            )
        return events

    def _end(self, message_id: str, unfinished: str | None) -> list[StreamEvent]:
        text = "".join(self.parts)
        return [ThinkingEnd(message_id=message_id, content_block_index=self.index, text=text)]

    def _delta(self, message_id: str, part: str) -> StreamEvent:
        return ThinkingDelta(message_id=message_id, content_block_index=self.index, text=part)

    def content(self) -> ContentBlock:
        """Return the reasoning, with its signature if that is valid."""
        return ThinkingBlock("".join(self.parts), None if self.is_altered else self.signature)


class RedactedThinkingBuilder(BlockBuilder):
    """Builder for encrypted reasoning, which has no events."""

    def clean(self, text: str) -> str:
        """Return encodable data, otherwise unchanged."""
        return encodable(text)

    def start(self, message_id: str) -> list[StreamEvent]:
        """Return nothing."""
        return []

    def drain_events(self, message_id: str) -> list[StreamEvent]:
        """Return nothing."""
        return []

    def _end(self, message_id: str, unfinished: str | None) -> list[StreamEvent]:
        return []

    def content(self) -> ContentBlock:
        """Return the opaque data."""
        return RedactedThinkingBlock("".join(self.parts))


class ServerToolBuilder(BlockBuilder):
    """Builder for a block of the provider that is stored to be replayed.

    `parts` alternates between field names and text.
    """

    def __init__(self, key: Hashable, raw: dict[str, Any]) -> None:
        super().__init__(key)
        self._raw = raw

    @property
    def can_start(self) -> bool:
        """Always false: the block has no events."""
        return False

    def to_raw(self) -> dict[str, Any]:
        """Return the block as the provider would send it in one piece."""
        grown: dict[str, list[str]] = {}
        for field, text in zip(self.parts[::2], self.parts[1::2], strict=True):
            grown.setdefault(field, []).append(text)
        raw = dict(self._raw)
        for field, texts in grown.items():
            text = "".join(texts)
            if field == "partial_json":
                raw["input"] = parse_arguments(text)[0]
            else:
                raw[field] = f"{raw.get(field) or ''}{text}"
        return raw


class ToolCallBuilder(BlockBuilder):
    """Builder for a tool call; later blocks wait until it is closed."""

    wire_id: str | None = None
    name = ""
    use_id = ""
    """The canonical id, created with the start event."""
    was_closed = False
    """Whether the provider marked the call as complete."""
    error: str | None = None
    _input: dict[str, Any]
    _is_probed = False

    def __init__(self, key: Hashable = None) -> None:
        super().__init__(key)
        self._scanner = ArgumentsScanner()

    def clean(self, text: str) -> str:
        """Return encodable `text`; NUL characters stay and make the arguments an error."""
        return encodable(text)

    @property
    def has_complete_arguments(self) -> bool:
        """Whether the arguments are an object, which cannot be extended."""
        return self._scanner.is_complete(self.parts)

    def is_repetition(self, fragment: str) -> bool:
        """Whether `fragment` repeats the complete arguments, as some servers send them."""
        at = 0
        for (
            part
        ) in self.parts:  # no part is empty, so there are at most as many steps as characters
            if not fragment.startswith(part, at):
                return False
            at += len(part)
        return at == len(fragment) and self.has_complete_arguments

    def restate(self, text: str) -> None:
        """Replace all pieces with `text`."""
        super().restate(text)
        self._scanner = ArgumentsScanner()

    @property
    def can_start(self) -> bool:
        """Whether the call has a name."""
        return bool(self.name)

    @property
    def is_closed(self) -> bool:
        """Whether it was closed, or its arguments are already a complete object."""
        if not self.name:
            return False
        if not self.was_closed and not self._is_probed and self.parts:
            self._is_probed = True
            self.was_closed = self.has_complete_arguments
        return self.was_closed

    def start(self, message_id: str) -> list[StreamEvent]:
        """Return `tool_use_start`."""
        return [
            ToolUseStart(
                message_id=message_id,
                content_block_index=self.index,
                tool_use_id=self.use_id,
                tool_name=self.name,
            )
        ]

    def _end(self, message_id: str, unfinished: str | None) -> list[StreamEvent]:
        self._input, self.error = read_arguments("".join(self.parts))
        if unfinished is not None and not self.was_closed:
            self.error = unfinished
        return [
            ToolUseEnd(
                message_id=message_id,
                content_block_index=self.index,
                tool_use_id=self.use_id,
                final_input=self._input,
            )
        ]

    def content(self) -> ContentBlock:
        """Return the call; its arguments are empty if they were not a JSON object."""
        return ToolUseBlock(self.use_id, self.name, self._input)

    def input_error(self, *, cut: bool) -> ToolInputError | None:
        """Return why the call must not run, if so; `cut`: the output limit may have cut it."""
        if cut:
            why = "the reply reached its token limit, so the arguments may be incomplete"
        elif self.error is not None:
            why = self.error
        else:
            return None
        return ToolInputError(raw="".join(self.parts)[:RAW_LIMIT], error=why, truncated=cut)

    def _delta(self, message_id: str, part: str) -> StreamEvent:
        return ToolUseInputDelta(
            message_id=message_id,
            content_block_index=self.index,
            tool_use_id=self.use_id,
            partial_json=part,
        )
