"""The running of turns on a screen: what is sent, what waits, and what is shown of it."""

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

from yourtool.agent.commands import Invocation, Mistake, Typed, parse
from yourtool.config import Mode
from yourtool.deltas import Notice, ShellStarted, TextDelta, ThinkingDelta, ToolUseStart
from yourtool.effects import Confirmation, Decision
from yourtool.errors import YourtoolError
from yourtool.events import Event, Fact, TurnStarted
from yourtool.memory import SHORTAGE, is_shortage
from yourtool.tui.completer import Completer
from yourtool.tui.drafts import Draft
from yourtool.tui.history import History
from yourtool.tui.pending_attachments import Attached
from yourtool.tui.reports import spent
from yourtool.tui.screens.queue_hold import COMMAND_FAILED, FAULT, NOT_SENT, stopped, trouble
from yourtool.tui.screens.user_shell import begun, shell_hint
from yourtool.tui.widgets.approval import Consent
from yourtool.tui.widgets.notices import MODE_WORDS, Banner
from yourtool.tui.widgets.prompt import Prompt
from yourtool.tui.widgets.queue import Queue
from yourtool.tui.widgets.status import StatusFields, StatusLine, branch, doing
from yourtool.tui.widgets.timeline import Story
from yourtool.tui.widgets.transcript import Transcript
from yourtool.tui.widgets.view import SLICE_SECONDS

if TYPE_CHECKING:  # the core opens after the first paint, and so do its imports
    from yourtool.agent.runtime import Runtime
    from yourtool.agent.session import Session

HINT = "/help · @ file or model · Shift+Tab mode"
HINT_BUSY = "Esc stops · Enter queues"
HINT_ASKED = "Enter queues"
UNSEEN = "↓ new output · Ctrl+End"
_TOLD = (Fact, Notice)  # events that the status line shows something of
_BEGINNINGS = (TurnStarted, ShellStarted)  # the draft is stored, or its command runs
_ARRIVING = (TextDelta, ThinkingDelta, ToolUseStart)  # which of them comes, it says as well

_log = logging.getLogger(__name__)


class TurnScreen(Screen[None]):
    """One session at a time; the only consumer of its events."""

    DEFAULT_CSS = """
    TurnScreen {
        layout: vertical;
        Transcript { height: 1fr; min-height: 1; }
        &.-asked {
            Banner { display: none; }
            Prompt { max-height: 5; }
            &.-short Queue { display: none; }
            &.-short Prompt { max-height: 1; }
        }
        &.-short {
            Prompt { border: none; min-height: 1; max-height: 3; }
            Banner { max-height: 2; }
            #preview { max-height: 3; }
            Consent.-expanded #preview { max-height: 3; }
        }
    }
    """
    AUTO_FOCUS = "Prompt"
    VERTICAL_BREAKPOINTS = [(0, "-short"), (16, "-tall")]  # noqa: RUF012 - Textual's form

    class Wanted(Message):
        """There is something for the user to look at."""

        def __init__(self, why: str) -> None:
            super().__init__()
            self.why = why

    transcript = getters.query_one(Transcript)
    banner = getters.query_one(Banner)
    queue = getters.query_one(Queue)
    consent = getters.query_one(Consent)
    prompt = getters.query_one(Prompt)
    status_line = getters.query_one(StatusLine)

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        super().__init__()
        self.runtime: Runtime | None = None
        self.session: Session | None = None
        self.history: History | None = None
        self.completer = Completer()
        self.attached = Attached(lambda text: self.banner.tell("attached", text))
        self.playing = False
        """A turn runs, from its first event to its last."""
        self.turn: Worker[None] | None = None
        """The last turn, running or over."""
        self.opening: asyncio.Task[Any] | None = None
        """What opens a session in place of this one."""
        self.clock = clock
        self._began = 0.0
        self._stopping = self._obeying = False
        self._ticker: Timer | None = None
        self._branch = ""
        self._meant_as_text = ""
        self._hint = HINT

    def on_mount(self) -> None:
        """Say what can be done, before anything is loaded."""
        self.hint(HINT)
        self.watch(self.transcript, "unseen", self._show_unseen, init=False)
        self.refresh_status()

    def on_unmount(self) -> None:
        """Let the draft's place go."""
        if self.history is not None:
            self.history.close()

    # ── sessions ────────────────────────────────────────────────────────────────────────────────

    def attach(self, runtime: "Runtime", session: "Session", story: Story) -> None:
        """Show a session in place of the one before, and go on with what waits."""
        first = self.runtime is None
        self.runtime, self.session = runtime, session
        self.transcript.begin(story, keeps_remarks=first)
        self._branch = branch(session.workspace)
        self.completer.files = ()
        self.completer.values = {
            **self.completer.values,
            "mode": [(mode.value, MODE_WORDS[mode]) for mode in Mode],
            "provider": [(row.name, row.label) for row in runtime.registry.providers()],
        }
        self.offer_models()
        if first:
            self._recall_draft(runtime)
        self.tell_mode()
        self.refresh_status()
        self.send_next()

    def offer_models(self) -> None:
        """Complete the names of the models that can be used now."""
        if (runtime := self.runtime) is not None:
            usable = [
                (model.id, ", ".join(model.aliases))
                for model in runtime.catalogue.all()
                if runtime.registry.configuration_problem(model.provider) is None
            ]
            self.completer.values = {**self.completer.values, "model": usable}

    def note(self, level: Literal["info", "warning", "error"], text: str) -> None:
        """Say something in the transcript that is not part of the conversation."""
        self.transcript.note(level, text)

    async def confirm(self, confirmation: Confirmation) -> Decision:
        """Ask the user; called by the agent from within the turn."""
        self.post_message(self.Wanted("a question waits for you"))
        self.hint(HINT_ASKED)  # Esc is the question's
        self._make_room(for_question=True)
        consent = self.consent
        try:
            decision = await consent.ask(confirmation)
        finally:
            if consent.is_running and consent.is_attached:  # the screen may be closing
                self._make_room(for_question=consent.question is not None)
        if consent.question is None:
            self.hint(HINT_BUSY)
        return decision

    def _make_room(self, *, for_question: bool) -> None:
        """Shrink what surrounds a question, so that it, the prompt and the status line fit."""
        self.set_class(for_question, "-asked")
        self.queue.set_small(for_question)

    # ── what the user sends ─────────────────────────────────────────────────────────────────────

    def take(self, draft: Draft) -> None:
        """Obey or send what the prompt holds, after the command before it is done."""
        if not draft.full.strip():
            if self.queue.held and not self.playing:
                self.queue.go_on()
                self.send_next()
            return
        parsed = parse(draft.text)
        if isinstance(parsed, Mistake) and not self._confirmed_as_text(draft, parsed):
            self.note("warning", parsed.message)
            return
        if isinstance(parsed, Invocation) and self.playing and not parsed.command.during_turn:
            self.note("warning", f"`/{parsed.command.name}` waits for the turn: Esc stops it.")
            return
        self._remember(draft, parsed)
        self.prompt.load(Draft())
        if (
            isinstance(parsed, Invocation)
            and not self._obeying
            and (self.session is not None or not parsed.command.needs_session)
        ):
            self._begin_to_obey(parsed, draft)
        elif (self.session is None or self.playing or self._obeying) or (
            len(self.queue) and not self.queue.held
        ):
            self.queue.add(draft)
            self.refresh_status()
        else:
            self.send(draft)

    def send(self, draft: Draft) -> None:
        """Start a turn with a draft, or run the command line that it is."""
        assert self.session is not None, "nothing is sent before there is a session"
        self.begin(begun(self.session, draft, self.attached), draft)

    def begin(self, events: AsyncGenerator[Event, None], draft: Draft | None = None) -> None:
        """Start a turn; the next key finds it running."""
        self.playing = True
        self.turn = self.play(events, draft)

    def send_next(self) -> None:
        """Go on with what waits, unless it is held."""
        if self.session is None or self.playing or self._obeying or self.queue.held:
            return
        if (draft := self.queue.take()) is not None:
            parsed = parse(draft.text)
            if isinstance(parsed, Invocation):
                self._begin_to_obey(parsed, draft)
            else:
                self.send(draft)
        self.refresh_status()

    async def do(self, invocation: Invocation) -> None:
        """Run a slash command; the screen that knows them all says how."""
        raise NotImplementedError

    def _begin_to_obey(self, invocation: Invocation, draft: Draft) -> None:
        self._obeying = True
        self.obey(invocation, draft)

    @work(group="command")
    async def obey(self, invocation: Invocation, draft: Draft) -> None:
        """Run a slash command; its text comes back if it fails, and what waits behind it waits."""
        try:
            await self.do(invocation)
        except YourtoolError as error:
            self.note("error", str(error))
            self._give_back(draft)
            if not self.playing and not self.queue.held:
                self.queue.hold(COMMAND_FAILED)
        except Exception as error:  # noqa: BLE001 - the top level of this front end, where faults end
            self._report_fault(error)
        finally:
            self._obeying = False
        self.refresh_status()
        self.send_next()

    # ── the turn ────────────────────────────────────────────────────────────────────────────────

    @work(group="turn")
    async def play(self, events: AsyncGenerator[Event, None], draft: Draft | None = None) -> None:
        """Show everything that happens until it is over, then go on with what waits."""
        self._turn_began()
        held, started = "", False
        last: type[Event] | None = None
        show = self.transcript.show  # looked up once: a reply has thousands of events
        try:
            async with aclosing(events):
                paused = self.clock()
                async for event in events:
                    if isinstance(event, _BEGINNINGS):  # before it, an earlier turn is ended
                        started, held = True, ""
                    held = stopped(event) or held
                    show(event)
                    kind = type(event)
                    if isinstance(event, _TOLD) or (kind is not last and kind in _ARRIVING):
                        last = kind
                        self.refresh_status()
                    if self.clock() - paused > SLICE_SECONDS:
                        await asyncio.sleep(0)
                        paused = self.clock()
        except YourtoolError as error:
            held = NOT_SENT
            self.note("error", str(error))
            if draft is not None and not started:
                self.attached.put_back()
                self._give_back(draft)
        except Exception as error:  # noqa: BLE001 - the top level of this front end, where faults end
            held = FAULT
            self._report_fault(error)
        self._turn_ended()
        self.post_message(self.Wanted("the turn is over"))
        assert self.session is not None, "a turn is a session's"
        why = held or trouble(self.session)
        self.queue.hold(why, can_retry=self.session.state.failed)
        self.send_next()

    def stop(self) -> None:
        """Stop the running turn; visible at once, and once is enough."""
        if self.playing and self.session is not None and self.session.cancel():
            self._stopping = True
            self.refresh_status()

    async def change(self, events: AsyncGenerator[Event, None]) -> None:
        """Show the events of a change that is no turn."""
        async with aclosing(events):
            async for event in events:
                self.transcript.show(event)
        self.refresh_status()

    # ── state display ───────────────────────────────────────────────────────────────────────────

    def refresh_status(self) -> None:
        """Draw the bottom line anew."""
        session, runtime = self.session, self.runtime
        if session is None or runtime is None:
            queued = len(self.queue)
            self.status_line.status = StatusFields(
                model="opening …", queued=queued, urgent=self._urgent
            )
            return
        state, model = session.state, session.model
        window = model.capabilities.max_context_tokens
        pending = state.pending_model
        activity = "stopping" if self._stopping else doing(state.facts, self.transcript.arriving)
        self.status_line.status = StatusFields(
            model=model.id,
            pending="" if pending is None else pending or "default",
            mode=session.mode.value,
            context=min(100, 100 * state.context_tokens // window) if window else None,
            cost=spent(state.cost_usd, unpriced=state.unpriced),
            activity=activity if self.playing else "",
            seconds=int(self.clock() - self._began) if self.playing else None,
            silent=self.transcript.silent,
            queued=len(self.queue),
            branch=self._branch,
            directory=str(runtime.options.workspace),
            urgent=self._urgent,
            fresh=not state.messages and not self.playing,
        )

    def _turn_began(self) -> None:
        self.playing, self._stopping, self._began = True, False, self.clock()
        self.hint(HINT_BUSY)
        self._ticker = self.set_interval(1, self.refresh_status)
        self.refresh_status()

    def _turn_ended(self) -> None:
        self.playing = self._stopping = False
        if self._ticker is not None:
            self._ticker.stop()
        self.hint(HINT)
        if self.session is not None:
            self._branch = branch(self.session.workspace)
        self.completer.files = ()  # the turn may have made some
        self.refresh_status()

    def hint(self, text: str = "") -> None:
        """Say at the prompt what may be done now; of a command line, what becomes of it."""
        self._hint = text or self._hint
        shown = shell_hint(self.prompt.text) or self._hint
        if shown != self.prompt.border_subtitle:
            self.prompt.border_subtitle = shown
            self.refresh_status()

    def _show_unseen(self, unseen: bool) -> None:
        self.prompt.border_title = UNSEEN if unseen else ""
        self.refresh_status()

    @property
    def _urgent(self) -> str:
        """What the border of the prompt says, where the screen is too short for a border."""
        if not self.has_class("-short"):
            return ""
        hint = str(self.prompt.border_subtitle or "")
        if hint not in (HINT, HINT_BUSY, HINT_ASKED):
            return hint
        return UNSEEN if self.transcript.unseen else ""

    def tell_mode(self) -> None:
        """Warn for as long as nothing is asked."""
        assert self.session is not None, "modes are a session's"
        auto = self.session.mode is Mode.AUTO
        text = "AUTO: tools run without asking. Shift+Tab goes back to asking." if auto else None
        self.banner.tell("mode", text)

    # ── inside ──────────────────────────────────────────────────────────────────────────────────

    def _confirmed_as_text(self, draft: Draft, mistake: Mistake) -> bool:
        again = bool(draft.text) and self._meant_as_text == draft.text
        self._meant_as_text = draft.text if mistake.path_like and not again else ""
        return again

    def _remember(self, draft: Draft, parsed: Typed | None) -> None:
        secret = isinstance(parsed, Invocation) and parsed.command.name == "key"
        if self.history is not None and not secret:
            self.history.add(draft)
            self.history.keep_draft(Draft())

    def _recall_draft(self, runtime: "Runtime") -> None:
        self.history = History(runtime.paths.state, runtime.options.workspace)
        left = self.history.take_draft()
        if left.text and not self.prompt.text:
            self.prompt.load(left)
        else:
            self.history.add(left)

    def _give_back(self, draft: Draft) -> None:
        if self.prompt.text:
            self.queue.add(draft, first=True)
            self.queue.hold(NOT_SENT)
        else:
            self.prompt.load(draft, selected=True)

    def _report_fault(self, error: Exception) -> None:
        _log.error("a fault in the interface or the core", exc_info=error)
        where = f" Details are in {self.runtime.paths.log_file}." if self.runtime else ""
        words = f"Something went wrong inside the program.{where}"
        self.note("error", f"Failed: {SHORTAGE}." if is_shortage(error) else words)
