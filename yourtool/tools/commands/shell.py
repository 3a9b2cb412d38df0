"""The `shell` tool."""

import asyncio
import os
import re
import shlex
import shutil
import time
from functools import partial
from pathlib import Path
from typing import Annotated, Any

from msgspec import Meta
from msgspec.structs import replace

from yourtool.effects import OUTSIDE_SANDBOX, Editable, Preview, SideEffects
from yourtool.errors import ToolError
from yourtool.foundation.files import path_exists
from yourtool.messages.blocks import TextBlock
from yourtool.settings.sandbox_config import SandboxLevel
from yourtool.tools.background import InputChoice, Pause, RunningCommand
from yourtool.tools.base import Args, Block, ToolContext, ToolOutput, tool
from yourtool.tools.commands import blocks
from yourtool.tools.commands.leaving_sandbox import enclosing, find_leaving, get_sandbox
from yourtool.tools.processes.environments import (
    build_for_reading,
    build_for_user,
    refuse_editor,
)
from yourtool.tools.processes.output import CommandOutput
from yourtool.tools.processes.process import LiveText, ProcessExit, ShellCommand, run_process
from yourtool.tools.processes.pseudo_terminal import InputKind, PseudoTerminal, use_terminal
from yourtool.tools.sandbox.sandbox import Sandbox, SandboxError
from yourtool.tools.workspace.workspace import Workspace

MAX_TIMEOUT_SECONDS = 590
"""Less than the timeout of the tool call, so that a timed-out command still returns its output."""
FIRST_OUTPUT_SECONDS = 1.0
"""How long a call waits for the first output of a background process."""

_LEFT = "; what it left running was ended, so use `background` for it"
"""Added to the exit code."""
_REACHABLE = "; it is in the sandbox, where other commands reach it on 127.0.0.1"
"""Added to the state of a process in the background."""
_PATCH_COMMAND = re.compile(r"\s*(?:cd [^;&|\n]{1,500}(?:&&|;)\s*)?apply_patch\b")
"""A tool that other programs offer as a command."""


class Shell(Args, frozen=True):
    """Arguments of `shell`."""

    command: Annotated[str, Meta(min_length=1)]
    directory: Annotated[str, Meta(description="Where it runs.")] = "."
    timeout_seconds: Annotated[int, Meta(ge=1, description=f"At most {MAX_TIMEOUT_SECONDS}.")] = 120
    background: Annotated[
        bool, Meta(description="Keep it running, such as a server; returns its id.")
    ] = False
    terminal: Annotated[bool, Meta(description="Run it in a terminal, for programs that ask.")] = (
        False
    )

    outside: Annotated[
        str, Meta(description="Why it must leave the sandbox, which asks the user.")
    ] = ""

    @property
    def line(self) -> str:
        """The command line, which enters the directory itself, so that rules see where it runs."""
        if self.directory in ("", "."):
            return self.command
        prefix = "./" if self.directory.startswith("-") else ""
        return f"cd {shlex.quote(prefix + self.directory)} && {self.command}"


async def _preview(args: Shell, context: ToolContext) -> Preview:
    if _PATCH_COMMAND.match(args.command) and shutil.which("apply_patch") is None:
        raise ToolError(
            "`apply_patch` is a tool and no command, so nothing was run: call it with the patch as"
            " `patch`"
        )

    await _require_directory(args, context)

    def build_input(command: str) -> dict[str, Any]:
        fields = {"command": command, "timeout_seconds": args.timeout_seconds}  # enters it itself
        given = ("background", "terminal", "outside")
        return fields | {name: getattr(args, name) for name in given if getattr(args, name)}

    editable = Editable(text=args.line, build_input=build_input)
    ways = ("a terminal",) if args.terminal else ()
    ways += ("the background",) if args.background else ()
    found = await preview_line(args.line, context.sandbox)
    found = await find_leaving(
        found,
        args.line,
        args.outside,
        context.sandbox,
        is_attended=context.ask_input is not None,
    )
    places = "; ".join(filter(None, (found.surroundings, *ways)))
    return replace(found, surroundings=places, editable=editable)


async def preview_line(line: str, sandbox: Sandbox | None) -> Preview:
    """Return where a command line would run; measures the sandbox, if there is one."""
    if sandbox is None:
        return Preview(kind="command", body=line, sandbox=SandboxLevel.NONE)
    await sandbox.measure()
    if (reason := sandbox.unavailable) is not None:
        return Preview(
            kind="command",
            body=line,
            missing_sandbox=reason,
            sandbox=SandboxLevel.NONE,
        )
    if await asyncio.to_thread(sandbox.excepts, line):
        return Preview(
            kind="command",
            body=line,
            protected=sandbox.is_required,
            surroundings=OUTSIDE_SANDBOX,
            is_outside=True,
            sandbox=SandboxLevel.NONE,
        )
    return Preview(
        kind="command",
        body=line,
        protected=sandbox.is_below_requirement,
        surroundings=sandbox.describe(),
        is_contained=sandbox.allows_commands,
        is_fully_contained=sandbox.contains_fully,
        private_directories=sandbox.private_directories,
        sandbox=sandbox.level,
    )


@tool(SideEffects.EXECUTE, preview=_preview, command=lambda args: args.line)
async def shell(args: Shell, context: ToolContext) -> ToolOutput:
    """Run a bash command and wait for it; returns stdout and stderr combined.

    Every call is a new shell in the workspace without input, so pass options such as `--yes` to
    programs that would prompt. Of long output you get start, end, and a file with all of it. What
    it leaves running is ended with it; use `background`.
    """
    if context.approved is not None and context.approved.body != args.line:
        raise ToolError("this is not the command that the user approved, so it was not run")
    await _require_directory(args, context)
    try:
        return await _run_call(args, context)
    except SandboxError as error:
        return ToolOutput((TextBlock(str(error)),), success=False, blocked=Block(error.cause))


async def _run_call(args: Shell, context: ToolContext) -> ToolOutput:
    """Run a command as long as its call waits for it.

    Raises:
        SandboxError: it was not run.
    """
    seconds = min(args.timeout_seconds, MAX_TIMEOUT_SECONDS)
    process = _start(args, context)
    try:
        pause = await _wait(process, args, seconds, context)
    except BaseException:
        await process.stop()
        raise
    if process.is_running and (args.background or pause is not Pause.TIME_IS_UP):
        return await _keep(process, pause, args, context)
    await process.stop()
    result = _build_output(args, process, seconds, pause)
    refused = process.find_refused()
    # The last part of a line can succeed although an earlier one failed, unless all only reads.
    can_be_blocked = not result.success or refused or context.command is None
    if (sandbox := get_sandbox(context)) is None or not can_be_blocked:
        return result
    failed = not result.success
    find = partial(blocks.find_block, sandbox, result.content, refused, has_failed=failed)
    return replace(result, blocked=await context.run_in_thread(find))


async def _require_directory(args: Shell, context: ToolContext) -> None:
    """Raise a `ToolError` if the directory is not one of the workspace."""
    if args.line == args.command:
        return
    if await context.run_in_thread(context.workspace.kind, args.directory) != "directory":
        raise ToolError(
            f"`{args.directory}` is no directory, so nothing was run; `list_dir` shows what there"
            " is"
        )


def _start(args: Shell, context: ToolContext) -> RunningCommand:
    """Start a command in the foreground."""
    if args.background:
        context.processes.require_room()
    terminal = _open_terminal() if args.terminal else None

    def emit(text: str) -> None:
        if not process.id:
            context.emit(text)

    output = CommandOutput(context.spill, LiveText(emit), context.mask)
    process = RunningCommand(context.mask.text(args.line), output, terminal)
    process.is_for_background = args.background
    line = context.command or args.line
    return context.processes.start(process, _run_enclosed(line, context, process))


def _open_terminal() -> PseudoTerminal:
    try:
        return PseudoTerminal()
    except OSError as error:
        raise ToolError(
            f"no terminal could be opened: {(error.strerror or str(error)).lower()}; run the"
            " command without `terminal`"
        ) from error


async def _wait(
    process: RunningCommand, args: Shell, seconds: float, context: ToolContext
) -> Pause:
    """Wait for a command as long as its call does; the user answers it if it asks."""
    if args.background:
        return await process.wait(FIRST_OUTPUT_SECONDS)
    while True:
        started = time.monotonic()
        pause = await process.wait(seconds, watches_input=process.terminal is not None)
        seconds -= time.monotonic() - started
        if pause is not Pause.NEEDS_INPUT or context.ask_input is None:
            return pause
        match await process.ask(context.ask_input):
            case str(typed):
                if process.input_kind == "password":
                    process.output.hide(typed)
                process.type(f"{typed}\n")
            case InputChoice.BACKGROUND:
                return Pause.MOVED
            case InputChoice.STOP:
                await process.stop()
                return Pause.NEEDS_INPUT
            case None:
                pass


async def _keep(
    process: RunningCommand, pause: Pause, args: Shell, context: ToolContext
) -> ToolOutput:
    """Move a command to the background, and return its output so far."""
    if pause is Pause.NEEDS_INPUT:
        try:
            context.processes.require_room(process)
        except ToolError as error:
            await process.stop()
            raise ToolError(f"it {describe_input(process.input_kind)}; {error}") from error
    await context.processes.keep(process)
    match pause:
        case Pause.MOVED:
            status = (
                f"the user moved it to the background as `{process.id}`, where it keeps running"
            )
        case Pause.NEEDS_INPUT:
            status = (
                f"it {describe_input(process.input_kind)}, so it keeps running in the background as"
                f" `{process.id}`: answer with `process_input`, or ask the user"
            )
        case _:
            status = f"runs in the background as `{process.id}`"
    if process.is_enclosed and context.sandbox is not None and context.sandbox.has_own_network:
        status += _REACHABLE
        if served := await process.find_servers():
            status += f"; {served}"
    printed = process.read().rstrip("\n")
    return ToolOutput(
        (TextBlock(f"{printed or '(no output yet)'}\n[{status}]"),),
        details={
            "note_lines": 1 if printed else 2,
            "process": process.id,
            "sandbox": process.sandbox.value,
            "output_bytes": process.output.total_bytes,
        },
        command_executed=args.line,
    )


async def _run_enclosed(line: str, context: ToolContext, process: RunningCommand) -> ProcessExit:
    """Run a command line in the sandbox, if there is one, which lasts as long as the command."""
    environment = _build_environment(context, line, has_terminal=process.terminal is not None)
    command = _build_command(line, context.workspace, environment)
    is_lasting = process.is_for_background
    command = replace(command, owner=context.processes.owner, is_lasting=is_lasting)
    if process.terminal is not None:
        command = replace(command, arguments=use_terminal(command.arguments))
    async with enclosing(command, line, context) as enclosed:
        process.sandbox, process.find_refused = enclosed.level, enclosed.find_refused
        process.servers = enclosed.servers
        process.offer_servers()
        return await _run(enclosed.command, process.output, process.terminal)


def _build_environment(context: ToolContext, line: str, *, has_terminal: bool) -> dict[str, str]:
    if context.only_reads:
        return build_for_reading(os.environ, context.workspace.root)
    environment = context.environments.build_for_model(os.environ, has_terminal=has_terminal)
    return environment if has_terminal else environment | refuse_editor(line)


async def run_command_line(line: str, workspace: Workspace, output: CommandOutput) -> ProcessExit:
    """Run a command line of the user in a workspace, without a sandbox, with all variables.

    Raises:
        ToolError: it could not be started, or the workspace is not at its path any more.
    """
    return await _run(_build_command(line, workspace, build_for_user(os.environ)), output)


def _build_command(line: str, workspace: Workspace, environment: dict[str, str]) -> ShellCommand:
    if "\0" in line:
        raise ToolError("the command contains a NUL character; remove it")
    return ShellCommand(
        (*find_interpreter(), line),
        workspace.root,
        environment,
        opened_directory=workspace.root_descriptor(),
    )


async def _run(
    command: ShellCommand, output: CommandOutput, terminal: PseudoTerminal | None = None
) -> ProcessExit:
    try:
        return await run_process(command, output, seconds=None, terminal=terminal)
    except OSError as error:
        raise ToolError(
            f"the command could not be started: {(error.strerror or str(error)).lower()};"
            " if it is very long, write it to a script with `write_file` and run the script"
        ) from error


def format_exit_code(code: int) -> str:
    """Return a description of an exit code."""
    return f"ended by signal {-code}" if code < 0 else f"exit code {code}"


def find_interpreter() -> tuple[str, ...]:
    """Return the command of a shell without start-up files; `$SHELL` is ignored."""
    if path_exists(Path("/bin/bash")):
        return ("/bin/bash", "--noprofile", "--norc", "-c")
    if (found := shutil.which("bash", path="/usr/local/bin:/usr/bin")) is not None:
        return (found, "--noprofile", "--norc", "-c")
    return ("/bin/sh", "-c")


def describe_input(kind: InputKind | None) -> str:
    """Return what a program does that waits for input."""
    return "waits for a password" if kind == "password" else "waits for input"


def _build_output(args: Shell, process: RunningCommand, seconds: int, pause: Pause) -> ToolOutput:
    code, output = process.exit_code, process.output
    if code is not None:
        status = format_exit_code(code) + (_LEFT if process.left_processes else "")
    elif pause is Pause.NEEDS_INPUT:
        status = f"the user stopped it, because it {describe_input(process.input_kind)}"
    else:
        status = (
            f"timed out and stopped after {seconds} s; set a larger `timeout_seconds`"
            f" (at most {MAX_TIMEOUT_SECONDS}) if it needs longer, or `background` if it keeps"
            " running"
        )
    printed = output.text(has_failed=code != 0).rstrip("\n")
    return ToolOutput(
        (TextBlock(f"{printed or '(no output)'}\n[{status}]"),),
        success=code == 0,
        details={
            "note_lines": 1 if printed else 2,
            "exit_code": code,
            "sandbox": process.sandbox.value,
            "seconds": round(process.seconds, 3),
            "timed_out": code is None and pause is not Pause.NEEDS_INPUT,
            "output_bytes": output.total_bytes,
            "full_output": None if output.spill_path is None else str(output.spill_path),
        },
        command_executed=args.line,
    )
