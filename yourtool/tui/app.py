"""Application of the terminal interface."""

import asyncio
import logging
import os
import signal
import time
from collections.abc import Awaitable, Callable, Iterable, Sequence
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING

from textual import events, on, work
from textual.actions import SkipAction
from textual.filter import LineFilter, Monochrome
from textual.screen import Screen

from yourtool.agent.commands import models
from yourtool.errors import YourtoolError
from yourtool.foundation.installed_files import RESTART, were_files_replaced
from yourtool.foundation.threads import use_bounded_threads
from yourtool.paths import resolve_paths
from yourtool.process.early_prompt.first_screen import output_encoding
from yourtool.process.memory import SHORTAGE, is_shortage
from yourtool.process.terminal_modes import has_job_control
from yourtool.settings.ui_config import UiConfig
from yourtool.tui.keys.active_keys import build_hint
from yourtool.tui.lines.styled_lines import HighlighterFactory
from yourtool.tui.screens import dialog, key_inspector, report
from yourtool.tui.screens.attachments import attach_from_options, attach_pasted
from yourtool.tui.screens.chat import ChatScreen
from yourtool.tui.screens.command_results import choose_first_session, run_command, show_results
from yourtool.tui.screens.draft_editing import DraftEditing
from yourtool.tui.screens.first_screen import FirstScreenStore
from yourtool.tui.screens.session_status import TitleChanged
from yourtool.tui.screens.sessions import (
    build_last_words,
    finish_start,
    open_earlier_session,
    prepare_requests,
    queue_first_prompt,
    require_session,
    restore_first_prompt,
    show_message,
    show_session,
    update_demo_banner,
)
from yourtool.tui.screens.ui_settings import SettingsChanged, use_settings
from yourtool.tui.screens.urgent_painting import TypingField
from yourtool.tui.terminal.clipboard import Clipboard, get_copied_part
from yourtool.tui.terminal.slow_terminal_app import SlowTerminalApp
from yourtool.tui.terminal.terminal import (
    OutputDriver,
    get_directory_name,
    notification_sequence,
    restore_title_sequence,
    save_title_sequence,
    set_title_sequence,
)
from yourtool.tui.terminal.terminal_background import BackgroundReported, get_query
from yourtool.tui.textual_internals.app import run_binding
from yourtool.tui.theme.display_filters import AsciiFilter, NoColorFilter
from yourtool.tui.theme.output_filter import SanitizeFilter
from yourtool.tui.theme.theme_choice import ThemeChoice, ThemeChosen, list_candidates
from yourtool.tui.theme.themes import find_theme_names
from yourtool.tui.transcript.scrollback import render_transcript
from yourtool.tui.widgets.prompt import Prompt

if TYPE_CHECKING:  # opened after the first paint, and so are its imports
    from yourtool.agent.runtime import Runtime

STOP_SECONDS = 1.4
"""Time that a running turn has to end when the program quits."""
CLOSE_SECONDS = 0.5
RENDER_SECONDS = 0.4
"""Time to render the conversation when the program quits."""
PAGE_SECONDS = 2
"""Time to render it while the program continues to run."""

_log = logging.getLogger(__name__)


class YourtoolApp(SlowTerminalApp):
    """Opens the core and the first session, and closes them on exit."""

    ENABLE_COMMAND_PALETTE = False
    CSS = """
    * { scrollbar-size-vertical: 1; }
    """

    def __init__(
        self,
        open_runtime: "Callable[[], Awaitable[Runtime]]",
        *,
        highlight: HighlighterFactory = lambda language: None,
        theme: str = "dark",
        resume: str | None = None,
        continue_last: bool = False,
    ) -> None:
        """`open_runtime` is called after the first paint; `highlight` colours code.

        `resume` is the id of the first session; empty: the user picks one.
        """
        super().__init__(driver_class=OutputDriver)
        self._open_runtime = open_runtime
        self._highlight = highlight
        self.chat = ChatScreen(run_command)
        self.theme_choice = ThemeChoice(self, os.environ)
        self.theme_choice.choose(theme)
        self._resume = resume
        self._continue_last = continue_last
        self._output_filters: list[LineFilter] = [SanitizeFilter()]
        if self.no_color:
            self._output_filters.append(NoColorFilter())
        self.first_prompt = ""
        self.first_message = ""
        """Sent when the session has opened; set before `run`."""
        self.config_warnings: tuple[str, ...] = ()
        """Mistakes in settings that have no effect; shown once the first session opens."""
        self.last_words = ""
        """What remains to be printed after `run`."""
        self._is_quitting = False
        self._first_screen = FirstScreenStore()
        self._copied = ""
        self._editing = DraftEditing(self.chat)
        self._settings, self._exit_code = UiConfig(), 0
        self.runtime: Runtime | None = None

    def get_line_filters(self) -> Sequence[LineFilter]:
        """Append our filters, so that all output is sanitised.

        `Monochrome` is removed: without colours it would draw in shades of grey.
        """
        filters = [each for each in super().get_line_filters() if not isinstance(each, Monochrome)]
        return [*filters, *self._output_filters]

    def apply_settings(self, settings: UiConfig) -> None:
        """Apply the settings of the interface; drawing in ASCII only before `run`."""
        self._settings = settings
        if (settings.ascii or output_encoding() not in ("utf-8", "")) and not self.is_running:
            self._output_filters.append(AsciiFilter())
        use_settings(self, self.chat, settings)

    def get_default_screen(self) -> Screen[None]:
        """Return the chat as the first screen."""
        return self.chat

    def on_ready(self) -> None:
        """Open the core after the first paint."""
        use_bounded_threads()
        if not self.is_headless:
            loop = asyncio.get_running_loop()
            for number in (signal.SIGTERM, signal.SIGHUP):
                loop.add_signal_handler(number, self._quit_on_signal, number)
        self.write_to_terminal(save_title_sequence(os.environ))
        self.write_to_terminal(set_title_sequence("", get_directory_name(), os.environ))
        self.call_after_refresh(self._open_core)

    def before_reading(self) -> None:
        """Store the first screen before a key changes it."""
        self._first_screen.take(self.chat, self.console)

    @on(OutputDriver.TypedAheadHandled)
    def ask_for_background(self) -> None:
        """Ask the terminal for its background, now that its reply can be read."""
        if self.theme_choice.is_auto:
            self.write_to_terminal(get_query(os.environ))

    @on(BackgroundReported)
    def follow_background(self, reported: BackgroundReported) -> None:
        """Use the theme for the background of the terminal, unless the user chose another."""
        self.theme_choice.follow(is_dark=reported.is_dark)

    @on(ThemeChosen)
    def use_chosen_theme(self, chosen: ThemeChosen) -> None:
        """Use a theme; for `auto`, ask for the background, which can have changed."""
        self.theme_choice.choose(chosen.name)
        self.ask_for_background()

    @on(SettingsChanged)
    def use_changed_settings(self, changed: SettingsChanged) -> None:
        """Use the settings that the user changed."""
        self.apply_settings(changed.settings)

    @on(ChatScreen.AttentionNeeded)
    def alert_user(self, wanted: ChatScreen.AttentionNeeded) -> None:
        """Notify the user if the terminal does not have the focus."""
        if not (self.app_focus or self.is_behind):
            self.write_to_terminal(notification_sequence(wanted.reason, os.environ))

    @on(TitleChanged)
    def show_title(self, changed: TitleChanged) -> None:
        """Show the title of the session in the window title."""
        self.write_to_terminal(set_title_sequence(changed.title, get_directory_name(), os.environ))

    @on(Prompt.TypingPaused)
    def prepare_requests(self) -> None:
        """Import what requests need while the user writes; a request reports what is missing."""
        self.run_worker(partial(prepare_requests, self.chat), group="prepare", exit_on_error=False)

    @on(Prompt.Pasted)
    def attach_pasted(self, pasted: Prompt.Pasted) -> None:
        """Attach the images in a paste, or paste the clipboard."""
        self.run_worker(attach_pasted(self.chat, pasted.text), group="attachments")

    async def on_event(self, event: events.Event) -> None:
        """Pass keys to an open approval prompt first, then to the prompt."""
        if not isinstance(event, events.Key | events.Paste):
            await super().on_event(event)
            return
        if self._editing.is_running or self._leave_page():
            return
        if not event.is_forwarded and (chat := self.chat).is_mounted:
            self.app_focus = True
            shown, questions = self.screen, (chat.approval_prompt, chat.trust_question)
            is_above = shown is not chat  # first: `dialog` is imported on first use
            is_ignored = is_above and isinstance(shown, dialog.Chooser) and shown.ignores(event)
            if is_ignored or any(each.intercept(event) for each in questions):
                return
            places = chat.transcript, chat.queue_list, chat.approval_prompt.open_field, None
            if shown is chat and (chat.typing_field or self.focused in places):
                await self._handle_chat_key(event)
                return
            if isinstance(shown, key_inspector.KeyInspector) and isinstance(event, events.Key):
                shown.show_key(event)
                return
            if isinstance(shown, report.ReportScreen | dialog.Chooser) and self._starts_text(event):
                shown.dismiss()
                chat.type_into(chat.prompt, event)
                return
        await super().on_event(event)

    def _leave_page(self) -> bool:
        """Hide the page of `action_show_scrollback`; return False if no page is shown."""
        if self.terminal is None or not self.terminal.shows_page:
            return False
        self.terminal.hide_page()
        self.chat.approval_prompt.resume_after_page()
        self.refresh(layout=True)
        return True

    async def _handle_chat_key(self, event: events.Key | events.Paste) -> None:
        """Handle a key of the prompt or the transcript completely before the next one.

        Textual queues text in the widget but resolves bindings later, which changes the order.
        """
        field = self.chat.typing_field
        if not (isinstance(event, events.Key) and await self._run_binding(field, event)):
            self.chat.type_into(field or self.chat.prompt, event)
            await self.pause_between_keys()

    async def _run_binding(self, field: "TypingField | None", event: events.Key) -> bool:
        if field and "+" not in event.key and field.check_consume_key(event.key, event.character):
            return False  # no binding gets plain text; the search for one takes longer than the key
        if await run_binding(self, event.key, priority=True):
            return True
        return not (field and event.is_printable) and await run_binding(self, event.key)

    def _starts_text(self, event: events.Key | events.Paste) -> bool:
        """Whether a key in a report, or in a list that opened late, is text for the prompt."""
        if isinstance(self.screen, dialog.Chooser) and not self.screen.is_unexpected:
            return False
        bound = self.screen.active_bindings
        return isinstance(event, events.Paste) or (event.is_printable and event.key not in bound)

    @property
    def clipboard(self) -> str:
        """The text that was copied last."""
        return self._copied

    def copy_to_clipboard(self, text: str) -> None:
        """Copy a text in the background, and show where it was copied."""
        self._copied = get_copied_part(text)
        self.run_worker(Clipboard(self.write_to_terminal, self.chat.note, os.environ).copy(text))

    def action_leave(self) -> None:
        """Ctrl+D: quit if the prompt is empty, else delete a character."""
        if self.chat.prompt.text:
            raise SkipAction
        self.run_worker(self.action_quit())

    async def action_suspend(self) -> None:
        """Ctrl+Z: store the draft and suspend to the shell that started the program."""
        self.chat.save_draft()
        await asyncio.to_thread(self.chat.input.wait_until_written)
        if has_job_control():
            self.action_suspend_process()
        else:
            self.chat.note("info", "Cannot suspend: no shell with job control can resume it.")

    def action_edit_draft(self) -> None:
        """Ctrl+G: edit the prompt in the user's editor, which gets all keys from now on."""
        self._editing.start(self.shell_settings)

    async def action_quit(self) -> None:
        """Stop the turn, store its end, close everything and restore the terminal."""
        await self.shut_down()

    async def shut_down(self, code: int | None = None) -> None:
        """Quit with an exit code within two seconds."""
        if self._is_quitting:
            return
        self._is_quitting = True
        started_at = time.monotonic()
        try:
            await self._close()
            if code != 128 + signal.SIGHUP:
                seconds = max(0.1, min(RENDER_SECONDS, started_at + 2 - time.monotonic()))
                self.last_words = await build_last_words(
                    self.chat, seconds, with_transcript=self._settings.scrollback_on_exit
                )
        except Exception:  # noqa: BLE001 - the program exits even if closing fails
            _log.exception("closing failed")
        self.exit(return_code=self._exit_code if code is None else code)

    async def _close(self) -> None:
        """Stop the turn, and close the session and the runtime."""
        chat = self.chat
        chat.input.stash_queue(chat.prompt.draft)
        chat.runner.close()
        self._editing.stop()
        if (opening := chat.opening) is not None:
            opening.cancel()
            await asyncio.wait([opening], timeout=STOP_SECONDS)
        with suppress(TimeoutError):
            await asyncio.wait_for(chat.runner.wait_for_turn(), STOP_SECONDS)
        chat.input.stash_queue(chat.prompt.draft)  # what the turn did not take
        self.write_to_terminal(restore_title_sequence(os.environ))
        try:
            async with asyncio.timeout(CLOSE_SECONDS):
                if chat.session is not None:
                    await chat.session.close()
                if self.runtime is not None:
                    await self.runtime.close()
        except TimeoutError:
            _log.warning("closing timed out")
        except YourtoolError as error:
            _log.warning("closing failed: %s", error)

    def describe_failure(self, error: BaseException | None) -> str:
        """Return a text without a traceback, which is in the log."""
        _log.critical("the interface failed", exc_info=error)
        reason = SHORTAGE if is_shortage(error) else f"see {resolve_paths().log_file}"
        return RESTART if were_files_replaced() else f"The program failed: {reason}."

    @work(group="open")
    async def _open_core(self) -> None:
        try:
            self.runtime = await self._open_runtime()
            await self._open_first_session(self.runtime)
        except YourtoolError as error:
            self._show_failed_opening(2, f"{error}\nMessages cannot be sent.")
        except Exception as error:  # noqa: BLE001 - the top level of this front end, where faults end
            _log.exception("opening failed")
            reason = SHORTAGE if is_shortage(error) else "see the log"
            self._show_failed_opening(1, f"The program failed to start: {reason}.")
        await self._first_screen.write()

    def _show_failed_opening(self, exit_code: int, reason: str) -> None:
        self._exit_code = exit_code
        restore_first_prompt(self.chat, self.first_prompt)
        self.chat.status.without_session = "not opened"
        self.chat.refresh_status()
        self.chat.note("error", f"{reason} {build_hint('chat.leave', 'quits')}".rstrip() + ".")

    async def _open_first_session(self, runtime: "Runtime") -> None:
        self._show_warnings((*self.config_warnings, *runtime.take_warnings()))
        wanted, found = await choose_first_session(self.chat, runtime, self._resume)
        session, refused, pages = await open_earlier_session(
            self.chat, runtime, wanted, continue_last=self._continue_last
        )
        is_as_requested = bool(session) or (self._resume is None and not self._continue_last)
        session = session or await runtime.new_session(self.chat.confirm)
        themes = list_candidates(await asyncio.to_thread(find_theme_names))
        self.chat.completer.values = {**self.chat.completer.values, "theme": themes}
        self.chat.set_highlight(self._highlight)
        await attach_from_options(self.chat, runtime)
        queue_first_prompt(self.chat, runtime, session, self.first_prompt, may_send=is_as_requested)
        await show_session(self.chat, runtime, session, pages)
        await show_message(self.chat, (found or self.first_message) if is_as_requested else "")
        self._show_warnings(runtime.take_warnings())
        update_demo_banner(self.chat)
        await finish_start(self.chat)
        if refused is not None and refused.media:
            _, session = require_session(self.chat)  # the user may have opened another one
            await show_results(self.chat, models.offer_swap(session, runtime, refused.model))

    def _show_warnings(self, warnings: Iterable[str]) -> None:
        for warning in warnings:
            self.chat.note("warning", warning)

    def _quit_on_signal(self, number: signal.Signals) -> None:
        self.run_worker(self.shut_down(128 + number))

    @work(group="scrollback", exclusive=True)
    async def action_show_scrollback(self) -> None:
        """`[` in the transcript: print it on the screen of the shell until a key is pressed."""
        text = await render_transcript(self.chat.transcript, PAGE_SECONDS)
        if self.terminal is not None:
            self.terminal.show_page(f"{text}\nPress any key to return to yourtool.")
