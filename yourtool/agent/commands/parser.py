"""Parser of user input.

It separates slash commands, shell commands and text for the model.
"""

from typing import TYPE_CHECKING, TypeAlias

from msgspec import Struct

from yourtool.agent.commands.base import Invocation
from yourtool.agent.commands.command_table import CORE
from yourtool.effects import PlanAnswer
from yourtool.events.catalog import Event
from yourtool.events.tools import ToolConfirmationResolved
from yourtool.foundation.suggestions import CLOSE, find_closest
from yourtool.settings.peer_words import describe_peer_word

if TYPE_CHECKING:  # the table is loaded for the first command
    from yourtool.agent.commands.command_table import CommandTable


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


def parse_input(text: str, commands: "CommandTable | None" = None) -> ParsedInput | None:
    """Parse user input; return None if it is text for the model.

    `commands`: those of the session; None: there is no session yet.

    Only a `/` or `!` in the first column starts a command; a leading space makes it text.
    """
    if text.startswith("!"):
        return _parse_shell_line(text)
    if not text.startswith("/") or text[1:2].isspace():
        return None
    word, argument = (*text[1:].split(maxsplit=1), "", "")[:2]
    argument = argument.strip()
    commands = commands or CORE
    if (command := commands.find(word)) is None:
        return _unknown_command(word, commands)
    if argument and not command.argument:
        return InvalidCommand(
            f"`/{word}` takes no argument; put a space before the slash to send it as text"
        )
    if "\n" in argument and not command.is_multiline:
        return InvalidCommand(f"`/{word}` takes one line: `{command.usage}`")
    return Invocation(command, argument)


def _parse_shell_line(text: str) -> ShellLine | InvalidCommand:
    shared = not text.startswith("!!")
    if command := text.removeprefix("!").removeprefix("!").strip():
        return ShellLine(command, shared)
    return InvalidCommand(
        "`!` runs a shell command and shows its output to the model, for example `!git status`;"
        " `!!` hides the output from the model"
    )


def _unknown_command(word: str, commands: "CommandTable") -> InvalidCommand:
    if "/" in word or "." in word:
        return InvalidCommand(
            f"Unknown command `/{word}`; press Enter again to send it as text", True
        )
    if problem := describe_peer_word("slash", word):
        return InvalidCommand(problem)
    if suggestion := find_closest(word, commands.list_names(), CLOSE):
        return InvalidCommand(f"Unknown command `/{word}`; did you mean `/{suggestion}`?")
    return InvalidCommand(f"Unknown command `/{word}`; `/help` lists the commands")


def find_continuation(event: Event) -> str:
    """Return the command that continues an approved plan after its turn; empty without one."""
    if isinstance(event, ToolConfirmationResolved) and isinstance(event.plan, PlanAnswer):
        return f"/plan {event.plan.value}" if event.plan.ends_turn else ""
    return ""
