import asyncio
import subprocess
import sys
import threading
from typing import Annotated

import pytest
from msgspec import Meta, Struct

from tests.tools.contexts import answer, call
from yourtool.effects import SideEffects
from yourtool.errors import ToolError, ToolFailure, ToolRegistrationError
from yourtool.foundation.masking import Mask
from yourtool.messages.blocks import TextBlock
from yourtool.tools.base import Args, ToolContext, ToolOutput, tool
from yourtool.tools.builtin import default_toolbox


class Part(Struct, frozen=True, forbid_unknown_fields=True):
    path: str


class Sample(Args, frozen=True):
    path: str
    parts: Annotated[tuple[Part, ...], Meta(max_length=2)] = ()
    count: Annotated[int, Meta(ge=1)] = 1


KEY = "sk-ant-api03-" + "Zq7" * 30


@tool(SideEffects.READ)
async def lengthy(args: Args, context: ToolContext) -> ToolOutput:
    """Return details that are too long."""
    return ToolOutput((), details={"text": f"{'x' * 39_990}{KEY}{'y' * 300_000}"})


async def test_truncated_details_contain_no_part_of_a_key(contexts):
    output = await call(lengthy, contexts(mask=Mask([KEY])))
    assert output.details is not None
    assert "sk-ant" not in output.details["text"]
    assert "more characters" in output.details["text"]


@tool(SideEffects.READ)
async def sample(args: Sample, context: ToolContext) -> str:
    """Count something."""
    return f"{args.count} \udc80\0"


@tool(SideEffects.EXECUTE)
async def slow(args: Args, context: ToolContext) -> str:
    """Wait."""
    return ""


@tool(SideEffects.READ)
async def loose(args: Args, context: ToolContext) -> ToolOutput:
    """Answer with details."""
    return ToolOutput((TextBlock("x"),), details={"a": 1})


def test_tool_is_described_by_its_function():
    definition = sample.definition
    assert (definition.name, definition.description) == ("sample", "Count something.")
    assert definition.side_effects is SideEffects.READ
    assert definition.input_schema["required"] == ["path"]


def test_timeouts_depend_on_the_side_effects():
    assert sample.timeout_seconds == 60
    assert slow.timeout_seconds == 600


def test_function_without_a_docstring_is_rejected():
    async def silent(args: Args, context: ToolContext) -> str:
        return ""

    with pytest.raises(ToolRegistrationError, match="description"):
        tool(SideEffects.EXECUTE)(silent)


@pytest.mark.req("R-TOOL-02")
def test_all_invalid_arguments_are_listed_with_their_paths():
    with pytest.raises(ToolError) as caught:
        sample.parse({"parts": [{"path": 1}, {"x": ""}], "count": 0})
    assert caught.value.failure is ToolFailure.VALIDATION_ERROR
    for path in ("$.path: is required", "$.parts[0].path", "$.parts[1].x", "$.count"):
        assert path in str(caught.value)


@pytest.mark.req("R-TOOL-02")
def test_number_with_a_fraction_is_not_an_integer():
    with pytest.raises(ToolError, match="count"):
        sample.parse({"path": "a", "count": 2.0})


async def test_tool_output_can_be_stored(context):
    assert await answer(sample, context, path="a") == "1 \ufffd"
    assert (await call(loose, context)).details == {"a": 1}


@pytest.mark.req("R-CAN-09")
def test_schema_outside_the_subset_is_rejected():
    async def union(args: Optional, context: ToolContext) -> str:
        """Take this or that."""
        return ""

    with pytest.raises(ToolRegistrationError, match=r"`union`.*\$\.properties\.x\.anyOf"):
        tool(SideEffects.NONE)(union)


class Optional(Args, frozen=True):
    x: int | None = None


@pytest.mark.req("R-TOOL-12")
async def test_blocking_work_does_not_block_the_loop(context):
    release = threading.Event()
    work = asyncio.ensure_future(context.run_in_thread(release.wait, 10))
    for _ in range(3):
        await asyncio.sleep(0)
    assert not work.done()
    release.set()
    assert await work


@pytest.mark.req("R-TOOL-14")
async def test_cancelled_work_is_signalled_and_awaited(context):
    finished = []

    def work():
        context.cancelled.wait(10)
        finished.append(True)

    task = asyncio.ensure_future(context.run_in_thread(work))
    await asyncio.sleep(0.01)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert finished == [True]


def test_tools_have_their_descriptions_although_the_interpreter_removes_docstrings():
    show = (
        "from yourtool.tools.builtin import default_toolbox as box;"
        "print([each.description for each in box().definitions])"
    )
    command = (sys.executable, "-OO", "-c", show)
    shown = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    assert shown.strip() == str([each.description for each in default_toolbox().definitions])
