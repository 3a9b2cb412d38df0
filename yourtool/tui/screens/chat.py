"""Main screen."""

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from textual import events, on, work
from textual.actions import SkipAction
from textual.app import ComposeResult
from textual.message import Message
from textual.widgets import TextArea

from yourtool.agent.commands.base import Invocation
from yourtool.effects import Confirmation, Decision
from yourtool.events.catalog import Event
from yourtool.foundation.installed_files import RESTART, were_files_replaced
from yourtool.models import DEMO
from yourtool.process.memory import SHORTAGE, is_shortage
from yourtool.tui.input.completer import Completer
from yourtool.tui.input.drafts import Draft
from yourtool.tui.input.message_queue import QueuedMessage
from yourtool.tui.input.pending_attachments import PendingAttachments
from yourtool.tui.input.prompt_input import PromptInput
from yourtool.tui.input.turn_runner import TurnRunner
from yourtool.tui.keys.active_keys import bindings, describe_keys
from yourtool.tui.lines.styled_lines import HighlighterFactory
from yourtool.tui.screens import early_actions, report
from yourtool.tui.screens.mention_preview import MentionPreview
from yourtool.tui.screens.session_status import SessionStatus, go_back_hint, quit_hint
from yourtool.tui.screens.urgent_painting import UrgentScreen
from yourtool.tui.transcript.paged_transcript import PagedTranscript
from yourtool.tui.transcript.timeline import Timeline
from yourtool.tui.widgets.approval import ApprovalPrompt
from yourtool.tui.widgets.completion import CompletionList
from yourtool.tui.widgets.key_mode import KeyMode
from yourtool.tui.widgets.notices import Banner, Greeting
from yourtool.tui.widgets.prompt import Prompt
from yourtool.tui.widgets.queue import QueueList
from yourtool.tui.widgets.status import StatusLine
from yourtool.tui.widgets.trust_question import TrustQuestion

if TYPE_CHECKING:  # the core opens after the first paint, and so do its imports
    from yourtool.agent.runtime import Runtime
    from yourtool.agent.session.session import Session

CommandRunner: TypeAlias = "Callable[[ChatScreen, Invocation], Awaitable[None]]"

_log = logging.getLogger(__name__)


class ChatScreen(UrgentScreen):
    """Shows one session at a time, and passes what the user enters to a `TurnRunner`."""

    DEFAULT_CSS = """
    ChatScreen {
        layout: vertical;
        Transcript { height: 1fr; min-height: 1; }
        &.-approval {
            Banner { display: none; }
            Prompt { max-height: 5; }
            &.-short QueueList { display: none; }
            &.-short Prompt { max-height: 1; }
        }
        &.-short {
            Prompt { border: none; min-height: 1; max-height: 3; } Banner { max-height: 3; }
            #preview, ApprovalPrompt.-expanded #preview { max-height: 3; }
            ApprovalPrompt.-noting #preview { display: none; } &.-trust Greeting { display: none; }
            ApprovalField { max-height: 2; } RuleExamples { max-height: 3; }
        }
    }
    """
    AUTO_FOCUS = "Prompt"
    BINDINGS = bindings("chat")  # pyright: ignore[reportAssignmentType] - as in `Prompt`
    VERTICAL_BREAKPOINTS = [(0, "-short"), (16, "-tall")]  # noqa: RUF012 - Textual's form

    class AttentionNeeded(Message):
        """The user's attention is needed."""

        def __init__(self, reason: str) -> None:
            super().__init__()
            self.reason = reason

    def __init__(
        self, run_command: CommandRunner, clock: Callable[[], float] = time.monotonic
    ) -> None:
        """`run_command` runs a slash command and shows its results on the screen."""
        super().__init__(classes="-tall")  # as most terminals are: a change restyles all widgets
        self.runtime: Runtime | None = None
        self.highlight: HighlighterFactory | None = None  # for code, once it is loaded
        self.opening: asyncio.Task[Any] | None = None  # opens another session
        self._mode_lock = asyncio.Lock()
        self.completer, self._completion_list = Completer(), CompletionList()
        self.transcript, self.banner = PagedTranscript(clock), Banner()
        self.status_line = StatusLine()
        self.attachments = PendingAttachments(lambda text: self.banner.set_notice("attached", text))
        self.mention_preview = MentionPreview(self, self.banner)
        self.runner = TurnRunner(self, self.attachments)
        self.input = PromptInput(self.runner, self.warn)
        self.prompt = Prompt(self.completer, self._completion_list, self.input, self.leave_prompt)
        self.queue_list = QueueList(
            self.runner.queue, self.edit_queued, self.runner.switch, self.action_focus_prompt
        )
        self.approval_prompt = ApprovalPrompt(self.prompt, clock)
        self.trust_question = TrustQuestion(self.prompt, clock)
        shown = self.status_line, self.prompt, self.transcript, self.runner
        self.status = SessionStatus(self, *shown)
        self._run_command = run_command

    def compose(self) -> ComposeResult:
        """Lay out the widgets from top to bottom."""
        yield Greeting(self.status_line)
        yield self.transcript
        yield self.banner
        yield self.queue_list
        yield self.approval_prompt
        yield self._completion_list
        yield self.prompt
        yield self.status_line

    def on_mount(self) -> None:
        """Show the hint and the status before anything is loaded."""
        self.watch(self.transcript, "unseen_rows", self.status.show_unseen, init=False)
        self.status.update_hint()
        self.status.refresh()

    async def on_unmount(self) -> None:
        """Write and release the draft file."""
        await asyncio.to_thread(self.input.close)

    # ── the session ─────────────────────────────────────────────────────────────────────────────

    @property
    def session(self) -> "Session | None":
        """The session that is shown."""
        return self.runner.session

    def set_session(
        self, runtime: "Runtime", session: "Session", timeline: Timeline, left: Draft | None
    ) -> None:
        """Show a session, the first one with the draft of an earlier run; send a queued message."""
        self.runtime = runtime
        self.runner.set_session(session)
        self.transcript.set_timeline(timeline, keeps_notices=left is not None)
        self.status.directory = str(runtime.options.workspace)
        self.status.update_branch()
        self.completer.files = ()
        self.completer.load_values(runtime)
        if left is not None:
            self._restore_draft(left)
            self.input.continue_waiting(self.prompt.text)
        self.status.refresh()
        self.runner.send_next()

    async def confirm(self, confirmation: Confirmation) -> Decision:
        """Return the user's answer to an approval prompt; the agent calls this during a turn."""
        self.post_message(self.AttentionNeeded("approval needed"))
        self.status.set_asking(True)
        self._shrink_other_widgets(for_approval=True)
        panel = self.approval_prompt
        try:
            return await panel.ask(confirmation)
        finally:
            is_open = panel.confirmation is not None
            if panel.is_running and panel.is_attached:  # the screen may be closing
                self._shrink_other_widgets(for_approval=is_open)
            self.status.set_asking(is_open)

    def _shrink_other_widgets(self, *, for_approval: bool) -> None:
        """Shrink other widgets so that the approval prompt, prompt and status line fit."""
        self.set_class(for_approval, "-approval")
        self.prompt.recalls = not for_approval
        self.queue_list.set_compact(for_approval)

    # ── what the runner shows ───────────────────────────────────────────────────────────────────

    def mark_turn_started(self) -> None:
        """Show that a turn runs."""
        self.status.start_turn()

    def show_event(self, event: Event) -> None:
        """Show an event of a turn."""
        self.transcript.apply(event)
        self.status.apply(event)

    def mark_turn_ended(self) -> None:
        """Show that no turn runs, and get the user's attention."""
        self.completer.files = ()  # the turn may have made some
        self.banner.set_notice(DEMO, None)  # the first chapter is over
        self.status.end_turn()
        self.post_message(self.AttentionNeeded("the turn is over"))

    @on(KeyMode.Changed)
    def refresh_status(self) -> None:
        """Show the queue, the mode of the prompt and whether the turn is stopping."""
        self.status.refresh()

    def set_highlight(self, highlight: HighlighterFactory) -> None:
        """Set the highlighter of code."""
        self.highlight = self.approval_prompt.highlight = highlight
        self.transcript.set_highlight(highlight)

    def note(self, level: Literal["info", "warning", "error"], text: str) -> None:
        """Show a notice in the transcript; it is not part of the session."""
        self.transcript.add_notice(level, text)

    def warn(self, text: str) -> None:
        """Show a mistake in the input at the end of the transcript."""
        self.scroll_to_end()
        self.note("warning", text)

    def scroll_to_end(self) -> None:
        """Scroll the transcript to its end, where the effects of the input appear."""
        self.transcript.follow_end()

    def report_exception(self, error: Exception) -> None:
        """Log a fault and show a notice without a traceback."""
        _log.error("a fault in the interface or the core", exc_info=error)
        details = f" See {self.runtime.paths.log_file}." if self.runtime else ""
        message = RESTART if were_files_replaced() else f"Internal error.{details}"
        message = f"Failed: {SHORTAGE}." if is_shortage(error) else message
        self.note("error", message)

    def restore_draft(self, draft: Draft, *, selected: bool) -> bool:
        """Put a draft back into the prompt; return False if the prompt has text."""
        if is_empty := not self.prompt.text:
            self.prompt.load(draft, selected=selected)
        return is_empty

    def has_text(self) -> bool:
        """Return whether the user is writing something in the prompt."""
        return bool(self.prompt.text)

    async def run_command(self, invocation: Invocation) -> None:
        """Run a slash command."""
        await self._run_command(self, invocation)

    # ── the prompt and other widgets ────────────────────────────────────────────────────────────

    def _restore_draft(self, left: Draft) -> None:
        if left.text and not self.prompt.text:
            self.prompt.load(left)
        else:
            self.input.add_to_history(left)
        self.status.update_hint()  # drafts may be stashed

    @on(Prompt.TypingPaused)
    def save_draft(self) -> None:
        """Save the text in the prompt."""
        self.input.save(self.prompt.draft)
        shown = self.session, self.prompt.text, self.runner.commands
        self.mention_preview.update(*shown)

    def leave_prompt(self) -> None:
        """Focus the transcript."""
        self.set_focus(self.transcript)

    @on(events.DescendantFocus)
    @on(events.DescendantBlur)
    @on(events.Resize)
    def update_hint(self) -> None:
        """Show as many keys of the focused widget as fit."""
        self.status.update_hint()

    @on(TextArea.Changed)
    def update_after_edit(self) -> None:
        """Accept answers if the prompt is now empty, and update what depends on it."""
        self.approval_prompt.arm_when_safe()
        self.trust_question.arm_when_safe()
        self.status.update_hint()
        self.input.forget_edited(unless=self.prompt.text)

    def on_screen_suspend(self) -> None:
        """Pause the approval prompt while a picker or a report has the focus."""
        self.approval_prompt.suspend()

    def on_screen_resume(self) -> None:
        """Resume the approval prompt."""
        self.approval_prompt.arm_when_safe()

    def edit_queued(self, message: QueuedMessage) -> None:
        """Move a queued message to the empty prompt."""
        if not self.prompt.text and (draft := self.input.edit(message)) is not None:
            self.set_focus(self.prompt)
            self.prompt.load(draft)

    @on(Prompt.FilesNeeded)
    @work(group="files", exclusive=True)
    async def load_files(self) -> None:
        """List the files of the workspace, off the event loop."""
        if self.session and await self.completer.load_files(self.session.list_files):
            self.prompt.complete_files()

    # ── keys ────────────────────────────────────────────────────────────────────────────────────

    def action_stop(self) -> None:
        """Esc: leave a list, decline a tool call, or stop the turn; twice: go back to a prompt."""
        is_left = (previous := self.focused) is self.queue_list
        if is_left:
            self.set_focus(self.prompt)
        is_left = is_left or self.transcript.end_search() or self.prompt.close_completions()
        if is_left or self.prompt.key_mode.escape() or self.approval_prompt.handle_escape():
            return
        self.set_focus(self.prompt)
        if self.runner.is_running or previous is not self.prompt:
            self.runner.stop()
        elif self.prompt.text or self.opening or self.session is None:
            return
        elif self.session.state.prompts and self.status.confirm_press(go_back_hint()):
            self.runner.submit(Draft("/rewind"))

    def action_focus_prompt(self) -> None:
        """Tab in the transcript: go back to the prompt."""
        self.set_focus(self.prompt)

    def action_run_slash_command(self, name: str) -> None:
        """Run a slash command if it can run now."""
        if self.input.accepts(draft := Draft(f"/{name}")):
            self.runner.submit(draft)

    def action_show_keys(self) -> None:
        """`?` in an empty prompt: show the keys."""
        if self.prompt.text:
            raise SkipAction
        self.app.push_screen(report.ReportScreen("Keys", describe_keys()))

    def action_interrupt(self) -> None:
        """Ctrl+C: copy, close a note, clear the prompt, or stop the turn; twice: quit."""
        if self.transcript.copy_long_selection():
            self.clear_selection()
        elif selected := self.get_selected_text() or self.prompt.text_selected_by_user:
            self.app.copy_to_clipboard(selected)
            self.clear_selection()
        elif self.approval_prompt.open_field is not None:
            self.approval_prompt.handle_escape()
        elif self.prompt.text:
            self.input.add_to_history(self.prompt.draft)
            self.prompt.load(Draft())
        elif self.status.confirm_press(quit_hint()):
            self.app.run_worker(self.app.action_quit())
        else:
            self.runner.stop()

    def action_copy_text(self) -> None:
        """Copy the selection, for the keys of Textual."""
        if not self.transcript.copy_long_selection():
            super().action_copy_text()

    def action_clear(self) -> None:
        """Ctrl+L: clear the transcript; the session continues."""
        self.transcript.clear()

    def action_toggle_folds(self) -> None:
        """Ctrl+O: open or fold everything in the transcript."""
        self.transcript.toggle_folds()

    @on(PagedTranscript.RetryRequested)
    def action_retry(self) -> None:
        """Ctrl+T, or `r` in the transcript: retry the failed turn."""
        if self.session is None or self.runner.is_running or self.opening is not None:
            return
        self.scroll_to_end()
        if not self.session.state.branch.last_turn_failed:
            self.note("info", "The last turn did not fail; `/retry` repeats it anyway.")
        else:
            self.runner.start_turn(self.session.retry())

    def action_focus_queue(self) -> None:
        """Ctrl+X: go to the queued messages; there, remove the selected one."""
        if self.focused is self.queue_list:
            self.queue_list.action_remove()
            return
        if self.prompt.text:
            raise SkipAction
        if self.queue_list.display:
            self.set_focus(self.queue_list)

    def action_scroll(self, where: str) -> None:
        """Scroll the transcript, or the approval prompt if it is expanded."""
        view = panel.pane if (panel := self.approval_prompt).handles_page_keys else self.transcript
        if where in ("home", "end"):
            (view.scroll_home if where == "home" else view.scroll_end)(animate=False)
            return
        rows = view.scrollable_content_region.height * (-1 if where == "page_up" else 1)
        view.scroll_relative(y=rows, animate=False, immediate=True)  # the next key may wait

    @work(group="history", exclusive=True)
    async def action_search_history(self) -> None:
        """Ctrl+R: search earlier prompts; in a mode with commands, redo."""
        if not self.prompt.key_mode.redo():
            await early_actions.search_history(self, self.input, self.prompt)

    @work(group="mode")
    async def action_cycle_mode(self) -> None:
        """Shift+Tab: switch to the next approval mode."""
        async with self._mode_lock:  # each press is one step
            await self.input.opened.wait()
            if self.session is not None:
                await self.run_command(early_actions.build_next_mode(self.session.mode))
