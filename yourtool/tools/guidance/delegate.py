"""The tools `delegate` and `report_missing`."""

import re
from typing import Annotated, Any, Literal, TypeAlias

import msgspec
from msgspec import Meta, Struct, field

from yourtool.effects import SideEffects
from yourtool.errors import ToolError
from yourtool.foundation.text import storable_json
from yourtool.messages.blocks import TextBlock
from yourtool.tools import validation
from yourtool.tools.base import Args, ToolContext, ToolOutput, tool
from yourtool.tools.schema import read_reply_schema

DELEGATE = "delegate"
"""The name of the tool."""
SECONDS = 86_400.0
"""Timeout of the call; a worker has its own, which stops while it waits for the user."""

_FENCE = re.compile(r"```(?:json)?\n(.*)\n```", re.DOTALL)

Tier: TypeAlias = Literal["", "fast", "balanced", "deep"]


class FileReference(Struct, frozen=True, forbid_unknown_fields=True):
    """A file that the worker reads itself."""

    path: str
    lines: Annotated[str, Meta(description="Such as `10-40`; empty: all.")] = ""


class Delegate(Args, frozen=True):
    """Arguments of `delegate`."""

    task: Annotated[
        str,
        Meta(
            min_length=1,
            description="All that the worker gets.",
        ),
    ]
    files: Annotated[tuple[FileReference, ...], Meta(max_length=50)] = ()
    notes: Annotated[tuple[str, ...], Meta(max_length=20, description="Findings that matter.")] = ()
    tier: Annotated[Tier, Meta(description="Of its model; empty: yours.")] = ""
    allowed_tools: Annotated[
        tuple[str, ...], Meta(max_length=50, description="Empty: all of yours.")
    ] = ()
    max_tokens: Annotated[int, Meta(ge=0, description="0: the default.")] = 0
    output_schema: Annotated[
        dict[str, Any], Meta(description="JSON Schema of the report, if it is JSON.")
    ] = field(default_factory=dict[str, Any])


class MissingPart(Struct, frozen=True, forbid_unknown_fields=True):
    """What a worker needs and cannot find."""

    what: Annotated[str, Meta(min_length=1, description="A file, a decision, a fact.")]
    hint: Annotated[str, Meta(description="Where it may be, or why it is needed.")] = ""


class ReportMissing(Args, frozen=True):
    """Arguments of `report_missing`."""

    missing: Annotated[tuple[MissingPart, ...], Meta(min_length=1, max_length=20)]
    summary: Annotated[str, Meta(description="What is done and found so far.")] = ""


@tool(SideEffects.NONE)
async def delegate(args: Delegate, context: ToolContext) -> ToolOutput:
    """Give a task to a worker: an agent with its own context, tools and limits.

    For searches and independent pieces of work whose details you do not need.
    """
    if context.delegator is None:
        raise ToolError("This session cannot delegate. Do the task yourself.")
    return await context.delegator.run(args, context)


delegate.timeout_seconds = SECONDS


@tool(SideEffects.NONE)
async def report_missing(args: ReportMissing, context: ToolContext) -> ToolOutput:
    """End the task, because something it needs is missing and no tool can find it."""
    del context
    return ToolOutput((TextBlock(f"Reported {len(args.missing)} missing."),), terminate=True)


def require_valid_schema(args: Delegate) -> None:
    """Raise a `ToolError` if the schema of the report has something that is not checked."""
    _, problems = read_reply_schema(args.output_schema)
    if args.output_schema and problems:
        raise ToolError(
            f"No worker was started: `output_schema` is not supported: {'; '.join(problems[:3])}."
        )


def find_report_problem(schema: dict[str, Any], report: str) -> str:
    """Return why a report does not match a schema; empty if it does, also in a Markdown fence."""
    fenced = _FENCE.fullmatch(report.strip())
    try:
        value = storable_json(msgspec.json.decode(fenced[1] if fenced else report))
        problems = list(validation.iter_problems(schema, value))
    except (ValueError, RecursionError) as error:
        return f"its report is not JSON: {error}"
    return f"its report does not match the schema: {'; '.join(problems[:3])}" if problems else ""
