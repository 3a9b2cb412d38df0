"""Assembly of one reply.

`message_start` is emitted with the first content, so that a request that fails earlier can be
retried invisibly. Blocks are emitted in the order in which they started. An open call delays later
blocks: each call has one start, its fragments and one end in a row, and indices never decrease. If
a provider interleaves calls, the later ones are only displayed later. Text that arrives for a block
after its end event is still in the final content.
"""

import logging
import time
from collections.abc import Callable, Hashable, Iterator, Mapping
from typing import Any, TypeVar

from yourtool.errors import AdapterError
from yourtool.events.deltas import (
    MessageComplete,
    MessageStart,
    StreamError,
    StreamEvent,
    TokenUsage,
    UsageUpdate,
)
from yourtool.foundation.text import encodable, storable, storable_json
from yourtool.messages.metadata import StopReason, ToolInputError
from yourtool.providers.base import Request
from yourtool.providers.provider_extras import scope_of
from yourtool.providers.replies.block_builders import (
    BlockBuilder,
    RedactedThinkingBuilder,
    ReplySize,
    ServerToolBuilder,
    TextBuilder,
    ThinkingBuilder,
    ToolCallBuilder,
)
from yourtool.providers.replies.endings import final_usage
from yourtool.providers.replies.response_headers import parse_receipt

_log = logging.getLogger(__name__)
_G = TypeVar("_G", TextBuilder, ThinkingBuilder)
ABRUPT_STOPS = (StopReason.CONTENT_FILTER, StopReason.ERROR, StopReason.REFUSAL)
"""Stop reasons that can end a reply inside a call; the call runs only if it was closed."""


class Reply:
    """A reply under construction: a dialect adds pieces, and each call returns the new events.

    `key` is the provider's identifier of a block. Without one, text and reasoning extend the newest
    block.
    """

    def __init__(
        self, request: Request, clock: Callable[[], float] = time.monotonic, *, api: str = ""
    ) -> None:
        self._request = request
        self._api = api
        self._clock = clock
        self._started_at = clock()
        self._message_id = request.message_id
        self._blocks: list[BlockBuilder] = []
        self._by_key: dict[Hashable, BlockBuilder] = {}
        self._current = 0  # index of the block that is streamed; earlier ones are closed
        self._next_index = 0
        self._is_started = False
        self._usage: TokenUsage | None = None
        self.stop_reason: StopReason | None = None
        self.stop_detail: str | None = None
        self.error: AdapterError | None = None
        """The error that the provider reported inside the reply."""
        self.headers: Mapping[str, str] = {}
        """The headers of the response."""
        self.response_id = ""
        """The provider's id of the reply."""
        self.response_metadata: dict[str, Any] = {}
        """Data about the reply, such as citations; stored for display, never sent back."""
        self.is_done = False
        """Whether the provider marked the reply as complete."""
        self.is_cut_off = False
        """Whether it ended without a stop reason, so that an open call may be incomplete."""
        self._size = ReplySize()
        self.argument_size = 0
        """Characters in the arguments of all calls so far."""
        self.activity = 0
        """Number of content pieces so far; pings and counters are not content."""

    def add_text(self, text: str, key: Hashable = None) -> list[StreamEvent]:
        """Add text."""
        return self._append(self._find_or_add(TextBuilder, key), text) if text else []

    def add_thinking(self, text: str, key: Hashable = None) -> list[StreamEvent]:
        """Add reasoning."""
        return self._append(self._find_or_add(ThinkingBuilder, key), text) if text else []

    def add_signature(self, signature: str, key: Hashable = None) -> list[StreamEvent]:
        """Set the signature of a reasoning block, whose text may be empty."""
        block = self._find_or_add(ThinkingBuilder, key)
        block.signature = encodable(signature)
        self.activity += 1
        return self._drain_in_order(block)

    def add_hidden_thinking(self, key: Hashable) -> list[StreamEvent]:
        """Add reasoning whose content the provider does not send."""
        block = self._find_or_add(ThinkingBuilder, key)
        block.is_hidden = True
        self.activity += 1
        return self._drain_in_order(block)

    def add_redacted_thinking(self, data: str) -> list[StreamEvent]:
        """Add a complete block of encrypted reasoning."""
        return self._append(self._add(RedactedThinkingBuilder()), data) if data else []

    def start_call(self, key: Hashable, wire_id: str | None, name: str | None) -> list[StreamEvent]:
        """Start a call, or complete its id and name; repeated values are ignored."""
        block = self._by_key.get(key)
        if not isinstance(block, ToolCallBuilder):
            block = self._add(ToolCallBuilder(key))
            self.activity += 1
        block.wire_id = block.wire_id or storable(wire_id or "")
        block.name = block.name or encodable(name or "").replace("\0", "\ufffd")
        return self._drain_in_order(block)

    def find_call(self, key: Hashable) -> ToolCallBuilder | None:
        """Return the call with `key`, complete or not."""
        block = self._by_key.get(key)
        return block if isinstance(block, ToolCallBuilder) else None

    def add_arguments(self, key: Hashable, fragment: str) -> list[StreamEvent]:
        """Add a fragment of a call's arguments."""
        block = self.find_call(key)
        if not fragment or block is None or block.is_repetition(fragment):
            return []
        if block.is_ended:
            _log.warning("arguments of `%s` came after their end and were ignored", block.name)
            return []
        self.argument_size += len(fragment)
        return self._append(block, fragment)

    def complete_block(self, key: Hashable, text: str) -> list[StreamEvent]:
        """Complete a block with its full text; the missing end is added as one more piece.

        If the pieces differ from it, the full text replaces them in the final content.
        """
        block = self._by_key.get(key)
        if block is None or not text or (isinstance(block, ToolCallBuilder) and block.is_ended):
            return []
        full = block.clean(text)
        received, block.pending_surrogate = "".join(block.parts), ""
        if not full.startswith(received):
            block.restate(full)
        elif len(full) > len(received):
            return self._append(block, full[len(received) :])
        return []

    def close_call(self, key: Hashable) -> list[StreamEvent]:
        """Mark the call with `key` as complete."""
        block = self._by_key.get(key)
        if not isinstance(block, ToolCallBuilder) or block.was_closed:
            return []
        block.was_closed = True
        return self._advance()

    def close_calls(self, *, blank: bool = True) -> list[StreamEvent]:
        """Mark every call as complete; without `blank`, only those that have arguments."""
        for block in self._blocks:
            if isinstance(block, ToolCallBuilder) and (blank or block.parts):
                block.was_closed = True
        return self._advance()

    def add_server_block(self, key: Hashable, raw: dict[str, Any]) -> None:
        """Store a block that only this provider can read, to replay it with the message."""
        self._add(ServerToolBuilder(key, storable_json(raw)))
        self.activity += 1

    def extend_server_block(self, key: Hashable, field: str, text: str) -> None:
        """Append to a field of a server block."""
        block = self._by_key.get(key)
        if isinstance(block, ServerToolBuilder):
            block.parts += (field, encodable(text))
            self.activity += 1

    def add_note(self, key: Hashable, note: dict[str, Any], *, of_text: bool = False) -> bool:
        """Attach a note to the block with `key`, or to the newest block; return whether it exists.

        `of_text`: the note is about text, which may arrive after it.
        """
        if of_text:
            block = self._find_or_add(TextBuilder, key)
        else:
            block = self._blocks[-1] if key is None and self._blocks else self._by_key.get(key)
        if block is not None:
            block.notes.append(note)
            self.activity += 1
        return block is not None

    def last_piece_span(self) -> tuple[int, int]:
        """Return the start and end of the newest piece in the newest block, in characters."""
        parts = self._blocks[-1].parts if self._blocks else []
        end = sum(map(len, parts))
        return end - len(parts[-1]) if parts else 0, end

    def has_block(self, key: Hashable) -> bool:
        """Whether there is a block with `key`."""
        return key in self._by_key

    def is_server_block(self, key: Hashable) -> bool:
        """Whether the block with `key` is a server block."""
        return isinstance(self._by_key.get(key), ServerToolBuilder)

    @property
    def provider(self) -> str:
        """The name of the provider."""
        return self._request.model.provider

    @property
    def has_calls(self) -> bool:
        """Whether the reply contains tool calls."""
        return any(isinstance(block, ToolCallBuilder) for block in self._blocks)

    def update_usage(self, usage: TokenUsage) -> list[StreamEvent]:
        """Set the token counters so far."""
        if usage == self._usage:
            return []
        self._usage = usage
        return [UsageUpdate(message_id=self._message_id, usage=usage)] if self._is_started else []

    def finish(self) -> Iterator[StreamEvent]:
        """End a complete reply."""
        reason = self.stop_reason or StopReason.END_TURN
        is_cut = self.is_cut_off or reason in ABRUPT_STOPS
        yield from self._finish_blocks(
            "the reply ended before this call was complete" if is_cut else None
        )
        errors = self._input_errors(cut=reason is StopReason.MAX_TOKENS)
        yield self._build_completion(reason, self.stop_detail, errors, self._provider_raw())

    def cancel(self) -> Iterator[StreamEvent]:
        """End a reply that the user cancelled."""
        yield from self._finish_blocks("the reply was stopped before this call was complete")
        yield self._build_completion(
            StopReason.CANCELLED, None, self._input_errors(cut=False), None
        )

    def fail(self, error: AdapterError) -> Iterator[StreamEvent]:
        """End a reply that `error` interrupted; yield nothing if nothing was streamed."""
        if not self._is_started:
            error.usage = self._usage
            return
        yield from self._finish_blocks("the reply was interrupted before this call was complete")
        errors = self._input_errors(cut=False)
        yield self._build_completion(StopReason.ERROR, self.stop_detail, errors, None)
        yield StreamError(
            message_id=self._message_id,
            error_class=error.error_class,
            message=error.message,
            retryable=error.retryable,
            status=error.status,
        )

    def _add(self, block: Any) -> Any:
        self._size.add(blocks=1)
        self._blocks.append(block)
        if block.key is not None:
            self._by_key[block.key] = block
        return block

    def _find_or_add(self, kind: type[_G], key: Hashable) -> _G:
        if key is not None:
            block = self._by_key.get(key)
        else:
            block = self._blocks[-1] if self._blocks else None
            block = block if block is not None and block.key is None else None
        return block if isinstance(block, kind) else self._add(kind(key))

    def _append(self, block: BlockBuilder, text: str) -> list[StreamEvent]:
        self._size.add(characters=len(text))
        block.append(text)
        self.activity += 1
        return self._drain_in_order(block)

    def _drain_in_order(self, block: BlockBuilder) -> list[StreamEvent]:
        """Return the new events of `block` unless an open call delays them."""
        if self._blocks[self._current] is block:
            return self._drain(block)
        return self._advance() if block.index < 0 else []

    def _advance(self) -> list[StreamEvent]:
        """Advance past closed blocks and return the new events."""
        if not self._blocks:
            return []
        front = self._blocks[self._current]
        events = self._drain(front)
        while self._current < len(self._blocks) - 1 and front.is_closed:
            events += self._finish_block(front, None)
            self._current += 1
            front = self._blocks[self._current]
            events += self._drain(front)
        if isinstance(front, ToolCallBuilder) and front.was_closed:
            events += self._finish_block(front, None)
        return events

    def _drain(self, block: BlockBuilder) -> list[StreamEvent]:
        if not block.can_start:
            return []
        if block.index >= 0:
            return block.drain_events(self._message_id)
        events = self._start_message()
        block.index = self._next_index
        self._next_index += 1
        if isinstance(block, ToolCallBuilder):
            provider = self._request.model.provider
            block.use_id = self._request.tool_ids.canonical(provider, block.wire_id)
        return [*events, *block.start(self._message_id), *block.drain_events(self._message_id)]

    def _finish_block(self, block: BlockBuilder, unfinished: str | None) -> list[StreamEvent]:
        block.flush()
        events = self._drain(block)
        if block.index >= 0:
            events += block.end(self._message_id, unfinished)
        return events

    def _start_message(self) -> list[StreamEvent]:
        if self._is_started:
            return []
        self._is_started = True
        events: list[StreamEvent] = [
            MessageStart(message_id=self._message_id, model=self._request.model.id)
        ]
        if self._usage is not None:
            events.append(UsageUpdate(message_id=self._message_id, usage=self._usage))
        return events

    def _finish_blocks(self, unfinished: str | None) -> Iterator[StreamEvent]:
        """Stream delayed blocks and end open ones."""
        yield from self._start_message()
        for block in self._blocks[self._current :]:
            if isinstance(block, ToolCallBuilder) and not block.name:
                block.name = "unknown"
            yield from self._finish_block(block, unfinished)

    def _build_completion(
        self,
        reason: StopReason,
        detail: str | None,
        errors: dict[str, ToolInputError],
        provider_raw: dict[str, Any] | None,
    ) -> MessageComplete:
        return MessageComplete(
            message_id=self._message_id,
            stop_reason=reason,
            stop_detail=None if detail is None else storable(detail),
            final_content=tuple(block.content() for block in self._blocks if block.index >= 0),
            usage=self._final_usage(reason),
            latency_ms=round((self._clock() - self._started_at) * 1000),
            tool_input_errors=errors,
            provider_raw=provider_raw,
            receipt=parse_receipt(self.headers, self.response_id),
        )

    def _input_errors(self, *, cut: bool) -> dict[str, ToolInputError]:
        """Return why calls must not run; in a reply that was cut, the last one never runs."""
        calls = [block for block in self._blocks if isinstance(block, ToolCallBuilder)]
        errors: dict[str, ToolInputError] = {}
        for call in calls:
            hit = cut and (call is calls[-1] or call.error is not None)
            if (error := call.input_error(cut=hit)) is not None:
                errors[call.use_id] = error
        return errors

    def _provider_raw(self) -> dict[str, Any] | None:
        """Return the data that only the provider can read, by its position among the blocks."""
        opaque: list[dict[str, Any]] = []
        notes: dict[str, Any] = {}
        place = 0
        for block in self._blocks:
            if isinstance(block, ServerToolBuilder):
                opaque.append({"at": place, "block": block.to_raw()})
            elif block.index >= 0:
                place = block.index + 1
                if block.notes:
                    notes[str(block.index)] = [storable_json(note) for note in block.notes]
        if not opaque and not notes and not self.response_metadata:
            return None
        scope = scope_of(self._request, self._api)
        about = {"about": storable_json(self.response_metadata)} if self.response_metadata else {}
        return {"scope": scope, "blocks": opaque, "notes": notes, **about}

    def _final_usage(self, reason: StopReason) -> TokenUsage:
        """Return the usage; zero for a request that was cancelled before any response."""
        is_over = self.stop_reason is not None
        is_cut = reason in (StopReason.CANCELLED, StopReason.ERROR) and not is_over
        is_accepted = is_cut and bool(self.headers)
        if self._usage is None and not self._blocks and not is_over and not is_accepted:
            return TokenUsage(input_tokens=0, output_tokens=0)
        texts = ("".join(block.parts) for block in self._blocks)
        return final_usage(self._request, self._usage, texts, is_cut=is_cut)
