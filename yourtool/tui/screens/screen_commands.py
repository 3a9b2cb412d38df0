"""The slash commands about the screen: its keys, display, prompt and end."""

from collections.abc import Awaitable, Callable, Mapping
from typing import TypeAlias

from textual.binding import Binding

from yourtool.agent.commands.base import Choice, Section
from yourtool.agent.commands.table import describe_commands
from yourtool.errors import UsageError
from yourtool.tui.keys import KEYS, KeyPlace
from yourtool.tui.screens.attachments import attach_clipboard, attach_file
from yourtool.tui.screens.chat import ChatScreen
from yourtool.tui.screens.picker import Picker
from yourtool.tui.screens.report import ReportScreen
from yourtool.tui.transcript.transcript import Transcript

ScreenCommand: TypeAlias = Callable[[ChatScreen, str], Awaitable[None]]

_PLACE_TITLES: dict[KeyPlace, str] = {
    "prompt": "In the prompt",
    "chat": "Anywhere",
    "approval": "In an approval prompt, half a second after the last key",
}


async def show_help(chat: ChatScreen, _argument: str) -> None:
    """`/help`: show commands and keys."""
    await chat.app.push_screen(ReportScreen("Help", help_report()))


async def clear_screen(chat: ChatScreen, _argument: str) -> None:
    """`/clear`: clear the transcript."""
    chat.transcript.clear()


async def choose_theme(chat: ChatScreen, argument: str) -> None:
    """`/theme`: switch to a theme, or pick one from a list."""
    names = sorted(name for name, _ in chat.completer.values["theme"])
    name = argument or await chat.app.push_screen_wait(
        Picker("Theme", [Choice(name, name) for name in names], current=chat.app.theme)
    )
    if name and name not in names:
        raise UsageError(f"Unknown theme `{name}`; choose one of {', '.join(names)}.")
    if name:
        chat.app.theme = name


async def quit_app(chat: ChatScreen, _argument: str) -> None:
    """`/quit`: exit the program."""
    await chat.app.action_quit()


def help_report() -> tuple[Section, ...]:
    """Return all commands and keys, from the tables that define them."""
    keys = tuple(
        Section(heading, tuple((k.label, k.description) for k in KEYS if k.place == place))
        for place, heading in _PLACE_TITLES.items()
    )
    return *describe_commands(), *keys, Section("In the transcript", transcript_keys())


def transcript_keys() -> tuple[tuple[str, str], ...]:
    """Return the keys of the transcript."""
    return tuple(
        (each.key.replace(",", ", ").title() if len(each.key) > 1 else each.key, each.description)
        for each in Transcript.BINDINGS
        if isinstance(each, Binding)
    )


SCREEN_COMMANDS: Mapping[str, ScreenCommand] = {
    "help": show_help,
    "clear": clear_screen,
    "theme": choose_theme,
    "attach": attach_file,
    "paste": attach_clipboard,
    "quit": quit_app,
}
