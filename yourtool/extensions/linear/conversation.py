"""Conversation in plain lines.

It consists of input, turns, questions and the results of commands.
"""

import asyncio
import logging
import signal
import sys
import time
from collections.abc import Awaitable, Callable
from contextlib import aclosing, suppress
from typing import TYPE_CHECKING, Literal

from yourtool.agent.commands.base import (
    Choose,
    CommandResult,
    CommandResults,
    CopyText,
    EditPrompt,
    EnterText,
    Invocation,
    OpenSession,
    Report,
    SendPrompt,
    SettingChanged,
    ShowAnswer,
    ShowChanges,
    ShowMessage,
    ShowSwap,
    StartSession,
    StartTurn,
)
from yourtool.agent.commands.command_table import describe_commands, read_commands
from yourtool.agent.commands.parser import InvalidCommand, parse_input
from yourtool.agent.history.retention import delete_unused_sessions
from yourtool.events.branches import BranchSelected
from yourtool.events.catalog import Event
from yourtool.events.deltas import Notice
from yourtool.extensions.linear.lines import Lines
from yourtool.extensions.linear.questions import Questions
from yourtool.extensions.linear.speaker import Speaker
from yourtool.foundation.text import storable
from yourtool.store.base import resolve_id
from yourtool.tui.input.drafts import Draft
from yourtool.tui.input.pending_attachments import PendingAttachments
from yourtool.tui.input.turn_runner import TurnRunner

if TYPE_CHECKING:
    from yourtool.agent.runtime import Runtime
    from yourtool.agent.session.session import Session

_log = logging.getLogger(__name__)

_STOP_SECONDS = 2
"""Time that a running turn has to end when the user quits."""
_TWICE_SECONDS = 2
"""Maximum time between two presses of Ctrl+C that quit."""
_HELP = "/help lists the commands, Ctrl+C stops a turn or, twice, quits, Ctrl+D quits."


class Conversation:
    """Shows one session at a time as lines; implements what `TurnRunner` needs of a screen."""

    def __init__(
        self, runtime: "Runtime", terminal: int = 0, write: Callable[[str], object] | None = None
    ) -> None:
        self.runtime = runtime
        self.speaker = Speaker(self._write)
        self._output = write or _write_to_terminal
        self.lines = Lines(terminal, self.submit, self.close)
        self.questions = Questions(self.speaker, self.lines)
        self.runner = TurnRunner(self, PendingAttachments(self._note_attachments))
        self.closed = asyncio.Event()
        self._tasks: set[asyncio.Task[None]] = set()
        self._running = 0
        """The turns and commands that run."""
        self._has_prompt = False
        self._interrupted_at = -_TWICE_SECONDS

    async def talk(self, session: "Session", first_prompt: str = "") -> None:
        """Show a session until the user quits; SIGINT stops a turn."""
        loop = asyncio.get_running_loop()
        loop.add_signal_handler(signal.SIGINT, self._interrupt)
        for number in (signal.SIGTERM, signal.SIGHUP):
            loop.add_signal_handler(number, self.close)
        self.lines.start()
        try:
            await self.show_session(session)
            self.speaker.say("Notice", _HELP)
            if first_prompt:
                self.submit(first_prompt)
            self._prompt()
            self._tasks.add(asyncio.create_task(self._delete_unused_sessions()))
            await self.closed.wait()
            self.runner.close()
            with suppress(TimeoutError):
                await asyncio.wait_for(self.runner.wait_for_turn(), _STOP_SECONDS)
        finally:
            self.lines.stop()
            for task in self._tasks:
                task.cancel()
            if self.runner.session is not None:
                await self._close_session(self.runner.session)

    async def _delete_unused_sessions(self) -> None:
        days = self.runtime.config.sessions.keep_days
        if notice := await delete_unused_sessions(self.runtime.store, self.runtime.paths, days):
            self.note(notice.level, notice.text)

    async def show_session(self, session: "Session") -> None:
        """Continue with a session, and write its last reply."""
        found = await asyncio.to_thread(session.trust.examine)
        self.runner.set_session(session)
        self.runner.commands, problems = await read_commands(session, self.runtime)
        self.runtime.tool_servers.on_news = lambda news: self.note(news.level, news.text)
        for problem in problems:
            self.note("warning", problem)
        mode = session.mode.value
        self.speaker.say("Session", f"{session.workspace}, model {session.model.id}, mode {mode}")
        if session.trust.asks and found.needs_answer:
            names = ", ".join(each.name for each in found.files_by_importance)
            self.note("warning", f"Not used before you trust this folder with /trust: {names}.")
        self._say_last_messages(session)

    def _say_last_messages(self, session: "Session") -> None:
        for message in session.state.messages[-2:]:
            if message.text.strip():
                self.speaker.say("You" if message.role == "user" else "Model", message.text)

    def close(self) -> None:
        """Quit after the running turn was stopped."""
        self.closed.set()

    def submit(self, text: str) -> None:
        """Run a command or send a message, or queue it."""
        self._has_prompt = False
        text = storable(text)
        if not text.strip():
            self.runner.resume()
        elif isinstance(parsed := parse_input(text, self.runner.commands), InvalidCommand):
            self.note("warning", parsed.message)
        else:
            queued = len(self.runner.queue)
            self.speaker.sent_text = "" if self.runner.is_running else text
            self.runner.submit(Draft(text))
            if len(self.runner.queue) > queued:
                self.note("info", f"Waits for the end of the turn: {text}")
        self._prompt()

    def _interrupt(self) -> None:
        self._has_prompt = False
        if self.runner.is_running:
            self.runner.stop()
        elif time.monotonic() - self._interrupted_at < _TWICE_SECONDS:
            self.close()
        else:
            self._interrupted_at = time.monotonic()
            self.note("info", "Press Ctrl+C again to quit.")
            self._prompt()

    def _write(self, text: str) -> None:
        """Write lines; a prompt that waits for input ends its line first."""
        self._output(f"\n{text}" if self._has_prompt else text)
        self._has_prompt = False

    def _prompt(self) -> None:
        if not (self._running or self._has_prompt or self.closed.is_set()):
            self._output("You: ")
            self._has_prompt = True

    # ── what the runner shows ───────────────────────────────────────────────────────────────────

    def run_worker(self, work: Callable[[], Awaitable[None]], *, group: str) -> object:
        """Run a coroutine function in the background."""
        del group

        async def run() -> None:
            try:
                await work()
            finally:
                self._running -= 1
                self._prompt()

        self._running += 1
        task = asyncio.create_task(run())
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return task

    def mark_turn_started(self) -> None:
        """Nothing: the first line of the reply shows it."""

    def show_event(self, event: Event) -> None:
        """Write an event of the turn."""
        self.speaker.apply(event)

    def mark_turn_ended(self) -> None:
        """Nothing: the line with the figures shows it."""

    def refresh_status(self) -> None:
        """Nothing: there is no status line."""

    def scroll_to_end(self) -> None:
        """Nothing: lines are appended."""

    def note(self, level: Literal["info", "warning", "error"], text: str) -> None:
        """Write a notice."""
        self.speaker.note(level, text)

    def report_exception(self, error: Exception) -> None:
        """Log a fault, and write that there was one."""
        _log.error("a fault in the interface or the core", exc_info=error)
        self.note("error", f"Internal error. See {self.runtime.paths.log_file}.")

    def restore_draft(self, draft: Draft, *, selected: bool) -> bool:
        """Write a message that was not sent; the terminal's line cannot be filled."""
        del selected
        self.note("warning", f"Not sent: {draft.full_text}")
        return True

    def _note_attachments(self, text: str | None) -> None:
        if text:
            self.note("info", text)

    def has_text(self) -> bool:
        """Return False: the terminal has the text that is being typed."""
        return False

    # ── commands ────────────────────────────────────────────────────────────────────────────────

    async def run_command(self, invocation: Invocation) -> None:
        """Run a slash command."""
        command, argument = invocation.command, invocation.argument
        if command.name == "quit":
            self.close()
        elif command.name == "help":
            for section in describe_commands(self.runner.commands):
                self._show_rows(section.title, section.rows)
        elif command.name == "keys":
            self.note("info", f"The terminal handles the keys of the line that you type. {_HELP}")
        elif command.run is None:
            self.note("info", f"`/{command.name}` has no effect without a screen.")
        elif self.runner.session is not None:
            await self._show_results(command.run(self.runner.session, self.runtime, argument))

    async def _show_results(self, results: CommandResults) -> None:
        async with aclosing(results):
            async for result in results:
                await self._show_result(result)

    async def _show_result(self, result: CommandResult) -> None:
        match result:
            case Notice(level=level, text=text):
                self.note(level, text)
            case Report(title=title, sections=sections):
                self.speaker.say("Report", title)
                for section in sections:
                    self._show_rows(section.title, section.rows)
            case ShowChanges(title=title, calls=calls):
                self.speaker.say("Report", title)
                for call in calls:
                    self.speaker.say("Call", call.call)
                    for change in call.changes:
                        self.speaker.write(f"{change.name}\n{change.diff}".rstrip("\n"))
            case ShowAnswer(pieces=pieces):
                self.speaker.say("Answer", "".join([each async for each in pieces]))
            case CopyText(text=text) | EditPrompt(text=text):
                self.speaker.say("Text", text)
            case SettingChanged(setting="mode"):
                self.note("info", f"Mode: {self._session.mode.value}.")
            case SettingChanged(setting="model"):
                self.note("info", f"Model: {self._session.model.id}.")
            case StartTurn(events=events):
                self.runner.start_turn(events)
            case SendPrompt(text=text):
                self.runner.start_turn(self._session.send(text))
            case StartSession(model=model, mode=mode):
                session = await self.runtime.new_session(self.questions.confirm, model)
                session.mode = mode or session.mode
                await self._switch(session)
            case OpenSession(session_id=session_id):
                session = await self.runtime.resume(session_id, self.questions.confirm)
                await self._switch(session)
            case ShowMessage() | SettingChanged():
                pass
            case Choose(title=title, choices=choices, then=then, without_choice=otherwise):
                if isinstance(result, ShowSwap):
                    rows = tuple((row.name, row.text) for row in result.rows)
                    self._show_rows("What the swap changes:", rows)
                if (value := await self.questions.choose(title, choices)) is not None:
                    await self._show_results(then(value))
                elif otherwise:
                    self.note("info", otherwise)
            case EnterText(title=title, explanation=explanation, hidden=False, then=then):
                await self._show_results(then(await self.questions.enter(title, explanation)))
            case EnterText():
                self.note("info", "A key cannot be typed here unseen: set its variable instead.")
            case Invocation():
                await self.run_command(result)
            case BranchSelected():
                self.speaker.apply(result)
                self._say_last_messages(self._session)
            case event:
                self.speaker.apply(event)

    @property
    def _session(self) -> "Session":
        assert self.runner.session is not None, "commands run when a session is open"
        return self.runner.session

    async def _switch(self, session: "Session") -> None:
        await self._close_session(self._session)
        await self.show_session(session)

    async def _close_session(self, session: "Session") -> None:
        await session.close()
        for warning in session.hooks.take_last_warnings():
            self.note("warning", warning)

    def _show_rows(self, title: str, rows: tuple[tuple[str, str], ...]) -> None:
        self.speaker.write(title)
        for name, text in rows:
            self.speaker.write(f"{name}: {text}" if name else text)


async def open_conversation(
    runtime: "Runtime", resume: str | None, *, continue_last: bool, first_prompt: str = ""
) -> None:
    """Open the session of the command line and show it until the user quits.

    `resume` is the id of a session, or empty: the user chooses one.
    """
    conversation = Conversation(runtime)
    confirm = conversation.questions.confirm
    first_prompt = "/resume" if resume == "" else first_prompt
    try:
        session_id = await runtime.find_last_session() if continue_last else resume
        session_id = await resolve_id(runtime.store, session_id) if session_id else None
        opened = runtime.resume(session_id, confirm) if session_id else runtime.new_session(confirm)
        session = await opened
        for warning in runtime.take_warnings():
            conversation.note("warning", warning)
        await conversation.talk(session, first_prompt)
    finally:
        await runtime.close()


def _write_to_terminal(text: str) -> None:
    with suppress(OSError):  # the terminal is closed
        sys.stdout.write(text)
        sys.stdout.flush()
