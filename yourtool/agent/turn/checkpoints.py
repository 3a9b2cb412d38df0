"""Checkpoints of a streaming reply.

The part that has arrived is stored while the rest still streams. A process that is killed then
loses at most two seconds of text. The checkpoint is the fact that would end the call now. The next
one replaces it, and the fact that ends the call removes it.
"""

import asyncio
from collections.abc import Callable

from yourtool.agent.history.recorder import Recorder
from yourtool.events.catalog import Event
from yourtool.events.deltas import (
    MessageComplete,
    MessageStart,
    TextDelta,
    ThinkingDelta,
    TokenUsage,
)
from yourtool.events.model_calls import LlmCallFailed
from yourtool.messages.blocks import ContentBlock, TextBlock, ThinkingBlock
from yourtool.messages.metadata import StopReason

SECONDS = 2.0
_CHARACTERS_PER_TOKEN = 4


class Checkpoints:
    """Collects the text of one call and stores it every two seconds while there is more."""

    def __init__(
        self,
        record: Recorder,
        build_end: Callable[[MessageComplete], LlmCallFailed],
        seconds: float = SECONDS,
    ) -> None:
        """`build_end` returns the fact that ends the call with a part of its reply."""
        self._seconds = seconds
        self._record = record
        self._build_end = build_end
        self._message_id = ""
        self._input_tokens = 0
        self._pieces: dict[int, tuple[bool, list[str]]] = {}
        """By block: whether it is reasoning, and its text."""
        self._timer: asyncio.TimerHandle | None = None
        self._saving: asyncio.Task[None] | None = None

    def start(self, input_tokens: int) -> None:
        """Forget the reply of another attempt; `input_tokens`: those of the request, estimated."""
        self._input_tokens = input_tokens
        self._pieces.clear()

    def add(self, event: Event) -> None:
        """Collect an event of the stream."""
        match event:
            case MessageStart(message_id=message_id):
                self._message_id = message_id
                self._pieces.clear()
            case TextDelta() | ThinkingDelta():
                is_reasoning = isinstance(event, ThinkingDelta)
                block = self._pieces.setdefault(event.content_block_index, (is_reasoning, []))
                block[1].append(event.text)
                if self._timer is None:
                    self._timer = asyncio.get_running_loop().call_later(self._seconds, self._save)
            case _:
                pass

    async def stop(self) -> None:
        """Store no more checkpoints; wait for the one that is being stored."""
        if self._timer is not None:
            self._timer.cancel()
        if self._saving is not None:
            await asyncio.wait((self._saving,))

    def _save(self) -> None:
        self._timer = None
        if self._message_id and (self._saving is None or self._saving.done()):
            end = self._build_end(self._build_partial())
            self._saving = asyncio.ensure_future(self._record.checkpoint(end))

    def _build_partial(self) -> MessageComplete:
        content = tuple(
            _build_block(is_reasoning, "".join(texts))
            for _, (is_reasoning, texts) in sorted(self._pieces.items())
        )
        size = sum(len(text) for _, texts in self._pieces.values() for text in texts)
        return MessageComplete(
            message_id=self._message_id,
            stop_reason=StopReason.CANCELLED,
            final_content=content,
            usage=TokenUsage(
                input_tokens=self._input_tokens,
                output_tokens=size // _CHARACTERS_PER_TOKEN,
                estimated=True,
            ),
            latency_ms=0,
        )


def _build_block(is_reasoning: bool, text: str) -> ContentBlock:
    return ThinkingBlock(text) if is_reasoning else TextBlock(text)
