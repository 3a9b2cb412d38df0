"""The `update_plan` tool."""

from typing import Annotated, Literal

import msgspec
from msgspec import Meta, Struct

from yourtool.effects import SideEffects
from yourtool.messages.blocks import TextBlock
from yourtool.tools.base import Args, ToolContext, ToolOutput, tool


class Step(Struct, frozen=True, forbid_unknown_fields=True):
    """One step of a plan."""

    text: Annotated[str, Meta(min_length=1)]
    status: Literal["pending", "in_progress", "completed"] = "pending"


class UpdatePlan(Args, frozen=True):
    """Arguments of `update_plan`."""

    steps: Annotated[tuple[Step, ...], Meta(max_length=50)]


@tool(SideEffects.NONE)
async def update_plan(args: UpdatePlan, context: ToolContext) -> ToolOutput:
    """Show the user the steps of a longer task with their status; send all steps every time."""
    done = sum(step.status == "completed" for step in args.steps)
    current = next((step.text for step in args.steps if step.status == "in_progress"), None)
    text = f"Plan updated: {done} of {len(args.steps)} steps completed"
    text += f"; now: {current}." if current else "."
    return ToolOutput(
        (TextBlock(text),), details={"plan": [msgspec.to_builtins(step) for step in args.steps]}
    )
