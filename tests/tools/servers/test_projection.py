"""Names of foreign tools, and their definitions."""

import re

from hypothesis import given, settings
from hypothesis import strategies as st

from tests.server_tools import SERVER_TOOLS
from tests.strategies import examples
from tests.tools.servers.configured import load
from yourtool.effects import SideEffects
from yourtool.permissions.rules import find_server
from yourtool.tools.servers.projection import ForeignTool, name_server, name_tools, project_tools
from yourtool.tools.servers.tool import build_tool
from yourtool.tools.toolset import Toolbox


@given(st.lists(st.text(max_size=80), unique=True, max_size=5), st.text(max_size=80))
@settings(max_examples=examples(60))
def test_names_are_valid_unique_and_name_their_server(names, server):
    part = name_server(server)
    found = name_tools(part, names)
    assert len(set(found)) == len(found)
    assert all(re.fullmatch(r"mcp__[A-Za-z0-9_-]{1,59}", each) for each in found)
    assert {find_server(each) for each in found} <= {f"mcp__{part}"}


def test_servers_whose_names_become_the_same_stay_different():
    first = name_server("my.server")
    second = name_server("my server", [first])
    assert first == "my_server" and second.startswith("my_server_") and second != first


def test_name_that_ends_with_the_hash_of_another_stays_different():
    hashed = name_tools("s", ["a_b", "a.b"])[1].removeprefix("mcp__s__")
    assert len(set(name_tools("s", [hashed, "a_b", "a.b"]))) == 3
    long = "a server with a name that is cut"
    taken = ["", name_server(long)]
    assert name_server(long, taken) not in taken


def test_every_tool_of_real_servers_is_offered():
    [configured] = load({"real": {"command": "x"}}).servers
    foreign = [ForeignTool(name=name, input_schema=schema) for name, schema in SERVER_TOOLS.items()]
    tools = project_tools(configured, "real", foreign)
    box = Toolbox(build_tool(object(), each, 1) for each in tools)
    assert len(box.definitions) == len(SERVER_TOOLS) and not box.problems
    assert {each.side_effects for each in box.definitions} == {SideEffects.NETWORK}
