"""New values of settings, from texts and choices."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from msgspec import Struct, to_builtins

from yourtool.settings.config import Config, Setting, validate
from yourtool.settings.saved_settings import format_toml
from yourtool.settings.shown_values import SettingField, find_field, format_value, redact
from yourtool.settings.tables import Fault, TableKey, format_key, parse_toml
from yourtool.settings.toml_places import line_of

_AT_ONCE = ("ui", "limits", "budget", "context", "fallback", "cache_retention", "thinking_on_swap")
_AT_START = ("sandbox", "shell", "providers", "agents", "sessions")
_UI_AT_START = ("ascii", "linear", "mouse")
_EXAMPLES = 'write a number, or a list such as `["a", "b"]`'


class EditedSetting(Struct, frozen=True):
    """One setting with its type and its place."""

    setting: Setting
    field: SettingField
    file: Path
    text: str
    """The text of the file."""

    @property
    def key(self) -> TableKey:
        return self.setting.key

    @property
    def name(self) -> str:
        """The key in TOML notation."""
        return format_key(self.key)

    @property
    def line(self) -> int | None:
        """The line of the file that sets it."""
        is_set = self.setting.source == str(self.file)
        return line_of(self.text, self.key) if is_set else None

    @property
    def source(self) -> str:
        """The source of the value, short."""
        if self.line is not None:
            return f"{self.file.name}:{self.line}"
        return self.setting.source.rpartition(" ")[2]

    @property
    def choices(self) -> Sequence[str]:
        """The words that a file can have as the value."""
        is_flag = bool in self.field.types
        words = ("true", "false") if is_flag else self.field.choices
        is_one_word = not isinstance(self.setting.value, tuple)
        return [each for each in words if is_one_word and not isinstance(self.parse(each), Fault)]

    @property
    def fixed(self) -> str:
        """The reason why it is fixed here; empty: it can be changed."""
        kind, _, name = self.setting.source.partition(" ")
        if kind == "environment":
            return f"the variable `{name}` sets it and overrides the file; unset it first"
        if kind == "option":
            return f"the option `{name}` sets it for this run; the file applies without it"
        is_shown = redact(self.key, self.setting.value) == to_builtins(self.setting.value)
        if is_shown and self.key != ("hooks",):
            return ""
        place = str(self.file) if self.line is None else f"{self.file}:{self.line}"
        return f"it has tables, or values that are never shown; edit {place}"

    @property
    def shown(self) -> str:
        """The value as TOML, without keys."""
        value = self.setting.value
        is_plain = value is not None and redact(self.key, value) == to_builtins(value)
        return format_toml(value) if is_plain else format_value(self.key, value)

    @property
    def typed(self) -> str:
        """The value as the user edits it."""
        value = self.setting.value
        if value is None or isinstance(value, str):
            return value or ""
        return format_toml(value)

    def parse(self, text: str) -> Any:
        """Return the value that a user typed, or a `Fault`."""
        if str in self.field.types or (self.field.choices and not text.startswith("[")):
            return validate(self.key, text)
        try:
            value = parse_toml(f"value = {text}")["value"]
        except ValueError:
            return Fault(f"`{text[:40]}` is no value: {_EXAMPLES}")
        return validate(self.key, value)


def build_settings(settings: Sequence[Setting], file: Path, text: str) -> dict[str, EditedSetting]:
    """Return the settings by name; `text` is the content of the file."""
    found = (
        EditedSetting(each, field, file, text)
        for each in settings
        if (field := find_field(each.key, Config)) is not None
    )
    return {each.name: each for each in found}


def describe_start(key: TableKey) -> str:
    """Return when a change of a setting has an effect, as a clause."""
    is_late = key[0] in _AT_START or (key[0] == "ui" and key[1] in _UI_AT_START)
    if is_late:
        return "from the next start"
    return "at once" if key[0] in _AT_ONCE else "in new sessions (`/new`)"
