"""Keys in use, for bindings, help and hints.

The app sets them once, before it draws anything. They belong to the process, as the keyboard does:
hints are drawn far from the app, in items of the transcript.
"""

from collections.abc import Iterable, Iterator
from itertools import groupby

from rich.cells import cell_len
from textual.binding import Binding
from textual.events import Key, Paste

from yourtool.agent.commands.base import Section
from yourtool.settings.ui_config import UiConfig
from yourtool.tui.keys.key_bindings import PLACE_TITLES, KeyBinding, KeyPlace
from yourtool.tui.keys.key_names import get_character, get_key_label
from yourtool.tui.keys.keymap import ANSWERS, Keymap, build_keymap
from yourtool.tui.keys.keys import KEYS

_NO_KEY = "no_key"
"""A key that no terminal sends, for actions without a key; Textual's bindings need one."""
_READING_ACTIONS = (
    "chat.page_up",
    "chat.page_down",
    "chat.top",
    "chat.bottom",
    "prompt.complete",
)
_HINT_GAP = " · "
_DEFAULT = build_keymap()
_active = _DEFAULT


def use_keymap(settings: UiConfig) -> dict[str, str]:
    """Use the keys of the settings; return what differs from `bindings`, for `App.set_keymap`."""
    global _active
    _active = keymap = build_keymap(settings.keymap, settings.keys)
    changed = (each for each in KEYS if keymap.keys[each.id] != _DEFAULT.keys[each.id])
    return {each.id: ",".join(keymap.keys[each.id]) or _NO_KEY for each in changed}


def get_keymap() -> Keymap:
    """Return the keys in use."""
    return _active


def bindings(place: KeyPlace, *, only: str = "") -> list[Binding]:
    """Return Textual's bindings for the default keys of one place, or for those of one action.

    Bindings of the chat have priority over the focused widget; an action raises `SkipAction` to
    pass the key on to that widget. Answers to approval prompts are never bound: only the approval
    prompt handles them.
    """
    return [
        Binding(
            key.keys or _NO_KEY,
            key.action,
            key.description,
            id=key.id,
            show=False,
            priority=key.place == "chat",
        )
        for key in KEYS
        if key.place == place and key.action and key.id not in ANSWERS and only in ("", key.id)
    ]


def get_keys(action: str) -> tuple[str, ...]:
    """Return Textual's names of the keys of an action."""
    return _active.keys[action]


def get_label(action: str) -> str:
    """Return the label of the first key of an action; empty if it has none."""
    keys = get_keys(action)
    return get_key_label(keys[0]) if keys else ""


def build_hint(action: str, words: str) -> str:
    """Return the first key of an action and what it does; empty if it has no key."""
    label = get_label(action)
    return f"{label} {words}" if label else ""


def join_hints(*hints: str) -> str:
    """Return the hints that are not empty in one line."""
    return _HINT_GAP.join(filter(None, hints))


def shorten_hints(hints: str, room: int) -> str:
    """Return hints with `^T` in place of `Ctrl+T` if they have more cells than there is room."""
    return hints if cell_len(hints) <= room else hints.replace("Ctrl+", "^")


def is_chat_key(key: str) -> bool:
    """Return whether a key has the same effect everywhere on the main screen."""
    return any(key in get_keys(each.id) for each in KEYS if each.place == "chat")


def is_reading_key(event: Key | Paste) -> bool:
    """Return whether a key scrolls, or moves the focus out of an empty prompt."""
    if isinstance(event, Paste):
        return False
    return any(event.key in get_keys(action) for action in _READING_ACTIONS)


def find_answer(character: str) -> str:
    """Return the letter of the answer that a character gives; empty if it gives none."""
    answers = _active.answers.items()
    return next((letter for key, letter in answers if get_character(key) == character), "")


def get_answer_label(letter: str) -> str:
    """Return the character that gives an answer; empty if there is none."""
    found = (key for key, answer in _active.answers.items() if answer == letter)
    return get_character(next(found, ""))


def describe_keys() -> tuple[Section, ...]:
    """Return the help on keys, by place."""
    return tuple(
        Section(title, tuple(_describe_place(place))) for place, title in PLACE_TITLES.items()
    )


def _describe_place(place: KeyPlace) -> Iterator[tuple[str, str]]:
    for key in KEYS:
        if key.place == place and (labels := get_labels(key, _active)):
            yield labels, key.description


def get_labels(key: KeyBinding, keymap: Keymap) -> str:
    """Return the labels of the keys that an action has in a keymap."""
    keys = keymap.keys[key.id]
    if key.label is not None and keys == _DEFAULT.keys[key.id]:
        return key.label
    return ", ".join(map(get_key_label, keys))


def place_hints(place: KeyPlace) -> tuple[str, ...]:
    """Return the keys of a place with a word each; keys with the same word share it."""
    listed = (key for key in KEYS if key.place == place and key.hint and get_keys(key.id))
    groups = groupby(listed, lambda key: key.hint)
    return tuple(f"{'/'.join(get_label(key.id) for key in keys)} {hint}" for hint, keys in groups)


def fit_hints(hints: Iterable[str], width: int) -> str:
    """Return the first hints, as many as fit into a width."""
    line = ""
    for hint in filter(None, hints):
        longer = f"{line}{_HINT_GAP}{hint}" if line else hint
        if len(longer) > width:
            break
        line = longer
    return line
