"""MCP tools as tools of this program."""

import hashlib
import json
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from msgspec import Struct

from yourtool.effects import ToolDefinition
from yourtool.foundation.json_schema import resolve_schema
from yourtool.foundation.text import printable
from yourtool.permissions.rules import SERVER_PREFIX
from yourtool.tools.servers.settings import ServerSettings

MAX_TOOLS = 500
"""Tools of one server that are used."""
_MAX_NAME, _MAX_SERVER_NAME = 64, 24
_HASH_LENGTH = 6
_MAX_DESCRIPTION = 8_000
"""Characters of a description that models get."""
_ONLY_AS_TASK = "calls: the server runs them only as tasks, which are not supported"
_OTHER = re.compile(r"[^A-Za-z0-9-]+")
_OTHER_IN_TOOL = re.compile(r"[^A-Za-z0-9_-]")


class ForeignTool(Struct, frozen=True, kw_only=True):
    """A tool as a server describes it."""

    name: str
    title: str = ""
    description: str = ""
    input_schema: Any = None
    annotations: Mapping[str, Any] = {}
    """What the server claims about effects: shown, never believed."""
    only_as_task: bool = False
    """Whether calls need a task of protocol 2025-11-25, which later versions do not have."""

    @property
    def text(self) -> str:
        """Everything about the tool that a model or the user can see, for comparisons."""
        parts = {
            "description": self.description.split("\n"),
            "title": self.title,
            "inputSchema": self.input_schema,
            "annotations": dict(self.annotations),
        }
        return json.dumps(parts, indent=1, sort_keys=True, ensure_ascii=False)

    @property
    def claims(self) -> str:
        """The annotations in a line."""
        shown = ", ".join(f"{name}={json.dumps(value)}" for name, value in self.annotations.items())
        return printable(shown)


class ProjectedTool(Struct, frozen=True):
    """A tool of a server and its definition here."""

    foreign: ForeignTool
    definition: ToolDefinition
    losses: tuple[str, ...]
    """What the schema lost, as `JSON path: problem`, and why calls fail."""


def name_server(name: str, taken: Iterable[str] = ()) -> str:
    """Return the part of tool names for a server: without `__`, which ends it, and not taken."""
    plain = _OTHER.sub("_", name).strip("_") or "server"
    if len(plain) <= _MAX_SERVER_NAME and plain not in taken:
        return plain
    start = plain[: _MAX_SERVER_NAME - _HASH_LENGTH - 1].rstrip("_")
    return _append_hash(start, name, taken)


def name_tools(server: str, names: Sequence[str]) -> list[str]:
    """Return the name here of each tool of a server; unique, at most 64 characters.

    `server`: as `name_server` returns it. A name depends on the other names only if they become
    the same.
    """
    found = list[str]()
    for name in names:
        full = f"{SERVER_PREFIX}{server}__{_OTHER_IN_TOOL.sub('_', name) or 'tool'}"
        if len(full) > _MAX_NAME or full in found:
            full = _append_hash(full[: _MAX_NAME - _HASH_LENGTH - 1], name, found)
        found.append(full)
    return found


def project_tools(
    settings: ServerSettings, server: str, tools: Sequence[ForeignTool]
) -> tuple[ProjectedTool, ...]:
    """Return the tools of a server that are switched on; `server`: as `name_server` returns it."""
    used = [each for each in tools if settings.has_tool(each.name)]
    named = zip(used, name_tools(server, [each.name for each in used]), strict=True)
    return tuple(_project(settings, foreign, name) for foreign, name in named)


def _project(settings: ServerSettings, foreign: ForeignTool, name: str) -> ProjectedTool:
    resolved = resolve_schema(foreign.input_schema)
    about = printable(foreign.description or foreign.title or foreign.name)
    definition = ToolDefinition(
        name=name,
        description=f"[MCP server `{printable(settings.name)}`] {about[:_MAX_DESCRIPTION]}",
        input_schema=resolved.schema,
        side_effects=settings.get_effects(foreign.name),
        is_searchable=True,
    )
    losses = (*resolved.losses, _ONLY_AS_TASK) if foreign.only_as_task else resolved.losses
    return ProjectedTool(foreign, definition, losses)


def _append_hash(start: str, name: str, taken: Iterable[str]) -> str:
    """Return a start with a hash of the name; a server can choose names with a known hash."""
    salt = ""
    while (found := f"{start}_{_hash(name + salt)}") in taken:
        salt += "+"
    return found


def _hash(name: str) -> str:
    return hashlib.sha256(name.encode("utf-8", "replace")).hexdigest()[:_HASH_LENGTH]
