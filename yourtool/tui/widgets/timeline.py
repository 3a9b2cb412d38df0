"""Builds transcript items from events; the same facts give the same items live and on resume.

Deltas only show early what a fact confirms. `touched` names the items that changed.
"""

import time
from collections.abc import Callable, Sequence
from typing import Literal, TypeVar, assert_never

from yourtool.deltas import (
    AttemptFailed,
    BlockEdge,
    MessageComplete,
    MessageStart,
    Notice,
    RetryScheduled,
    ShellStarted,
    StreamError,
    StreamEvent,
    TextDelta,
    ThinkingDelta,
    ToolOutputDelta,
    ToolUseEnd,
    ToolUseInputDelta,
    ToolUseStart,
    UsageUpdate,
)
from yourtool.errors import ErrorClass, ToolFailure
from yourtool.events import (
    AnyFact,
    Event,
    Fact,
    LlmCallCompleted,
    LlmCallFailed,
    LlmCallStarted,
    RouteDecided,
    SessionCreated,
    SessionEffortSelected,
    SessionEnded,
    SessionResumed,
    ShellRan,
    ToolCalled,
    ToolCompleted,
    ToolConfirmationRequested,
    ToolConfirmationResolved,
    ToolFailed,
    ToolInputInvalid,
    TurnCancelled,
    TurnCompleted,
    TurnStarted,
)
from yourtool.messages import (
    Audience,
    ContentBlock,
    Message,
    RedactedThinkingBlock,
    TextBlock,
    ThinkingBlock,
    ToolUseBlock,
)
from yourtool.tui.markdown.blocks import Highlight
from yourtool.tui.pending_attachments import count_attachments
from yourtool.tui.widgets import summary
from yourtool.tui.widgets.card import CardStatus, CommandCard, ToolCard
from yourtool.tui.widgets.items import ErrorItem, Item, Remark
from yourtool.tui.widgets.remarks import remark
from yourtool.tui.widgets.texts import ReplyItem, ThinkingItem, UserMessage

_Part = TypeVar("_Part", ReplyItem, ThinkingItem)
_ENDINGS: dict[str, CardStatus] = {
    ToolFailure.CANCELLED: "cancelled",
    ToolFailure.USER_DENIED: "denied",
    ToolFailure.PERMISSION_DENIED: "denied",
    ToolFailure.CONFIRMATION_TIMEOUT: "denied",
}


class Story:
    """The items so far, and what the turn that is running has brought."""

    def __init__(self, *, retry_key: str = "", clock: Callable[[], float] = time.monotonic) -> None:
        self.items: list[Item] = []
        self.touched: set[Item] = set()
        """Items that are new or changed since whoever draws them cleared this."""
        self.places: dict[str, Item] = {}
        """Where messages begin, by their ids."""
        self.highlight: Highlight | None = None
        self._retry_key = retry_key
        self._clock = clock
        self._cards: dict[str, ToolCard] = {}
        self._parts: list[
            ReplyItem | ThinkingItem
        ] = []  # of the message that is arriving, in order
        self._open: dict[
            int, ReplyItem | ThinkingItem
        ] = {}  # what was streamed of it, by content block
        self._untold: dict[int, ThinkingItem] = {}  # reasoning of it that was not, by content block
        self._reached = 0  # the content block after the last one that was told of
        self._failure: ErrorItem | None = None
        self._summary = summary.TurnSummary()

    @property
    def ticking(self) -> list[Item]:
        """Items that show a time which passes."""
        items: list[Item] = [card for card in self._cards.values() if card.status == "running"]
        if self._failure is not None and self._failure.waiting:
            items.append(self._failure)
        return items

    @property
    def arriving(self) -> Item | None:
        """The part of a reply that grows, the user's command that runs, or a failure that waits."""
        calls = [
            card
            for card in self._cards.values()
            if card.status == "queued" or (isinstance(card, CommandCard) and card.open)
        ]
        waiting = [self._failure] if self._failure is not None and self._failure.waiting else []
        return next(reversed(calls or self._parts or waiting), None)

    @property
    def failed(self) -> bool:
        """Whether the story ends in a failure that may be tried again."""
        failure = self._failure
        return failure is not None and not failure.settled and not failure.waiting

    @property
    def last_reply(self) -> str:
        """The Markdown of the last reply."""
        replies = (item for item in reversed(self.items) if isinstance(item, ReplyItem))
        return next((reply.source for reply in replies if reply.source), "")

    def remark(self, level: Literal["info", "warning", "error"], text: str) -> None:
        """Add words of the program."""
        self._add(Remark(level, text))

    def take(self, event: Event) -> None:
        """Tell what an event changes."""
        if isinstance(event, Fact):
            self._take_fact(event)
        else:
            self._take_delta(event)

    def _take_delta(self, event: StreamEvent | ToolOutputDelta | ShellStarted | Notice) -> None:
        if isinstance(event, BlockEdge):
            return
        match event:
            case TextDelta():
                self._reply(event.content_block_index).write(event.text)
            case ThinkingDelta():
                self._thinking(event.content_block_index).write(event.text)
            case ToolOutputDelta():
                self._card(event.tool_use_id).prints(event.text)
            case ShellStarted():
                self._command(event.message_id, event.command, shared=event.shared)
            case MessageStart():
                self._go_on()
            case ToolUseStart():
                self._reach(event.content_block_index)
                self._card(event.tool_use_id, event.tool_name)
            case ToolUseEnd():
                self._card(event.tool_use_id).takes(event.final_input)
            case MessageComplete():
                self._content(event.final_content)
            case Notice():
                if event.level != "error" or not self._unroutable:
                    self.remark(event.level, event.text)
            case RetryScheduled():
                self._retry(event)
            case ToolUseInputDelta() | UsageUpdate() | StreamError() | AttemptFailed():
                pass
            case _:
                assert_never(event)

    def _take_fact(self, event: AnyFact) -> None:
        match event:
            case TurnStarted():
                self._begin(event.message)
            case RouteDecided():
                self._route(event)
            case LlmCallCompleted():
                self._go_on()
                if event.message.metadata.audience is not Audience.MODEL:
                    self._content(event.message.content)
                if self._parts:
                    self.places[event.message.id] = self._parts[0]
                self._summary.add(event)
                self._end_message()
            case LlmCallFailed():
                self._fail(event)
            case ToolCalled():
                card = self._card(event.tool_use_id, event.tool_name)
                card.runs(event.side_effects, event.hints)
            case ToolCompleted():
                self._complete(event)
            case ToolFailed():
                self._fail_call(event)
            case ToolInputInvalid():
                card = self._card(event.tool_use_id, event.tool_name)
                card.complains("\n".join(event.validation_errors))
            case ToolConfirmationRequested():
                self._card(event.tool_use_id, event.tool_name).waits()
            case ToolConfirmationResolved():
                self._card(event.tool_use_id).queues()
            case ShellRan():
                self._ran(event)
            case TurnCompleted() | TurnCancelled():
                self._end_turn(event)
            case SessionCreated() | SessionResumed() | SessionEnded() | LlmCallStarted():
                pass
            case SessionEffortSelected():
                pass  # `/effort` shows what it means for the model
            case _:
                self.remark(*remark(event))

    @property
    def _unroutable(self) -> bool:
        """Whether a block says already that no model can take the turn, and why."""
        route = self._summary.route
        return route is not None and route.chosen_model is None

    def _add(self, item: Item) -> None:
        self.items.append(item)
        self.touched.add(item)

    def _reach(self, index: int) -> None:
        """Name what no event told of before a content block: reasoning that nobody can read."""
        for at in range(self._reached, index):
            self._hidden(at)
        self._reached = max(self._reached, index + 1)

    def _hidden(self, at: int) -> None:
        if at not in self._untold:
            self._untold[at] = hidden = ThinkingItem(redacted=True)
            self._add(hidden)

    def _reply(self, index: int) -> ReplyItem:
        part = self._open.get(index)
        if not isinstance(part, ReplyItem):
            self._reach(index)
            part = self._open[index] = self._part(ReplyItem(self.highlight))
        self.touched.add(part)
        return part

    def _thinking(self, index: int) -> ThinkingItem:
        part = self._open.get(index)
        if not isinstance(part, ThinkingItem):
            self._reach(index)
            part = self._open[index] = self._part(ThinkingItem())
        self.touched.add(part)
        return part

    def _part(self, part: _Part) -> _Part:
        self._parts.append(part)
        self._add(part)
        return part

    def _card(self, tool_use_id: str, name: str = "tool") -> ToolCard:
        if (card := self._cards.get(tool_use_id)) is None:
            card = self._cards[tool_use_id] = ToolCard(name, self._clock)
            self._add(card)
        self.touched.add(card)
        return card

    def _command(self, message_id: str, command: str, *, shared: bool) -> ToolCard:
        if (card := self._cards.get(message_id)) is None:
            card = self._cards[message_id] = CommandCard(command, shared, self._clock)
            self.places[message_id] = card
            self._add(card)
        return card

    def _ran(self, event: ShellRan) -> None:
        message = event.message
        shared = message.metadata.audience is not Audience.USER
        card = self._command(message.id, event.command, shared=shared)
        printed = message.content[1:-1]
        output = "".join(block.text for block in printed if isinstance(block, TextBlock))
        status: CardStatus = "ok" if event.exit_code == 0 else "failed"
        if event.exit_code is None:
            status = "cancelled"
        card.ends(status, output, event.duration_seconds, {"exit_code": event.exit_code})
        self.touched.add(card)

    def _begin(self, message: Message | None) -> None:
        self._go_on()
        self._end_message()
        self._cards.clear()
        self._summary = summary.TurnSummary(before=self._summary)
        if message is None:
            self.remark("info", "Trying again")
            return
        if message.metadata.audience is Audience.MODEL:
            return
        self._add(UserMessage(message.text, count_attachments(message.content)))
        self.places[message.id] = self.items[-1]

    def _go_on(self) -> None:
        """Whatever failed before was not the end."""
        if self._failure is not None and not self._failure.settled:
            self._failure.settle()
            self.touched.add(self._failure)
        self._failure = None

    def _content(self, content: Sequence[ContentBlock]) -> None:
        """Make what was streamed equal to the message; add what was not streamed."""
        replies = [part for part in self._parts if isinstance(part, ReplyItem)]
        thoughts = [part for part in self._open.values() if isinstance(part, ThinkingItem)]
        for at, block in enumerate(content):
            match block:
                case TextBlock(text=text):
                    part = replies.pop(0) if replies else self._part(ReplyItem(self.highlight))
                    part.finish(text)
                    self.touched.add(part)
                case ThinkingBlock(text=text):
                    if (thought := self._untold.get(at)) is None and thoughts:
                        thought = thoughts.pop(0)
                    elif thought is None:
                        thought = self._untold[at] = self._part(ThinkingItem())
                    thought.finish(text)
                    self.touched.add(thought)
                case RedactedThinkingBlock():
                    self._hidden(at)
                case ToolUseBlock():
                    self._card(block.id, block.name).takes(block.input)
                case _:
                    pass

    def _end_message(self, *, cancelled: bool = False) -> None:
        """Nothing more arrives for the parts that are open."""
        for part in self._parts:
            if isinstance(part, ReplyItem) and cancelled:
                part.cancel()
            else:
                part.finish()
            self.touched.add(part)
        self._parts, self._open, self._untold, self._reached = [], {}, {}, 0

    def _retry(self, event: RetryScheduled) -> None:
        """Let the failure that came just before count down to the next attempt."""
        if self._failure is not None:
            self._failure.wait(event.delay_seconds, f"{event.attempt} of {event.max_attempts}")
            self.touched.add(self._failure)

    def _fail(self, event: LlmCallFailed) -> None:
        self._go_on()
        self._summary.add_failure(event)
        cancelled = event.error_class == ErrorClass.CANCELLED
        if event.message is not None:
            self._content(event.message.content)
        for tool_use_id, name in event.cut_calls.items():
            self._card(tool_use_id, name).ends("cancelled", "", None, {})
        self._end_message(cancelled=cancelled)
        if not cancelled:
            way_out = summary.advice(event, self._retry_key)
            self._failure = ErrorItem(
                summary.headline(event), event.error_message_redacted, way_out, self._clock
            )
            self._add(self._failure)

    def _route(self, event: RouteDecided) -> None:
        self._summary.route = event
        if event.chosen_model is not None:
            return
        self._failure = ErrorItem(
            "No model can take this turn", summary.obstacles(event), summary.NO_MODEL
        )
        self._add(self._failure)

    def _complete(self, event: ToolCompleted) -> None:
        result = event.message.result
        parts = result.content if result else ()
        output = "\n".join(
            part.text if isinstance(part, TextBlock) else f"[{part.media_type} image]"
            for part in parts
            if event.message.metadata.audience is not Audience.MODEL
        )
        card = self._card(event.tool_use_id, event.tool_name)
        status: CardStatus = "ok" if event.success else "failed"
        card.ends(status, output, event.latency_ms / 1000, event.message.metadata.details or {})

    def _fail_call(self, event: ToolFailed) -> None:
        status = _ENDINGS.get(event.error_class, "failed")
        card = self._card(event.tool_use_id, event.tool_name)
        card.ends(status, event.error_message, event.latency_ms / 1000, {})

    def _end_turn(self, event: TurnCompleted | TurnCancelled) -> None:
        cancelled = isinstance(event, TurnCancelled)
        self._end_message(cancelled=cancelled)
        for card in self._cards.values():
            if card.open:
                card.ends("cancelled", "", None, {})
                self.touched.add(card)
        if footer := self._summary.footer(event):
            self._add(footer)
