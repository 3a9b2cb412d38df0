"""Search bar below the transcript."""

from collections.abc import Callable

from textual import events, work
from textual.app import ComposeResult
from textual.containers import Horizontal
from textual.widgets import Input, Static

from yourtool.tui.keys.active_keys import build_hint, get_label, join_hints
from yourtool.tui.transcript.layout import ItemLayout
from yourtool.tui.transcript.search import Search

MAX_QUERY = 500
"""Characters of a query; each one makes the search slower."""
_NEXT, _PREVIOUS = "transcript.next_match", "transcript.previous_match"


class QueryInput(Input):
    """The query of a search; it handles each key completely before the next one."""

    def __init__(self, change: Callable[[str], None], leave: Callable[[], object]) -> None:
        """`change` gets each new query; Enter calls `leave`."""
        super().__init__(max_length=MAX_QUERY, select_on_focus=False)
        self.cursor_blink = False
        self._change = change
        self._leave = leave

    def insert_typed(self, event: events.Key | events.Paste) -> bool:
        """Insert the text of a key, or the first line of a paste; False for another key."""
        is_paste = isinstance(event, events.Paste)
        text = event.text.partition("\n")[0] if is_paste else event.character or ""
        if not is_paste and not event.is_printable:
            return False
        self.replace(text, *self.selection)
        return True

    def watch_value(self, value: str) -> None:
        """Search for another query."""
        if self.is_mounted:
            self._change(value)

    async def action_submit(self) -> None:
        """Leave the query; a message would be handled after the next key."""
        self._leave()


class SearchBar(Horizontal):
    """Searches a layout from its first visible row with each change of the query.

    `show_match` shows the current match, or that there is none; Enter calls `leave`.
    """

    DEFAULT_CSS = """
    SearchBar {
        height: 1;
        padding: 0 1;
        Static { width: auto; color: $text-muted; }
        Input {
            width: 1fr;
            height: 1;
            border: none;
            padding: 0;
            background: $background;
            &:focus { border: none; }
        }
    }
    """

    def __init__(
        self,
        layout: ItemLayout,
        *,
        first_row: Callable[[], int],
        show_match: Callable[[Search | None], None],
        leave: Callable[[], object],
    ) -> None:
        super().__init__()
        self.search: Search | None = None
        """The matches, as soon as they are found."""
        self._latest = Search("")  # perhaps without its matches yet
        self._steps: list[int] = []
        self._is_moving = False  # a worker finds matches, or takes the steps
        self._layout = layout
        self._first_row = first_row
        self._show_match = show_match
        self.entry = QueryInput(self._change, leave)
        self._summary = Static(markup=False)

    def compose(self) -> ComposeResult:
        """Lay out the query and the number of matches."""
        yield Static("/", markup=False)
        yield self.entry
        yield self._summary

    def on_mount(self) -> None:
        """Show the key that ends the search."""
        self._show("")

    def edit(self) -> None:
        """Accept keys; a new query replaces the one before."""
        self.entry.select_all()
        self.screen.set_focus(self.entry)

    def on_resize(self) -> None:
        """Show as many keys as fit."""
        self._show(self.search.summary if self.search is not None else "")

    @property
    def has_query(self) -> bool:
        """Whether there is a text to search, perhaps without its matches yet."""
        return self._is_moving or self.search is not None

    def close(self) -> None:
        """End the search and remove this line."""
        self.search = None
        self.workers.cancel_group(self, "search")
        self.remove()

    def _show(self, summary: str) -> None:
        """Show the number of matches and the keys."""
        end = build_hint("chat.stop", "ends")
        if self.app.size.width >= 80:
            steps = [build_hint(_NEXT, "next"), build_hint(_PREVIOUS, "previous")]
        else:
            steps = ["/".join(filter(None, (get_label(_NEXT), get_label(_PREVIOUS))))]
        self._summary.update(join_hints(summary, *steps, end) if summary else end)

    def _change(self, query: str) -> None:
        """Search as the query is typed."""
        self.search = None
        self._steps.clear()
        self._is_moving = bool(query.strip())
        self._find(query)

    @work(group="search", exclusive=True)
    async def _find(self, query: str) -> None:
        self._show("")
        self._latest.fold(self._layout)
        self._show_match(None)
        if query.strip():
            search = self._latest = Search(query)
            await search.find(self._layout, self._first_row())
            self.search = search
            await self._go(search, 0)
            await self._take_steps(search)

    def step(self, step: int) -> None:
        """Go to the next (1) or previous (-1) match; steps that come faster follow one by one."""
        if self._is_moving:
            self._steps.append(step)
        elif self.search is not None:
            self._steps.append(step)
            self._move(self.search)

    @work(group="search", exclusive=True)
    async def _move(self, search: Search) -> None:
        await self._take_steps(search)

    async def _take_steps(self, search: Search) -> None:
        self._is_moving = True
        while self._steps:
            await self._go(search, self._steps.pop(0))
        self._is_moving = False

    async def _go(self, search: Search, step: int) -> None:
        await search.step(self._layout, step)
        self._show(search.summary)
        self._show_match(search)
