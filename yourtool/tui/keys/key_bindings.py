"""Actions with keys, and where keys apply."""

from collections.abc import Mapping
from typing import Literal, TypeAlias

from msgspec import Struct

KeyPlace: TypeAlias = Literal["chat", "prompt", "queue", "transcript", "approval", "list", "report"]
PLACE_TITLES: Mapping[KeyPlace, str] = {
    "prompt": "In the prompt",
    "chat": "Anywhere",
    "queue": "In the queued messages, after Ctrl+X in an empty prompt",
    "transcript": "In the transcript, after Tab in an empty prompt",
    "approval": "In an approval prompt, half a second after the last key",
    "list": "In a list, where text filters the rows",
    "report": "In a report",
}
"""Headings of the help, in its order."""


class KeyBinding(Struct, frozen=True, kw_only=True):
    """An action and its default keys."""

    id: str
    """Stable name, with which `[ui.keys]` assigns other keys."""
    place: KeyPlace = "chat"
    """`chat` applies everywhere on the main screen, the others to the focused widget."""
    keys: str = ""
    """Textual's key names, separated by commas; empty if the action has no key by default."""
    label: str | None = None
    """What the help lists as the default keys; None: all of them; empty: nothing."""
    action: str = ""
    """Textual's action; empty if the keys cannot be changed."""
    description: str
    hint: str = ""  # a word for the line of hints; keys without one are not listed there
