"""Scroll targets of keys.

The rows that the user reads stay in view.
"""

from typing import NamedTuple

from yourtool.tui.transcript.layout import ItemLayout
from yourtool.tui.transcript.text_items import UserMessageItem


class View(NamedTuple):
    """The visible rows."""

    top: int
    height: int

    @property
    def end(self) -> int:
        """The row after the last visible one."""
        return self.top + self.height


class Anchor(NamedTuple):
    """An item whose first row stays where it is on the screen."""

    at: int
    offset: int
    """The row on the screen."""


def get_head(layout: ItemLayout, index: int) -> int:
    """Return the first row of an item, after the gap."""
    return layout.top(index) + layout.gap(index)


def find_anchor(layout: ItemLayout, view: View) -> Anchor | None:
    """Return the first item whose first row is visible; None inside a long item."""
    if not len(layout):
        return None
    index = layout.index_at(view.top)
    if get_head(layout, index) < view.top:
        index += 1
    if index >= len(layout) or get_head(layout, index) >= view.end:
        return None
    return Anchor(index, get_head(layout, index) - view.top)


def get_toggled_top(layout: ItemLayout, index: int, end: int, view: View) -> int:
    """Return the first visible row after an item was folded or expanded.

    The end of an output stays, and the rows that were hidden are above it. `end` is the row on the
    screen where the next item was.
    """
    item = layout.items[index]
    if not item.expanded:
        return min(view.top, get_head(layout, index))
    if item.folds_to_end and 0 < end <= view.height:
        return layout.top(index + 1) - end
    return view.top


class Target(NamedTuple):
    """Where a key leads."""

    at: int | None
    """The item to select; None: the selected item stays."""
    top: int
    """The first visible row; it can be beyond the ends."""


def get_target(layout: ItemLayout, selected: int | None, step: int, view: View) -> Target:
    """Return the next item in a direction, or the next page of a selected long item."""
    if selected is not None and (top := _get_page(layout, selected, step, view)) is not None:
        return Target(None, top)
    if selected is None:
        selected = layout.index_at(view.end) + 1 if len(layout) else 0
    at = layout.find_next(selected, step, lambda item: item.focusable)
    return Target(at, view.top + step if at is None else _get_top(layout, at, step, view))


def find_prompt(layout: ItemLayout, selected: int | None, step: int, view: View) -> int | None:
    """Return the next prompt in a direction."""
    if selected is None:
        selected = layout.index_at(view.top) - (step > 0) if len(layout) else 0
    return layout.find_next(selected, step, lambda item: isinstance(item, UserMessageItem))


def _get_page(layout: ItemLayout, index: int, step: int, view: View) -> int | None:
    """Return the first row of the next page of a visible item; None if there is no more of it."""
    first, end = layout.top(index), layout.top(index + 1)
    if end <= view.top or first >= view.end:
        return None
    if step < 0 and first < view.top:
        return max(first, view.top - view.height + 1)
    if step > 0 and end > view.end:
        return min(end - view.height, view.end - 1)
    return None


def _get_top(layout: ItemLayout, index: int, step: int, view: View) -> int:
    """Return the first visible row for an item that is selected in a direction.

    Of an item that is higher than the screen, the end that comes first is shown.
    """
    first, end = layout.top(index), layout.top(index + 1)
    if end - first >= view.height:
        return min(view.top, end - view.height) if step < 0 else max(view.top, first)
    return min(first, max(view.top, end - view.height))
