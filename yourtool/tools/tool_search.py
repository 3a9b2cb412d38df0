"""`find_tools`: search for tools of servers.

Requests have this tool in place of them. What a call finds joins the following requests after all
other tools, so the part that a provider has in its cache stays the same.
"""

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Annotated, Any

from msgspec import Meta
from msgspec.structs import replace

from yourtool.effects import SideEffects, ToolDefinition
from yourtool.errors import ToolError
from yourtool.messages.blocks import TextBlock
from yourtool.settings.tables import is_table
from yourtool.tools.base import Args, StructTool, ToolContext, ToolOutput, tool

FIND_TOOLS = "find_tools"
FOUND = "found_tools"
"""The names that a call found, in the details of its result."""
SEARCH_AT = 5
"""Percent of the context window."""
_MAX_FOUND = 8
_MAX_LISTED_SERVERS = 20
_MAX_SUMMARY = 160
_WORD = re.compile(r"[a-z]+|[0-9]+|[^\W\d_]+")
_HUMP = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")
_IN_NAME, _IN_DESCRIPTION, _IN_FIELDS = 6, 2, 1
"""How much a word counts that a tool has in one of these places."""
_MIN_PREFIX = 3
"""Letters from which on a word matches those that start with it."""


class FindTools(Args, frozen=True):
    """Words about what the tool has to do, or names of tools."""

    words: Annotated[str, Meta(min_length=1, max_length=500)]


def build_find_tools(tools: Sequence[ToolDefinition], sources: Sequence[str]) -> StructTool:
    """Return the tool that searches others; `sources`: the names of the servers."""

    @tool(SideEffects.NONE)
    async def find_tools(args: FindTools, context: ToolContext) -> ToolOutput:
        """Find tools of servers by words about their purpose, or by their names."""
        found = await context.run_in_thread(search_tools, tools, args.words)
        if not found:
            raise ToolError(
                f"none of the {len(tools):,} tools matches `{args.words}`; try other words, or do"
                " the task without them"
            )
        rows = (f"- {each.name}: {_summarise(each.description)}" for each in found)
        text = "\n".join(("You can call these tools from now on:", *rows))
        return ToolOutput((TextBlock(text),), details={FOUND: [each.name for each in found]})

    named = ", ".join(sources[:_MAX_LISTED_SERVERS])
    about = (
        f"Find tools of these servers: {named}. They are not in your list of tools until you"
        " search for them by words about their purpose, or by their names; what you find, you can"
        " call from then on."
    )
    find_tools.definition = replace(find_tools.definition, description=about)
    return find_tools


def search_tools(tools: Iterable[ToolDefinition], words: str) -> list[ToolDefinition]:
    """Return the tools that match words best, at most eight; those that are named come first."""
    named = set(words.replace(",", " ").split())
    wanted = set(_split(words))
    scored = [
        (_score(each, wanted) + (1_000_000 if each.name in named else 0), each) for each in tools
    ]
    best = sorted((row for row in scored if row[0]), key=lambda row: (-row[0], row[1].name))
    return [each for _, each in best[:_MAX_FOUND]]


def _score(definition: ToolDefinition, wanted: set[str]) -> int:
    """Return how well a tool matches words, 0 if not at all."""
    weights = Counter[str]()
    places = (
        (_iter_fields(definition.input_schema), _IN_FIELDS),
        ((definition.description,), _IN_DESCRIPTION),
        ((definition.name,), _IN_NAME),
    )
    for texts, weight in places:
        for word in (word for text in texts for word in _split(text)):
            weights[word] = max(weights[word], weight)
    return sum(_find_weight(word, weights) for word in wanted)


def _find_weight(word: str, weights: Counter[str]) -> int:
    if word in weights or len(word) < _MIN_PREFIX:
        return 2 * weights[word]
    return max((weights[each] for each in weights if each.startswith(word)), default=0)


def _split(text: str) -> list[str]:
    return _WORD.findall(_HUMP.sub(" ", text).lower())


def _iter_fields(schema: dict[str, Any]) -> Iterable[str]:
    properties = schema.get("properties")
    return list(properties) if is_table(properties) else ()


def _summarise(description: str) -> str:
    line = " ".join(description.split())
    return line if len(line) <= _MAX_SUMMARY else f"{line[:_MAX_SUMMARY]}…"
