"""A screen that runs turns: it sends and queues messages and shows the events."""

import asyncio
import logging
import time
from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing
from typing import TYPE_CHECKING, Any, Literal

from textual import getters, work
from textual.message import Message
from textual.screen import Screen
from textual.timer import Timer
from textual.worker import Worker

from yourtool.agent.commands.base import Invocation
from yourtool.agent.commands.modes import MODE_DESCRIPTIONS
from yourtool.agent.commands.parser import InvalidCommand, ParsedInput, parse_input
from yourtool.amounts import format_spending
from yourtool.config import Mode
from yourtool.effects import Confirmation, Decision
from yourtool.errors import YourtoolError
from yourtool.events.catalog import Event
from yourtool.events.deltas import Notice, ShellStarted, TextDelta, ThinkingDelta, ToolUseStart
from yourtool.events.facts import Fact
from yourtool.events.turns import TurnStarted
from yourtool.memory import SHORTAGE, is_shortage
from yourtool.tui.completer import Completer
from yourtool.tui.drafts import Draft
from yourtool.tui.history import History
from yourtool.tui.pending_attachments import PendingAttachments
from yourtool.tui.screens import hold_reasons
from yourtool.tui.screens.user_shell import shell_hint, start_events
from yourtool.tui.transcript.item_view import SLICE_SECONDS
from yourtool.tui.transcript.timeline import Timeline
from yourtool.tui.transcript.transcript import Transcript
from yourtool.tui.widgets.approval import ApprovalPrompt
from yourtool.tui.widgets.notices import Banner
from yourtool.tui.widgets.prompt import Prompt
from yourtool.tui.widgets.queue import Queue
from yourtool.tui.widgets.status import StatusFields, StatusLine, describe_activity, find_branch

if TYPE_CHECKING:  # the core opens after the first paint, and so do its imports
    from yourtool.agent.runtime import Runtime
    from yourtool.agent.session.session import Session

HINT = "/help · @ file or model · Shift+Tab mode"
HINT_BUSY = "Esc stops · Enter queues"
HINT_APPROVAL = "Enter queues"
HINT_UNSEEN = "↓ new output · Ctrl+End"
_STATUS_EVENTS = (Fact, Notice)  # events that change the status line
_START_EVENTS = (TurnStarted, ShellStarted)  # the message was accepted
_DELTAS = (TextDelta, ThinkingDelta, ToolUseStart)  # shown as the activity

_log = logging.getLogger(__name__)


class TurnScreen(Screen[None]):
    """Shows one session at a time; the only consumer of its events."""

    DEFAULT_CSS = """
    TurnScreen {
        layout: vertical;
        Transcript { height: 1fr; min-height: 1; }
        &.-approval {
            Banner { display: none; }
            Prompt { max-height: 5; }
            &.-short Queue { display: none; }
            &.-short Prompt { max-height: 1; }
        }
        &.-short {
            Prompt { border: none; min-height: 1; max-height: 3; }
            Banner { max-height: 2; }
            #preview { max-height: 3; }
            ApprovalPrompt.-expanded #preview { max-height: 3; }
        }
    }
    """
    AUTO_FOCUS = "Prompt"
    VERTICAL_BREAKPOINTS = [(0, "-short"), (16, "-tall")]  # noqa: RUF012 - Textual's form

    class AttentionNeeded(Message):
        """The user's attention is needed."""

        def __init__(self, reason: str) -> None:
            super().__init__()
            self.reason = reason

    transcript = getters.query_one(Transcript)
    banner = getters.query_one(Banner)
    queue = getters.query_one(Queue)
    approval_prompt = getters.query_one(ApprovalPrompt)
    prompt = getters.query_one(Prompt)
    status_line = getters.query_one(StatusLine)

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        super().__init__()
        self.runtime: Runtime | None = None
        self.session: Session | None = None
        self.history: History | None = None
        self.completer = Completer()
        self.attachments = PendingAttachments(lambda text: self.banner.set_notice("attached", text))
        self.turn_running = False
        """Whether a turn is running."""
        self.turn: Worker[None] | None = None
        """The worker of the current or last turn."""
        self.opening: asyncio.Task[Any] | None = None
        """The task that opens another session."""
        self.status_without_session = "opening …"
        self.clock = clock
        self._started_at = 0.0
        self._stopping = self._command_running = False
        self._ticker: Timer | None = None
        self._branch = ""
        self._unconfirmed_text = ""
        self._default_hint = HINT

    def on_mount(self) -> None:
        """Show the hint and the status before anything is loaded."""
        self.set_hint(HINT)
        self.watch(self.transcript, "unseen", self._show_unseen, init=False)
        self.refresh_status()

    def on_unmount(self) -> None:
        """Release the draft file."""
        if self.history is not None:
            self.history.close()

    # ── sessions ────────────────────────────────────────────────────────────────────────────────

    def set_session(self, runtime: "Runtime", session: "Session", timeline: Timeline) -> None:
        """Show a session instead of the previous one and send the next queued message."""
        first = self.runtime is None
        self.runtime, self.session = runtime, session
        self.transcript.set_timeline(timeline, keeps_notices=first)
        self._branch = find_branch(session.workspace)
        self.completer.files = ()
        self.completer.values = {
            **self.completer.values,
            "mode": [(mode.value, MODE_DESCRIPTIONS[mode]) for mode in Mode],
            "provider": [(row.name, row.label) for row in runtime.registry.providers()],
        }
        self.update_model_completions()
        if first:
            self._restore_draft(runtime)
        self.update_mode_banner()
        self.refresh_status()
        self.send_next()

    def update_model_completions(self) -> None:
        """Use the available models for completion."""
        if (runtime := self.runtime) is not None:
            usable = [
                (model.id, ", ".join(model.aliases))
                for model in runtime.catalogue.all()
                if runtime.registry.configuration_problem(model.provider) is None
            ]
            self.completer.values = {**self.completer.values, "model": usable}

    def note(self, level: Literal["info", "warning", "error"], text: str) -> None:
        """Show a notice in the transcript; it is not part of the session."""
        self.transcript.add_notice(level, text)

    async def confirm(self, confirmation: Confirmation) -> Decision:
        """Return the user's answer to an approval prompt; the agent calls this during a turn."""
        self.post_message(self.AttentionNeeded("approval needed"))
        self.set_hint(HINT_APPROVAL)  # Esc belongs to the approval prompt
        self._shrink_other_widgets(for_approval=True)
        panel = self.approval_prompt
        try:
            decision = await panel.ask(confirmation)
        finally:
            if panel.is_running and panel.is_attached:  # the screen may be closing
                self._shrink_other_widgets(for_approval=panel.confirmation is not None)
        if panel.confirmation is None:
            self.set_hint(HINT_BUSY)
        return decision

    def _shrink_other_widgets(self, *, for_approval: bool) -> None:
        """Shrink other widgets so that the approval prompt, prompt and status line fit."""
        self.set_class(for_approval, "-approval")
        self.queue.set_compact(for_approval)

    # ── input ───────────────────────────────────────────────────────────────────────────────────

    def take(self, draft: Draft) -> None:
        """Run or send the content of the prompt, or queue it if a turn or command is running."""
        if not draft.full_text.strip():
            if self.queue.pause_reason and not self.turn_running:
                self.queue.resume()
                self.send_next()
            return
        parsed = parse_input(draft.text)
        if isinstance(parsed, InvalidCommand) and not self._is_confirmed_text(draft, parsed):
            self.note("warning", parsed.message)
            return
        if isinstance(parsed, Invocation) and self.turn_running and not parsed.command.during_turn:
            self.note("warning", f"`/{parsed.command.name}` needs the turn to end; Esc stops it.")
            return
        self._add_to_history(draft, parsed)
        self.prompt.load(Draft())
        if (
            isinstance(parsed, Invocation)
            and not self._command_running
            and (self.session is not None or not parsed.command.needs_session)
        ):
            self._start_command(parsed, draft)
        elif (self.session is None or self.turn_running or self._command_running) or (
            len(self.queue) and not self.queue.pause_reason
        ):
            self.queue.add(draft)
            self.refresh_status()
        else:
            self.send(draft)

    def send(self, draft: Draft) -> None:
        """Start a turn with a draft, or run its shell command."""
        assert self.session is not None, "drafts are sent only when a session is open"
        self.start_turn(start_events(self.session, draft, self.attachments), draft)

    def start_turn(self, events: AsyncGenerator[Event, None], draft: Draft | None = None) -> None:
        """Start a turn; `turn_running` is set immediately."""
        self.turn_running = True
        self.turn = self.play(events, draft)

    def send_next(self) -> None:
        """Send or run the next queued message unless the queue is held."""
        busy = self.turn_running or self._command_running
        if self.session is None or busy or self.queue.pause_reason:
            return
        if (draft := self.queue.pop()) is not None:
            parsed = parse_input(draft.text)
            if isinstance(parsed, Invocation):
                self._start_command(parsed, draft)
            else:
                self.send(draft)
        self.refresh_status()

    async def run_command(self, invocation: Invocation) -> None:
        """Run a slash command; implemented by the subclass."""
        raise NotImplementedError

    def _start_command(self, invocation: Invocation, draft: Draft) -> None:
        self._command_running = True
        self.execute_command(invocation, draft)

    @work(group="command")
    async def execute_command(self, invocation: Invocation, draft: Draft) -> None:
        """Run a slash command; if it fails, restore its text and hold the queue."""
        try:
            await self.run_command(invocation)
        except YourtoolError as error:
            self.note("error", str(error))
            self._restore_prompt(draft)
            if not self.turn_running and not self.queue.pause_reason:
                self.queue.pause(hold_reasons.COMMAND_FAILED)
        except Exception as error:  # noqa: BLE001 - the top level of this front end, where faults end
            self._report_exception(error)
        finally:
            self._command_running = False
        self.refresh_status()
        self.send_next()

    # ── the turn ────────────────────────────────────────────────────────────────────────────────

    @work(group="turn")
    async def play(self, events: AsyncGenerator[Event, None], draft: Draft | None = None) -> None:
        """Show the events of a turn, then send the next queued message."""
        self._mark_turn_started()
        hold_reason, started = "", False
        last: type[Event] | None = None
        show = self.transcript.apply  # looked up once: a reply has thousands of events
        try:
            async with aclosing(events):
                paused = self.clock()
                async for event in events:
                    if isinstance(event, _START_EVENTS):  # earlier events end an earlier turn
                        started, hold_reason = True, ""
                    hold_reason = hold_reasons.user_stop_reason(event) or hold_reason
                    show(event)
                    kind = type(event)
                    if isinstance(event, _STATUS_EVENTS) or (kind is not last and kind in _DELTAS):
                        last = kind
                        self.refresh_status()
                    if self.clock() - paused > SLICE_SECONDS:
                        await asyncio.sleep(0)
                        paused = self.clock()
        except YourtoolError as error:
            hold_reason = hold_reasons.NOT_SENT
            self.note("error", str(error))
            if draft is not None and not started:
                self.attachments.restore()
                self._restore_prompt(draft)
        except Exception as error:  # noqa: BLE001 - the top level of this front end, where faults end
            hold_reason = hold_reasons.FAULT
            self._report_exception(error)
        self._mark_turn_ended()
        self.post_message(self.AttentionNeeded("the turn is over"))
        assert self.session is not None, "a turn belongs to a session"
        reason = hold_reason or hold_reasons.failure_reason(self.session)
        self.queue.pause(reason, can_retry=self.session.state.last_turn_failed)
        self.send_next()

    def stop(self) -> None:
        """Stop the running turn and show that it is stopping."""
        if self.turn_running and self.session is not None and self.session.cancel():
            self._stopping = True
            self.refresh_status()

    async def show_change(self, events: AsyncGenerator[Event, None]) -> None:
        """Show the events of a change outside a turn."""
        async with aclosing(events):
            async for event in events:
                self.transcript.apply(event)
        self.refresh_status()

    # ── state display ───────────────────────────────────────────────────────────────────────────

    def refresh_status(self) -> None:
        """Update the status line."""
        session, runtime = self.session, self.runtime
        if session is None or runtime is None:
            self.status_line.status = StatusFields(
                model=self.status_without_session, queued=len(self.queue), alert=self._urgent_hint
            )
            return
        state, model = session.state, session.model
        window = model.capabilities.max_context_tokens
        pending = state.pending_model
        item = self.transcript.active_item
        activity = "stopping" if self._stopping else describe_activity(state.facts, item)
        self.status_line.status = StatusFields(
            model=model.id,
            pending_model="" if pending is None else pending or "default",
            mode=session.mode.value,
            context=min(100, 100 * state.context_tokens // window) if window else None,
            cost=format_spending(state.cost_usd, unpriced=state.unpriced),
            activity=activity if self.turn_running else "",
            seconds=int(self.clock() - self._started_at) if self.turn_running else None,
            silent_seconds=self.transcript.silent_seconds,
            queued=len(self.queue),
            branch=self._branch,
            directory=str(runtime.options.workspace),
            alert=self._urgent_hint,
            is_new_session=not state.messages and not self.turn_running,
        )

    def _mark_turn_started(self) -> None:
        self.turn_running, self._stopping, self._started_at = True, False, self.clock()
        self.set_hint(HINT_BUSY)
        self._ticker = self.set_interval(1, self.refresh_status)
        self.refresh_status()

    def _mark_turn_ended(self) -> None:
        self.turn_running = self._stopping = False
        if self._ticker is not None:
            self._ticker.stop()
        self.set_hint(HINT)
        if self.session is not None:
            self._branch = find_branch(self.session.workspace)
        self.completer.files = ()  # the turn may have made some
        self.refresh_status()

    def set_hint(self, text: str = "") -> None:
        """Show a hint at the prompt; a shell command in the prompt has its own."""
        self._default_hint = text or self._default_hint
        shown = shell_hint(self.prompt.text) or self._default_hint
        if shown != self.prompt.border_subtitle:
            self.prompt.border_subtitle = shown
            self.refresh_status()

    def _show_unseen(self, unseen: bool) -> None:
        self.prompt.border_title = HINT_UNSEEN if unseen else ""
        self.refresh_status()

    @property
    def _urgent_hint(self) -> str:
        """The text of the prompt's border if the screen is too short for a border."""
        if not self.has_class("-short"):
            return ""
        hint = str(self.prompt.border_subtitle or "")
        if hint not in (HINT, HINT_BUSY, HINT_APPROVAL):
            return hint
        return HINT_UNSEEN if self.transcript.has_unseen_rows else ""

    def update_mode_banner(self) -> None:
        """Show a banner in the approval mode `auto`."""
        assert self.session is not None, "a mode belongs to a session"
        auto = self.session.mode is Mode.AUTO
        text = "AUTO: tools run without approval. Shift+Tab switches back to ask." if auto else None
        self.banner.set_notice("mode", text)

    # ── internals ───────────────────────────────────────────────────────────────────────────────

    def _is_confirmed_text(self, draft: Draft, mistake: InvalidCommand) -> bool:
        again = bool(draft.text) and self._unconfirmed_text == draft.text
        self._unconfirmed_text = draft.text if mistake.path_like and not again else ""
        return again

    def _add_to_history(self, draft: Draft, parsed: ParsedInput | None) -> None:
        secret = isinstance(parsed, Invocation) and parsed.command.name == "key"
        if self.history is not None and not secret:
            self.history.add(draft)
            self.history.save_draft(Draft())

    def _restore_draft(self, runtime: "Runtime") -> None:
        self.history = History(runtime.paths.state, runtime.options.workspace)
        left = self.history.claim_draft()
        if left.text and not self.prompt.text:
            self.prompt.load(left)
        else:
            self.history.add(left)

    def _restore_prompt(self, draft: Draft) -> None:
        if self.prompt.text:
            self.queue.add(draft, first=True)
            self.queue.pause(hold_reasons.NOT_SENT)
        else:
            self.prompt.load(draft, selected=True)

    def _report_exception(self, error: Exception) -> None:
        _log.error("a fault in the interface or the core", exc_info=error)
        details = f" See {self.runtime.paths.log_file}." if self.runtime else ""
        message = f"Failed: {SHORTAGE}." if is_shortage(error) else f"Internal error.{details}"
        self.note("error", message)
