"""Sequential turns and slash commands."""

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import aclosing
from functools import partial
from typing import TYPE_CHECKING, Literal, Protocol

from msgspec.structs import replace

from yourtool.agent.commands import table
from yourtool.agent.commands.base import Invocation
from yourtool.agent.commands.command_table import CommandTable
from yourtool.agent.commands.parser import ShellLine, find_continuation, parse_input
from yourtool.errors import UsageError, YourtoolError
from yourtool.events.catalog import Event
from yourtool.events.deltas import ShellStarted, TextDelta, ThinkingDelta, ToolUseStart
from yourtool.events.model_calls import LlmCallCompleted
from yourtool.events.turns import TurnCancelled, TurnStarted, TurnSteered
from yourtool.messages.blocks import ContentBlock, TextBlock
from yourtool.models import TOUR_ID
from yourtool.settings.ui_config import EnterKey
from yourtool.tui.input.drafts import Draft, may_mention_files
from yourtool.tui.input.message_queue import (
    MessageQueue,
    QueuedMessage,
    QueuePlace,
    find_failure_reason,
    find_stop_reason,
)
from yourtool.tui.input.pending_attachments import PendingAttachments
from yourtool.tui.lines.slices import Slices

if TYPE_CHECKING:  # the core opens after the first paint
    from yourtool.agent.session.session import Session

_START_EVENTS = (TurnStarted, ShellStarted)  # the message was accepted
_REPLY_EVENTS = (TextDelta, ThinkingDelta, ToolUseStart, LlmCallCompleted)

# Reasons to pause the queue
_NOT_SENT = "the message could not be sent"
_COMMAND_FAILED = "a command failed"
_FAULT = "the program failed"
_SESSION_CHANGED = "the session changed"
_PROMPT_IN_USE = "a command waits for an empty prompt"


class TurnDisplay(Protocol):
    """What a runner needs from the screen."""

    def run_worker(self, work: Callable[[], Awaitable[None]], *, group: str) -> object:
        """Run a coroutine function in the background."""
        ...

    def mark_turn_started(self) -> None:
        """Show that a turn runs."""
        ...

    def show_event(self, event: Event) -> None:
        """Show an event of the turn."""
        ...

    def mark_turn_ended(self) -> None:
        """Show that no turn runs."""
        ...

    def refresh_status(self) -> None:
        """Show the state of the runner."""
        ...

    def scroll_to_end(self) -> None:
        """Scroll to where the effects of the input appear."""
        ...

    def note(self, level: Literal["info", "warning", "error"], text: str) -> None:
        """Show a notice."""
        ...

    def report_exception(self, error: Exception) -> None:
        """Log an unexpected exception and show a notice."""
        ...

    def restore_draft(self, draft: Draft, *, selected: bool) -> bool:
        """Put a draft back into the prompt; return False if the prompt has text."""
        ...

    def has_text(self) -> bool:
        """Return whether the user is writing something in the prompt."""
        ...

    async def run_command(self, invocation: Invocation) -> None:
        """Run a slash command."""
        ...


class TurnRunner:
    """The session with its running turn and its queue; the only consumer of a turn's events."""

    def __init__(self, display: TurnDisplay, attachments: PendingAttachments) -> None:
        self.session: Session | None = None
        self.commands: CommandTable | None = None  # of the session
        self.queue = MessageQueue()
        self.is_running = False
        self.is_stopping = False
        """Whether the user stopped the running turn."""
        self.is_command_late = False
        """Whether the running command waited, so that the user may be typing something else."""
        self._display = display
        self._attachments = attachments
        self._command_running = self._closes = False
        self.enter: EnterKey = "steer"
        """What Enter does while a turn runs."""
        self._turn_ended = asyncio.Event()
        self._turn_ended.set()

    @property
    def offers_tour(self) -> bool:
        """Whether Enter in the empty prompt starts the tour of the demo."""
        session = self.session
        if session is None or session.model.id != TOUR_ID or not self._can_send:
            return False
        return not session.state.messages and not len(self.queue)

    def set_session(self, session: "Session") -> None:
        """Continue with another session; a queue that the old one paused waits for the user."""
        if self.session is not None and self.queue.pause_reason:
            self.queue.pause(_SESSION_CHANGED, can_retry=session.state.branch.last_turn_failed)
        self.session = session
        session.steer_with(self._deliver)
        session.processes.show_with(self._display.show_event)

    # ── input ───────────────────────────────────────────────────────────────────────────────────

    def submit(self, draft: Draft, place: QueuePlace | None = None) -> None:
        """Run a command or send a message, or queue it if something else runs or waits.

        `place`: where the draft was in the queue, if it was taken from there for editing.
        """
        self._display.scroll_to_end()
        parsed = parse_input(draft.text, self.commands)
        if isinstance(parsed, Invocation) and self._runs_at_once(parsed):
            if parsed.command is table.STEER:
                self.steer(replace(draft, text=parsed.argument))
            else:
                self._start_command(parsed, draft)
        elif place is not None and place.steers and self.is_running:
            self.steer(draft, place)
        elif not self._can_send or (len(self.queue) and (place or not self.queue.pause_reason)):
            self._enqueue(QueuedMessage(draft), place)
        else:
            self._send(draft)

    def steer(self, draft: Draft, place: QueuePlace | None = None) -> None:
        """Give a message to the running turn, which gets it after its next tool call.

        Without text, the last waiting message is given to the turn. Without a turn, the draft is
        submitted. A turn takes no commands, so these are submitted, too.
        """
        if not draft.full_text.strip():
            if self.queue.waiting:
                self.switch(self.queue.waiting[-1])
        elif not self.is_running or parse_input(draft.text, self.commands) is not None:
            self.submit(draft)
        elif content := self._build_steering(draft):
            self._enqueue(QueuedMessage(draft, content), place)
        else:
            self._restore(draft)

    def offer(self, draft: Draft, place: QueuePlace | None = None) -> None:
        """Give a message to the running turn if that can take it and none waits; else submit it."""
        is_next = place is None and self.is_running and not self.queue.waiting
        is_message = is_next and parse_input(draft.text, self.commands) is None
        if is_message and (content := self._build_steering(draft, warns=False)):
            self._enqueue(QueuedMessage(draft, content), None)
        else:
            self.submit(draft, place)

    def switch(self, message: QueuedMessage) -> None:
        """Move a message to the other list: to the end for the turn, to the front for after it."""
        if message.steers:
            self.queue.switch(message)
        elif not self.is_running or parse_input(message.draft.text, self.commands) is not None:
            self._display.note("warning", "Only a running turn takes messages, and no commands.")
        elif content := self._build_steering(message.draft):
            self.queue.switch(message, content)

    def resume(self) -> None:
        """Send the queued messages if the queue is paused."""
        if self.queue.pause_reason and not self.is_running:
            self._display.scroll_to_end()
            self.queue.resume()
            self.send_next()

    def send_next(self) -> None:
        """Send or run the next queued message unless the queue is paused."""
        if not self._can_send or self.queue.pause_reason or not self.queue.waiting:
            return
        parsed = parse_input(self.queue.drafts[0].text, self.commands)
        opens_list = isinstance(parsed, Invocation) and not parsed.command.during_turn
        if opens_list and self._display.has_text():  # which the list would get
            self.queue.pause(_PROMPT_IN_USE)
            return
        if (draft := self.queue.pop()) is not None and isinstance(parsed, Invocation):
            self._start_command(parsed, draft, is_late=True)
        elif draft is not None:
            self._send(draft)
        self._display.refresh_status()

    def _runs_at_once(self, invocation: Invocation) -> bool:
        """Whether a command waits for nothing."""
        command = invocation.command
        if self._command_running or (self.session is None and command.needs_session):
            return False
        is_behind = len(self.queue.waiting) > 0 and not self.queue.pause_reason
        if invocation.changes_later_messages and is_behind:
            return False
        return command.during_turn or not self.is_running

    def _enqueue(self, message: QueuedMessage, place: QueuePlace | None) -> None:
        if place is None:
            self.queue.add(message)
        else:
            self.queue.put_back(message, place)
            if self.queue.waiting[:1] == [message]:
                self.resume()
        self._display.refresh_status()

    def _build_steering(self, draft: Draft, *, warns: bool = True) -> tuple[ContentBlock, ...]:
        """Return the content of a message to the running turn; empty, with a notice, if none."""
        assert self.session is not None, "a turn belongs to a session"
        try:
            blocks = (TextBlock(_unescape(draft.full_text)), *draft.media)
            return self.session.build_steering(blocks)
        except UsageError as error:
            if warns:
                self._display.note("warning", str(error))
            return ()

    async def _deliver(self) -> tuple[ContentBlock, ...] | None:
        """Return the next message to the running turn, with the files that it mentions."""
        if (message := self.queue.deliver()) is None:
            return None
        assert self.session is not None, "a turn belongs to a session"
        try:
            return (*message.content, *await _read_files(self.session, message.draft.text))
        except UsageError as error:
            self._display.note("warning", str(error))
            return message.content

    @property
    def _can_send(self) -> bool:
        return self.session is not None and not self.is_running and not self._command_running

    def _send(self, draft: Draft) -> None:
        assert self.session is not None, "drafts are sent only when a session is open"
        self.start_turn(_start_events(self.session, draft, self._attachments), draft)

    def _restore(self, draft: Draft) -> None:
        """Put a draft back into the prompt, or to the front of the queue."""
        if not self._display.restore_draft(draft, selected=True):
            self.queue.add(QueuedMessage(draft), first=True)
            self.queue.pause(_NOT_SENT)

    def _give_back(self, draft: Draft | None) -> None:
        """Put the prompt of a turn that was stopped before its reply into an empty prompt."""
        if draft is not None and self._display.restore_draft(draft, selected=False):
            self._attachments.restore()

    # ── turns ───────────────────────────────────────────────────────────────────────────────────

    def start_turn(self, events: AsyncGenerator[Event, None], draft: Draft | None = None) -> None:
        """Start a turn; `is_running` is set immediately, and the queue continues after it."""
        self.is_running = True
        self.queue.start_turn()
        self._turn_ended.clear()
        self._display.run_worker(partial(self._play, events, draft), group="turn")

    def stop(self) -> None:
        """Stop the running turn."""
        if self.session is None or not self.is_running:
            return
        if self.session.cancel(is_leaving=self._closes):
            self.is_stopping = True
            self._display.refresh_status()

    def close(self) -> None:
        """Stop the running turn at the exit; its session has the prompt, the next does not."""
        self._closes = True
        self.stop()
        self.stop()  # its workers, too

    async def wait_for_turn(self) -> None:
        """Wait until the running turn has ended, successfully or not."""
        await self._turn_ended.wait()

    async def _play(self, events: AsyncGenerator[Event, None], draft: Draft | None) -> None:
        """Show the events of a turn, then send the next queued message."""
        self._display.mark_turn_started()
        try:
            reason = await self._show_events(events, draft)
        finally:
            self.is_running = self.is_stopping = False
            self._turn_ended.set()
        self.queue.end_turn()
        self._display.mark_turn_ended()
        assert self.session is not None, "a turn belongs to a session"
        can_retry = self.session.state.branch.last_turn_failed
        self.queue.pause(reason or find_failure_reason(self.session), can_retry=can_retry)
        self.send_next()

    async def _show_events(self, events: AsyncGenerator[Event, None], draft: Draft | None) -> str:
        """Show the events of a turn; return a reason to pause the queue or an empty string."""
        reason, is_accepted, has_reply = "", False, False
        show, slices = self._display.show_event, Slices(0)
        try:
            async with aclosing(events):
                async for event in events:
                    if isinstance(event, _START_EVENTS):  # earlier events end an earlier turn
                        is_accepted, reason = True, ""
                    if isinstance(event, TurnSteered):
                        self.queue.confirm()
                    if command := find_continuation(event):
                        self.queue.add(QueuedMessage(Draft(command)), first=True)
                    has_reply = has_reply or isinstance(event, _REPLY_EVENTS)
                    reason = find_stop_reason(event) or reason
                    show(event)
                    if isinstance(event, TurnCancelled) and is_accepted:
                        self._give_back(None if has_reply or self._closes else draft)
                    if slices.is_over:
                        await slices.pause()
        except YourtoolError as error:
            reason = _NOT_SENT
            self._display.note("error", str(error))
            if draft is not None and not is_accepted:
                self._attachments.restore()
                self._restore(draft)
        except Exception as error:  # noqa: BLE001 - the top level of this front end, where faults end
            reason = _FAULT
            self._display.report_exception(error)
        return reason

    # ── commands ────────────────────────────────────────────────────────────────────────────────

    def _start_command(self, invocation: Invocation, draft: Draft, is_late: bool = False) -> None:
        self._command_running, self.is_command_late = True, is_late
        self._display.run_worker(partial(self._run_command, invocation, draft), group="command")

    async def _run_command(self, invocation: Invocation, draft: Draft) -> None:
        """Run a slash command; if it fails, restore its text and pause the queue."""
        try:
            await self._display.run_command(invocation)
        except YourtoolError as error:
            self._display.note("error", str(error))
            self._restore(draft)
            if not self.is_running and not self.queue.pause_reason:
                self.queue.pause(_COMMAND_FAILED)
        except Exception as error:  # noqa: BLE001 - the top level of this front end, where faults end
            self._display.report_exception(error)
        finally:
            self._command_running = False
        self._display.refresh_status()
        self.send_next()


def _start_events(
    session: "Session", draft: Draft, attachments: PendingAttachments
) -> AsyncGenerator[Event, None]:
    """Return the events of a draft: run its shell command, or send it with the attachments.

    The `!` must be typed in the prompt; a folded paste that starts with it is text.
    """
    text = draft.full_text
    if draft.text.startswith("!") and isinstance(line := parse_input(text), ShellLine):
        return session.run_shell(line.command, shared=line.shared)
    content = attachments.build_content(_unescape(text), draft.media)
    return _send_with_files(session, draft.text, content)


def _unescape(text: str) -> str:
    r"""Return a message without the backslash of a literal `!`."""
    return text[1:] if text.startswith("\\!") else text


async def _send_with_files(
    session: "Session", typed: str, content: str | tuple[ContentBlock, ...]
) -> AsyncGenerator[Event, None]:
    """Send a prompt with the files that its typed text mentions, not those in folded pastes."""
    if blocks := await _read_files(session, typed):
        first = (TextBlock(content),) if isinstance(content, str) else content
        content = (*first, *blocks)
    async with aclosing(session.send(content)) as events:
        async for event in events:
            yield event


async def _read_files(session: "Session", text: str) -> tuple[ContentBlock, ...]:
    """Return the content of the files that a text mentions."""
    if not may_mention_files(text):
        return ()
    return await session.mentioned_files.attach(text)
