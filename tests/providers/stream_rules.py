"""The six rules every stream of events obeys."""

from collections.abc import Sequence

from yourtool.events.deltas import (
    MessageComplete,
    MessageStart,
    StreamError,
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
from yourtool.messages.blocks import TextBlock, ThinkingBlock, ToolUseBlock

ToolUse = ToolUseStart | ToolUseInputDelta | ToolUseEnd
CONTRADICTION = "the deltas say something else than the content"
"""Not a rule: a provider may end a block with other words than it sent."""


def broken_rules(events: Sequence[StreamEvent]) -> list[str]:
    """Return what is wrong with the events of one request; nothing at all is right too."""
    if not events:
        return []
    problems: list[str] = []
    if not isinstance(events[0], MessageStart):
        problems.append("1: `message_start` is not first")
    if sum(isinstance(event, MessageStart) for event in events) != 1:
        problems.append("1: `message_start` does not come once")
    problems += _calls(events) + _blocks(events) + _last(events)
    problems += _indices(events) + _content(events)
    return list(dict.fromkeys(problems))


def _calls(events: Sequence[StreamEvent]) -> list[str]:
    problems: list[str] = []
    state: dict[str, str] = {}
    for event in events:
        if isinstance(event, ToolUseStart):
            if event.tool_use_id in state:
                problems.append("2: a call starts twice")
            if not event.tool_use_id.startswith("tu_"):
                problems.append("a call id is not ours")
            state[event.tool_use_id] = "open"
        elif isinstance(event, ToolUseInputDelta | ToolUseEnd):
            if state.get(event.tool_use_id) != "open":
                problems.append("2: a call goes on that is not open")
            if isinstance(event, ToolUseEnd):
                state[event.tool_use_id] = "over"
                if not isinstance(event.final_input, dict):
                    problems.append("3: a final input is not an object")
    if any(value != "over" for value in state.values()):
        problems.append("2: a call has no end")
    return problems


def _blocks(events: Sequence[StreamEvent]) -> list[str]:
    """Check that text and reasoning have one start, deltas, and one end with all of them."""
    problems: list[str] = []
    pieces: dict[int, list[str]] = {}
    finished: set[int] = set()
    for event in events:
        match event:
            case TextStart(content_block_index=at) | ThinkingStart(content_block_index=at):
                if at in pieces:
                    problems.append("6: a block starts twice")
                pieces[at] = []
            case TextDelta(content_block_index=at) | ThinkingDelta(content_block_index=at):
                if at not in pieces or at in finished:
                    problems.append("6: a block goes on that is not open")
                pieces.setdefault(at, []).append(event.text)
            case TextEnd(content_block_index=at) | ThinkingEnd(content_block_index=at):
                if at not in pieces or at in finished:
                    problems.append("6: a block ends that is not open")
                elif not event.text.startswith("".join(pieces[at])):
                    problems.append(CONTRADICTION)
                finished.add(at)
            case _:
                pass
    return problems if finished == pieces.keys() else [*problems, "6: a block has no end"]


def _last(events: Sequence[StreamEvent]) -> list[str]:
    tail = list(events)
    if isinstance(tail[-1], StreamError):
        tail.pop()
    ends = [at for at, event in enumerate(events) if isinstance(event, MessageComplete)]
    return [] if ends == [len(tail) - 1] else ["4: `message_complete` is not last"]


def _indices(events: Sequence[StreamEvent]) -> list[str]:
    found = [event.content_block_index for event in events if hasattr(event, "content_block_index")]
    return [] if found == sorted(found) else ["5: an index decreases"]


def _content(events: Sequence[StreamEvent]) -> list[str]:
    """Compare what the deltas add up to with the content that ends the message."""
    message = next(event for event in events if isinstance(event, MessageComplete))
    built: dict[int, str] = {}
    for event in events:
        if not isinstance(event, TextDelta | ThinkingDelta | ToolUse):
            continue
        if isinstance(event, ToolUseStart | ToolUseEnd):
            block = message.final_content[event.content_block_index]
            if not isinstance(block, ToolUseBlock) or block.id != event.tool_use_id:
                return ["a call is not at its index"]
            continue
        text = event.partial_json if isinstance(event, ToolUseInputDelta) else event.text
        built[event.content_block_index] = built.get(event.content_block_index, "") + text
    for index, text in built.items():
        block = message.final_content[index]
        if isinstance(block, TextBlock | ThinkingBlock) and not block.text.startswith(text):
            return [CONTRADICTION]
    return []
