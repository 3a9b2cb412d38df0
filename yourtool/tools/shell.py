"""The `shell` tool, which runs commands."""

import os
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any

from msgspec import Meta
from msgspec.structs import replace

from yourtool.effects import Editable, Preview, SideEffects
from yourtool.environment import PUBLIC, find_command_path
from yourtool.errors import ToolError
from yourtool.messages.blocks import TextBlock
from yourtool.tools.base import Args, ToolContext, ToolOutput, tool
from yourtool.tools.output import CommandOutput
from yourtool.tools.process import LiveText, ProcessExit, ShellCommand, run_process
from yourtool.tools.sandbox import blocks
from yourtool.tools.workspace import Workspace

MAX_TIMEOUT_SECONDS = 590
"""Less than the timeout of the tool call, so that a timed-out command still returns its output."""

_FIXED_VARIABLES = {
    "TERM": "dumb",
    "PAGER": "cat",
    "GIT_PAGER": "cat",
    "GIT_TERMINAL_PROMPT": "0",
    "DEBIAN_FRONTEND": "noninteractive",
}


class Shell(Args, frozen=True):
    """Arguments of `shell`."""

    command: Annotated[str, Meta(min_length=1, description="A bash command line.")]
    timeout_seconds: Annotated[
        int, Meta(ge=1, description=f"Timeout in seconds; at most {MAX_TIMEOUT_SECONDS}.")
    ] = 120


async def _preview(args: Shell, context: ToolContext) -> Preview:
    def build_input(command: str) -> dict[str, Any]:
        return {"command": command, "timeout_seconds": args.timeout_seconds}

    editable = Editable(text=args.command, build_input=build_input)
    if (sandbox := context.sandbox) is None:
        return Preview(kind="command", body=args.command, editable=editable)
    await sandbox.measure()
    return Preview(
        kind="command",
        body=args.command,
        protected=sandbox.is_below_requirement,
        surroundings=sandbox.describe(),
        is_contained=sandbox.allows_commands,
        editable=editable,
    )


@tool(SideEffects.EXECUTE, preview=_preview, command=lambda args: args.command)
async def shell(args: Shell, context: ToolContext) -> ToolOutput:
    """Run a command in the workspace and wait for it; returns stdout and stderr combined.

    Every call starts a new shell without a terminal or input, so pass options such as `--yes` to
    programs that would prompt. Long output is truncated to its start and end, with the path of a
    file that contains all of it. Background processes are ended with the command.
    """
    if context.approved is not None and context.approved.body != args.command:
        raise ToolError("this is not the command that the user approved, so it was not run")
    seconds = min(args.timeout_seconds, MAX_TIMEOUT_SECONDS)
    output = CommandOutput(context.spill, LiveText(context.emit), context.mask)
    line = context.command or args.command
    exited, refused_hosts = await _run_enclosed(line, context, output, seconds)
    result = _build_output(args, exited, output, seconds)
    if context.sandbox is None or exited.code == 0:
        return result
    blocked = await context.run_in_thread(
        blocks.find_block, context.sandbox, result.content, refused_hosts
    )
    return result if blocked is None else replace(result, blocked=blocked)


async def _run_enclosed(
    line: str, context: ToolContext, output: CommandOutput, seconds: float
) -> tuple[ProcessExit, Sequence[str]]:
    """Run a command line in the sandbox, if there is one; also return the refused hosts."""
    command = _build_command(line, context.workspace)
    if context.sandbox is None:
        return await _run(command, output, seconds), ()
    async with context.sandbox.enclose(command) as enclosed:
        return await _run(enclosed.command, output, seconds), enclosed.refused_hosts


async def run_command_line(line: str, workspace: Workspace, output: CommandOutput) -> ProcessExit:
    """Run a command line of the user in a workspace, without a sandbox and without API keys.

    Raises:
        ToolError: it could not be started, or the workspace is not at its path any more.
    """
    return await _run(_build_command(line, workspace), output, None)


def _build_command(line: str, workspace: Workspace) -> ShellCommand:
    if "\0" in line:
        raise ToolError("the command contains a NUL character; remove it")
    return ShellCommand(
        (*_interpreter(), line),
        workspace.root,
        command_environment(os.environ, workspace.root),
        opened_directory=workspace.root_descriptor(),
    )


async def _run(command: ShellCommand, output: CommandOutput, seconds: float | None) -> ProcessExit:
    try:
        return await run_process(command, output, seconds=seconds)
    except OSError as error:
        raise ToolError(
            f"the command could not be started: {(error.strerror or str(error)).lower()};"
            " if it is very long, write it to a script with `write_file` and run the script"
        ) from error


def format_exit_code(code: int) -> str:
    """Return a description of an exit code."""
    return f"ended by signal {-code}" if code < 0 else f"exit code {code}"


def command_environment(outer: Mapping[str, str], workspace: Path) -> dict[str, str]:
    """Return the environment for a command: an allow-list of variables, without API keys."""
    passed = {
        name: value for name, value in outer.items() if name in PUBLIC or name.startswith("LC_")
    }
    found = find_command_path(outer, os.path.realpath(workspace))
    return {**passed, **_FIXED_VARIABLES, "PATH": os.pathsep.join(found) or os.defpath}


def _interpreter() -> tuple[str, ...]:
    """Return the command of a shell without start-up files; `$SHELL` is ignored."""
    if Path("/bin/bash").exists():
        return ("/bin/bash", "--noprofile", "--norc", "-c")
    if (found := shutil.which("bash", path="/usr/local/bin:/usr/bin")) is not None:
        return (found, "--noprofile", "--norc", "-c")
    return ("/bin/sh", "-c")


def _build_output(
    args: Shell, exited: ProcessExit, output: CommandOutput, seconds: int
) -> ToolOutput:
    if exited.code is None:
        status = (
            f"timed out and stopped after {seconds} s; set a larger `timeout_seconds`"
            f" (at most {MAX_TIMEOUT_SECONDS}) if it needs longer"
        )
    else:
        status = format_exit_code(exited.code)
    printed = output.text().rstrip("\n") or "(no output)"
    return ToolOutput(
        (TextBlock(f"{printed}\n[{status}]"),),
        success=exited.code == 0,
        details={
            "exit_code": exited.code,
            "seconds": round(exited.seconds, 3),
            "timed_out": exited.code is None,
            "output_bytes": output.total_bytes,
            "full_output": None if output.spill_path is None else str(output.spill_path),
        },
        command_executed=args.command,
    )
