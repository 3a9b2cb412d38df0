"""The main screen: what its keys do, and how its parts work together."""

import asyncio
import time
from collections.abc import Callable
from typing import Literal

from textual import on, work
from textual.actions import SkipAction
from textual.app import ComposeResult
from textual.widgets import TextArea

from yourtool.agent.commands import Invocation
from yourtool.config import Mode
from yourtool.tui.drafts import Draft
from yourtool.tui.keys import bindings
from yourtool.tui.screens.command_handlers import VERBS, set_mode
from yourtool.tui.screens.picker import Picker
from yourtool.tui.screens.picker_rows import history_choices
from yourtool.tui.screens.turn_screen import HINT, HINT_BUSY, TurnScreen
from yourtool.tui.terminal import can_be_woken
from yourtool.tui.widgets.approval import Consent
from yourtool.tui.widgets.completion import Completion
from yourtool.tui.widgets.notices import Banner, Greeting
from yourtool.tui.widgets.prompt import Prompt
from yourtool.tui.widgets.queue import Queue
from yourtool.tui.widgets.status import StatusLine
from yourtool.tui.widgets.transcript import Transcript

LEAVE_SECONDS = 2
"""Within which a second Ctrl+C quits."""
HINT_LEAVE = "press Ctrl+C again to quit"


class ChatScreen(TurnScreen):
    """Everything the user touches while talking to a model."""

    BINDINGS = bindings("chat")  # pyright: ignore[reportAssignmentType] - as in `Prompt`

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        super().__init__(clock)
        self._last_interrupt = -float(LEAVE_SECONDS)
        self._listing = False

    def compose(self) -> ComposeResult:
        """Lay out from the oldest words to the newest."""
        completion = Completion()
        prompt, status = Prompt(self.completer, completion, self), StatusLine()
        yield Greeting(status)
        yield Transcript()
        yield Banner()
        yield Queue()
        yield Consent(prompt, self.clock)
        yield completion
        yield prompt
        yield status

    async def do(self, invocation: Invocation) -> None:
        """Run a slash command."""
        await VERBS[invocation.command.name](self, invocation.argument)

    # ── messages of the parts ───────────────────────────────────────────────────────────────────

    def recall(self, step: Literal[-1, 1]) -> None:
        """Bring back what waits, or what was sent before."""
        if step < 0 and not self.prompt.text and len(self.queue):
            self._pull_back(-1)
        elif self.history is not None:
            draft = self.history.older(self.prompt.draft) if step < 0 else self.history.newer()
            if draft is not None:
                self.prompt.load(draft)

    @on(Queue.Chosen)
    def edit_queued(self, chosen: Queue.Chosen) -> None:
        """Bring a waiting message back to the prompt."""
        if not self.prompt.text:
            self._pull_back(chosen.at)

    @on(Prompt.Paused)
    def keep_draft(self) -> None:
        """Write down what is being written."""
        if self.history is not None:
            self.history.keep_draft(self.prompt.draft)

    def leave_prompt(self) -> None:
        """Let the open question have the keys, or else the transcript."""
        if self.consent.question is None:
            self.transcript.focus()
        else:
            self.consent.enter()

    @on(TextArea.Changed)
    def reconsider(self) -> None:
        """An emptied prompt may let the question have the keys; a command line is told."""
        self.consent.reconsider()
        self.hint()

    def on_screen_suspend(self) -> None:
        """A list or a report takes the keys."""
        self.consent.rest()

    def on_screen_resume(self) -> None:
        """The keys are back."""
        self.consent.reconsider()

    @on(Transcript.RetryRequested)
    def retry_requested(self) -> None:
        """The error block was told to try again."""
        self.action_retry()

    @on(Prompt.FilesWanted)
    @work(group="files", exclusive=True)
    async def list_files(self) -> None:
        """Find out which files there are, off the event loop."""
        if self.session is None or self._listing:
            return
        self._listing = True
        try:
            self.completer.files = await asyncio.to_thread(self.session.files)
        finally:
            self._listing = False
        if self.completer.files:
            self.prompt.offer()

    # ── keys ────────────────────────────────────────────────────────────────────────────────────

    def action_stop(self) -> None:
        """Esc: close a list, deny a question, or stop the turn."""
        if not self.prompt.close_list() and not self.consent.escape():
            self.prompt.focus()
            self.stop()

    def action_interrupt(self) -> None:
        """Ctrl+C: copy, clear, stop, quit; the first that there is a reason for."""
        if selected := self.get_selected_text() or self.prompt.selected_text:
            self.app.copy_to_clipboard(selected)
            self.clear_selection()
        elif self.prompt.text:
            if self.history is not None:
                self.history.add(self.prompt.draft)
            self.prompt.load(Draft())
        elif self.clock() - self._last_interrupt < LEAVE_SECONDS:
            self.app.run_worker(self.app.action_quit())
        else:
            self._last_interrupt = self.clock()
            self.stop()
            self.hint(HINT_LEAVE)
            self.set_timer(LEAVE_SECONDS, self._restore_hint)

    def action_leave(self) -> None:
        """Ctrl+D: quit, unless there is text in which it deletes a character."""
        if self.prompt.text:
            raise SkipAction
        self.app.run_worker(self.app.action_quit())

    def action_suspend(self) -> None:
        """Ctrl+Z: back to the shell that started the program."""
        self.keep_draft()
        if can_be_woken():
            self.app.action_suspend_process()
        else:
            self.note("info", "No shell with job control started this, so nothing could wake it.")

    def action_retry(self) -> None:
        """Ctrl+T: the failed turn again."""
        if self.session is None or self.playing or self.opening is not None:
            return
        if not self.session.state.failed:
            self.note("info", "Nothing failed; `/retry` tries the last turn again all the same.")
        else:
            self.begin(self.session.retry())

    def action_unqueue(self) -> None:
        """Ctrl+X: forget the last waiting message."""
        if self.prompt.text or not len(self.queue):
            raise SkipAction
        self.queue.take(-1)
        self.refresh_status()

    def action_scroll(self, where: str) -> None:
        """Move through the transcript, wherever the cursor is, or through a question made large."""
        view = self.consent.scroll if self.consent.reading else self.transcript
        match where:
            case "page_up":
                view.scroll_page_up(animate=False)
            case "page_down":
                view.scroll_page_down(animate=False)
            case "home":
                view.scroll_home(animate=False)
            case _:
                view.scroll_end(animate=False)

    @work(group="history", exclusive=True)
    async def action_search_history(self) -> None:
        """Ctrl+R: find an earlier prompt."""
        if self.history is None:
            return
        entries = self.history.entries
        picked = await self.app.push_screen_wait(Picker("Prompts", history_choices(entries)))
        if picked is not None:
            self.prompt.load(entries[int(picked)])

    @work(group="mode", exclusive=True)
    async def action_cycle_mode(self) -> None:
        """Shift+Tab: the next mode."""
        if self.session is not None:
            modes = list(Mode)
            await set_mode(self, modes[(modes.index(self.session.mode) + 1) % len(modes)])

    # ── inside ──────────────────────────────────────────────────────────────────────────────────

    def _pull_back(self, at: int) -> None:
        if (draft := self.queue.take(at)) is not None:
            self.prompt.load(draft)
            self.refresh_status()

    def _restore_hint(self) -> None:
        self.hint(HINT_BUSY if self.playing else HINT)
