"""Session list of `/resume` and `/agents`.

It shows what each session does now; keys act on the list and its sessions.
"""

import asyncio
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime
from functools import partial
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from msgspec.structs import replace

from yourtool.agent.commands.base import (
    AnswerHandler,
    Choice,
    ChoiceAction,
    Choose,
    CommandResults,
    EnterText,
    Report,
    Section,
    ShowMessage,
)
from yourtool.agent.commands.sessions.session_filters import OPTIONS, Search, parse_search
from yourtool.errors import UsageError, YourtoolError
from yourtool.events.deltas import Notice
from yourtool.foundation.amounts import format_age, format_spending
from yourtool.messages.message import Role, now
from yourtool.models import DEMO
from yourtool.paths import to_stored_path
from yourtool.store.base import SearchHit, SessionActivity, SessionState, SessionSummary
from yourtool.store.edits import delete_session, rename

if TYPE_CHECKING:
    from yourtool.agent.runtime import Runtime
    from yourtool.agent.session.session import Session

PAGE_SESSIONS = 200
"""Number of sessions that are listed at once; the others are added when they are read."""
MAX_SESSIONS = 10_000
"""Number of sessions that are listed; `/search` and `/resume ID` find all of them."""
_MAX_FOUND = 1_000
"""Number of sessions that a search lists."""
_MAX_TEXTS = 20
_DELETE = "delete"
DESCRIPTIONS: Mapping[SessionState, str] = {
    "running": "running",
    "waiting": "waiting for your answer",
    "open": "open",
    "done": "done",
    "stopped": "ended during a turn",
}
MARKS: Mapping[SessionState, str] = {
    "running": "▸", "waiting": "?", "open": "○", "done": "", "stopped": "✗"
}  # fmt: skip
"""Symbols before the titles."""

_ORDERS: dict[str, Callable[[SessionSummary], Any]] = {
    "last used": lambda each: -each.updated_at.timestamp(),
    "cost": lambda each: (-each.cost_usd, -each.updated_at.timestamp()),
    "title": lambda each: each.title.casefold(),
}
"""Sort keys by name; `Ctrl+S` selects the next one."""


class SessionList:
    """Shows the stored sessions, and shows them again after a change."""

    def __init__(
        self,
        session: "Session | None",
        runtime: "Runtime",
        *,
        open_session: AnswerHandler,
        is_mixed: bool = False,
    ) -> None:
        """`session`: the open session, if any.

        `is_mixed`: sessions of this directory are not before the others.
        """
        self._session = session
        self._runtime = runtime
        self._open_session = open_session
        self._order, self._is_mixed = next(iter(_ORDERS)), is_mixed
        self._listed: tuple[SessionSummary, ...] = ()
        self._activity: Mapping[str, SessionActivity] = {}
        self._shows_demos = False
        self._search: Search | None = None
        self._found: dict[str, str] = {}
        self.found_message = ""
        """The message that the search found in the chosen session."""
        self._titles: dict[str, str] = {}

    async def show(self, _value: str = "") -> CommandResults:
        """Let the user choose a session or change the list."""
        if self._search is not None:
            yield await self._build_found(self._search)
            return
        first = await self._runtime.store.list(limit=PAGE_SESSIONS)
        await self._read_activity(each.id for each in first)
        choices, more = self._build_choices(first), None
        if len(first) == PAGE_SESSIONS:
            more = asyncio.ensure_future(self._read_others(first))
        demos = "Ctrl+O no demos" if self._shows_demos else "Ctrl+O demos"
        try:
            yield Choose(
                f"Sessions by {self._order}",
                choices,
                then=self._open_or_show,
                actions=(
                    ChoiceAction("ctrl+f", "Ctrl+F find", self._ask_search),
                    *self._changes,
                    ChoiceAction("ctrl+s", "Ctrl+S sort", self._sort),
                    ChoiceAction("ctrl+o", demos, self._toggle_demos),
                ),
                preview=self._preview,
                update=more,
                refresh=self._refresh,
            )
        finally:
            if more is not None:
                more.cancel()

    @property
    def _changes(self) -> tuple[ChoiceAction, ...]:
        return (
            ChoiceAction("ctrl+r", "Ctrl+R rename", self._rename),
            ChoiceAction("ctrl+d", "Ctrl+D delete", self._delete),
        )

    async def _build_found(self, search: Search) -> Choose:
        """Return the sessions that a search finds, each with its newest message."""
        hits = await self._runtime.store.search(
            search.words, *search.workspaces, limit=_MAX_FOUND, wanted=search.wanted, one_each=True
        )
        self._titles = {hit.session_id: hit.title for hit in hits}
        self._found = {hit.session_id: hit.message_id for hit in hits} if search.words else {}
        return Choose(
            "Sessions found" if hits else "No session found",
            found_choices(hits, self._project, now()),
            then=self._open_found,
            actions=(ChoiceAction("ctrl+f", "Ctrl+F all", self._show_all), *self._changes),
            preview=self._preview,
        )

    async def _ask_search(self, _value: str) -> CommandResults:
        text = f"Words in messages, or options: {OPTIONS}."
        yield EnterText("Find sessions", text, then=self._set_search)

    async def _set_search(self, text: str) -> CommandResults:
        try:
            self._search = parse_search(text, self._project, now()) if text.strip() else None
        except UsageError as error:
            yield Notice(level="error", text=str(error))
        async for result in self.show():
            yield result

    def _show_all(self, _value: str) -> CommandResults:
        return self._set_search("")

    async def _open_found(self, session_id: str) -> CommandResults:
        """Open a session at the message that was found in it."""
        self.found_message = self._found.get(session_id, "")
        await self._read_activity((session_id,))
        async for result in self._open_or_show(session_id):
            yield result
        if self._session is not None and self.found_message:
            yield ShowMessage(self.found_message)

    async def _open_or_show(self, session_id: str) -> CommandResults:
        """Open a session; one that another process has open is shown, and cannot be changed."""
        found = self._activity.get(session_id)
        if found is None or not found.process or session_id == self._open_id:
            async for result in self._open_session(session_id):
                yield result
            return
        texts = await self._runtime.store.last_texts(session_id, _MAX_TEXTS)
        rows = (
            ("state", f"{DESCRIPTIONS[found.state]} in process {found.process}: read only here"),
            ("copy", f"`yourtool sessions fork {session_id}` continues a copy"),
        )
        said = tuple(("you" if each.role is Role.USER else "reply", each.text) for each in texts)
        title = self._titles.get(session_id) or "(empty)"
        yield Report(title, (Section(session_id, rows), Section("Last messages", said)))

    async def _read_activity(self, ids: Iterable[str] = ()) -> bool:
        """Read what sessions do; return whether that of an open one changed."""
        found = await self._runtime.store.find_activity(ids)
        now_open = {each.id: each for each in found if each.process}
        was_open = {name: each for name, each in self._activity.items() if each.process}
        closed = {name: replace(each, process="", state="done") for name, each in was_open.items()}
        self._activity = {**self._activity, **closed, **{each.id: each for each in found}}
        return now_open != was_open

    async def _refresh(self) -> tuple[Choice, ...] | None:
        """Return the rows again if an open session has changed: one small query."""
        try:
            if not await self._read_activity():
                return None
            first = await self._runtime.store.list(limit=PAGE_SESSIONS)
            await self._read_activity(each.id for each in first)
        except YourtoolError:
            return None
        listed = {each.id for each in first}
        return self._build_choices((*first, *(e for e in self._listed if e.id not in listed)))

    async def _read_others(self, found: tuple[SessionSummary, ...]) -> tuple[Choice, ...]:
        """Read the other sessions in pages, between which the store can do something else."""
        page = found
        while page and len(found) < MAX_SESSIONS:
            page = await self._runtime.store.list(limit=PAGE_SESSIONS, after=page[-1])
            found += page
        return await asyncio.to_thread(self._build_choices, found)

    def _build_choices(self, found: tuple[SessionSummary, ...]) -> tuple[Choice, ...]:
        self._titles = {each.id: each.title for each in found}
        self._listed = tuple(found)
        if not self._shows_demos:
            found = without_demos(found, self._runtime.paths.scratch)
        here = None if self._is_mixed else self._project
        return session_choices(found, here, now(), self._order, self._activity, self._open_id)

    @property
    def _project(self) -> Path:
        return self._session.project if self._session else self._runtime.options.workspace

    @property
    def _open_id(self) -> str:
        return self._session.id if self._session else ""

    async def _preview(self, session_id: str) -> tuple[tuple[str, str], ...]:
        """Return the last messages of a session."""
        texts = await self._runtime.store.last_texts(session_id)
        return tuple(("you" if each.role is Role.USER else "reply", each.text) for each in texts)

    def _sort(self, _value: str) -> CommandResults:
        names = list(_ORDERS)
        self._order = names[(names.index(self._order) + 1) % len(names)]
        return self.show()

    def _toggle_demos(self, _value: str) -> CommandResults:
        self._shows_demos = not self._shows_demos
        return self.show()

    async def _rename(self, session_id: str) -> CommandResults:
        if session_id:
            yield EnterText(
                "Rename session",
                f"The new title of “{self._titles[session_id] or session_id}”:",
                then=partial(self._set_title, session_id),
            )

    async def _set_title(self, session_id: str, title: str) -> CommandResults:
        if title and self._session is not None and session_id == self._open_id:
            async for fact in self._session.rename(title):
                yield fact
        elif title:
            yield await self._report(rename(self._runtime.store, session_id, title), "Renamed.")
        async for result in self.show():
            yield result

    async def _delete(self, session_id: str) -> CommandResults:
        if session_id:
            details = "its messages and stored tool outputs; this cannot be undone"
            yield Choose(
                f"Delete “{self._titles[session_id] or session_id}”?",
                (Choice("", "Cancel"), Choice(_DELETE, "Delete permanently", details)),
                then=partial(self._delete_if, session_id),
            )

    async def _delete_if(self, session_id: str, answer: str) -> CommandResults:
        if answer == _DELETE and session_id == self._open_id:
            text = "This session is open; it can be deleted from another one (`/new`)."
            yield Notice(level="error", text=text)
        elif answer == _DELETE:
            store, paths = self._runtime.store, self._runtime.paths
            yield await self._report(delete_session(store, session_id, paths), "Deleted.")
        async for result in self.show():
            yield result

    async def _report(self, work: Any, done: str) -> Notice:
        """Await `work`; return a notice, so that the list is shown again even after an error."""
        try:
            await work
        except YourtoolError as error:
            return Notice(level="error", text=str(error))
        return Notice(level="info", text=done)


def without_demos(summaries: Sequence[SessionSummary], scratch: Path) -> tuple[SessionSummary, ...]:
    """Return the sessions that the demo script did not answer, or all if there are no others.

    `scratch` has the workspaces of the demo.
    """
    others = tuple(
        each
        for each in summaries
        if Path(each.workspace_path).parent != scratch
        and not (each.active_model or "").startswith(f"{DEMO}:")
    )
    return others or tuple(summaries)


def session_choices(
    summaries: Sequence[SessionSummary],
    workspace: Path | None,
    now: datetime,
    order: str = "last used",
    activity: Mapping[str, SessionActivity] = MappingProxyType({}),
    open_id: str = "",
) -> tuple[Choice, ...]:
    """Return the sessions of this workspace, then the others; each part is sorted by `order`.

    `workspace` None: they are in one part.
    """
    rows: list[Choice] = []
    key = _ORDERS[order]
    here = "" if workspace is None else to_stored_path(workspace)
    for each in sorted(
        summaries, key=lambda each: (bool(here) and each.workspace_path != here, key(each))
    ):
        state = activity[each.id].state if each.id in activity else "done"
        mark = "" if each.id == open_id else MARKS[state]
        turns = "1 turn" if each.turn_count == 1 else f"{each.turn_count} turns"
        details = (
            _describe_state(state, is_here=each.id == open_id, is_complete=not here),
            format_age(now - each.updated_at),
            turns,
            format_spending(each.cost_usd, unpriced=each.unpriced),
            each.active_model or "",  # of the default model nothing is stored
            "here" if each.workspace_path == here else each.workspace_path,
        )
        detail = " · ".join(filter(None, details))
        rows.append(Choice(each.id, each.title or "(empty)", detail, mark=mark))
    return tuple(rows)


def _describe_state(state: SessionState, *, is_here: bool, is_complete: bool) -> str:
    """Return the state of a session; `is_complete`: also of a done one."""
    if is_here:
        return "this session"
    return "" if state == "done" and not is_complete else DESCRIPTIONS[state]


def found_choices(hits: Sequence[SearchHit], workspace: Path, now: datetime) -> tuple[Choice, ...]:
    """Return sessions with a message of each; those of this workspace are first."""
    here = to_stored_path(workspace)
    return tuple(
        Choice(
            hit.session_id,
            hit.title or "(empty)",
            " · ".join(
                (
                    format_age(now - hit.created_at),
                    "here" if hit.workspace_path == here else hit.workspace_path,
                    f"{'you' if hit.role is Role.USER else 'reply'}: {hit.snippet}",
                )
            ),
        )
        for hit in sorted(hits, key=lambda hit: hit.workspace_path != here)
    )
