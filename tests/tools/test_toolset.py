from typing import Annotated

import pytest
from msgspec import Meta, Struct

from yourtool.effects import SideEffects
from yourtool.errors import ToolError, ToolFailure, ToolRegistrationError
from yourtool.tools.base import Args, ToolContext, tool
from yourtool.tools.builtin import default_toolbox
from yourtool.tools.toolset import Toolbox, resolve_subjects


class Part(Struct, frozen=True, forbid_unknown_fields=True):
    path: str


class Sample(Args, frozen=True):
    path: str
    parts: Annotated[tuple[Part, ...], Meta(max_length=2)] = ()


@tool(SideEffects.READ)
async def sample(args: Sample, context: ToolContext) -> str:
    """Count something."""
    return ""


@tool(SideEffects.READ)
async def loose(args: Args, context: ToolContext) -> str:
    """Answer."""
    return ""


@tool(SideEffects.EXECUTE)
async def silent(args: Args, context: ToolContext) -> str:
    return ""


@pytest.mark.req("R-TOOL-06")
def test_paths_at_any_depth_are_confined_to_the_workspace(contexts):
    args = sample.parse({"path": "a", "parts": [{"path": "b"}, {"path": "../c"}]})
    assert [each.text for each in sample.subjects(args)] == ["a", "b", "../c"]
    with pytest.raises(ToolError) as caught:
        resolve_subjects(sample, args, contexts.workspace)
    assert caught.value.failure is ToolFailure.PERMISSION_DENIED


def test_toolbox_finds_tools_by_name():
    box = Toolbox([sample, loose])
    assert box.get("sample") is sample
    assert box.get("other") is None
    assert [definition.name for definition in box.definitions] == ["sample", "loose"]


def test_duplicate_tool_name_is_rejected():
    with pytest.raises(ToolRegistrationError, match="two tools are named `sample`"):
        Toolbox([sample, sample])


def test_tool_without_a_description_is_rejected():
    with pytest.raises(ToolRegistrationError, match="description"):
        Toolbox([silent])


def test_there_are_nine_built_in_tools():
    effects = {
        definition.name: definition.side_effects for definition in default_toolbox().definitions
    }
    assert effects == {
        "read_file": SideEffects.READ,
        "write_file": SideEffects.WRITE,
        "edit_file": SideEffects.WRITE,
        "list_dir": SideEffects.READ,
        "glob": SideEffects.READ,
        "grep": SideEffects.READ,
        "shell": SideEffects.EXECUTE,
        "fetch_url": SideEffects.NETWORK,
        "update_plan": SideEffects.NONE,
    }
