"""Items of a streaming model message."""

from collections.abc import Callable, Sequence
from typing import TypeVar

from yourtool.messages.blocks import (
    ContentBlock,
    RedactedThinkingBlock,
    TextBlock,
    ThinkingBlock,
    ToolUseBlock,
)
from yourtool.tui.transcript.items import Item
from yourtool.tui.transcript.text_items import ReplyItem, ThinkingItem

_Part = TypeVar("_Part", ReplyItem, ThinkingItem)


class StreamingMessage:
    """The replies and the reasoning of one message; `add` gives a new item its place."""

    def __init__(self, add: Callable[[Item], None]) -> None:
        self.parts: list[ReplyItem | ThinkingItem] = []
        """The items with text, in order."""
        self._add = add
        self._streamed: dict[int, ReplyItem | ThinkingItem] = {}  # by index of the content block
        self._hidden: dict[int, ThinkingItem] = {}  # reasoning without a stream, by index
        self._next_block = 0  # index of the content block after the last streamed one

    def append_reply(self, index: int, text: str) -> ReplyItem:
        """Append a piece of text to the reply of a content block."""
        reply = self._streamed.get(index)
        if not isinstance(reply, ReplyItem):
            self.add_skipped_blocks(index)
            reply = self._streamed[index] = self._add_part(ReplyItem())
        reply.append(text)
        return reply

    def append_reasoning(self, index: int, text: str) -> ThinkingItem:
        """Append a piece of text to the reasoning of a content block."""
        thought = self._streamed.get(index)
        if not isinstance(thought, ThinkingItem):
            self.add_skipped_blocks(index)
            thought = self._streamed[index] = self._add_part(ThinkingItem())
        thought.append(text)
        return thought

    def add_skipped_blocks(self, index: int) -> None:
        """Add items for the blocks before `index`: hidden reasoning has no stream events."""
        for at in range(self._next_block, index):
            self._add_hidden_reasoning(at)
        self._next_block = max(self._next_block, index + 1)

    def complete(
        self, content: Sequence[ContentBlock], show_call: Callable[[ToolUseBlock], None]
    ) -> list[Item]:
        """Replace the streamed content with the final content, and add missing blocks.

        `show_call` adds or updates the item of a tool call. The result is the items with new text.
        """
        replies = [part for part in self.parts if isinstance(part, ReplyItem)]
        thoughts = [part for part in self._streamed.values() if isinstance(part, ThinkingItem)]
        completed: list[Item] = []
        for at, block in enumerate(content):
            match block:
                case TextBlock(text=text):
                    reply = replies.pop(0) if replies else self._add_part(ReplyItem())
                    reply.finish(text)
                    completed.append(reply)
                case ThinkingBlock(text=text):
                    if (thought := self._hidden.get(at)) is None and thoughts:
                        thought = thoughts.pop(0)
                    elif thought is None:
                        thought = self._hidden[at] = self._add_part(ThinkingItem())
                    thought.finish(text)
                    completed.append(thought)
                case RedactedThinkingBlock():
                    self._add_hidden_reasoning(at)
                case ToolUseBlock():
                    show_call(block)
                case _:
                    pass
        return completed

    def end(self, *, cancelled: bool = False) -> None:
        """Finish the parts that are still open."""
        for part in self.parts:
            if isinstance(part, ReplyItem) and cancelled:
                part.cancel()
            else:
                part.finish()

    def _add_hidden_reasoning(self, at: int) -> None:
        if at not in self._hidden:
            self._hidden[at] = hidden = ThinkingItem(redacted=True)
            self._add(hidden)

    def _add_part(self, part: _Part) -> _Part:
        self.parts.append(part)
        self._add(part)
        return part
