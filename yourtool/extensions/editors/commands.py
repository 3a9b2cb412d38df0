"""Slash commands in prompts of clients."""

from collections.abc import AsyncGenerator, Iterator
from contextlib import aclosing
from typing import TYPE_CHECKING

from acp.schema import (
    AvailableCommand,
    AvailableCommandInput,
    AvailableCommandsUpdate,
    UnstructuredCommandInput,
)

from yourtool.agent.commands.base import (
    Choose,
    CommandResult,
    CopyText,
    EditPrompt,
    EnterText,
    FileChange,
    Invocation,
    OpenSession,
    Report,
    Section,
    SendPrompt,
    SettingChanged,
    ShowAnswer,
    ShowChanges,
    ShowMessage,
    SlashCommand,
    StartSession,
    StartTurn,
)
from yourtool.agent.commands.command_table import CORE, CommandTable, read_commands
from yourtool.agent.commands.parser import InvalidCommand, parse_input
from yourtool.events.catalog import Event
from yourtool.events.deltas import Notice
from yourtool.foundation.text import printable

if TYPE_CHECKING:
    from yourtool.agent.runtime import Runtime
    from yourtool.agent.session.session import Session

_OF_OTHERS = frozenset({"new", "resume", "fork", "search", "key", "copy", "trust", "background"})
"""Commands whose purpose needs a list, a hidden field, or another session."""
_MAX_ROWS = 200


class SessionCommands:
    """The commands of one session."""

    def __init__(self, session: "Session", runtime: "Runtime") -> None:
        self._session = session
        self._runtime = runtime
        self._commands = CORE
        self._offered: AvailableCommandsUpdate | None = None

    async def find_update(self) -> AvailableCommandsUpdate | None:
        """Read the custom commands, and return all commands; None if they are as before."""
        self._commands, _ = await read_commands(self._session, self._runtime)
        before, self._offered = self._offered, _list_commands(self._commands)
        return None if self._offered == before else self._offered

    def find_invocation(self, text: str) -> Invocation | Notice | None:
        """Return the command in a prompt, or why it is not one; None for text for the model."""
        return _find_invocation(text, self._commands)


def _list_commands(commands: CommandTable) -> AvailableCommandsUpdate:
    """Return the commands that work without a screen."""
    return AvailableCommandsUpdate(
        session_update="available_commands_update",
        available_commands=[
            AvailableCommand(
                name=each.name,
                description=printable(each.summary),
                input=AvailableCommandInput(UnstructuredCommandInput(hint=each.argument))
                if each.argument
                else None,
            )
            for each in commands.complete("")
            if is_offered(each)
        ],
    )


def is_offered(command: SlashCommand) -> bool:
    """Whether a command works without a screen."""
    return command.run is not None and command.name not in _OF_OTHERS


def _find_invocation(text: str, commands: CommandTable) -> Invocation | Notice | None:
    """Return the command in a prompt, or why it is not one; None for text that the model gets.

    Only a `/` in the first column starts a command. Shell commands are text.
    """
    parsed = parse_input(text, commands) if text.startswith("/") else None
    match parsed:
        case InvalidCommand(path_like=False, message=message):
            return Notice(level="error", text=f"{message}.")
        case Invocation(command=command) if not is_offered(command):
            return Notice(level="info", text=f"`/{command.name}` has no effect in an editor.")
        case Invocation():
            return parsed
        case _:
            return None


async def play_command(
    invocation: Invocation, session: "Session", runtime: "Runtime"
) -> AsyncGenerator[Event, None]:
    """Run a command and yield what it shows, with the events of a turn that it starts."""
    run = invocation.command.run
    assert run is not None, "`_find_invocation` returns commands that can run"
    async with aclosing(run(session, runtime, invocation.argument)) as results:
        async for result in results:
            async with aclosing(_play_result(result, invocation, session, runtime)) as events:
                async for event in events:
                    yield event


async def _play_result(
    result: CommandResult, invocation: Invocation, session: "Session", runtime: "Runtime"
) -> AsyncGenerator[Event, None]:
    match result:
        case StartTurn(events=events):
            async with aclosing(events):
                async for event in events:
                    yield event
        case SendPrompt(text=text):
            async with aclosing(session.send(text)) as events:
                async for event in events:
                    yield event
        case Invocation():
            async with aclosing(play_command(result, session, runtime)) as events:
                async for event in events:
                    yield event
        case (
            Report()
            | ShowChanges()
            | CopyText()
            | EditPrompt()
            | Choose()
            | EnterText()
            | OpenSession()
            | StartSession()
        ):
            yield Notice(level="info", text="\n".join(_describe(result, invocation)))
        case ShowAnswer(pieces=pieces):
            async with aclosing(pieces):
                yield Notice(level="info", text="".join([each async for each in pieces]))
        case SettingChanged() | ShowMessage():
            pass
        case event:
            yield event


def _describe(
    result: Report
    | ShowChanges
    | CopyText
    | EditPrompt
    | Choose
    | EnterText
    | OpenSession
    | StartSession,
    invocation: Invocation,
) -> Iterator[str]:
    """Yield lines of Markdown."""
    match result:
        case Report(title=title, sections=sections):
            yield f"**{title}**\n"
            for section in sections:
                yield from _describe_section(section)
        case ShowChanges(title=title, calls=calls):
            yield f"**{title}**\n"
            for call in calls:
                yield f"{call.call}\n"
                yield from map(_describe_change, call.changes)
        case CopyText(text=text) | EditPrompt(text=text):
            yield text
        case Choose(title=title, choices=choices):
            yield f"**{title}**\n"
            for choice in choices[:_MAX_ROWS]:
                title = "" if choice.title == choice.value else choice.title
                about = " · ".join(filter(None, (title, choice.detail)))
                yield f"- `{choice.value}` {about}"
            yield f"\nSend the command with one of them: `{invocation.command.usage}`."
        case EnterText(title=title):
            yield f"{title} This needs an answer that an editor cannot give."
        case OpenSession(session_id=session_id):
            yield f"Open the session `{session_id}` in the editor."
        case StartSession():
            yield "Start a new session in the editor."


def _describe_section(section: Section) -> Iterator[str]:
    if section.title:
        yield f"{section.title}\n"
    yield from (f"- {name}: {text}" if name else f"- {text}" for name, text in section.rows)
    yield ""


def _describe_change(change: FileChange) -> str:
    return f"{change.name}\n\n```diff\n{change.diff}\n```\n" if change.diff else f"{change.name}\n"
