"""Execution of hook commands.

A command gets JSON as its input, with a limit of time and output. A hook of the user runs as the
user's own commands do, and one of a project in the sandbox. So does one of the user that runs a
file of the workspace, because models can write it. A command of plain words is started without a
shell; others are the line of one.
"""

import asyncio
import os
import shutil
import tempfile
from pathlib import Path
from typing import BinaryIO

from msgspec import Struct
from msgspec.structs import replace

from yourtool.agent.hooks.failed_starts import find_start_problem
from yourtool.agent.hooks.hook import Hook
from yourtool.errors import ToolError
from yourtool.permissions.shell.lines import plain
from yourtool.process.environment import HOOK_DEPTH, get_hook_depth
from yourtool.tools.commands.shell import find_interpreter
from yourtool.tools.commands.workspace_programs import PROJECT_VARIABLES, uses_workspace
from yourtool.tools.processes.environments import Environments
from yourtool.tools.processes.process import ProcessExit, ShellCommand, run_process
from yourtool.tools.sandbox.sandbox import Sandbox
from yourtool.tools.workspace.workspace import Workspace

MAX_OUTPUT = 65_536
"""Bytes of standard output, and of standard error, that are read."""
BLOCKED = 2
"""The exit code that blocks."""
GRACE_SECONDS = 2.0
"""Time between SIGTERM and SIGKILL for what a hook left running."""


class HookRun(Struct, frozen=True):
    """How a run of a hook ended."""

    exit_code: int | None
    """Negative for a signal; None if it was stopped or could not start."""
    milliseconds: int
    output: str = ""
    errors: str = ""
    is_cut: bool = False
    """Whether it printed more than `output` has."""
    problem: str = ""
    """Why there is no exit code."""


class FirstBytes:
    """Keeps the start of an output."""

    def __init__(self, limit: int = MAX_OUTPUT) -> None:
        self._limit = limit
        self._data = bytearray()
        self.is_cut = False

    def feed(self, data: bytes) -> None:
        """Add the next bytes of output."""
        room = self._limit - len(self._data)
        self._data += data[:room]
        self.is_cut = self.is_cut or len(data) > room

    def close(self) -> None:
        """End the output."""

    @property
    def text(self) -> str:
        """The start as text."""
        return self._data.decode("utf-8", "replace")


class HookSurroundings(Struct, frozen=True):
    """Where the hooks of a session run."""

    workspace: Workspace
    sandbox: Sandbox | None = None
    environments: Environments = Environments()


async def run_hook(hook: Hook, payload: bytes, around: HookSurroundings) -> HookRun:
    """Run a hook to its end; all that goes wrong is part of the result."""
    try:
        given = await asyncio.to_thread(_open_input, payload)
        with given:
            is_own = await asyncio.to_thread(_is_own_program, hook, around.workspace)
            command = await asyncio.to_thread(_build_command, hook, around, is_own=is_own)
            command = replace(command, standard_input=given.fileno())
            if (sandbox := around.sandbox) is None or is_own:
                return await _run(hook, command)
            await sandbox.measure()
            if await asyncio.to_thread(_is_outside, hook, sandbox):
                return await _run(hook, command)
            if sandbox.is_below_requirement:
                return HookRun(None, 0, problem="the sandbox is too weak, so it was not run")
            if (missing := sandbox.unavailable) is not None:
                if hook.is_limited:
                    problem = f"there is no sandbox ({missing}), so it was not run"
                    return HookRun(None, 0, problem=problem)
                return await _run(hook, command)
            async with sandbox.enclose(command) as enclosed:
                return await _run(hook, enclosed.command)
    except (OSError, ValueError, ToolError) as error:
        return HookRun(None, 0, problem=f"it could not be started: {error}")


def _is_own_program(hook: Hook, workspace: Workspace) -> bool:
    """Whether a hook is the user's and runs nothing that models can write; blocks."""
    root = Path(os.path.realpath(workspace.root))
    return not hook.is_limited and not uses_workspace(hook.config.command, root, os.environ)


def _is_outside(hook: Hook, sandbox: Sandbox) -> bool:
    """Whether a setting excepts a hook of the user from the sandbox, which may not be required."""
    return not hook.is_limited and not sandbox.is_required and sandbox.excepts(hook.config.command)


async def _run(hook: Hook, command: ShellCommand) -> HookRun:
    output, errors, seconds = FirstBytes(), FirstBytes(), hook.config.timeout
    exited: ProcessExit = await run_process(
        command, output, errors=errors, seconds=seconds, grace=GRACE_SECONDS
    )
    problem = f"it was stopped after {seconds:g} s" if exited.code is None else ""
    if exited.code == BLOCKED:
        line, printed = hook.config.command, errors.text
        problem = await asyncio.to_thread(find_start_problem, line, printed, command.directory)
    return HookRun(
        exited.code,
        round(exited.seconds * 1000),
        output.text,
        errors.text,
        output.is_cut,
        problem,
    )


def _open_input(payload: bytes) -> BinaryIO:
    """Return an open file with the input, which has no name."""
    file = tempfile.TemporaryFile()  # noqa: SIM115 - the caller closes it
    file.write(payload)
    file.seek(0)
    return file


def _build_command(hook: Hook, around: HookSurroundings, *, is_own: bool) -> ShellCommand:
    """Return the command of a hook, which runs in the workspace; blocks."""
    line, workspace = hook.config.command, around.workspace
    root = workspace.root
    if "\0" in line:
        raise ValueError("the command contains a NUL character")
    environment = (
        around.environments.build_for_own_program(os.environ, root)
        if is_own
        else around.environments.build_for_model(os.environ)
    )
    environment |= dict.fromkeys(PROJECT_VARIABLES, os.path.realpath(root))
    environment[HOOK_DEPTH] = str(get_hook_depth(os.environ) + 1)
    words = _find_words(line)
    is_program = words and shutil.which(words[0], path=environment["PATH"]) is not None
    return ShellCommand(
        words if is_program else (*find_interpreter(), line),
        root,
        environment,
        opened_directory=workspace.root_descriptor(),
    )


def _find_words(line: str) -> tuple[str, ...]:
    """Return the words of a line that needs no shell; none if it needs one."""
    match plain.parse_plain(line):
        case (command,) if not (command.variables or command.redirections or command.timing):
            if command.before or any(
                word.is_glob or word.source or word.text.startswith("~") for word in command.words
            ):
                return ()
            return command.texts
        case _:
            return ()
