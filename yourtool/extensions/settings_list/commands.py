"""Rows of the slash commands."""

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING

from yourtool.agent.commands.base import CommandHandler, CommandResults, SlashCommand
from yourtool.extensions import settings_list

if TYPE_CHECKING:
    from yourtool.agent.runtime import Runtime
    from yourtool.agent.session.session import Session

_SUMMARIES = {
    "config": "show and change the settings",
    "vim": "switch Vim's keys in the prompt on or off, also in the file",
    "hooks": "list the hooks, where they are from, and whether they run",
    "status": "show version, model, folder, mode, sandbox, cost and settings files",
    "doctor": "check settings, keys, terminal and store",
}


def _run(name: str, session: "Session", runtime: "Runtime", argument: str) -> CommandResults:
    handle: CommandHandler = settings_list.handlers.HANDLERS[name]
    return handle(session, runtime, argument)


def find_notices(_session: "Session") -> Sequence[str]:
    """Return no warnings."""
    return ()


COMMANDS = tuple(
    SlashCommand(
        name=name,
        run=partial(_run, name),
        summary=summary,
        aliases=("settings",) if name == "config" else (),
    )
    for name, summary in _SUMMARIES.items()
)
