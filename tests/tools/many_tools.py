"""A source with more tools than the share of a window that servers have."""

from yourtool.effects import SideEffects, ToolDefinition
from yourtool.tools.schema_tool import SchemaTool
from yourtool.tools.tool_search import build_find_tools
from yourtool.tools.toolset import Toolbox

COUNT = 60


async def run(arguments, context):
    return "it is done"


def define(number):
    return ToolDefinition(
        name=f"mcp__many__act{number}",
        description=f"Does the action number {number}. " + "It has a long description. " * 40,
        input_schema={"type": "object"},
        side_effects=SideEffects.NETWORK,
        is_searchable=True,
    )


def many():
    definitions = [define(number) for number in range(COUNT)]
    search = build_find_tools(definitions, ["mcp__many"])
    return Toolbox((search, *(SchemaTool(each, run) for each in definitions)))
