"""Status line and prompt hints."""

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Literal

from textual.message import Message
from textual.screen import Screen
from textual.timer import Timer

from yourtool.agent.history.headroom import find_headroom
from yourtool.events.catalog import Event
from yourtool.events.deltas import Notice, TextDelta, ThinkingDelta, ToolUseStart
from yourtool.events.facts import Fact
from yourtool.foundation.amounts import format_spending
from yourtool.git.repositories import find_branch
from yourtool.settings.ui_config import EnterKey
from yourtool.tui.input.turn_runner import TurnRunner
from yourtool.tui.keys.active_keys import (
    build_hint,
    fit_hints,
    get_label,
    join_hints,
    place_hints,
)
from yourtool.tui.transcript.transcript import Transcript
from yourtool.tui.transcript.update_schedule import UpdateSchedule
from yourtool.tui.widgets.notices import Banner
from yourtool.tui.widgets.prompt import Prompt
from yourtool.tui.widgets.queue import QueueList
from yourtool.tui.widgets.status import StatusFields, StatusLine

if TYPE_CHECKING:
    from yourtool.agent.history.state import State

PLACEHOLDER = "Say what to do"
PLACEHOLDER_EXAMPLE = 'Say what to do: "fix the failing test"'
PLACEHOLDER_TOUR = "Press Enter to start the two-minute tour"
TWICE_SECONDS = 2
"""Maximum time between two presses of a key that have an effect together."""
_BORDER_COLUMNS = 4
_BORDER_ROWS = 16
"""Rows from which on the prompt has a border, as in the layout of the chat."""
_HINT_SHARED_COMMAND = "command · the model sees its output"
_HINT_HIDDEN_COMMAND = "command · hidden from the model"
_STATUS_EVENTS = (Fact, Notice)  # events that change the status line
_DELTAS = (TextDelta, ThinkingDelta, ToolUseStart)  # shown as the activity


class TitleChanged(Message):
    """The session has another title, or another session is shown."""

    def __init__(self, title: str) -> None:
        """`title`: the user's title, or empty."""
        super().__init__()
        self.title = title


class SessionStatus:
    """Keeps the status line and the hints up to date for a screen."""

    def __init__(
        self,
        screen: Screen[Any],
        line: StatusLine,
        prompt: Prompt,
        transcript: Transcript,
        runner: TurnRunner,
    ) -> None:
        self.without_session = "opening …"
        """The text while no session is open."""
        self.directory = ""
        """The directory in which the program was started."""
        self.project_files = ""
        """Which files of the project configure the session."""
        self._screen = screen
        self._line = line
        self._prompt = prompt
        self._transcript = transcript
        self._runner = runner
        self._hint = ""
        self._shown = ("", False)  # the hint, and whether the prompt has no border for it
        self._branch = ""
        self._first_branches: dict[str, str] = {}  # by session
        self._is_other_branch = False
        self._last_kind: type[Event] | None = None  # of the events that changed the activity
        self._is_outdated = False
        self._headroom_end: tuple[datetime, Timer] | None = None
        runner.queue.observe(self.refresh)
        self._schedule = UpdateSchedule(
            line, has_changes=lambda: self._is_outdated, lay_out=lambda _: None, paint=self.refresh
        )

    def set_asking(self, is_asking: bool) -> None:
        """Show whether the turn waits for an answer of the user; Esc then denies."""
        self._transcript.activity.is_asking = is_asking
        if is_asking:
            self.show_hint(_approval_hint())
        else:
            self.clear_hint(_approval_hint())
        self.refresh()

    # ── hints ───────────────────────────────────────────────────────────────────────────────────

    def show_hint(self, hint: str) -> None:
        """Show a hint instead of the keys of the focused widget."""
        self._hint = hint
        self.update_hint()

    def clear_hint(self, hint: str) -> None:
        """Remove a hint unless another one has replaced it."""
        if self._hint == hint:
            self.show_hint("")

    def confirm_press(self, hint: str) -> bool:
        """Return whether a key was just pressed before; if not, show what a second press does."""
        if self._hint == hint:
            self.clear_hint(hint)
            return True
        self.show_hint(hint)
        self._screen.set_timer(TWICE_SECONDS, lambda: self.clear_hint(hint))
        return False

    def update_hint(self) -> None:
        """Show the hint that was set, or the keys of the focused widget."""
        shown = (self._current_hint, self._is_short)
        if shown != self._shown:
            self._shown = shown
            self._prompt.border_subtitle = shown[0]
            self.refresh()

    @property
    def _current_hint(self) -> str:
        if (place := self._focused_place) != "prompt":
            return self._hint or self._fit(place_hints(place))
        if hint := _shell_hint(self._prompt.text) or self._hint:
            return hint
        is_running, enter = self._runner.is_running, self._runner.enter
        hints = _busy_hints(enter) if is_running else _idle_hints()
        return self._fit((self._stash_hint, *hints))

    @property
    def _stash_hint(self) -> str:
        count, key = self._prompt.stashed_count, get_label("prompt.stash")
        return f"{count} stashed ({key})" if count else ""

    @property
    def _focused_place(self) -> Literal["prompt", "queue", "transcript"]:
        if self._screen.focused is self._transcript:
            return "transcript"
        return "queue" if isinstance(self._screen.focused, QueueList) else "prompt"

    @property
    def _is_short(self) -> bool:
        """Whether the screen is too short for a border; the class `-short` is set later."""
        return self._screen.size.height < _BORDER_ROWS

    def _fit(self, hints: Sequence[str]) -> str:
        return fit_hints(hints, self._screen.size.width - _BORDER_COLUMNS)

    def show_unseen(self) -> None:
        """Show how many lines are new below the visible ones."""
        self._prompt.border_title = self._unseen_hint
        if self._is_short:
            self.refresh()

    @property
    def _unseen_hint(self) -> str:
        count = self._transcript.unseen_rows
        lines = "line" if count == 1 else "lines"
        return join_hints(f"↓ {count:,} new {lines}", get_label("chat.bottom")) if count else ""

    @property
    def _urgent_hint(self) -> str:
        """The text of the prompt's border if the screen is too short for a border."""
        if not self._is_short:
            return ""
        hint = str(self._prompt.border_subtitle or "")
        is_urgent = self._hint not in ("", _approval_hint())
        if is_urgent or self._focused_place != "prompt" or _shell_hint(self._prompt.text):
            return hint
        return self._unseen_hint or self._stash_hint

    # ── the status line ─────────────────────────────────────────────────────────────────────────

    def start_turn(self) -> None:
        """Show that a turn runs."""
        self._last_kind = None
        self._transcript.activity.start()
        self.update_hint()
        self.refresh()

    def end_turn(self) -> None:
        """Show that no turn runs."""
        self._transcript.activity.end()
        self.update_branch()
        self.update_hint()
        self.refresh()

    def apply(self, event: Event) -> None:
        """Update the status soon if an event changed it; a piece of a reply seldom does."""
        kind = type(event)
        if isinstance(event, _STATUS_EVENTS) or (kind is not self._last_kind and kind in _DELTAS):
            self._last_kind = kind
            self._is_outdated = True
            self._schedule.request()

    def update_branch(self) -> None:
        """Read which branch of the project is checked out; the demo works in a copy of it."""
        if (session := self._runner.session) is not None:
            self._branch = find_branch(session.project)
            first = self._first_branches.setdefault(session.id, self._branch)
            self._is_other_branch = self._branch != first

    def refresh(self) -> None:
        """Update the status line."""
        self._is_outdated = False
        runner, alert = self._runner, self._urgent_hint
        self._prompt.placeholder = self._placeholder
        self._transcript.activity.is_stopping = runner.is_stopping
        self._transcript.update_activity()
        if (session := runner.session) is None:
            self._line.status = StatusFields(
                model=self.without_session,
                queued=len(runner.queue),
                alert=alert,
                key_mode=self._prompt.key_mode.name,
            )
            return
        for banner in self._screen.query(Banner):  # an approval prompt takes its place
            banner.set_notice("fallback", session.fallbacks.describe())
            banner.show_mode(session.mode, session.sandbox_level)
        state, model = session.state, session.model
        window = model.window
        pending = state.pending_model
        self._line.status = StatusFields(
            model=model.id,
            pending_model="" if pending is None else pending or "default",
            key_mode=self._prompt.key_mode.name,
            mode=session.mode.value,
            context=min(100, 100 * state.branch.context_tokens // window) if window else None,
            cost=format_spending(state.cost_usd, unpriced=state.unpriced) if state.cost_usd else "",
            activity=self._transcript.hidden_activity,
            queued=len(runner.queue),
            processes=session.processes.running_count,
            headroom=self._describe_headroom(session.state, model.id),
            branch=self._branch,
            is_other_branch=self._is_other_branch,
            sandbox=session.sandbox_level,
            directory=self.directory,
            alert=alert,
            is_new_session=self._is_new_session,
            offers_tour=runner.offers_tour,
            project_files=self.project_files,
        )

    def _describe_headroom(self, state: "State", model_id: str) -> str:
        """Return what is left of a rate limit; it is removed when the limit is reset."""
        now = datetime.now(UTC)
        found = find_headroom(state.rate_limits.get(model_id), now)
        if self._headroom_end is not None and (not found or found.until != self._headroom_end[0]):
            self._headroom_end[1].stop()
            self._headroom_end = None
        if found is None:
            return ""
        if self._headroom_end is None:
            wait = (found.until - now).total_seconds()
            self._headroom_end = found.until, self._line.set_timer(wait, self.refresh)
        return found.describe(now)

    @property
    def _is_new_session(self) -> bool:
        session = self._runner.session
        return session is None or not (session.state.messages or self._runner.is_running)

    @property
    def _placeholder(self) -> str:
        if self._runner.offers_tour:
            return PLACEHOLDER_TOUR
        return PLACEHOLDER_EXAMPLE if self._is_new_session else PLACEHOLDER


def _shell_hint(text: str) -> str:
    """Return the hint for a shell command, or an empty string for other text."""
    if not text.startswith("!"):
        return ""
    return _HINT_HIDDEN_COMMAND if text.startswith("!!") else _HINT_SHARED_COMMAND


def _approval_hint() -> str:
    """Return the hint for the prompt while an approval prompt is open."""
    return "text is a message"


def go_back_hint() -> str:
    """Return the hint after the first press of the key that goes back to a prompt."""
    return build_hint("chat.stop", "again: go back to a prompt")


def quit_hint() -> str:
    """Return the hint after the first press of the key that quits."""
    return f"press {get_label('chat.interrupt')} again to quit"


def _busy_hints(enter: EnterKey) -> tuple[str, ...]:
    words, other = "sends now", build_hint("prompt.queue", "sends after")
    if enter == "queue":
        words, other = "sends after", build_hint("prompt.steer", "sends now")
    return build_hint("chat.stop", "stops"), build_hint("prompt.send", words), other


def _idle_hints() -> tuple[str, ...]:
    keys, mode = build_hint("chat.keys", "keys"), build_hint("chat.mode", "mode")
    return keys, "/ commands", "@ files", mode
