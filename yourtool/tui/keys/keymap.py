"""Keymap of all actions.

A change that is not valid has no effect, so that a mistake never takes the keys away. Keys that
allow a tool call are single characters, which `KeystrokeGuard` protects; no other key, such as
Enter, can allow a call by accident.
"""

from collections.abc import Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Any, TypeAlias

import msgspec
from msgspec import Struct

from yourtool.foundation.suggestions import find_closest
from yourtool.settings.tables import TableKey, format_key, is_table
from yourtool.settings.ui_config import KeymapName
from yourtool.tui.keys.key_bindings import KeyBinding, KeyPlace
from yourtool.tui.keys.key_names import (
    KeyNameError,
    format_key_name,
    get_character,
    is_character,
    parse_key,
)
from yourtool.tui.keys.key_presets import PRESETS
from yourtool.tui.keys.keys import KEYS

KeysByAction: TypeAlias = Mapping[str, tuple[str, ...]]
"""Textual's names of the keys, by the name of the action."""

KEYS_TABLE: TableKey = ("ui", "keys")
_NONE = "none"
"""Removes the keys of an action, as does an empty list."""
_DIALOGS: frozenset[KeyPlace] = frozenset({"list", "report"})
"""Places that cover the main screen, so that its keys have no effect there."""
_TEXT_PLACES: frozenset[KeyPlace] = frozenset({"chat", "prompt", "list"})
"""Places in which characters are text."""
_EDITING_KEYS = frozenset({"backspace", "delete", "left", "right"})
ANSWERS = tuple(key.id for key in KEYS if key.action.startswith("answer("))
"""The actions that answer an approval prompt."""
_NEEDED = frozenset({"prompt.send", "chat.stop", "chat.interrupt", "list.close", "report.close"})
_STARTS_INPUT = "/@!\\"
"""Characters with which commands, mentions and shell commands start."""
_ROWS: Mapping[str, KeyBinding] = MappingProxyType({key.id: key for key in KEYS})


class KeyProblem(Struct, frozen=True):
    """A change without effect, and the way out."""

    key: TableKey
    """Its place in `config.toml`."""
    message: str
    nearest: str | None = None

    def __str__(self) -> str:
        hint = f"; did you mean `{self.nearest}`?" if self.nearest else ""
        return f"`{format_key(self.key)}`: {self.message}{hint}"


class Keymap(Struct, frozen=True):
    """The keys in use."""

    keys: KeysByAction
    problems: tuple[KeyProblem, ...] = ()

    @property
    def answers(self) -> Mapping[str, str]:
        """The answers to an approval prompt by key, as the letters of their default keys."""
        return {key: _ROWS[action].keys for action in ANSWERS for key in self.keys[action]}


class _Change(Struct, frozen=True):
    """New keys of an action."""

    at: TableKey
    keys: tuple[str, ...]


def build_keymap(
    preset: KeymapName = "default", entries: Mapping[str, Any] | None = None
) -> Keymap:
    """Return the keys of a preset with the changes of `[ui.keys]`."""
    default = {key.id: tuple(key.keys.split(",")) if key.keys else () for key in KEYS}
    base = {**default, **PRESETS[preset]}
    changes: dict[str, _Change] = {}
    problems: list[KeyProblem] = []
    for at, value in _iter_entries(entries or {}):
        action = ".".join(at[len(KEYS_TABLE) :])
        try:
            changes[action] = _Change(at, _parse_keys(action, value))
        except KeyNameError as error:
            problems.append(KeyProblem(at, str(error), error.nearest))
    while True:
        keys = {**base, **{action: change.keys for action, change in changes.items()}}
        conflict = next(_iter_conflicts(keys, changes), None)
        if conflict is None:
            return Keymap(keys, tuple(problems))
        action, message = conflict
        problems.append(KeyProblem(changes.pop(action).at, message))


def _iter_entries(table: Mapping[str, Any], at: TableKey = KEYS_TABLE) -> Iterator[tuple[Any, Any]]:
    """Yield the entries of a table; `chat.retry = …` is a table in TOML, `"chat.retry"` is not."""
    for name, value in table.items():
        if is_table(value):
            yield from _iter_entries(value, (*at, name))
        else:
            yield (*at, name), value


def _parse_keys(action: str, value: Any) -> tuple[str, ...]:
    """Return the keys in an entry.

    Raises:
        KeyNameError: with the way out.
    """
    row = _ROWS.get(action)
    if row is None:
        raise KeyNameError("there is no such action", find_closest(action, _ROWS))
    if not row.action:
        raise KeyNameError("its keys cannot be changed")
    try:
        names = msgspec.convert([value] if isinstance(value, str) else value, tuple[str, ...])
    except msgspec.ValidationError:
        message = 'must be a key such as `"ctrl+t"`, a list of keys, or `[]` for none'
        raise KeyNameError(message) from None
    keys = tuple(dict.fromkeys(parse_key(name) for name in names if name != _NONE))
    if not keys and action in _NEEDED:
        raise KeyNameError("needs at least one key")
    for key in keys:
        if reason := _find_objection(row, key):
            raise KeyNameError(f"`{format_key_name(key)}` {reason}")
    return keys


def _find_objection(row: KeyBinding, key: str) -> str:
    """Return why a key cannot have an action, and the way out; empty if it can."""
    character = get_character(key)
    if row.id in ANSWERS:
        is_safe = len(character) == 1 and not character.isspace()
        return "" if is_safe else "could answer by accident; use a letter, digit or sign"
    if key in _EDITING_KEYS and row.place in _TEXT_PLACES:
        return "edits the text; add `ctrl+` or `alt+`"
    if not is_character(key):
        return ""
    if row.id == "chat.keys":
        is_sign = not character.isalnum() and character not in f" {_STARTS_INPUT}"
        return "" if is_sign else "starts a prompt; use another sign, or add `ctrl+` or `alt+`"
    types_text = row.place in _TEXT_PLACES or row.place == "approval"
    return "is typed as text there; add `ctrl+` or `alt+`, or use `f1` to `f12`" * types_text


def _iter_conflicts(
    keys: KeysByAction, changes: Mapping[str, _Change]
) -> Iterator[tuple[str, str]]:
    """Yield the changes that give a key a second action, the last one first."""
    users: dict[str, list[str]] = {}
    for action, names in keys.items():
        for name in names:
            users.setdefault(name, []).append(action)
    for action, change in reversed(list(changes.items())):
        for key in change.keys:
            for other in users[key]:
                if other != action and _overlap(_ROWS[action], _ROWS[other]):
                    yield action, _describe_conflict(key, other, changes)


def _overlap(one: KeyBinding, other: KeyBinding) -> bool:
    """Return whether a key cannot have both actions."""
    places = {one.place, other.place}
    if not (one.action and other.action):
        return False
    return len(places) == 1 or ("chat" in places and not places & _DIALOGS)


def _describe_conflict(key: str, other: str, changes: Mapping[str, _Change]) -> str:
    way_out = "change that entry" if other in changes else f"free this one with `{other} = []`"
    return f"`{format_key_name(key)}` is also the key of `{other}`; use another key, or {way_out}"


def find_actions(keymap: Keymap, key: str) -> Sequence[KeyBinding]:
    """Return the actions of a key, in the order of the table."""
    return [row for row in KEYS if key in keymap.keys[row.id]]
