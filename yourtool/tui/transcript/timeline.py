"""Transcript items built from events.

Live and resumed sessions get the same items. Deltas only show early what a fact later confirms.
`changed_items` contains the items to redraw.
"""

import time
from collections.abc import Callable, Sequence
from typing import Literal, assert_never

from yourtool.errors import ErrorClass, ToolFailure
from yourtool.events.branches import BranchSummarised
from yourtool.events.catalog import AnyFact, Event
from yourtool.events.context import ContextCompacted
from yourtool.events.deltas import (
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
from yourtool.events.facts import Fact
from yourtool.events.files import FilesChanged
from yourtool.events.model_calls import LlmCallCompleted, LlmCallFailed, LlmCallStarted, is_silent
from yourtool.events.sessions import SessionCreated, SessionModelSelected
from yourtool.events.tools import (
    ShellRan,
    ToolCalled,
    ToolCompleted,
    ToolConfirmationRequested,
    ToolConfirmationResolved,
    ToolFailed,
    ToolInputInvalid,
)
from yourtool.events.turns import (
    RouteDecided,
    TurnCancelled,
    TurnCompleted,
    TurnStarted,
    TurnSteered,
)
from yourtool.messages.blocks import ContentBlock, ImageBlock, TextBlock, ToolUseBlock
from yourtool.messages.message import Message
from yourtool.messages.metadata import Audience
from yourtool.tui.input.pending_attachments import describe_attachments
from yourtool.tui.lines.styled_lines import HighlighterFactory
from yourtool.tui.transcript import turn_results
from yourtool.tui.transcript.activity import TokenCount
from yourtool.tui.transcript.excerpts import get_original_hint
from yourtool.tui.transcript.items import ErrorItem, Item, NoticeItem
from yourtool.tui.transcript.session_changes import (
    NOT_SHOWN,
    describe_change,
    describe_lasting_changes,
    describe_summary,
)
from yourtool.tui.transcript.streaming_message import StreamingMessage
from yourtool.tui.transcript.text_items import ReplyItem, SummaryItem, UserMessageItem
from yourtool.tui.transcript.tool_card import CardStatus, CommandCard, ToolCard

_FAILURE_STATUS: dict[str, CardStatus] = {
    ToolFailure.CANCELLED: "cancelled",
    ToolFailure.USER_DENIED: "denied",
    ToolFailure.PERMISSION_DENIED: "denied",
    ToolFailure.CONFIRMATION_TIMEOUT: "denied",
}


class Timeline:
    """The items so far, and the state of the running turn."""

    def __init__(self, *, retry_key: str = "", clock: Callable[[], float] = time.monotonic) -> None:
        self.items: list[Item] = []
        self.changed_items: set[Item] = set()
        """Items that are new or changed since the view last cleared the set."""
        self.message_items: dict[str, Item] = {}
        """The first item of each message, by message id."""
        self.highlight: HighlighterFactory | None = None
        self.provider = ""
        """The provider of the last request; empty after its reply."""
        self.tokens = TokenCount()
        self.expands = False
        """Whether new items are expanded."""
        self._retry_key = retry_key
        self._clock = clock
        self._cards: dict[str, ToolCard] = {}
        self._message = StreamingMessage(self._add)
        self._failure: ErrorItem | None = None
        self._is_start = False  # the last fact is the creation of the session
        self._summary = turn_results.TurnSummary()

    @property
    def ticking_items(self) -> list[Item]:
        """Items that show a running clock."""
        items: list[Item] = [*self.running_cards]
        if self._failure is not None and self._failure.is_waiting:
            items.append(self._failure)
        return items

    @property
    def running_cards(self) -> Sequence[ToolCard]:
        """The calls and commands that run now."""
        return [card for card in self._cards.values() if card.status == "running"]

    @property
    def active_item(self) -> Item | None:
        """The streaming part of a reply, the running user command, or a failure before a retry."""
        calls = [
            card
            for card in self._cards.values()
            if card.status in ("queued", "answered")
            or (isinstance(card, CommandCard) and card.is_open)
        ]
        waiting = [self._failure] if self._failure is not None and self._failure.is_waiting else []
        return next(reversed(calls or self._message.parts or waiting), None)

    @property
    def has_failed(self) -> bool:
        """Whether the last turn failed and can be retried."""
        failure = self._failure
        return failure is not None and not failure.is_resolved and not failure.is_waiting

    @property
    def last_reply(self) -> str:
        """The Markdown source of the last reply."""
        replies = (item for item in reversed(self.items) if isinstance(item, ReplyItem))
        return next((reply.source for reply in replies if reply.source), "")

    def expand_all(self, expanded: bool) -> None:
        """Expand or fold all items, also those that are added later."""
        self.expands = expanded
        for item in self.items:
            item.expand(expanded)

    def add_notice(self, level: Literal["info", "warning", "error"], text: str) -> None:
        """Add a message of the program."""
        self._add(NoticeItem(level, text))

    def apply(self, event: Event) -> None:
        """Add or update the items of an event; a silent model call has none."""
        if isinstance(event, Fact):
            is_first, self._is_start = self._is_start, isinstance(event, SessionCreated)
            is_known = is_first and isinstance(event, SessionModelSelected)  # by the status line
            if not is_known and not is_silent(event):
                self._apply_fact(event)
        else:
            self._apply_delta(event)

    def _apply_delta(self, event: StreamEvent | ToolOutputDelta | ShellStarted | Notice) -> None:
        if isinstance(event, BlockEdge):
            return
        match event:
            case TextDelta():
                self.tokens.characters += len(event.text)
                self.changed_items.add(
                    self._message.append_reply(event.content_block_index, event.text)
                )
            case ThinkingDelta():
                self.tokens.characters += len(event.text)
                self.changed_items.add(
                    self._message.append_reasoning(event.content_block_index, event.text)
                )
            case ToolOutputDelta():
                self._get_card(event.tool_use_id).append_output(event.text)
            case ShellStarted():
                self._get_command_card(event.message_id, event.command, shared=event.shared)
            case MessageStart():
                self._resolve_failure()
            case ToolUseStart():
                self._message.add_skipped_blocks(event.content_block_index)
                self._get_card(event.tool_use_id, event.tool_name)
            case ToolUseEnd():
                self._get_card(event.tool_use_id).set_arguments(event.final_input)
            case MessageComplete():
                self._complete_content(event.final_content)
            case Notice():
                if event.level != "error" or not self._has_no_model:
                    self.add_notice(event.level, event.text)
            case RetryScheduled():
                self._schedule_retry(event)
            case ToolUseInputDelta():
                self.tokens.characters += len(event.partial_json)
                self._get_card(event.tool_use_id).append_arguments(event.partial_json)
            case UsageUpdate():
                self.tokens.set_reported(event.usage.output_tokens)
            case StreamError() | AttemptFailed():
                pass
            case _:
                assert_never(event)

    def _apply_fact(self, event: AnyFact) -> None:
        if isinstance(event, NOT_SHOWN):
            return
        match event:
            case TurnStarted():
                self._start_turn(event.message)
            case TurnSteered():
                self._add_user_message(event.message)
            case RouteDecided():
                self._apply_route(event)
            case LlmCallCompleted():
                self._resolve_failure()
                if event.message.metadata.audience is not Audience.MODEL:
                    self._complete_content(event.message.content)
                if parts := self._message.parts:
                    self.message_items[event.message.id] = parts[0]
                self._summary.add_request(event)
                self.tokens.end_request(event.usage.output_tokens)
                self.provider = ""
                self._end_message()
            case LlmCallFailed():
                self._fail_request(event)
            case ToolCalled():
                card = self._get_card(event.tool_use_id, event.tool_name)
                card.start(event.side_effects, event.hints, event.sandbox or "")
            case ToolCompleted():
                self._complete_call(event)
            case ToolFailed():
                self._fail_call(event)
            case ToolInputInvalid():
                card = self._get_card(event.tool_use_id, event.tool_name)
                card.show_problem("\n".join(event.validation_errors))
            case ToolConfirmationRequested():
                self._get_card(event.tool_use_id, event.tool_name).wait_for_approval()
            case ToolConfirmationResolved():
                are_others_open = any(card.status == "waiting" for card in self._cards.values())
                self._get_card(event.tool_use_id).mark_answered(waits=are_others_open)
            case ShellRan():
                self._finish_command(event)
            case TurnCompleted() | TurnCancelled():
                self._end_turn(event)
            case LlmCallStarted():
                self.provider = event.provider
            case FilesChanged():
                if text := describe_lasting_changes(event):
                    self.add_notice("warning", text)
            case ContextCompacted(summary=summary):
                self._add(SummaryItem(describe_summary(event), summary, get_original_hint()))
            case BranchSummarised(summary=summary):
                self._add(SummaryItem(describe_summary(event), summary))
            case _:
                self.add_notice(*describe_change(event))

    @property
    def _has_no_model(self) -> bool:
        """Whether an item already explains that no model is available."""
        route = self._summary.route
        return route is not None and route.chosen_model is None

    def _add(self, item: Item) -> None:
        if isinstance(item, ReplyItem | ToolCard):
            item.highlight = self.highlight
        item.expand(self.expands)
        self.items.append(item)
        self.changed_items.add(item)

    def _get_card(self, tool_use_id: str, name: str = "tool") -> ToolCard:
        if (card := self._cards.get(tool_use_id)) is None:
            card = self._cards[tool_use_id] = ToolCard(name, self._clock)
            self._add(card)
        self.changed_items.add(card)
        return card

    def _get_command_card(self, message_id: str, command: str, *, shared: bool) -> ToolCard:
        if (card := self._cards.get(message_id)) is None:
            card = self._cards[message_id] = CommandCard(command, shared, self._clock)
            self.message_items[message_id] = card
            self._add(card)
        return card

    def _finish_command(self, event: ShellRan) -> None:
        message = event.message
        shared = message.metadata.audience is not Audience.USER
        card = self._get_command_card(message.id, event.command, shared=shared)
        output_blocks = message.content[1:-1]
        output = "".join(block.text for block in output_blocks if isinstance(block, TextBlock))
        status: CardStatus = "ok" if event.exit_code == 0 else "failed"
        if event.exit_code is None:
            status = "cancelled"
        card.finish(status, output, event.duration_seconds, {"exit_code": event.exit_code})
        self.changed_items.add(card)

    def _start_turn(self, message: Message | None) -> None:
        self._resolve_failure()
        self._end_message()
        self._cards.clear()
        self._summary = turn_results.TurnSummary(before=self._summary)
        self.provider, self.tokens = "", TokenCount()
        if message is None:
            self.add_notice("info", "Retrying")
        else:
            self._add_user_message(message)

    def _add_user_message(self, message: Message) -> None:
        if message.metadata.audience is Audience.MODEL:
            return
        self._add(
            UserMessageItem(message.text_without_files, describe_attachments(message.content))
        )
        self.message_items[message.id] = self.items[-1]

    def _resolve_failure(self) -> None:
        """Mark the last failure as resolved, because the turn continues."""
        if self._failure is not None and not self._failure.is_resolved:
            self._failure.resolve()
            self.changed_items.add(self._failure)
        self._failure = None

    def _complete_content(self, content: Sequence[ContentBlock]) -> None:
        """Replace the streamed content with the final one."""
        self.changed_items.update(self._message.complete(content, self._show_call))

    def _show_call(self, call: ToolUseBlock) -> None:
        self._get_card(call.id, call.name).set_arguments(call.input)

    def _end_message(self, *, cancelled: bool = False) -> None:
        self._message.end(cancelled=cancelled)
        self.changed_items.update(self._message.parts)
        self._message = StreamingMessage(self._add)

    def _schedule_retry(self, event: RetryScheduled) -> None:
        """Start the countdown of the last failure to its retry."""
        if self._failure is not None:
            self._failure.schedule_retry(
                event.delay_seconds, f"{event.attempt} of {event.max_attempts}"
            )
            self.changed_items.add(self._failure)

    def _fail_request(self, event: LlmCallFailed) -> None:
        self._resolve_failure()
        self._summary.add_failure(event)
        self.tokens.end_request(event.usage.output_tokens if event.usage else 0)
        cancelled = event.error_class == ErrorClass.CANCELLED
        if event.message is not None:
            self._complete_content(event.message.content)
        for tool_use_id, name in event.cut_calls.items():
            self._get_card(tool_use_id, name).finish("cancelled", "", None, {})
        self._end_message(cancelled=cancelled)
        if not cancelled:
            advice = turn_results.get_advice(event, self._retry_key)
            self._failure = ErrorItem(
                turn_results.format_headline(event),
                event.error_message_redacted,
                advice,
                self._clock,
            )
            self._add(self._failure)

    def _apply_route(self, event: RouteDecided) -> None:
        self._summary.route = event
        if event.chosen_model is not None:
            return
        self._failure = ErrorItem(
            "No available model for this message",
            turn_results.format_rejections(event),
            turn_results.NO_MODEL_ADVICE,
        )
        self._add(self._failure)

    def _complete_call(self, event: ToolCompleted) -> None:
        result = event.message.result
        is_hidden = event.message.metadata.audience is Audience.MODEL
        parts = () if result is None or is_hidden else result.content
        images = [part.label for part in parts if isinstance(part, ImageBlock)]
        output = "\n".join(
            part.label if isinstance(part, ImageBlock) else part.text for part in parts
        )
        details = {**(event.message.metadata.details or {}), "images": images}
        card = self._get_card(event.tool_use_id, event.tool_name)
        status: CardStatus = "ok" if event.success else "failed"
        card.finish(status, output, event.latency_ms / 1000, details)

    def _fail_call(self, event: ToolFailed) -> None:
        status = _FAILURE_STATUS.get(event.error_class, "failed")
        card = self._get_card(event.tool_use_id, event.tool_name)
        card.finish(status, event.error_message, event.latency_ms / 1000, {})

    def _end_turn(self, event: TurnCompleted | TurnCancelled) -> None:
        cancelled = isinstance(event, TurnCancelled)
        self._end_message(cancelled=cancelled)
        if self._failure is not None and self._failure.is_waiting:
            self._failure.cancel_retry()
            self.changed_items.add(self._failure)
        for card in self._cards.values():
            if card.is_open:
                card.finish("cancelled", "", None, {})
                self.changed_items.add(card)
        if footer := self._summary.footer(event):
            self._add(footer)
