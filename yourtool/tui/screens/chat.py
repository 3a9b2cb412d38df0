"""The main screen: its layout, keys and the messages of its widgets."""

import asyncio
import time
from collections.abc import Callable
from typing import Literal

from textual import on, work
from textual.actions import SkipAction
from textual.app import ComposeResult
from textual.selection import Selection
from textual.widgets import TextArea

from yourtool.agent.commands.base import Invocation
from yourtool.agent.commands.modes import choose_mode
from yourtool.config import Mode
from yourtool.tui.drafts import Draft
from yourtool.tui.history import history_choices
from yourtool.tui.keys import bindings
from yourtool.tui.screens.command_results import run_command, show_results
from yourtool.tui.screens.picker import Picker
from yourtool.tui.screens.turn_screen import HINT, HINT_BUSY, TurnScreen
from yourtool.tui.terminal import MAX_COPIED_CHARACTERS, has_job_control
from yourtool.tui.transcript.transcript import Transcript
from yourtool.tui.widgets.approval import ApprovalPrompt
from yourtool.tui.widgets.completion import CompletionList
from yourtool.tui.widgets.notices import Banner, Greeting
from yourtool.tui.widgets.prompt import Prompt
from yourtool.tui.widgets.queue import Queue
from yourtool.tui.widgets.status import StatusLine

QUIT_SECONDS = 2
"""Maximum time between two presses of Ctrl+C that quit."""
HINT_QUIT = "press Ctrl+C again to quit"


class ChatScreen(TurnScreen):
    """The transcript, the prompt and the widgets around them."""

    BINDINGS = bindings("chat")  # pyright: ignore[reportAssignmentType] - as in `Prompt`

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        super().__init__(clock)
        self._last_interrupt = -float(QUIT_SECONDS)
        self._listing_files = False

    def compose(self) -> ComposeResult:
        """Lay out the widgets from top to bottom."""
        completion = CompletionList()
        prompt, status = Prompt(self.completer, completion, self), StatusLine()
        yield Greeting(status)
        yield Transcript()
        yield Banner()
        yield Queue()
        yield ApprovalPrompt(prompt, self.clock)
        yield completion
        yield prompt
        yield status

    async def run_command(self, invocation: Invocation) -> None:
        """Run a slash command."""
        await run_command(self, invocation)

    # ── messages of widgets ─────────────────────────────────────────────────────────────────────

    def recall(self, step: Literal[-1, 1]) -> None:
        """Load a queued message or an earlier prompt."""
        if step < 0 and not self.prompt.text and len(self.queue):
            self._edit_queued(-1)
        elif self.history is not None:
            draft = self.history.older(self.prompt.draft) if step < 0 else self.history.newer()
            if draft is not None:
                self.prompt.load(draft)

    @on(Queue.MessageClicked)
    def edit_queued(self, chosen: Queue.MessageClicked) -> None:
        """Move a queued message to the prompt."""
        if not self.prompt.text:
            self._edit_queued(chosen.at)

    @on(Prompt.TypingPaused)
    def save_draft(self) -> None:
        """Save the text in the prompt."""
        if self.history is not None:
            self.history.save_draft(self.prompt.draft)

    def leave_prompt(self) -> None:
        """Focus the open approval prompt, or else the transcript."""
        if self.approval_prompt.confirmation is None:
            self.transcript.focus()
        else:
            self.approval_prompt.focus_when_safe()

    @on(TextArea.Changed)
    def update_after_edit(self) -> None:
        """Focus the approval prompt if the prompt is now empty, and update the hint."""
        self.approval_prompt.arm_when_safe()
        self.set_hint()

    def on_screen_suspend(self) -> None:
        """Pause the approval prompt while a picker or a report has the focus."""
        self.approval_prompt.suspend()

    def on_screen_resume(self) -> None:
        """Resume the approval prompt."""
        self.approval_prompt.arm_when_safe()

    @on(Transcript.RetryRequested)
    def retry_from_block(self) -> None:
        """Retry after a click on the error block."""
        self.action_retry()

    @on(Prompt.FilesNeeded)
    @work(group="files", exclusive=True)
    async def load_files(self) -> None:
        """List the files of the workspace, off the event loop."""
        if self.session is None or self._listing_files:
            return
        self._listing_files = True
        try:
            self.completer.files = await asyncio.to_thread(self.session.list_files)
        finally:
            self._listing_files = False
        if self.completer.files:
            self.prompt.update_completions()

    # ── keys ────────────────────────────────────────────────────────────────────────────────────

    def action_stop(self) -> None:
        """Esc: close a list, decline a tool call, or stop the turn."""
        if not self.prompt.close_completions() and not self.approval_prompt.handle_escape():
            self.prompt.focus()
            self.stop()

    def action_interrupt(self) -> None:
        """Ctrl+C: copy the selection, else clear the prompt, else stop the turn; twice: quit."""
        if (selection := self._long_selection) is not None:
            self._copy_long_selection(selection)
            self.clear_selection()
        elif selected := self.get_selected_text() or self.prompt.selected_text:
            self.app.copy_to_clipboard(selected)
            self.clear_selection()
        elif self.prompt.text:
            if self.history is not None:
                self.history.add(self.prompt.draft)
            self.prompt.load(Draft())
        elif self.clock() - self._last_interrupt < QUIT_SECONDS:
            self.app.run_worker(self.app.action_quit())
        else:
            self._last_interrupt = self.clock()
            self.stop()
            self.set_hint(HINT_QUIT)
            self.set_timer(QUIT_SECONDS, self._restore_hint)

    def action_copy_text(self) -> None:
        """Copy the selection, for the keys of Textual."""
        if (selection := self._long_selection) is not None:
            self._copy_long_selection(selection)
        else:
            super().action_copy_text()

    def action_leave(self) -> None:
        """Ctrl+D: quit if the prompt is empty, else delete a character."""
        if self.prompt.text:
            raise SkipAction
        self.app.run_worker(self.app.action_quit())

    def action_suspend(self) -> None:
        """Ctrl+Z: suspend to the shell that started the program."""
        self.save_draft()
        if has_job_control():
            self.app.action_suspend_process()
        else:
            self.note("info", "Cannot suspend: no shell with job control could resume the program.")

    def action_retry(self) -> None:
        """Ctrl+T: retry the failed turn."""
        if self.session is None or self.turn_running or self.opening is not None:
            return
        if not self.session.state.last_turn_failed:
            self.note("info", "The last turn did not fail; `/retry` repeats it anyway.")
        else:
            self.start_turn(self.session.retry())

    def action_unqueue(self) -> None:
        """Ctrl+X: drop the last queued message."""
        if self.prompt.text or not len(self.queue):
            raise SkipAction
        self.queue.pop(-1)
        self.refresh_status()

    def action_scroll(self, where: str) -> None:
        """Scroll the transcript, or the approval prompt if it is expanded."""
        view = (
            self.approval_prompt.pane if self.approval_prompt.handles_page_keys else self.transcript
        )
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
        """Ctrl+R: search earlier prompts."""
        if self.history is None:
            return
        entries = self.history.entries
        picked = await self.app.push_screen_wait(Picker("Prompts", history_choices(entries)))
        if picked is not None:
            self.prompt.load(entries[int(picked)])

    @work(group="mode", exclusive=True)
    async def action_cycle_mode(self) -> None:
        """Shift+Tab: switch to the next approval mode."""
        if self.session is not None and self.runtime is not None:
            modes = list(Mode)
            mode = modes[(modes.index(self.session.mode) + 1) % len(modes)]
            await show_results(self, choose_mode(self.session, self.runtime, mode.value))

    # ── internals ───────────────────────────────────────────────────────────────────────────────

    @property
    def _long_selection(self) -> Selection | None:
        """The selection in the transcript if it must be read in slices."""
        selection = self.transcript.text_selection
        return selection if selection is not None and self.transcript.is_long(selection) else None

    @work(group="copy", exclusive=True)
    async def _copy_long_selection(self, selection: Selection) -> None:
        text = await self.transcript.read_selection(selection)
        self.app.copy_to_clipboard(text)
        if len(text) <= MAX_COPIED_CHARACTERS:
            self.note("info", f"Copied {len(text):,} characters.")

    def _edit_queued(self, at: int) -> None:
        if (draft := self.queue.pop(at)) is not None:
            self.prompt.load(draft)
            self.refresh_status()

    def _restore_hint(self) -> None:
        self.set_hint(HINT_BUSY if self.turn_running else HINT)
