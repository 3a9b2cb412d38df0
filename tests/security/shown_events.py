"""Every type of event, with a text in each of its fields, shown by the interface in a terminal.

`build_events` fills the stored examples of facts and an example of each delta; what is no free
text, such as a kind or a time, stays. As a script: play the events on the screen of the program,
with the texts of a file, and write the conversation at the end.
"""

import asyncio
import sys
from collections.abc import AsyncGenerator, Callable, Iterator, Sequence
from itertools import count
from pathlib import Path
from typing import Any, get_args

import msgspec
from msgspec import UNSET, Struct
from msgspec.structs import fields, replace

from tests.tui.fakes import FakeRuntime, FakeSession, turn_end, turn_start
from yourtool.effects import SideEffects
from yourtool.events.catalog import AnyFact, Event
from yourtool.events.codec import STORED_FACT, from_stored
from yourtool.events.deltas import (
    AttemptFailed,
    MessageComplete,
    MessageStart,
    Notice,
    RetryScheduled,
    ShellStarted,
    StreamError,
    TextDelta,
    TextEnd,
    TextStart,
    ThinkingDelta,
    ThinkingEnd,
    ThinkingStart,
    TokenUsage,
    ToolOutputDelta,
    ToolUseEnd,
    ToolUseInputDelta,
    ToolUseStart,
    UsageUpdate,
)
from yourtool.events.files import FilesChanged
from yourtool.events.tools import ToolCalled, ToolFailed
from yourtool.events.turns import PolicyEvaluation, RouteDecided
from yourtool.foundation.file_images import FileImage, RecordedChange
from yourtool.messages.blocks import TextBlock, ThinkingBlock, ToolUseBlock
from yourtool.messages.metadata import StopReason
from yourtool.tui.app import YourtoolApp

EXAMPLES = Path(__file__).parents[1] / "events/stored_facts.jsonl"
_LINKS = {"id", "session_id", "turn_id", "parent_event_id", "tool_use_id", "message_id"}
"""Fields that connect events, and show nothing."""
_PAUSE = 0.03
"""Seconds between looks whether an event is painted, before the next one replaces it."""

Fill = Callable[[str], str]


def get_event_types() -> set[type[Struct]]:
    """Return the types of all events."""
    return set(get_args(Event))


def mark(number: int) -> str:
    """Return the word by which the text of an event is found."""
    return f"tide{number}."


def build_events(text: str) -> Sequence[Event]:
    """Return examples of all types of events; their fields have the text between two marks."""
    early, late = _build_examples()
    filled = [
        _finish(_fill(event, lambda _, number=number: f"{mark(number)} {text} {mark(number)}"))
        for number, event in enumerate([*early, *late])
    ]
    failed = next(each for each in late if isinstance(each, ToolFailed))
    ends = [
        [replace(failed, tool_use_id=each) for each in _find_calls(part)] for part in (early, late)
    ]
    return [*filled[: len(early)], *ends[0], *filled[len(early) :], *ends[1]]


def get_types_by_mark() -> Sequence[str]:
    """Return the name of the type of each example; the index is the number of its mark."""
    early, late = _build_examples()
    return [type(each).__name__ for each in (*early, *late)]


def _build_examples() -> tuple[Sequence[Event], Sequence[Event]]:
    """Return the events of one turn, and stored facts."""
    rows = (msgspec.json.decode(line)["printed"] for line in EXAMPLES.read_bytes().splitlines())
    facts = (from_stored(msgspec.json.decode(row, type=STORED_FACT)) for row in rows)
    return [*_deltas(), *_rare_facts()], list(map(_with_own_call, count(), facts))


def _find_calls(events: Sequence[Event]) -> Sequence[str]:
    """Return the ids of the calls of events, which the linear mode writes when they have ended."""
    return [*dict.fromkeys(each.tool_use_id for each in events if hasattr(each, "tool_use_id"))]


def _with_own_call(number: int, fact: AnyFact) -> AnyFact:
    """Return a fact about a call that no other example is about."""
    has_call = hasattr(fact, "tool_use_id")
    return replace(fact, tool_use_id=f"tu_fact_{number}") if has_call else fact


def _rare_facts() -> Iterator[Event]:
    """Yield facts whose stored examples do not have what is shown."""
    slot = PolicyEvaluation(policy="rule", verdict="rejected", candidate_model="x", reason="x")
    yield RouteDecided(chosen_model=None, winner_index=-1, elapsed_ms=0.1, chain=(slot,))
    image = FileImage("other")
    yield FilesChanged(
        tool_use_id="tu_1", changes=(RecordedChange(path="x", before=image, after=image),)
    )


def _finish(event: Event) -> Event:
    """Return a filled event in the form in which it arrives."""
    match event:
        case ToolUseInputDelta():
            return _with_json(event)
        case TextDelta():
            return replace(event, text=f"{event.text}\n")
        case _:
            return event


def _with_json(delta: ToolUseInputDelta) -> ToolUseInputDelta:
    """Return the start of arguments with the text of a delta."""
    text = msgspec.json.encode(delta.partial_json).decode()
    return replace(delta, partial_json=f'{{"command": {text[:-1]}')


def _deltas() -> Iterator[Event]:
    """Yield the events of a reply as it arrives, and of what a user starts."""
    block: dict[str, Any] = {"message_id": "m1", "content_block_index": 0}
    call: dict[str, Any] = {"message_id": "m1", "content_block_index": 2, "tool_use_id": "tu_1"}
    usage = TokenUsage(input_tokens=1, output_tokens=1)
    attempt: dict[str, Any] = {"attempt": 1, "error_class": "x", "message": "x"}
    yield MessageStart(message_id="m1", model="x")
    yield ThinkingStart(**block)
    yield ThinkingDelta(**block, text="x", signature="x")
    yield ThinkingEnd(**block, text="x")
    yield TextStart(message_id="m1", content_block_index=1)
    yield TextDelta(message_id="m1", content_block_index=1, text="x")
    yield TextEnd(message_id="m1", content_block_index=1, text="x")
    yield ToolUseStart(**call, tool_name="x")
    yield ToolUseStart(message_id="m1", content_block_index=3, tool_use_id="tu_2", tool_name="x")
    yield ToolUseInputDelta(**call, partial_json="x")
    yield ToolUseEnd(**call, final_input={"command": "x", "x": ["x"]})
    yield UsageUpdate(message_id="m1", usage=usage)
    yield ToolCalled(
        tool_use_id="tu_1",
        tool_name="x",
        input_hash="x",
        input_size_bytes=1,
        side_effects=SideEffects.EXECUTE,
    )
    yield ToolOutputDelta(tool_use_id="tu_1", text="x")
    yield MessageComplete(
        message_id="m1",
        stop_reason=StopReason.ERROR,
        stop_detail="x",
        final_content=(
            ThinkingBlock("x"), TextBlock("x"), ToolUseBlock("tu_1", "x", {"path": "x"}),
            ToolUseBlock("tu_2", "x", {}), TextBlock("x"),
        ),
        usage=usage,
        latency_ms=1,
    )  # fmt: skip
    yield StreamError(message_id="m1", error_class="x", message="x", retryable=True)
    yield AttemptFailed(**attempt, retryable=True, status=500, latency_ms=1)
    yield RetryScheduled(**attempt, max_attempts=2, delay_seconds=9)
    yield ShellStarted(message_id="m2", command="x", shared=True)
    for level in ("info", "warning", "error"):
        yield Notice(level=level, text="x")


def _fill(value: Any, fill: Fill) -> Any:
    """Return a value with other texts in it, where its types accept them."""
    if isinstance(value, Struct):
        for each in fields(value):
            old = getattr(value, each.name)
            if each.name in _LINKS or old is UNSET or old is None:
                continue
            changed = replace(value, **{each.name: _fill(old, fill)})
            if _is_valid(changed):
                value = changed
        return value
    if isinstance(value, str) and type(value) is str:
        return fill(value)
    if isinstance(value, dict):
        return {
            (fill(key) if key == "x" else key): _fill(item, fill) for key, item in value.items()
        }
    if isinstance(value, tuple | list):
        return type(value)(_fill(item, fill) for item in value)
    return value


def _is_valid(value: Struct) -> bool:
    """Whether a value is one that its own type accepts."""
    try:
        msgspec.convert(msgspec.to_builtins(value), type(value))
    except msgspec.ValidationError:
        return False
    return True


class _Player(FakeSession):
    """Plays the events without a state, which they would contradict."""

    app: YourtoolApp

    async def _play(self) -> AsyncGenerator[Event, None]:
        for event in self._scripts[0]:
            yield event
            schedule = self.app.chat.transcript._schedule
            await asyncio.sleep(_PAUSE)
            while schedule.is_waiting:
                await asyncio.sleep(_PAUSE)

    def _applied(self, event: Event) -> Event:
        return event


def show(text: str) -> None:
    """Play the events in this terminal until the user quits."""
    events = [turn_start("go"), *build_events(text), turn_end()]
    session = _Player(events, workspace=Path.cwd())

    async def opens() -> Any:
        return FakeRuntime(Path.cwd(), session)

    app = session.app = YourtoolApp(opens)
    app.run()
    sys.stdout.write(app.last_words)


if __name__ == "__main__":
    show(Path(sys.argv[1]).read_text())
