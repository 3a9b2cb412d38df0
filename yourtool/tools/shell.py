"""Running commands: `shell`."""

import os
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated

from msgspec import Meta

from yourtool.effects import Preview, SideEffects
from yourtool.environment import PUBLIC
from yourtool.errors import ToolError
from yourtool.messages import TextBlock
from yourtool.tools.base import Args, ToolContext, ToolOutput, tool
from yourtool.tools.output import Output
from yourtool.tools.process import Live, ProcessExit, ShellCommand, run

LONGEST_SECONDS = 590
"""Less than what the caller allows, so that a command which takes too long still reports."""

_FIXED = {
    "TERM": "dumb",
    "PAGER": "cat",
    "GIT_PAGER": "cat",
    "GIT_TERMINAL_PROMPT": "0",
    "DEBIAN_FRONTEND": "noninteractive",
}


class Shell(Args, frozen=True):
    """A command line."""

    command: Annotated[str, Meta(min_length=1, description="A command line for bash.")]
    timeout_seconds: Annotated[
        int, Meta(ge=1, description=f"When to stop it; at most {LONGEST_SECONDS}.")
    ] = 120


async def _preview(args: Shell, context: ToolContext) -> Preview:
    return Preview(kind="command", body=args.command)


@tool(SideEffects.EXECUTE, preview=_preview, subject=lambda args: args.command)
async def shell(args: Shell, context: ToolContext) -> ToolOutput:
    """Run a command in the workspace and wait for it; output and errors come back together.

    Every call is a new shell without a terminal or input, so pass options such as `--yes` to
    programs that would ask. Of a long output the beginning and the end come back, and the path of a
    file with the whole. Processes left running are ended with the command.
    """
    if context.approved is not None and context.approved.body != args.command:
        raise ToolError("this is not the command that the user agreed to; it was not run")
    seconds = min(args.timeout_seconds, LONGEST_SECONDS)
    output = Output(context.spill, Live(context.emit), context.mask)
    exited = await run_line(args.command, context.workspace.root, output, seconds=seconds)
    return _report(args, exited, output, seconds)


async def run_line(
    line: str, workspace: Path, output: Output, *, seconds: float | None = None
) -> ProcessExit:
    """Run a command line in a workspace, without our keys, until it ends or its time is up.

    Raises:
        ToolError: it could not be started.
    """
    if "\0" in line:
        raise ToolError("the command holds a NUL character, which no shell accepts; remove it")
    command = ShellCommand((*_interpreter(), line), workspace, environment(os.environ, workspace))
    try:
        return await run(command, output, seconds=seconds)
    except OSError as error:
        raise ToolError(
            f"the command could not be started: {(error.strerror or str(error)).lower()};"
            " if it is very long, write it to a script with `write_file` and run that"
        ) from error


def ending(code: int) -> str:
    """Say how a program ended, by its exit status."""
    return f"ended by signal {-code}" if code < 0 else f"exit code {code}"


def environment(outer: Mapping[str, str], workspace: Path) -> dict[str, str]:
    """Return what a command may know of our own environment: names on a list, so no keys.

    The search path loses what is relative or inside the workspace, except for the virtual
    environment that the user activated: a file of the workspace must not pose as a program.
    """
    passed = {
        name: value for name, value in outer.items() if name in PUBLIC or name.startswith("LC_")
    }
    trusted = outer.get("VIRTUAL_ENV", "")
    entries = [
        entry
        for entry in outer.get("PATH", os.defpath).split(os.pathsep)
        if entry.startswith("/")
        and (
            not Path(os.path.realpath(entry)).is_relative_to(workspace)
            or (trusted and Path(entry) == Path(trusted, "bin"))
        )
    ]
    return {**passed, **_FIXED, "PATH": os.pathsep.join(entries) or os.defpath}


def _interpreter() -> tuple[str, ...]:
    """Return a shell that reads no start-up file; never the one that `$SHELL` names."""
    if Path("/bin/bash").exists():
        return ("/bin/bash", "--noprofile", "--norc", "-c")
    if (found := shutil.which("bash", path="/usr/local/bin:/usr/bin")) is not None:
        return (found, "--noprofile", "--norc", "-c")
    return ("/bin/sh", "-c")


def _report(args: Shell, exited: ProcessExit, output: Output, seconds: int) -> ToolOutput:
    if exited.code is None:
        words = (
            f"stopped after {seconds} s, before it was finished; give `timeout_seconds`"
            f" (at most {LONGEST_SECONDS}) if it needs longer"
        )
    else:
        words = ending(exited.code)
    printed = output.text().rstrip("\n") or "(no output)"
    return ToolOutput(
        (TextBlock(f"{printed}\n[{words}]"),),
        success=exited.code == 0,
        details={
            "exit_code": exited.code,
            "seconds": round(exited.seconds, 3),
            "timed_out": exited.code is None,
            "output_bytes": output.total,
            "full_output": None if output.spilled is None else str(output.spilled),
        },
        command_executed=args.command,
    )
