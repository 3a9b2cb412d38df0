"""Screen of `/keys`."""

from collections.abc import Iterator

from textual import events
from textual.app import ComposeResult
from textual.binding import Binding
from textual.containers import VerticalScroll
from textual.widgets import TextArea

from yourtool.agent.commands.base import Section
from yourtool.tui.keys.active_keys import get_keymap
from yourtool.tui.keys.key_bindings import PLACE_TITLES, KeyPlace
from yourtool.tui.keys.key_names import (
    KeyNameError,
    format_key_name,
    get_key_label,
    get_same_input,
    parse_key,
)
from yourtool.tui.keys.keymap import find_actions
from yourtool.tui.screens.dialog import Dialog
from yourtool.tui.screens.report import Rows

_EDITING = {
    key: binding.description
    for binding in TextArea.BINDINGS
    if isinstance(binding, Binding)
    for key in binding.key.split(",")
}
"""What Textual's text area does with a key that has no action of ours."""
_NOT_KEPT = "A key that changes nothing here is not sent by your terminal."


class KeyInspector(Dialog[None]):
    """Names the last key; Esc closes it."""

    def compose(self) -> ComposeResult:
        """Lay out the description of the last key."""
        with VerticalScroll(id="window", can_focus=False) as window:
            window.border_title = "Press a key"
            window.border_subtitle = "Esc closes"
            yield Rows(Section("Its name and its actions appear here.", (("", _NOT_KEPT),)))

    def show_key(self, event: events.Key) -> None:
        """Describe a key instead of obeying it; Esc closes the screen."""
        if event.key == "escape":
            self.dismiss()
        else:
            self.query_one(Rows).show(describe_key(event.key, is_text=event.is_printable))


def describe_key(key: str, *, is_text: bool = False) -> Section:
    """Return the name of a key for `[ui.keys]` and its actions, given Textual's name."""
    actions = tuple(_describe_actions(key, is_text=is_text))
    return Section(get_key_label(key), (*_describe_name(key), *(actions or (("Action", "none"),))))


def _describe_name(key: str) -> Iterator[tuple[str, str]]:
    name = format_key_name(key)
    try:
        usable = parse_key(name) == key
    except KeyNameError:
        usable = False
    yield "Name", f"`{name}` in `[ui.keys]`" if usable else "none: it cannot be set in `[ui.keys]`"
    if same := get_same_input(key):
        yield "Also", f"most terminals send the same for {', '.join(map(get_key_label, same))}"


def _describe_actions(key: str, *, is_text: bool) -> Iterator[tuple[str, str]]:
    actions = find_actions(get_keymap(), key)
    for action in actions:
        yield _get_place_name(action.place), f"{action.description} (`{action.id}`)"
    if is_text:
        yield _get_place_name("prompt"), "types the character"
    elif key in _EDITING and not any(action.place in ("prompt", "chat") for action in actions):
        yield _get_place_name("prompt"), _EDITING[key].lower()


def _get_place_name(place: KeyPlace) -> str:
    return PLACE_TITLES[place].partition(",")[0]
