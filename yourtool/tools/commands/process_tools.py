"""Tools for background processes."""

from collections.abc import Iterable
from typing import Annotated

from msgspec import Meta

from yourtool.effects import Preview, SideEffects
from yourtool.errors import ToolError
from yourtool.foundation.text import escape_line
from yourtool.messages.blocks import TextBlock
from yourtool.tools.background import RunningCommand
from yourtool.tools.base import Args, ToolContext, ToolOutput, tool
from yourtool.tools.commands.shell import describe_input, format_exit_code

MAX_WAIT_SECONDS = 50
"""Less than the timeout of the tool call."""

MAX_INPUT_CHARACTERS = 1_000
"""Less than the line that a terminal holds, 4,096 bytes: https://man7.org/linux/man-pages/man3/termios.3.html
"""
_ANSWER_SECONDS = 1
"""How long a call waits for the answer to what it typed."""

_Id = Annotated[str, Meta(min_length=1)]


class ProcessOutput(Args, frozen=True):
    """Arguments of `process_output`."""

    id: _Id
    wait_seconds: Annotated[
        int, Meta(ge=0, le=MAX_WAIT_SECONDS, description="Wait up to this long for output.")
    ] = 0


class ProcessInput(Args, frozen=True):
    """Arguments of `process_input`."""

    id: _Id
    text: Annotated[str, Meta(max_length=MAX_INPUT_CHARACTERS)]
    enter: Annotated[bool, Meta(description="Press Enter after it.")] = True


class ProcessStop(Args, frozen=True):
    """Arguments of `process_stop`."""

    id: _Id


@tool(SideEffects.NONE)
async def process_output(args: ProcessOutput, context: ToolContext) -> ToolOutput:
    """Return the new output of a background process."""
    process = context.processes.get(args.id)
    await process.wait_for_news(args.wait_seconds)
    return await describe_process(process, context)


async def _preview(args: ProcessInput, context: ToolContext) -> Preview:
    process = context.processes.get(args.id)
    key = "; then Enter is pressed" if args.enter else ""
    sandbox = context.sandbox
    is_full = sandbox is not None and process.is_enclosed and sandbox.contains_fully
    return Preview(
        kind="command",
        body=args.text,
        surroundings=f"the terminal of {process.id}: {escape_line(process.command)}{key}",
        is_contained=sandbox is not None and process.is_enclosed and sandbox.allows_commands,
        is_fully_contained=is_full,
        missing_sandbox=(sandbox is not None and sandbox.unavailable) or "",
        sandbox=process.sandbox,
        protected=sandbox is not None
        and (sandbox.is_below_requirement if process.is_enclosed else sandbox.is_required),
    )


@tool(SideEffects.EXECUTE, preview=_preview, command=lambda args: args.text)
async def process_input(args: ProcessInput, context: ToolContext) -> ToolOutput:
    """Type into a background process that has a terminal; returns the new output."""
    if context.approved is not None and context.approved.body != args.text:
        raise ToolError("this is not the text that the user approved, so it was not typed")
    process = context.processes.get(args.id)
    process.type(f"{args.text}\n" if args.enter else args.text)
    await process.wait_for_news(_ANSWER_SECONDS)
    return await describe_process(process, context)


@tool(SideEffects.NONE)
async def process_stop(args: ProcessStop, context: ToolContext) -> ToolOutput:
    """End a background process; returns its output."""
    process = context.processes.get(args.id)
    await process.stop()
    return await describe_process(process, context)


async def describe_process(process: RunningCommand, context: ToolContext) -> ToolOutput:
    """Return the new output and the state of a process for the model."""
    if not process.is_running:
        context.processes.forget_end(process)
    printed = process.read().rstrip("\n") or "(no new output)"
    return ToolOutput(
        (TextBlock(f"{printed}\n[{process.id}: {await format_state(process)}]"),),
        details={
            "process": process.id,
            "command": process.command,
            "is_running": process.is_running,
            "output_bytes": process.output.total_bytes,
        },
    )


async def format_state(process: RunningCommand) -> str:
    """Return whether a process runs, waits for input, serves something or has ended."""
    if process.is_running:
        kind = await process.find_input()
        waiting = f", {describe_input(kind)}" if kind else ""
        served = f", {found}" if (found := await process.find_servers()) else ""
        return f"runs since {process.seconds:,.0f} s{waiting}{served}"
    code = process.exit_code
    return "stopped" if code is None else f"ended, {format_exit_code(code)}"


def describe_ended(processes: Iterable[RunningCommand]) -> tuple[str, ...]:
    """Return notes for the model about background processes that have ended."""
    return tuple(
        f"[Process {each.id} (`{each.command}`) has ended: {_format_end(each)}. `process_output`"
        " returns the rest of its output.]"
        for each in processes
    )


def _format_end(process: RunningCommand) -> str:
    code = process.exit_code
    return "the user stopped it" if code is None else format_exit_code(code)
