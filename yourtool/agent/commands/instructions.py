"""Command `/init`."""

from typing import TYPE_CHECKING

from yourtool.agent.commands.base import CommandResults, SendPrompt, SlashCommand
from yourtool.errors import UsageError
from yourtool.foundation.files import is_file
from yourtool.permissions.trust import INSTRUCTIONS

if TYPE_CHECKING:
    from yourtool.agent.runtime import Runtime
    from yourtool.agent.session.session import Session

_TASK = """\
{verb} `{name}` in the working directory: instructions for coding agents that work here. Read what
you need first: the README, the files of the build and of the tests, and some of the code.

It has, in at most 60 lines of Markdown:
- what the project is, in one or two sentences;
- the commands that build, check and test it, also for a single test. Only name commands that the
  files of the project define;
- how the code is organised, as far as a newcomer would not see it from the names;
- conventions that the code follows and that an agent could break.

Leave out general advice. Contain no secrets."""
_HINT = "\n\nThe user adds: {}"


async def write_instructions(
    session: "Session", _runtime: "Runtime", argument: str
) -> CommandResults:
    """`/init`: ask the model for a first `AGENTS.md`, or for a better one."""
    if not session.trust.asks:
        raise UsageError("The demo works in a copy of the folder, which needs no instructions.")
    present = (each for each in INSTRUCTIONS.names if is_file(session.workspace / each))
    name = next(present, None)
    verb = "Write" if name is None else "Improve the existing"
    task = _TASK.format(verb=verb, name=name or INSTRUCTIONS.names[0])
    yield SendPrompt(task + (_HINT.format(argument) if argument else ""))


COMMANDS = (
    SlashCommand(
        name="init",
        run=write_instructions,
        argument="[HINT]",
        is_multiline=True,
        during_turn=False,
        summary="let the model write or improve the `AGENTS.md` of the project",
    ),
)
