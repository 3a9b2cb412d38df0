"""Stored sessions, page by page.

The end of a session is shown at once, and earlier messages on demand.
"""

import asyncio
from collections.abc import Callable, Coroutine
from typing import TYPE_CHECKING, Any, TypeVar

from yourtool.store.pages import Page, read_page
from yourtool.tui.screens.chat import ChatScreen
from yourtool.tui.transcript.timeline import Timeline

if TYPE_CHECKING:  # the core opens after the first paint
    from yourtool.agent.runtime import Runtime

T = TypeVar("T")

PREVIEW_SECONDS = 0.2
"""Time that a session has to open before its end is shown."""


class StoredPages:
    """The pages of one session that the transcript has."""

    def __init__(self, chat: ChatScreen, runtime: "Runtime", session_id: str) -> None:
        self._chat = chat
        self._store = runtime.store
        self.session_id = session_id
        self._page: Page | None = None
        """The earliest page that the transcript has."""
        self._last = ""
        """Id of the last fact that the timeline has."""
        self._timeline = Timeline()
        self._own_items = 0
        self._is_previewed = self._is_loading = False

    async def preview_during(self, open_session: Callable[[], Coroutine[Any, Any, T]]) -> T:
        """Wait until the session is open, and show its end if that takes long."""
        self._chat.opening, task = asyncio.current_task(), None
        try:
            await self._read_end()
            task = asyncio.create_task(open_session())
            await asyncio.wait([task], timeout=PREVIEW_SECONDS)
            if not task.done():
                self._chat.transcript.set_timeline(self._timeline, keeps_notices=True)
                self._chat.banner.set_notice("opening", "Opening the session …")
                self._is_previewed = True
            return await task
        except BaseException:
            if task is not None:
                task.cancel()
            self._withdraw()
            raise
        finally:
            self._chat.opening = None
            self._chat.banner.set_notice("opening", None)

    async def complete(self) -> Timeline:
        """Return the timeline of the last page, with all facts that are stored now."""
        if self._page is None or not self._page.facts:
            await self._read_end()
            return self._timeline
        for fact in await self._store.read_end(self.session_id, 1):
            if fact.id > self._last:
                self._last = fact.id
                self._timeline.apply(fact)
        if self._is_previewed:
            self._chat.transcript.show_changes()
        else:
            self._timeline.changed_items.clear()
        return self._timeline

    def offer_earlier(self) -> None:
        """Let the user load the page before the first one of the transcript, if there is one."""
        has_earlier = self._page is not None and self._page.has_earlier
        self._chat.transcript.earlier = self if has_earlier else None

    def start_loading(self) -> None:
        """Load the page before the first one of the transcript in the background."""
        if not self._is_loading:
            self._chat.run_worker(self._load(), group="earlier")

    async def find_message(self, message_id: str) -> None:
        """Load earlier pages until one has a message."""
        while self._page and self._page.has_earlier:
            if self._chat.transcript.has_message(message_id) or not await self._load():
                return

    async def _read_end(self) -> None:
        page = await read_page(self._store, self.session_id)
        self._page, self._last = page, page.facts[-1].id if page.facts else ""
        self._timeline = await self._build(page)
        self._own_items = len(self._timeline.items)

    def _withdraw(self) -> None:
        """Show nothing of a session that was not opened; later notices stay."""
        if self._is_previewed:
            notices = self._timeline.items[self._own_items :]
            self._chat.transcript.show_only(notices)

    async def _load(self) -> bool:
        """Load the page before the first one; return whether it is shown."""
        if self._is_loading or self._page is None:
            return False
        self._is_loading = True
        try:
            page = await read_page(self._store, self.session_id, self._page.facts[0].id)
            timeline = await self._build(page)
            session = self._chat.session
            if session is None or session.id != self.session_id:
                return False
            self._page = page
            self._chat.transcript.add_earlier(timeline)
            self.offer_earlier()
        finally:
            self._is_loading = False
        return True

    async def _build(self, page: Page) -> Timeline:
        timeline = await self._chat.transcript.build_timeline(page.facts)
        if page.has_earlier:
            timeline.items.insert(0, self._chat.transcript.build_notice())
        return timeline
