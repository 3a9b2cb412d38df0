"""The tools for processes in the background: read their output, type into them, stop them."""

from typing import Annotated

from msgspec import Meta

from yourtool.effects import SideEffects
from yourtool.messages.blocks import TextBlock
from yourtool.tools.background import RunningCommand
from yourtool.tools.base import Args, ToolContext, ToolOutput, tool
from yourtool.tools.shell import describe_input, format_exit_code

MAX_WAIT_SECONDS = 50
"""Less than the timeout of the tool call."""

_Id = Annotated[str, Meta(min_length=1, description="Such as `p1`.")]


class ProcessOutput(Args, frozen=True):
    """Arguments of `process_output`."""

    id: _Id
    wait_seconds: Annotated[
        int, Meta(ge=0, le=MAX_WAIT_SECONDS, description="Wait up to this long for output.")
    ] = 0


class ProcessStop(Args, frozen=True):
    """Arguments of `process_stop`."""

    id: _Id


@tool(SideEffects.NONE)
async def process_output(args: ProcessOutput, context: ToolContext) -> ToolOutput:
    """Return the new output of a background process."""
    process = context.processes.get(args.id)
    await process.wait_for_news(args.wait_seconds)
    return await describe_process(process, context)


@tool(SideEffects.NONE)
async def process_stop(args: ProcessStop, context: ToolContext) -> ToolOutput:
    """End a background process; returns the rest of its output."""
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
    """Return whether a process runs, waits for input or has ended."""
    if process.is_running:
        kind = await process.find_input()
        waiting = f", {describe_input(kind)}" if kind else ""
        return f"runs since {process.seconds:,.0f} s{waiting}"
    code = process.exit_code
    return "stopped" if code is None else f"ended, {format_exit_code(code)}"
