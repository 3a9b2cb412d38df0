"""One reply as it arrives: keeps the rules of the event stream whatever a provider sends.

`message_start` comes first and only once there is something to show, so that a request which fails
before that can be sent again unseen. Blocks appear in the order in which they began. A call that is
still open holds back what comes after it, so each call has one start, its fragments and one end in
a row, and indices never decrease; where a provider writes several calls by turns, only liveliness
is lost. What arrives for a block after its time is in the final content all the same.
"""

import logging
import time
from collections.abc import Callable, Hashable, Iterator, Mapping
from typing import Any, TypeVar

from yourtool.deltas import (
    MessageComplete,
    MessageStart,
    StreamError,
    StreamEvent,
    TokenUsage,
    UsageUpdate,
)
from yourtool.errors import AdapterError
from yourtool.messages import StopReason, ToolInputError
from yourtool.providers.base import Request
from yourtool.providers.provider_extras import scope_of
from yourtool.providers.replies.blocks import (
    BlockBuilder,
    RedactedThinkingBuilder,
    ServerToolBuilder,
    TextBuilder,
    ThinkingBuilder,
    ToolCallBuilder,
)
from yourtool.providers.replies.response_headers import parse_receipt
from yourtool.providers.replies.usage import final_usage
from yourtool.text import encodable, storable, storable_json

_log = logging.getLogger(__name__)
_G = TypeVar("_G", TextBuilder, ThinkingBuilder)
ABRUPT_STOPS = (StopReason.CONTENT_FILTER, StopReason.ERROR, StopReason.REFUSAL)
"""Why a reply may end within a call, which then must not run unless it was closed before."""


class Reply:
    """What a dialect fills, piece by piece, and the events that this gives rise to.

    `key` is the provider's own name of a block; without one, text and thinking go on where they
    left off.
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
        self._current = 0  # the block that may be shown; those before it are over
        self._next_index = 0
        self._is_started = False
        self._usage: TokenUsage | None = None
        self.stop_reason: StopReason | None = None
        self.stop_detail: str | None = None
        self.error: AdapterError | None = None
        """What the provider reported inside the reply."""
        self.headers: Mapping[str, str] = {}
        """Of the response."""
        self.response_id = ""
        """The provider's name of the reply."""
        self.response_metadata: dict[str, Any] = {}
        """What the provider says about the reply as a whole; kept to be shown, never sent back."""
        self.is_done = False
        """Whether the provider has said everything."""
        self.is_cut_off = False
        """Whether it stopped without saying why, so that a call still open may not be whole."""
        self.argument_size = 0
        """Characters of all calls' arguments so far."""
        self.activity = 0
        """Grows with every piece of content; pings and counters are none."""
        self.scratch: dict[Any, Any] = {}
        """What the dialect has to remember from one frame to the next."""

    def add_text(self, text: str, key: Hashable = None) -> list[StreamEvent]:
        """Take more words."""
        return self._append(self._find_or_add(TextBuilder, key), text) if text else []

    def add_thinking(self, text: str, key: Hashable = None) -> list[StreamEvent]:
        """Take more reasoning."""
        return self._append(self._find_or_add(ThinkingBuilder, key), text) if text else []

    def add_signature(self, signature: str, key: Hashable = None) -> list[StreamEvent]:
        """Take the signature of a block of reasoning, whose text may be empty."""
        block = self._find_or_add(ThinkingBuilder, key)
        block.signature = encodable(signature)
        self.activity += 1
        return self._drain_in_order(block)

    def add_hidden_thinking(self, key: Hashable) -> list[StreamEvent]:
        """Note reasoning of which the provider tells nothing but that there was some."""
        block = self._find_or_add(ThinkingBuilder, key)
        block.is_hidden = True
        self.activity += 1
        return self._drain_in_order(block)

    def add_redacted_thinking(self, data: str) -> list[StreamEvent]:
        """Take reasoning that is whole and unreadable."""
        return self._append(self._add(RedactedThinkingBuilder()), data) if data else []

    def start_call(self, key: Hashable, wire_id: str | None, name: str | None) -> list[StreamEvent]:
        """Take the head of a call; what is said again later is set once and never appended."""
        block = self._by_key.get(key)
        if not isinstance(block, ToolCallBuilder):
            block = self._add(ToolCallBuilder(key))
            self.activity += 1
        block.wire_id = block.wire_id or storable(wire_id or "")
        block.name = block.name or encodable(name or "").replace("\0", "\ufffd")
        return self._drain_in_order(block)

    def find_call(self, key: Hashable) -> ToolCallBuilder | None:
        """Return the call under `key` as far as it is here."""
        block = self._by_key.get(key)
        return block if isinstance(block, ToolCallBuilder) else None

    def add_arguments(self, key: Hashable, fragment: str) -> list[StreamEvent]:
        """Take more of a call's arguments."""
        block = self.find_call(key)
        if not fragment or block is None or block.is_repetition(fragment):
            return []
        if block.is_ended:
            _log.warning("arguments of `%s` came after their end and were ignored", block.name)
            return []
        self.argument_size += len(fragment)
        return self._append(block, fragment)

    def complete_block(self, key: Hashable, text: str) -> list[StreamEvent]:
        """Take all of a block that came in pieces: what they lack is one more piece.

        If they say something else, the whole is right; what was shown cannot be taken back.
        """
        block = self._by_key.get(key)
        if block is None or not text or (isinstance(block, ToolCallBuilder) and block.is_ended):
            return []
        said = block.clean(text)
        told, block.pending_surrogate = "".join(block.parts), ""
        if not said.startswith(told):
            block.restate(said)
        elif len(said) > len(told):
            return self._append(block, said[len(told) :])
        return []

    def close_call(self, key: Hashable) -> list[StreamEvent]:
        """Note that the block under `key` is whole."""
        block = self._by_key.get(key)
        if not isinstance(block, ToolCallBuilder) or block.was_closed:
            return []
        block.was_closed = True
        return self._advance()

    def close_calls(self, *, blank: bool = True) -> list[StreamEvent]:
        """Note that every call is whole; without `blank` only those that have arguments."""
        for block in self._blocks:
            if isinstance(block, ToolCallBuilder) and (blank or block.parts):
                block.was_closed = True
        return self._advance()

    def add_server_block(self, key: Hashable, raw: dict[str, Any]) -> None:
        """Keep a block that only this provider can read, for when the message is sent back."""
        self._add(ServerToolBuilder(key, storable_json(raw)))
        self.activity += 1

    def extend_server_block(self, key: Hashable, field: str, text: str) -> None:
        """Take more of a field of such a block."""
        block = self._by_key.get(key)
        if isinstance(block, ServerToolBuilder):
            block.parts += (field, encodable(text))
            self.activity += 1

    def add_note(self, key: Hashable, note: dict[str, Any], *, of_text: bool = False) -> bool:
        """Keep a note beside the block under `key`, or without one the newest, if there is any.

        `of_text`: it is about words, which may follow it.
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
        """Return which characters of the newest block its newest piece takes up."""
        parts = self._blocks[-1].parts if self._blocks else []
        end = sum(map(len, parts))
        return end - len(parts[-1]) if parts else 0, end

    def has_block(self, key: Hashable) -> bool:
        """Whether there is a block under `key`."""
        return key in self._by_key

    def is_server_block(self, key: Hashable) -> bool:
        """Whether the block under `key` is one of the provider's own."""
        return isinstance(self._by_key.get(key), ServerToolBuilder)

    @property
    def provider(self) -> str:
        """Who is speaking."""
        return self._request.model.provider

    @property
    def has_calls(self) -> bool:
        """Whether the model wants to run a tool."""
        return any(isinstance(block, ToolCallBuilder) for block in self._blocks)

    def update_usage(self, usage: TokenUsage) -> list[StreamEvent]:
        """Take the counters so far."""
        if usage == self._usage:
            return []
        self._usage = usage
        return [UsageUpdate(message_id=self._message_id, usage=usage)] if self._is_started else []

    def finish(self) -> Iterator[StreamEvent]:
        """End a reply that is whole."""
        reason = self.stop_reason or StopReason.END_TURN
        is_cut = self.is_cut_off or reason in ABRUPT_STOPS
        yield from self._finish_blocks(
            "the reply ended before this call was complete" if is_cut else None
        )
        errors = self._input_errors(cut=reason is StopReason.MAX_TOKENS)
        yield self._build_completion(reason, self.stop_detail, errors, self._provider_raw())

    def cancel(self) -> Iterator[StreamEvent]:
        """End a reply that the user stopped."""
        yield from self._finish_blocks("the reply was stopped before this call was complete")
        yield self._build_completion(
            StopReason.CANCELLED, None, self._input_errors(cut=False), None
        )

    def fail(self, error: AdapterError) -> Iterator[StreamEvent]:
        """End a reply that `error` cut; nothing at all if none of it was shown."""
        if not self._is_started:
            error.usage = self._usage
            return
        yield from self._finish_blocks("the reply broke off before this call was complete")
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
        block.append(text)
        self.activity += 1
        return self._drain_in_order(block)

    def _drain_in_order(self, block: BlockBuilder) -> list[StreamEvent]:
        """Return what is new in `block` if its turn has come or can be brought about."""
        if self._blocks[self._current] is block:
            return self._drain(block)
        return self._advance() if block.index < 0 else []

    def _advance(self) -> list[StreamEvent]:
        """Go on to later blocks as far as those in front are over, and show what is there."""
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
        """Show what waited and end what is open."""
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
        """Return why calls must not run; of a reply that was cut, the last one never may."""
        calls = [block for block in self._blocks if isinstance(block, ToolCallBuilder)]
        errors: dict[str, ToolInputError] = {}
        for call in calls:
            hit = cut and (call is calls[-1] or call.error is not None)
            if (error := call.input_error(cut=hit)) is not None:
                errors[call.use_id] = error
        return errors

    def _provider_raw(self) -> dict[str, Any] | None:
        """Return what only the provider can read, by its place among the blocks."""
        kept: list[dict[str, Any]] = []
        notes: dict[str, Any] = {}
        place = 0
        for block in self._blocks:
            if isinstance(block, ServerToolBuilder):
                kept.append({"at": place, "block": block.to_raw()})
            elif block.index >= 0:
                place = block.index + 1
                if block.notes:
                    notes[str(block.index)] = [storable_json(note) for note in block.notes]
        if not kept and not notes and not self.response_metadata:
            return None
        scope = scope_of(self._request, self._api)
        about = {"about": storable_json(self.response_metadata)} if self.response_metadata else {}
        return {"scope": scope, "blocks": kept, "notes": notes, **about}

    def _final_usage(self, reason: StopReason) -> TokenUsage:
        """Return what was used; a request that was stopped unanswered used nothing we know of."""
        is_over = self.stop_reason is not None
        is_cut = reason in (StopReason.CANCELLED, StopReason.ERROR) and not is_over
        is_accepted = is_cut and bool(self.headers)
        if self._usage is None and not self._blocks and not is_over and not is_accepted:
            return TokenUsage(input_tokens=0, output_tokens=0)
        texts = ("".join(block.parts) for block in self._blocks)
        return final_usage(self._request, self._usage, texts, is_cut=is_cut)
