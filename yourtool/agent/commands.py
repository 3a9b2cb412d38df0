"""Slash commands: one table for the parser, completion and help."""

from collections.abc import Mapping
from difflib import get_close_matches
from typing import Literal, TypeAlias

from msgspec import Struct

ArgumentKind: TypeAlias = Literal["model", "effort", "mode", "theme", "provider", "file"]
"""Kind of argument values that completion suggests."""


class SlashCommand(Struct, frozen=True, kw_only=True):
    """One row of the table."""

    name: str
    summary: str
    argument: str = ""
    """Argument syntax shown in the help; empty if the command takes none."""
    argument_kind: ArgumentKind | None = None
    keywords: tuple[tuple[str, str], ...] = ()
    """Special arguments that are not names, with descriptions."""
    during_turn: bool = True
    """Whether the command can run during a turn."""
    needs_session: bool = True
    aliases: tuple[str, ...] = ()

    @property
    def usage(self) -> str:
        """The command with its argument syntax."""
        return f"/{self.name} {self.argument}".rstrip()


COMMANDS: tuple[SlashCommand, ...] = (
    SlashCommand(name="help", summary="list commands and keys", needs_session=False),
    SlashCommand(
        name="model",
        argument="[NAME | - | show]",
        argument_kind="model",
        keywords=(("show", "explain the last choice"), ("-", "use the default model")),
        summary="switch model; `-` resets to the default, `show` explains the last choice",
    ),
    SlashCommand(name="models", summary="pick a model from a list with capabilities and prices"),
    SlashCommand(
        name="effort",
        argument="[LEVEL | -]",
        argument_kind="effort",
        keywords=(("-", "use the model's default"),),
        summary="set the reasoning effort; `-` uses the model's default",
    ),
    SlashCommand(name="new", summary="start a new session", during_turn=False),
    SlashCommand(
        name="resume",
        argument="[ID]",
        summary="resume an earlier session",
        during_turn=False,
        aliases=("sessions",),
    ),
    SlashCommand(
        name="fork",
        summary="copy the session, in full or up to a prompt, and continue in the copy",
        during_turn=False,
    ),
    SlashCommand(
        name="search",
        argument="WORDS",
        summary="search the messages of all sessions and open a result",
        during_turn=False,
    ),
    SlashCommand(
        name="export",
        argument="[FILE]",
        summary="export the session as Markdown, or as FILE.jsonl, which can be imported",
    ),
    SlashCommand(name="clear", summary="clear the screen; the session continues"),
    SlashCommand(name="cost", summary="show the cost of the session by model"),
    SlashCommand(name="context", summary="show how the context window is used"),
    SlashCommand(
        name="key",
        argument="[PROVIDER]",
        argument_kind="provider",
        summary="enter an API key (hidden) and use that provider",
    ),
    SlashCommand(name="retry", summary="retry the last turn", during_turn=False),
    SlashCommand(
        name="continue", summary="continue a reply that hit the output limit", during_turn=False
    ),
    SlashCommand(
        name="theme",
        argument="[NAME]",
        argument_kind="theme",
        summary="change the colour theme",
    ),
    SlashCommand(
        name="mode",
        argument="[NAME]",
        argument_kind="mode",
        summary="set the approval mode",
    ),
    SlashCommand(
        name="copy", argument="[N]", summary="copy the last reply, or the Nth from the end"
    ),
    SlashCommand(
        name="attach",
        argument="[FILE | URL | -]",
        argument_kind="file",
        keywords=(("-", "remove all attachments"),),
        summary="attach an image, audio or document to the next prompt; `-` removes attachments",
    ),
    SlashCommand(name="paste", summary="attach the image in the clipboard to the next prompt"),
    SlashCommand(name="quit", summary="quit", needs_session=False, aliases=("exit",)),
)

_BY_NAME = {name: each for each in COMMANDS for name in (each.name, *each.aliases)}

_EQUIVALENTS: Mapping[str, str] = {
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
"""Commands of other agents and the closest command here."""

_SIMILARITY_CUTOFF = 0.7
"""Minimum similarity of two names, from 0 to 1, for a suggestion."""


class Invocation(Struct, frozen=True):
    """A slash command and its argument."""

    command: SlashCommand
    argument: str = ""


class ShellLine(Struct, frozen=True):
    """A shell command that the user runs with `!` or `!!`."""

    command: str
    shared: bool = True
    """Whether the model sees the command and its output."""


class InvalidCommand(Struct, frozen=True):
    """Input that starts like a command but is not a valid one."""

    message: str
    path_like: bool = False
    """The input may be text that starts with a file path."""


ParsedInput: TypeAlias = Invocation | ShellLine | InvalidCommand
"""Input that is not text for the model."""


def parse_input(text: str) -> ParsedInput | None:
    """Parse user input; return None if it is text for the model.

    Only a `/` or `!` in the first column starts a command; a leading space makes it text.
    """
    if text.startswith("!"):
        return _parse_shell_line(text)
    if not text.startswith("/") or text[1:2].isspace():
        return None
    word, argument = (*text[1:].split(maxsplit=1), "", "")[:2]
    argument = argument.strip()
    if (command := _BY_NAME.get(word)) is None:
        return _unknown_command(word)
    if argument and not command.argument:
        return InvalidCommand(
            f"`/{word}` takes no argument; put a space before the slash to send it as text"
        )
    if "\n" in argument:
        return InvalidCommand(f"`/{word}` takes one line: `{command.usage}`")
    return Invocation(command, argument)


def find_commands(prefix: str) -> tuple[SlashCommand, ...]:
    """Return the commands with a name or alias that starts with `prefix`.

    An exact match comes first, the others in table order.
    """
    found = (
        command
        for command in COMMANDS
        if any(name.startswith(prefix) for name in (command.name, *command.aliases))
    )
    return tuple(sorted(found, key=lambda command: command.name != prefix))


def _parse_shell_line(text: str) -> ShellLine | InvalidCommand:
    shared = not text.startswith("!!")
    if command := text.removeprefix("!").removeprefix("!").strip():
        return ShellLine(command, shared)
    return InvalidCommand(
        "`!` runs a shell command and shows its output to the model, for example `!git status`;"
        " `!!` hides the output from the model"
    )


def _unknown_command(word: str) -> InvalidCommand:
    if "/" in word or "." in word:
        return InvalidCommand(
            f"Unknown command `/{word}`; press Enter again to send it as text", True
        )
    if suggestion := _suggest_command(word):
        return InvalidCommand(f"Unknown command `/{word}`; did you mean `/{suggestion}`?")
    return InvalidCommand(f"Unknown command `/{word}`; `/help` lists the commands")


def _suggest_command(word: str) -> str | None:
    if equivalent := _EQUIVALENTS.get(word):
        return equivalent
    near = get_close_matches(word, [*_BY_NAME, *_EQUIVALENTS], n=1, cutoff=_SIMILARITY_CUTOFF)
    return _EQUIVALENTS.get(near[0], near[0]) if near else None
