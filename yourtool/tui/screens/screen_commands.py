"""Slash commands about the screen.

They concern its keys, display, prompt and end.
"""

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from typing import TypeAlias, cast

from yourtool.agent.commands.base import Choice, Section
from yourtool.agent.commands.command_table import CommandTable, describe_commands
from yourtool.errors import UsageError
from yourtool.paths import resolve_paths
from yourtool.settings.config import AUTO_THEME
from yourtool.settings.saved_settings import save_setting, split_save_option
from yourtool.tui.input.drafts import Draft
from yourtool.tui.keys.active_keys import describe_keys
from yourtool.tui.screens import key_inspector, picker, report
from yourtool.tui.screens.attachments import attach_file, paste_clipboard
from yourtool.tui.screens.chat import ChatScreen
from yourtool.tui.theme.theme_choice import ThemeChosen, get_chosen_name, list_candidates
from yourtool.tui.theme.themes import find_theme_names, load_named_theme

ScreenCommand: TypeAlias = Callable[[ChatScreen, str], Awaitable[None]]


async def show_help(chat: ChatScreen, _argument: str) -> None:
    """`/help`: show commands and keys."""
    await chat.app.push_screen(report.ReportScreen("Help", help_report(chat.runner.commands)))


async def inspect_keys(chat: ChatScreen, _argument: str) -> None:
    """`/keys`: name the keys that are pressed, and their actions."""
    await chat.app.push_screen(key_inspector.KeyInspector())


async def choose_theme(chat: ChatScreen, argument: str) -> None:
    """`/theme`: switch to a theme, or pick one from a list, which makes it the default.

    The list shows each theme while it is marked. `--save` makes a named one the default.
    """
    about = dict(list_candidates(await asyncio.to_thread(find_theme_names)))
    chat.completer.values = {**chat.completer.values, "theme": [*about.items()]}
    current = get_chosen_name(cast("object", chat.app))
    names = [*about]
    argument, saves = split_save_option(argument)
    name = argument or (current if saves else "")
    if not name:
        rows = [Choice(each, each, text) for each, text in about.items()]
        listed, saves = picker.Picker("Theme", rows, current=current), True
        listed.follow = lambda name: chat.app.post_message(ThemeChosen(name))
        if not (name := await chat.app.push_screen_wait(listed) or ""):
            chat.app.post_message(ThemeChosen(current))
    if name and name not in names:
        raise UsageError(f"Unknown theme `{name}`; choose one of {', '.join(names)}.")
    if name and name != AUTO_THEME:
        await asyncio.to_thread(load_named_theme, name)  # its error is shown
    if name:
        chat.app.post_message(ThemeChosen(name))
    if name and saves:
        file = await asyncio.to_thread(save_setting, resolve_paths(), ("theme",), name)
        chat.note("info", f"Saved `{name}` as the default theme in {file}.")


async def steer_turn(chat: ChatScreen, argument: str) -> None:
    """`/steer`: give a message, or the last queued one, to the running turn."""
    chat.runner.steer(Draft(argument))


async def quit_app(chat: ChatScreen, _argument: str) -> None:
    """`/quit`: exit the program."""
    await chat.app.action_quit()


def help_report(commands: "CommandTable | None" = None) -> tuple[Section, ...]:
    """Return all commands and keys, from the tables that define them."""
    return *describe_commands(commands), *describe_keys()


SCREEN_COMMANDS: Mapping[str, ScreenCommand] = {
    "help": show_help,
    "keys": inspect_keys,
    "theme": choose_theme,
    "attach": attach_file,
    "paste": paste_clipboard,
    "steer": steer_turn,
    "quit": quit_app,
}
