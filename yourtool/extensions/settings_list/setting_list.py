"""Editable list of settings."""

import asyncio
from collections.abc import Mapping
from functools import partial
from typing import TYPE_CHECKING, Any

from yourtool.agent.commands.base import (
    Choice,
    ChoiceAction,
    Choose,
    CommandResults,
    EnterText,
    Invocation,
    SettingChanged,
)
from yourtool.agent.commands.table import COMMANDS_BY_NAME
from yourtool.cli.config import get_ui_warnings
from yourtool.errors import ConfigError, UnknownModelError
from yourtool.events.deltas import Notice
from yourtool.extensions.settings_list.changes import EditedSetting, build_settings, describe_start
from yourtool.extensions.settings_list.weaker import describe_weakening
from yourtool.settings.config import Config, config_file, find_option_settings, load_report
from yourtool.settings.saved_settings import format_toml, save_setting
from yourtool.settings.shown_values import format_value
from yourtool.settings.tables import Fault, TableKey, flatten

if TYPE_CHECKING:
    from yourtool.agent.runtime import Runtime
    from yourtool.agent.session.session import Session

_SHOWN = 16
"""Characters of a value in the list; the text below has all of it."""
_YES = "yes"
_DEFAULTS = dict(flatten(Config()))


class SettingList:
    """Shows the settings, and shows them again after a change."""

    def __init__(self, session: "Session", runtime: "Runtime") -> None:
        self._session, self._runtime = session, runtime
        self._settings: Mapping[str, EditedSetting] = {}

    async def show(self, current: str = "") -> CommandResults:
        """Let the user choose a setting; `current`: the name of the one that is marked."""
        await self._read()
        yield Choose(
            "Settings",
            tuple(map(_build_choice, self._settings.values())),
            then=self.change,
            current=current,
            columns=("value", "from"),
            actions=(ChoiceAction("ctrl+d", "Enter changes · Ctrl+D default", self._reset),),
        )

    async def change(self, name: str) -> CommandResults:
        """Toggle a setting, or let the user choose or enter its value."""
        edited = self._settings[name]
        if name == "theme" and not edited.fixed:
            yield Invocation(COMMANDS_BY_NAME["theme"])
            return
        if reason := edited.fixed:
            yield Notice(level="info", text=f"`{name}` cannot be changed here: {reason}.")
        elif edited.choices == ["true", "false"] and edited.setting.value is not None:
            async for result in self._save(edited, not edited.setting.value):
                yield result
            return
        elif edited.choices:
            yield Choose(
                f"{name}: {edited.field.description}",
                tuple(Choice(each, each) for each in edited.choices),
                then=partial(self._take, edited),
                current=format_toml(edited.setting.value).strip('"'),
            )
            return
        else:
            yield self._ask(edited, edited.typed, edited.field.description)
            return
        async for result in self.show(name):
            yield result

    def _ask(self, edited: EditedSetting, typed: str, text: str) -> EnterText:
        return EnterText(edited.name, text, then=partial(self._take, edited), value=typed)

    async def _take(self, edited: EditedSetting, typed: str) -> CommandResults:
        """Save what the user typed or chose, or ask again; nothing is typed: it stays."""
        if not typed:
            async for result in self.show(edited.name):
                yield result
            return
        value = edited.parse(typed)
        if not isinstance(value, Fault) and _is_model(edited.key):
            value = self._find_model(typed)
        if isinstance(value, Fault):
            hint = f"; did you mean `{value.nearest}`?" if value.nearest else "."
            yield self._ask(edited, typed, f"{value.message}{hint}\n{edited.field.description}")
            return
        async for result in self._save(edited, value):
            yield result

    def _find_model(self, name: str) -> Any:
        try:
            return self._runtime.catalogue.resolve(name).id
        except UnknownModelError as error:
            return Fault(str(error).rstrip("."))

    async def _reset(self, name: str) -> CommandResults:
        """Remove a setting from the file."""
        edited = self._settings.get(name)
        if edited is None or edited.line is None:
            text = f"`{name}` is not in the file." if name else "No setting is marked."
            yield Notice(level="info", text=text)
            async for result in self.show(name):
                yield result
            return
        async for result in self._save(edited, None):
            yield result

    async def _save(
        self, edited: EditedSetting, value: Any, *, is_confirmed: bool = False
    ) -> CommandResults:
        """Write a value to the file; None removes the key. Ask before it weakens."""
        after = _DEFAULTS.get(edited.key) if value is None else value
        weaker = describe_weakening(edited.key, edited.setting.value, after)
        if weaker and not is_confirmed:
            yield Choose(
                f"{weaker}.",
                (
                    Choice("", "Keep", f"{edited.name} stays as it is"),
                    Choice(_YES, "Change", f"{edited.name} = {format_value(edited.key, after)}"),
                ),
                then=partial(self._save_if, edited, value),
            )
            return
        try:
            file = await asyncio.to_thread(save_setting, self._runtime.paths, edited.key, value)
        except ConfigError as error:
            yield Notice(level="error", text=str(error))
        else:
            done = f"= {format_toml(value)}" if value is not None else "is the default again"
            text = f"`{edited.name} {done}` in {file}: {describe_start(edited.key)}."
            yield Notice(level="info", text=text)
            async for result in self._use():
                yield result
        async for result in self.show(edited.name):
            yield result

    async def _save_if(self, edited: EditedSetting, value: Any, answer: str) -> CommandResults:
        again = self._save(edited, value, is_confirmed=True) if answer else self.show(edited.name)
        async for result in again:
            yield result

    async def _use(self) -> CommandResults:
        """Use the changed settings as far as no new session or start is needed."""
        report = await asyncio.to_thread(load_report, self._runtime.paths)
        self._runtime.config = report.config
        self._session.use_settings(report.config)
        yield SettingChanged("settings")
        for each in await asyncio.to_thread(get_ui_warnings, self._runtime.paths, report):
            yield Notice(level="warning", text=each)

    async def _read(self) -> None:
        paths, options = self._runtime.paths, find_option_settings(self._runtime.options)
        report = await asyncio.to_thread(load_report, paths, None, options)
        self._settings = build_settings(report.settings, config_file(paths), report.text)

    async def toggle(self, name: str) -> CommandResults:
        """Toggle a setting without showing the list."""
        await self._read()
        async for result in self.change(name):
            if isinstance(result, Choose):
                return
            yield result


def _is_model(key: TableKey) -> bool:
    names = ("model", "summary_model", "judge", "fast", "balanced", "deep")
    return key[-1] in names and key[0] not in ("providers", "agents")


def _build_choice(edited: EditedSetting) -> Choice:
    value = edited.shown
    is_long = len(value) > _SHOWN
    cell = f"{value[: _SHOWN - 1]}…" if is_long else value
    about = f"{value}\n{edited.field.description}" if is_long else edited.field.description
    return Choice(edited.name, edited.name, about, cells=(cell, edited.source))
