"""The `propose_plan` tool."""

from typing import Annotated

from msgspec import Meta
from msgspec.structs import replace

from yourtool.effects import Editable, Preview, SideEffects
from yourtool.errors import ToolError, ToolFailure
from yourtool.tools.base import Args, ToolContext, tool

MAX_PLAN_BYTES = 65_536


class ProposePlan(Args, frozen=True):
    """Arguments of `propose_plan`."""

    plan: Annotated[
        str,
        Meta(
            min_length=1,
            description="In Markdown: what changes, where, and how it is tested.",
        ),
    ]


async def _preview(args: ProposePlan, context: ToolContext) -> Preview:
    """Return the plan, which the user can change.

    Raises:
        ToolError: the plan is blank or too long.
    """
    del context
    if not args.plan.strip():
        raise ToolError("The plan is empty. Send all of it.", ToolFailure.VALIDATION_ERROR)
    if (size := len(args.plan.encode())) > MAX_PLAN_BYTES:
        raise ToolError(
            f"The plan has {size:,} bytes; the maximum is {MAX_PLAN_BYTES:,}. Shorten it.",
            ToolFailure.VALIDATION_ERROR,
        )
    return Preview(
        kind="text",
        body=args.plan,
        editable=Editable(text=args.plan, suffix=".md", build_input=lambda text: {"plan": text}),
    )


@tool(SideEffects.NONE, preview=_preview)
async def propose_plan(args: ProposePlan, context: ToolContext) -> str:
    """In plan mode, show the user the finished plan, who approves, changes or declines it."""
    del args
    if context.approved is None:
        return "No plan has to be approved in this approval mode. Go on with the task."
    return "The user approved the plan, and plan mode is off. Carry it out now."


propose_plan.definition = replace(propose_plan.definition, ends_planning=True)
