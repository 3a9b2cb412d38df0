"""The parts of a reply while they grow; `Reply` decides when each may be seen.

Pieces of text are kept in a list and joined once. A block has no place in the content until it has
something to show.
"""

from collections.abc import Hashable
from typing import Any

from yourtool.deltas import (
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
from yourtool.messages import (
    ContentBlock,
    RedactedThinkingBlock,
    TextBlock,
    ThinkingBlock,
    ToolInputError,
    ToolUseBlock,
)
from yourtool.providers.replies.arguments import ArgumentsScanner, parse_arguments
from yourtool.text import encodable, storable

RAW_LIMIT = 2_000
"""Characters kept of arguments that are not a JSON object."""


class BlockBuilder:
    """What every kind of block has: pieces, and how many of them were shown."""

    def __init__(self, key: Hashable = None) -> None:
        self.key = key
        """The provider's own name of the block; None for one that only its kind tells."""
        self.parts: list[str] = []
        self.index = -1
        """Its place in the content; -1 until something was shown."""
        self.notes: list[dict[str, Any]] = []
        """What only the provider can read beside the text, such as citations."""
        self.pending_surrogate = ""
        """Half a character that the other half did not follow yet."""
        self.is_ended = False
        """Whether its end was shown; what follows is in the final content only."""
        self._drained = 0

    @property
    def can_start(self) -> bool:
        """Whether there is anything to show."""
        return bool(self.parts)

    @property
    def is_closed(self) -> bool:
        """Whether later blocks can be streamed."""
        return True

    def append(self, text: str) -> None:
        """Add a piece; half a character at its end waits for the other half."""
        if self.pending_surrogate or not text.isascii():
            text = f"{self.pending_surrogate}{text}".encode("utf-16-le", "surrogatepass").decode(
                "utf-16-le", "surrogatepass"
            )
            self.pending_surrogate = text[-1] if "\ud800" <= text[-1:] <= "\udbff" else ""
            text = text.removesuffix(self.pending_surrogate)
        if text := self.clean(text):
            self.parts.append(text)

    def clean(self, text: str) -> str:
        """Return `text` as the block may hold it."""
        return storable(text)

    def flush(self) -> None:
        """Give up waiting for the other half of a character."""
        if self.pending_surrogate:
            self.parts.append(self.clean(self.pending_surrogate))
            self.pending_surrogate = ""

    def start(self, message_id: str) -> list[StreamEvent]:
        """Return the event that begins the block, if its kind has one."""
        raise NotImplementedError

    def end(self, message_id: str, unfinished: str | None = None) -> list[StreamEvent]:
        """Return the event that ends the block, once; `unfinished`: why a call is not whole."""
        if self.is_ended:
            return []
        self.is_ended = True
        return self._end(message_id, unfinished)

    def drain_events(self, message_id: str) -> list[StreamEvent]:
        """Return the events for what was not shown yet."""
        new = self.parts[self._drained :] if self._drained else self.parts
        self._drained = len(self.parts)
        return [self._delta(message_id, part) for part in new]

    def restate(self, text: str) -> None:
        """Put `text` in the place of all pieces; if some were shown, nothing more is."""
        self.parts, self._drained, self.pending_surrogate = [text], int(self.index >= 0), ""

    def content(self) -> ContentBlock:
        """Return the block as it is stored."""
        raise NotImplementedError

    def _end(self, message_id: str, unfinished: str | None) -> list[StreamEvent]:
        raise NotImplementedError

    def _delta(self, message_id: str, part: str) -> StreamEvent:
        raise NotImplementedError


class TextBuilder(BlockBuilder):
    """Words."""

    def start(self, message_id: str) -> list[StreamEvent]:
        """Return `text_start`."""
        return [TextStart(message_id=message_id, content_block_index=self.index)]

    def _end(self, message_id: str, unfinished: str | None) -> list[StreamEvent]:
        text = "".join(self.parts)
        return [TextEnd(message_id=message_id, content_block_index=self.index, text=text)]

    def _delta(self, message_id: str, part: str) -> StreamEvent:
        return TextDelta(message_id=message_id, content_block_index=self.index, text=part)

    def content(self) -> ContentBlock:
        """Return the words."""
        return TextBlock("".join(self.parts))


class ThinkingBuilder(BlockBuilder):
    """Reasoning; worth keeping for its signature even without a word of text."""

    signature: str | None = None
    is_altered = False
    """Whether the text could not be held as it came, so that no signature fits it."""
    is_hidden = False
    """Whether that the model thought is all there is to know."""
    _signature_shown = False

    @property
    def can_start(self) -> bool:
        """Whether there is text or a signature, or known to be neither."""
        return bool(self.parts) or self.signature is not None or self.is_hidden

    def clean(self, text: str) -> str:
        """Return `text` with its NULs, which the signature covers."""
        clean = encodable(text)
        self.is_altered = self.is_altered or clean != text
        return clean

    def start(self, message_id: str) -> list[StreamEvent]:
        """Return `thinking_start`."""
        return [ThinkingStart(message_id=message_id, content_block_index=self.index)]

    def drain_events(self, message_id: str) -> list[StreamEvent]:
        """Return the events for what was not shown yet; the signature comes last."""
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
        """Return the reasoning, with its signature where that fits."""
        return ThinkingBlock("".join(self.parts), None if self.is_altered else self.signature)


class RedactedThinkingBuilder(BlockBuilder):
    """Reasoning that is unreadable; no event shows it."""

    def clean(self, text: str) -> str:
        """Return opaque data as it is."""
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
    """A block of the provider's own, kept to be sent back; `parts` alternate field and text."""

    def __init__(self, key: Hashable, raw: dict[str, Any]) -> None:
        super().__init__(key)
        self._raw = raw

    @property
    def can_start(self) -> bool:
        """Never."""
        return False

    def to_raw(self) -> dict[str, Any]:
        """Return the block as the provider would have sent it in one piece."""
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
    """A call; blocks after it wait until it cannot grow any more."""

    wire_id: str | None = None
    name = ""
    use_id = ""
    """Ours; minted when the call is first shown."""
    was_closed = False
    """Whether the provider said that the call is whole."""
    error: str | None = None
    _input: dict[str, Any]
    _is_probed = False

    def __init__(self, key: Hashable = None) -> None:
        super().__init__(key)
        self._scanner = ArgumentsScanner()

    def clean(self, text: str) -> str:
        """Return `text` with its NULs, which make the arguments an error."""
        return encodable(text)

    @property
    def has_complete_arguments(self) -> bool:
        """Whether the arguments are an object, so that nothing can be added to them."""
        return self._scanner.is_complete(self.parts)

    def is_repetition(self, fragment: str) -> bool:
        """Whether `fragment` is all of the arguments once more, as some servers send them."""
        at = 0
        for part in self.parts:  # none is empty, so these are no more steps than characters
            if not fragment.startswith(part, at):
                return False
            at += len(part)
        return at == len(fragment) and self.has_complete_arguments

    def restate(self, text: str) -> None:
        """Put `text` in the place of all pieces."""
        super().restate(text)
        self._scanner = ArgumentsScanner()

    @property
    def can_start(self) -> bool:
        """Whether the name is known."""
        return bool(self.name)

    @property
    def is_closed(self) -> bool:
        """Whether it was closed, or its arguments are an object already so nothing is missing."""
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
        self._input, self.error = parse_arguments("".join(self.parts))
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
        """Return the call with its arguments, or with none where they were no JSON object."""
        return ToolUseBlock(self.use_id, self.name, self._input)

    def input_error(self, *, cut: bool) -> ToolInputError | None:
        """Return why the call must not run, if so; `cut`: the token limit may have hit it."""
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
