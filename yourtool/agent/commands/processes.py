"""Commands `/processes` and `/background`."""

from functools import partial
from typing import TYPE_CHECKING

from yourtool.agent.commands.base import (
    Choice,
    ChoiceAction,
    Choose,
    CommandResults,
    EditPrompt,
    Report,
    Section,
    SlashCommand,
)
from yourtool.errors import ToolError, UsageError
from yourtool.events.deltas import Notice
from yourtool.events.tools import ProcessEnded
from yourtool.foundation.amounts import format_duration
from yourtool.tools.commands.shell import format_exit_code

if TYPE_CHECKING:
    from yourtool.agent.runtime import Runtime
    from yourtool.agent.session.session import Session
    from yourtool.tools.background import RunningCommand

_MAX_ROWS = 200
"""Lines of output that a report shows."""
_STOP = "stop"


async def show_processes(session: "Session", _runtime: "Runtime", argument: str) -> CommandResults:
    """`/processes`: list the background processes; `stop ID` stops one.

    Those that ended with an earlier run of the session are listed, too, to start them again.
    """
    verb, _, name = argument.partition(" ")
    if argument and (verb != _STOP or not name):
        raise UsageError("`/processes` lists them, and `/processes stop p1` stops one.")
    if argument:
        async for result in _stop(session, name):
            yield result
        return
    interrupted = session.state.processes.interrupted
    if not session.processes.all and not interrupted:
        yield Notice(level="info", text="No process runs in the background.")
        return
    ended = tuple(map(_build_interrupted, reversed(interrupted.values())))
    yield Choose(
        "Processes",
        (*map(_build_choice, reversed(session.processes.all)), *ended),
        then=partial(_show_output, session),
        hint="Enter shows the output" + (" or asks to start it again" if ended else ""),
        columns=("age", "state"),
        actions=(ChoiceAction("ctrl+d", "Ctrl+D stop", partial(_stop, session)),),
    )


async def move_to_background(
    session: "Session", _runtime: "Runtime", _argument: str
) -> CommandResults:
    """`/background`: move the running commands of the turn to the background."""
    if not session.processes.move_to_background():
        yield Notice(level="info", text="No command of the model runs that could be moved.")


def _build_choice(process: "RunningCommand") -> Choice:
    return Choice(
        process.id,
        f"{process.id} {process.command}",
        detail=process.last_line,
        cells=(format_duration(int(process.seconds)), _format_state(process)),
        is_muted=not process.is_running,
    )


def _build_interrupted(ended: ProcessEnded) -> Choice:
    return Choice(
        ended.process_id,
        f"{ended.process_id} {ended.command}",
        detail="Enter writes a prompt that asks to start it again",
        cells=("", "died" if ended.reason == "program_died" else "ended"),
        is_muted=True,
    )


def _format_state(process: "RunningCommand") -> str:
    if process.is_running:
        served = process.described_servers
        return f"runs, {served}" if served else "runs"
    code = process.exit_code
    return "stopped" if code is None else format_exit_code(code)


async def _show_output(session: "Session", name: str) -> CommandResults:
    if (ended := session.state.processes.interrupted.get(name)) is not None:
        yield EditPrompt(f"Start this command again in the background: {ended.command}")
        return
    process = session.processes.get(name)
    lines = process.output.text().rstrip("\n").split("\n")[-_MAX_ROWS:]
    about = (("command", process.command), ("state", _format_state(process)))
    shown = tuple(("", line) for line in lines)
    yield Report(process.id, (Section("Process", about), Section("Output", shown)))


async def _stop(session: "Session", name: str) -> CommandResults:
    try:
        process = session.processes.get(name)
    except ToolError as error:
        raise UsageError(f"{error}.") from error
    if not process.is_running:
        yield Notice(level="info", text=f"`{process.id}` has ended already.")
    await process.stop()


COMMANDS = (
    SlashCommand(
        name="processes",
        aliases=("tasks", "bashes", "ps"),
        run=show_processes,
        argument="[stop ID]",
        summary="list the processes that run in the background, and stop one",
    ),
    SlashCommand(
        name="background",
        run=move_to_background,
        summary="move the running command to the background",
    ),
)
