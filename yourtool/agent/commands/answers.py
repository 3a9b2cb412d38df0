"""Slash commands as prompts of `-p`."""

from collections.abc import AsyncGenerator
from contextlib import aclosing
from typing import TYPE_CHECKING

from yourtool.agent.commands.base import Invocation, SlashCommand, StartTurn
from yourtool.agent.commands.parser import parse_input
from yourtool.events.catalog import Event
from yourtool.events.deltas import Notice
from yourtool.messages.blocks import ContentBlock

if TYPE_CHECKING:
    from yourtool.agent.runtime import Runtime
    from yourtool.agent.session.session import Session


class CommandRun:
    """A slash command with the interface of a session that runs one turn."""

    def __init__(self, session: "Session", runtime: "Runtime", invocation: Invocation) -> None:
        self.id, self.cancel = session.id, session.cancel
        self._session, self._runtime, self._invocation = session, runtime, invocation

    @property
    def limit_reached(self) -> str | None:
        """Message about the limit that stopped it; None if none did."""
        return self._session.limit_reached

    async def send(self, content: str | tuple[ContentBlock, ...]) -> AsyncGenerator[Event, None]:
        """Run the command, and yield the events of the turns that it starts."""
        del content
        command, argument = self._invocation.command, self._invocation.argument
        assert command.run is not None, "a command with an answer has a handler"
        async with aclosing(command.run(self._session, self._runtime, argument)) as results:
            async for result in results:
                if isinstance(result, StartTurn):
                    async with aclosing(result.events) as events:
                        async for event in events:
                            yield event
                elif isinstance(result, Notice):
                    yield result


def find(prompt: str, session: "Session", runtime: "Runtime") -> CommandRun | None:
    """Return the command that answers a prompt; None: a model does."""
    match parse_input(prompt.rstrip("\n")):
        case Invocation(command=SlashCommand(has_answer=True)) as invocation:
            return CommandRun(session, runtime, invocation)
        case _:
            return None
