"""Slash commands about settings and state."""

import asyncio
from collections.abc import Sequence
from functools import partial
from importlib import import_module
from typing import TYPE_CHECKING

from yourtool.agent.commands.base import CommandResults, SlashCommand

if TYPE_CHECKING:
    from yourtool.agent.runtime import Runtime
    from yourtool.agent.session.session import Session

_HANDLERS = "yourtool.extensions.settings_list.handlers"


async def _run(name: str, session: "Session", runtime: "Runtime", argument: str) -> CommandResults:
    """Import the handlers, which need much that a start does not, and run one."""
    handlers = await asyncio.to_thread(import_module, _HANDLERS)
    async for result in handlers.HANDLERS[name](session, runtime, argument):
        yield result


def find_notices(_session: "Session") -> Sequence[str]:
    """Return no warning: settings have theirs from the start."""
    return ()


COMMANDS = (
    SlashCommand(
        name="config",
        run=partial(_run, "config"),
        summary="show and change the settings",
        aliases=("settings",),
    ),
    SlashCommand(
        name="vim",
        run=partial(_run, "vim"),
        summary="switch Vim's keys in the prompt on or off, also in the file",
    ),
    SlashCommand(
        name="hooks",
        run=partial(_run, "hooks"),
        summary="list the hooks, where they are from, and whether they run",
    ),
    SlashCommand(
        name="status",
        run=partial(_run, "status"),
        summary="show version, model, folder, mode, sandbox, cost and settings files",
    ),
    SlashCommand(
        name="doctor",
        run=partial(_run, "doctor"),
        summary="check settings, keys, terminal and store",
    ),
)
