from typing import Annotated

import pytest
from msgspec import Meta, Struct

from yourtool.effects import SideEffects
from yourtool.errors import ToolError, ToolFailure, UsageError
from yourtool.permissions.gate import parse_rules
from yourtool.tools.base import Args, ToolContext, tool
from yourtool.tools.builtin import default_toolbox
from yourtool.tools.toolset import JoinedToolset, Toolbox, resolve_subjects


class Part(Struct, frozen=True, forbid_unknown_fields=True):
    path: str


class Sample(Args, frozen=True):
    path: str
    parts: Annotated[tuple[Part, ...], Meta(max_length=2)] = ()


@tool(SideEffects.READ)
async def sample(args: Sample, context: ToolContext) -> str:
    """Count something."""
    return ""


first = sample


@tool(SideEffects.READ)
async def loose(args: Args, context: ToolContext) -> str:
    """Answer."""
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


def test_first_of_two_tools_with_one_name_is_used():
    box = Toolbox([sample, loose, sample])
    assert [definition.name for definition in box.definitions] == ["sample", "loose"]
    assert box.problems == ("Two tools are named `sample`; only the first can be called.",)


def test_only_tools_with_paths_have_paths_as_their_subject():
    kinds = default_toolbox().subject_kinds
    opaque = {"process_output", "process_stop", "update_plan", "propose_plan", "ask_user"}
    assert {kinds[each] for each in opaque} == {"opaque"}
    assert Toolbox([sample, loose]).subject_kinds == {
        "sample": "path",
        "loose": "opaque",
        "sandbox_outside": "command",
        "sandbox_network": "command",
        "sandbox_host": "host",
    }
    with pytest.raises(UsageError, match="never match"):
        parse_rules("--allow", ["update_plan(src/**)"], kinds)


def test_joined_toolsets_keep_the_first_of_two_tools_with_one_name():
    @tool(SideEffects.NETWORK)
    async def sample(args: Args, context: ToolContext) -> str:
        """Replace the other."""
        return ""

    box = JoinedToolset(Toolbox([first]), Toolbox([sample, loose])).current()
    assert list(box) == [first, loose]
    assert "`sample`" in box.problems[0]


def test_joined_toolset_omits_a_source_with_an_error():
    class Broken:
        def current(self):
            raise OSError("the server is gone")

    box = JoinedToolset(Broken(), Toolbox([sample])).current()
    assert list(box) == [sample]
    assert "the server is gone" in box.problems[0]


def test_built_in_tools_have_the_effects_that_decide_on_approvals():
    effects = {
        definition.name: definition.side_effects for definition in default_toolbox().definitions
    }
    assert (
        effects
        | {
            "read_file": SideEffects.READ,
            "write_file": SideEffects.WRITE,
            "edit_file": SideEffects.WRITE,
            "apply_patch": SideEffects.WRITE,
            "list_dir": SideEffects.READ,
            "glob": SideEffects.READ,
            "grep": SideEffects.READ,
            "shell": SideEffects.EXECUTE,
            "process_output": SideEffects.NONE,
            "process_input": SideEffects.EXECUTE,
            "process_stop": SideEffects.NONE,
            "fetch_url": SideEffects.NETWORK,
            "update_plan": SideEffects.NONE,
            "delegate": SideEffects.NONE,
            "propose_plan": SideEffects.NONE,
            "ask_user": SideEffects.NONE,
        }
        == effects
    )
