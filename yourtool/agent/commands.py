"""Slash commands: one table that the parser, the completion and the help share."""

from collections.abc import Mapping
from difflib import get_close_matches
from typing import Literal, TypeAlias

from msgspec import Struct

Values: TypeAlias = Literal["model", "effort", "mode", "theme", "provider", "file"]
"""What completion offers for an argument."""


class SlashCommand(Struct, frozen=True, kw_only=True):
    """One row of the table."""

    name: str
    summary: str
    argument: str = ""
    """How the argument is written in the help; empty: there is none."""
    values: Values | None = None
    words: tuple[tuple[str, str], ...] = ()
    """Arguments that are no name of anything, and what they do."""
    during_turn: bool = True
    """Whether it may be used while a turn runs."""
    needs_session: bool = True
    aliases: tuple[str, ...] = ()

    @property
    def usage(self) -> str:
        """The command as it is typed."""
        return f"/{self.name} {self.argument}".rstrip()


COMMANDS: tuple[SlashCommand, ...] = (
    SlashCommand(name="help", summary="show what can be typed and pressed", needs_session=False),
    SlashCommand(
        name="model",
        argument="[NAME | - | show]",
        values="model",
        words=(("show", "say why the last turn went where"), ("-", "give the choice back")),
        summary="choose the model; `-` gives the choice back, `show` explains the last one",
    ),
    SlashCommand(name="models", summary="pick a model from a list with prices and abilities"),
    SlashCommand(
        name="effort",
        argument="[LEVEL | -]",
        values="effort",
        words=(("-", "send no reasoning effort"),),
        summary="say how long models think before they answer; `-` leaves it to them",
    ),
    SlashCommand(name="new", summary="begin a new session", during_turn=False),
    SlashCommand(
        name="resume",
        argument="[ID]",
        summary="go on with an earlier session",
        during_turn=False,
        aliases=("sessions",),
    ),
    SlashCommand(
        name="fork",
        summary="go on from here, or from before a prompt, in a copy of the session",
        during_turn=False,
    ),
    SlashCommand(
        name="search",
        argument="WORDS",
        summary="find words in all sessions, and go there",
        during_turn=False,
    ),
    SlashCommand(
        name="export",
        argument="[FILE]",
        summary="write the session as Markdown, or as FILE.jsonl, which can be imported",
    ),
    SlashCommand(name="clear", summary="clear the screen; the conversation goes on"),
    SlashCommand(name="cost", summary="show what the session has cost, by model"),
    SlashCommand(name="context", summary="show what fills the model's context"),
    SlashCommand(
        name="key",
        argument="[PROVIDER]",
        values="provider",
        summary="enter an API key, unseen, and use that provider",
    ),
    SlashCommand(name="retry", summary="try the last turn again", during_turn=False),
    SlashCommand(
        name="continue", summary="let a reply go on that was cut at its limit", during_turn=False
    ),
    SlashCommand(
        name="theme",
        argument="[NAME]",
        values="theme",
        summary="change the colours",
    ),
    SlashCommand(
        name="mode",
        argument="[NAME]",
        values="mode",
        summary="say how much is asked before tools run",
    ),
    SlashCommand(
        name="copy", argument="[N]", summary="copy the last reply, or the Nth from the end"
    ),
    SlashCommand(
        name="attach",
        argument="[FILE | ADDRESS | -]",
        values="file",
        words=(("-", "leave out what waits"),),
        summary="send a picture, a recording or a document with the next prompt; `-` leaves it out",
    ),
    SlashCommand(name="paste", summary="send the picture in the clipboard with the next prompt"),
    SlashCommand(name="quit", summary="leave", needs_session=False, aliases=("exit",)),
)

_BY_NAME = {name: each for each in COMMANDS for name in (each.name, *each.aliases)}

_NAMES_ELSEWHERE: Mapping[str, str] = {
    "add": "attach",
    "approval-mode": "mode",
    "approvals": "mode",
    "branch": "fork",
    "commands": "help",
    "file": "attach",
    "find": "search",
    "history": "resume",
    "hotkeys": "help",
    "image": "attach",
    "keybindings": "help",
    "keymap": "help",
    "load": "resume",
    "login": "key",
    "permissions": "mode",
    "plan": "mode plan",
    "q": "quit",
    "reasoning": "effort",
    "redo": "retry",
    "regenerate": "retry",
    "reset": "new",
    "rewind": "fork",
    "save": "export",
    "session": "resume",
    "share": "export",
    "stats": "cost",
    "switch": "model",
    "themes": "theme",
    "think": "effort",
    "thinking": "effort",
    "tokens": "context",
    "tree": "fork",
    "usage": "cost",
    "variants": "effort",
    "yolo": "mode auto",
}
"""Commands of other agents, each with the command here that does the same or the most of it."""

_NEAR = 0.7
"""How much two names must have in common, from 0 to 1, before one is suggested for the other."""


class Invocation(Struct, frozen=True):
    """A command to obey."""

    command: SlashCommand
    argument: str = ""


class ShellLine(Struct, frozen=True):
    """A command line for the shell, which is run without the model."""

    command: str
    shared: bool = True
    """Whether models see it and what it prints."""


class Mistake(Struct, frozen=True):
    """A line that begins like a command and cannot be obeyed; nothing was done."""

    message: str
    path_like: bool = False
    """It may be meant as text: it begins with what could be the path of a file."""


Typed: TypeAlias = Invocation | ShellLine | Mistake
"""What is no text for the model."""


def parse(text: str) -> Typed | None:
    """Read what was typed; None: it is text for the model.

    Only a sign in the very first column begins a command, so a space before it makes it text.
    """
    if text.startswith("!"):
        return _shell_line(text)
    if not text.startswith("/") or text[1:2].isspace():
        return None
    word, argument = (*text[1:].split(maxsplit=1), "", "")[:2]
    argument = argument.strip()
    if (command := _BY_NAME.get(word)) is None:
        return _unknown(word)
    if argument and not command.argument:
        return Mistake(
            f"`/{word}` takes no argument; put a space before the slash to send this as text"
        )
    if "\n" in argument:
        return Mistake(f"`/{word}` is written on one line: `{command.usage}`")
    return Invocation(command, argument)


def matching(prefix: str) -> tuple[SlashCommand, ...]:
    """Return the commands whose name, or an alias, begins with `prefix`.

    The one of exactly this name comes first, the others in table order.
    """
    found = (
        command
        for command in COMMANDS
        if any(name.startswith(prefix) for name in (command.name, *command.aliases))
    )
    return tuple(sorted(found, key=lambda command: command.name != prefix))


def _shell_line(text: str) -> ShellLine | Mistake:
    shared = not text.startswith("!!")
    if command := text.removeprefix("!").removeprefix("!").strip():
        return ShellLine(command, shared)
    return Mistake(
        "`!` runs a command here and shows the model what it prints, as in `!git status`;"
        " with `!!` the model sees nothing"
    )


def _unknown(word: str) -> Mistake:
    if "/" in word or "." in word:
        return Mistake(f"Unknown command `/{word}`; press Enter again to send it as text", True)
    if suggestion := _suggestion(word):
        return Mistake(f"Unknown command `/{word}`; did you mean `/{suggestion}`?")
    return Mistake(f"Unknown command `/{word}`; `/help` lists the commands")


def _suggestion(word: str) -> str | None:
    if equivalent := _NAMES_ELSEWHERE.get(word):
        return equivalent
    near = get_close_matches(word, [*_BY_NAME, *_NAMES_ELSEWHERE], n=1, cutoff=_NEAR)
    return _NAMES_ELSEWHERE.get(near[0], near[0]) if near else None
