"""The terminal interface: it paints first, then opens everything else."""

import asyncio
import logging
import os
import signal
from collections.abc import Awaitable, Callable, Iterable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from rich.text import Text
from textual import events, on, work
from textual.app import App
from textual.filter import LineFilter, Monochrome
from textual.screen import Screen
from textual.worker import Worker, WorkerCancelled, WorkerFailed

from yourtool.errors import ConfigError, SwapRefusedError, YourtoolError
from yourtool.memory import SHORTAGE, is_shortage
from yourtool.paths import resolve_paths, shipped_directory
from yourtool.tui.markdown.blocks import Highlight
from yourtool.tui.output_filter import Sanitise
from yourtool.tui.plain_look import Colourless, Plain
from yourtool.tui.screens.attachments import attach_files
from yourtool.tui.screens.chat import ChatScreen
from yourtool.tui.screens.command_handlers import offer_local_servers
from yourtool.tui.screens.model_swap import offer_ways_out
from yourtool.tui.screens.sessions import open_stored, pick_session, show_session, tell_demo
from yourtool.tui.screens.turn_screen import TurnScreen
from yourtool.tui.terminal import OutputDriver, called, titled, untitled
from yourtool.tui.themes import DEFAULT, ThemeFile, load_theme, load_themes, use_themes

if TYPE_CHECKING:  # opened after the first paint, and so are its imports
    from yourtool.agent.runtime import Runtime
    from yourtool.agent.session import Session

STOP_SECONDS = 1.4
"""How long a running turn may take to end when the program quits."""
CLOSE_SECONDS = 0.5

_log = logging.getLogger(__name__)


class YourtoolApp(App[None]):
    """Owns the run: what is open, and how it is let go."""

    ENABLE_COMMAND_PALETTE = False
    CSS = """
    * { scrollbar-size-vertical: 1; }
    """

    def __init__(
        self,
        open_runtime: "Callable[[], Awaitable[Runtime]]",
        *,
        load_highlight: Callable[[], Highlight] | None = None,
        theme: str = "dark",
        resume: str | None = None,
        continue_last: bool = False,
        pick_session: bool = False,
    ) -> None:
        """`open_runtime` is called after the first paint, then `load_highlight` in a thread."""
        super().__init__(driver_class=OutputDriver)
        self._open_runtime = open_runtime
        self._load_highlight = load_highlight
        self.chat = ChatScreen()
        self.themes: dict[str, ThemeFile] = {}
        self._use_theme(theme)
        self._resume = resume
        self._continue_last = continue_last
        self._pick_session = pick_session
        self._last_filters: list[LineFilter] = [Sanitise()]
        if self.no_color:
            self._last_filters.append(Colourless())
        self.typed_ahead = b""
        """Bytes that were typed before the app runs; set before it does."""
        self._leaving = False
        self._code = 0
        self.runtime: Runtime | None = None
        self.failed = False
        """The interface itself failed, and may have left the terminal as it was."""

    def get_line_filters(self) -> Sequence[LineFilter]:
        """Put the sanitiser behind everything that is drawn.

        Where there are to be no colours, the toolkit would draw in greys.
        """
        theirs = [each for each in super().get_line_filters() if not isinstance(each, Monochrome)]
        return [*theirs, *self._last_filters]

    def draw_plainly(self) -> None:
        """Draw lines and signs with ASCII; called before the app runs."""
        self._last_filters.append(Plain())

    def get_default_screen(self) -> Screen[None]:
        """Begin with the chat."""
        return self.chat

    def on_ready(self) -> None:
        """Everything is painted: open the rest."""
        if not self.is_headless:
            loop = asyncio.get_running_loop()
            for number in (signal.SIGTERM, signal.SIGHUP):
                loop.add_signal_handler(number, self._stopped_by, number)
        self._tell_terminal(titled(Path.cwd().name, os.environ))
        self.call_after_refresh(self._open)

    @on(events.DescendantFocus)
    def read_keys(self) -> None:
        """Read what is typed, from the first time that something has the focus."""
        if isinstance(self._driver, OutputDriver):
            self._driver.listen(self.typed_ahead)

    @on(TurnScreen.Wanted)
    def call_user(self, wanted: TurnScreen.Wanted) -> None:
        """Ring where the user looks elsewhere."""
        if not self.app_focus:
            self._tell_terminal(called(wanted.why, os.environ))

    async def on_event(self, event: events.Event) -> None:
        """Show the question every key before it has a destination."""
        if (
            isinstance(event, events.Key | events.Paste)
            and not event.is_forwarded
            and self.chat.is_mounted
        ):
            self.app_focus = True
            if self.chat.consent.intercept(event):
                return
            if self.focused is self.chat.prompt:
                await self._press(event)
                return
        await super().on_event(event)

    async def _press(self, event: events.Key | events.Paste) -> None:
        """Let a key that was pressed in the prompt do all that it does before the next one.

        The toolkit puts printable keys into a queue of the widget, and looks for the bindings of
        others once they have bubbled from there to the app, so quick keys overtake one another.
        """
        prompt = self.chat.prompt
        if isinstance(event, events.Paste):
            prompt.paste(event.text)
        elif await self._check_bindings(event.key, priority=True):
            return
        elif event.is_printable and event.character is not None:
            prompt.insert_typed(event.character)
        else:
            await self._check_bindings(event.key)

    async def action_quit(self) -> None:
        """Leave: stop the turn, let it write its end, close, restore the terminal."""
        await self.leave()

    async def leave(self, code: int | None = None) -> None:
        """Quit with an exit code; in two seconds at the most."""
        if self._leaving:
            return
        self._leaving = True
        farewell = None
        try:
            farewell = await self._close(hung_up=code == 128 + signal.SIGHUP)
        except Exception:  # noqa: BLE001 - whatever fails on the way out, the program ends
            _log.exception("closing failed")
        self.exit(return_code=self._code if code is None else code, message=farewell)

    async def _close(self, *, hung_up: bool) -> str | None:
        """Stop the turn and close what is open; return what to print behind it."""
        chat = self.chat
        chat.keep_draft()
        chat.stop()
        if (opening := chat.opening) is not None:
            opening.cancel()
            await asyncio.wait([opening], timeout=STOP_SECONDS)
        if (turn := chat.turn) is not None:
            await asyncio.wait([asyncio.ensure_future(_end_of(turn))], timeout=STOP_SECONDS)
        self._tell_terminal(untitled(os.environ))
        farewell = None if hung_up else self._farewell()
        try:
            async with asyncio.timeout(CLOSE_SECONDS):
                if chat.session is not None:
                    await chat.session.close()
                if self.runtime is not None:
                    await self.runtime.close()
        except TimeoutError:
            _log.warning("closing took too long and was given up")
        except YourtoolError as error:
            _log.warning("closing failed: %s", error)
        return farewell

    def _fatal_error(self) -> None:
        """End without a traceback on the screen; the log has it."""
        _log.critical("the interface failed", exc_info=self._exception)
        where = resolve_paths().log_file
        reason = SHORTAGE if is_shortage(self._exception) else f"the reason is in {where}"
        self._exit_renderables.append(Text(f"The program failed: {reason}."))
        self.failed = True
        self._close_messages_no_wait()

    # ── inside ──────────────────────────────────────────────────────────────────────────────────

    @work(group="open")
    async def _open(self) -> None:
        try:
            self.runtime = await self._open_runtime()
            await self._first_session(self.runtime)
        except YourtoolError as error:
            self._code = 2
            self.chat.note("error", f"{error}\nNothing can be sent; Ctrl+D quits.")
        except Exception as error:  # noqa: BLE001 - the top level of this front end, where faults end
            _log.exception("opening failed")
            self._code = 1
            reason = SHORTAGE if is_shortage(error) else "its log has the reason"
            self.chat.note("error", f"The program could not be opened: {reason}. Ctrl+D quits.")

    async def _first_session(self, runtime: "Runtime") -> None:
        self._warn(runtime)
        session, refused = await self._earlier_session(runtime)
        if session is None:
            session = await runtime.new_session(self.chat.confirm)
        themes = await asyncio.to_thread(load_themes, _theme_directories())
        self._offer_themes(themes.values())
        if self._load_highlight is not None:
            self.chat.transcript.set_highlight(await asyncio.to_thread(self._load_highlight))
        await attach_files(self.chat, runtime)
        await show_session(self.chat, runtime, session)
        self._warn(runtime)
        tell_demo(self.chat)
        await asyncio.to_thread(runtime.registry.prepare, session.model)
        await offer_local_servers(self.chat)
        if refused is not None and refused.media:
            await offer_ways_out(self.chat, refused)

    def _warn(self, runtime: "Runtime") -> None:
        for warning in runtime.take_warnings():
            self.chat.note("warning", warning)

    async def _earlier_session(
        self, runtime: "Runtime"
    ) -> "tuple[Session | None, SwapRefusedError | None]":
        try:
            if self._resume is not None:
                session_id = await runtime.sessions.resolve_id(self._resume)
            elif self._continue_last:
                session_id = await runtime.last_session()
                if session_id is None:
                    self.chat.note("info", "There is no earlier session here; this is a new one.")
            elif self._pick_session:
                session_id = await pick_session(self.chat, runtime)
            else:
                return None, None
            return await open_stored(self.chat, runtime, session_id) if session_id else (None, None)
        except YourtoolError as error:
            self.chat.note("error", f"{error}\nThis is a new session.")
            return None, None

    def _use_theme(self, name: str) -> None:
        fallback = load_theme(shipped_directory("themes") / f"{DEFAULT}.toml")
        files = [directory / f"{name}.toml" for directory in _theme_directories()]
        file = next((f for f in reversed(files) if f.is_file()), files[-1])
        theme = fallback
        try:
            theme = load_theme(file)
        except ConfigError as error:
            _log.warning("%s", error)
        self._offer_themes([fallback, theme])
        self.theme = theme.name

    def _offer_themes(self, themes: Iterable[ThemeFile]) -> None:
        for theme in themes:
            self.themes[theme.name] = theme
            self.register_theme(theme.toolkit_theme())
        use_themes(self.themes.values())
        self.chat.completer.values = {
            **self.chat.completer.values,
            "theme": [(name, "") for name in sorted(self.themes)],
        }

    def _stopped_by(self, number: signal.Signals) -> None:
        self.run_worker(self.leave(128 + number))

    def _tell_terminal(self, sequence: str) -> None:
        if self._driver is not None and not self.is_headless:
            self._driver.write(sequence)

    def _farewell(self) -> str | None:
        session = self.chat.session
        if session is None or not session.state.messages:
            return None
        return f"To go on with this session: yourtool --resume {session.id}"


def _theme_directories() -> list[Path]:
    return [shipped_directory("themes"), resolve_paths().home / "themes"]


async def _end_of(turn: Worker[None]) -> None:
    """Wait until a turn is over, however it ends."""
    with suppress(WorkerFailed, WorkerCancelled):
        await turn.wait()
