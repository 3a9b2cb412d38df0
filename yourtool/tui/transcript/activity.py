"""Activity line of a running turn.

Below the last message, it shows the current activity, its duration and the way to stop it.
"""

import time
from collections.abc import Callable, Sequence
from typing import Protocol

from rich.cells import cell_len

from yourtool.foundation.amounts import format_duration
from yourtool.foundation.text import printable
from yourtool.tui.keys.active_keys import build_hint
from yourtool.tui.lines.styled_lines import BLANK, Span, StyledLine, truncate
from yourtool.tui.transcript.items import ErrorItem, Item
from yourtool.tui.transcript.text_items import ReplyItem, ThinkingItem
from yourtool.tui.transcript.tool_card import ToolCard

FRAMES_PER_SECOND = 2
"""Frames of the spinner per second. Each one costs 2 ms: Textual composes the entire screen."""
_FRAMES = "◐◓◑◒"
_STILL_FRAME = "•"
_SILENCE_SECONDS = 10
"""Seconds without new output after which the line shows the pause."""
_LONG_SECONDS = 30
"""Seconds of a turn after which the line has its tokens."""
_CHARACTERS_PER_TOKEN = 4
_SHELL, _DELEGATE = "shell", "delegate"
"""Tools whose calls can move to the background, and whose work outlives the stop of a turn."""
_LEAST_CELLS = 24
"""Cells for the activity before less important parts are dropped."""


class TokenCount:
    """The output tokens of a turn; an estimate while the reply streams."""

    def __init__(self) -> None:
        self.characters = 0
        """Characters of the current reply so far."""
        self._reported = 0
        self._earlier = 0

    def set_reported(self, tokens: int) -> None:
        """Set the tokens of the current reply that the provider has counted so far."""
        self._reported = tokens

    def end_request(self, tokens: int) -> None:
        """Replace the estimate for the current reply with its tokens."""
        self._earlier += tokens
        self.characters = self._reported = 0

    def __str__(self) -> str:
        """Return the count, with `~` for an estimate; empty before the first token."""
        estimate = self.characters // _CHARACTERS_PER_TOKEN
        total = self._earlier + max(self._reported, estimate)
        if not total:
            return ""
        about = "~" if estimate > self._reported else ""
        return f"{about}{total:,} {'token' if total == 1 else 'tokens'}"


class TurnProgress(Protocol):
    """What the line needs of a `Timeline`."""

    provider: str
    tokens: TokenCount

    @property
    def active_item(self) -> Item | None:
        """The item that streams, runs or waits."""
        ...

    @property
    def running_cards(self) -> Sequence[ToolCard]:
        """The calls that run now."""
        ...


class ActivityLine:
    """Builds the line; a widget paints it and decides when."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self.line = BLANK
        self.is_stopping = False
        """Whether the user stopped the turn."""
        self.is_asking = False
        """Whether the turn waits for an answer of the user."""
        self._clock = clock
        self._started_at: float | None = None
        self._changed_at = 0.0

    def start(self) -> None:
        """Begin a turn."""
        self._started_at = self._changed_at = self._clock()
        self.is_stopping = False

    def end(self) -> None:
        """End the turn; the next update removes the line."""
        self._started_at = None

    def mark_output(self) -> None:
        """Note that the turn has new output."""
        self._changed_at = self._clock()

    @property
    def is_shown(self) -> bool:
        """Whether there is a line."""
        return self.line is not BLANK

    def describe(self, turn: TurnProgress) -> str:
        """Return what the turn does; empty if no turn runs."""
        if self._started_at is None:
            return ""
        if self.is_stopping:
            return "stopping when the workers are done" if _has_workers(turn) else "stopping"
        if self.is_asking and not turn.running_cards:
            return "waiting for you"
        return describe_activity(turn)

    def update(self, turn: TurnProgress, width: int) -> bool:
        """Build the line for a width; return whether it changed.

        Nothing is shown while the turn waits for the user, because the question is.
        """
        before = self.line
        activity = self.describe(turn)
        if self._started_at is None or (self.is_asking and not turn.running_cards):
            self.line = BLANK
        else:
            ran = [card.started_at for card in turn.running_cards if not self.is_stopping]
            times = [format_duration(int(self._clock() - min(ran, default=self._started_at)))]
            if silence := self._silence(turn):
                times.append(f"no output for {silence}")
            keys = _build_keys(turn, is_stopping=self.is_stopping)
            is_long = self._clock() - self._started_at >= _LONG_SECONDS
            spans = _fit(activity, times, str(turn.tokens) if is_long else "", width, keys)
            if spans != before.spans:
                self.line = StyledLine(spans)
        return self.line is not before

    def mark(self, *, moves: bool) -> Span:
        """Return the spinner at the current time, or a fixed symbol."""
        frame = int(self._clock() * FRAMES_PER_SECOND) % len(_FRAMES)
        return (_FRAMES[frame] if moves else _STILL_FRAME, "accent")

    def _silence(self, turn: TurnProgress) -> str:
        """Return how long a started reply has not grown, if that is long."""
        seconds = int(self._clock() - self._changed_at)
        has_started = isinstance(turn.active_item, ReplyItem | ThinkingItem)
        return format_duration(seconds) if has_started and seconds >= _SILENCE_SECONDS else ""


def describe_activity(turn: TurnProgress) -> str:
    """Return what a running turn does or waits for."""
    item, running = turn.active_item, turn.running_cards
    if len(running) > 1:
        return f"running {len(running)} tools"
    if running:
        return running[0].activity
    match item:
        case ErrorItem(is_retrying=False):
            return "waiting to retry"
        case ThinkingItem():
            return "thinking"
        case ReplyItem():
            return "writing"
        case ToolCard():
            return f"preparing {printable(item.name)}"
        case _:
            return f"waiting for {printable(turn.provider)}" if turn.provider else "working"


def _has_workers(turn: TurnProgress) -> bool:
    return any(card.name == _DELEGATE for card in turn.running_cards)


def _build_keys(turn: TurnProgress, *, is_stopping: bool) -> list[str]:
    """Return what keys do with the running turn, the most important key first."""
    if is_stopping:
        return [build_hint("chat.stop", "to stop them")] if _has_workers(turn) else []
    keys = [build_hint("chat.stop", "to interrupt")]
    if any(card.name == _SHELL for card in turn.running_cards):
        keys.append(build_hint("chat.background", "to the background"))
    return keys


def _fit(
    activity: str, times: Sequence[str], tokens: str, width: int, keys: Sequence[str]
) -> tuple[Span, ...]:
    """Return the parts that fit: further keys are dropped first, then the tokens, then the key.

    Before the key, the words about it are shortened.
    """
    first, short = keys[:1], [build_hint("chat.stop", "stops")] if keys else []
    needed = min(cell_len(activity), _LEAST_CELLS)
    for parts in (
        [*times, tokens, *keys], [*times, tokens, *first], [*times, *first], [*times, *short],
        times, times[:1],
    ):  # fmt: skip
        facts = "".join(f" · {part}" for part in parts if part)
        if needed + len(facts) <= width:
            return ((_capitalised(activity, width - len(facts)), ""), (facts, "muted"))
    return ((_capitalised(activity, width), ""),)


def _capitalised(activity: str, width: int) -> str:
    return truncate(activity[:1].upper() + activity[1:], max(1, width))
