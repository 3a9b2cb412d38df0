"""Tool and argument names for hooks.

One table translates the names of Claude Code, Codex and Gemini CLI both ways. Hooks get the names
of Claude Code, and matchers can have those of all three, and ours. Fields that are not in the table
have the same name.
"""

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal, cast

from msgspec import Struct

_MILLISECONDS = 1000


class FieldAlias(Struct, frozen=True):
    """A field of the arguments."""

    own: str
    foreign: str
    kind: Literal["", "path", "seconds"] = ""
    """`path`: absolute for others. `seconds`: milliseconds for others."""


class ToolAlias(Struct, frozen=True):
    """The names of a tool."""

    names: tuple[str, ...]
    """The first is that of Claude Code, which hooks get."""
    fields: tuple[FieldAlias, ...] = ()


_FILE = FieldAlias("path", "file_path", "path")
_DIRECTORY = FieldAlias("path", "path", "path")
ALIASES: Mapping[str, ToolAlias] = {
    "shell": ToolAlias(
        ("Bash", "run_shell_command", "local_shell", "exec_command"),
        (
            FieldAlias("timeout_seconds", "timeout", "seconds"),
            FieldAlias("background", "run_in_background"),
        ),
    ),
    "read_file": ToolAlias(("Read",), (_FILE,)),
    "write_file": ToolAlias(("Write",), (_FILE,)),
    "edit_file": ToolAlias(("Edit", "MultiEdit", "replace"), (_FILE,)),
    "apply_patch": ToolAlias(("Edit", "MultiEdit", "Write", "replace", "write_file")),
    "list_dir": ToolAlias(("LS", "list_directory"), (_DIRECTORY,)),
    "glob": ToolAlias(("Glob",), (_DIRECTORY,)),
    "grep": ToolAlias(
        ("Grep", "search_file_content", "grep_search"),
        (_DIRECTORY, FieldAlias("files", "glob"), FieldAlias("ignore_case", "-i")),
    ),
    "fetch_url": ToolAlias(("WebFetch", "web_fetch")),
    "update_plan": ToolAlias(("TodoWrite", "write_todos"), (FieldAlias("steps", "todos"),)),
    "delegate": ToolAlias(("Task", "Agent"), (FieldAlias("task", "prompt"),)),
    "propose_plan": ToolAlias(("ExitPlanMode",)),
    "ask_user": ToolAlias(("AskUserQuestion",)),
}
_EDIT_FIELDS = {"old": "old_string", "new": "new_string"}
_NO_ALIAS = ToolAlias(())


def get_names(tool: str) -> tuple[str, ...]:
    """Return all names of a tool, our own first."""
    return (tool, *_find_alias(tool).names)


def find_own_names(foreign: str) -> tuple[str, ...]:
    """Return our tools that another agent, or we, call by a name; none if there is no such tool."""
    return tuple(own for own in ALIASES if foreign in get_names(own))


def to_foreign(tool: str, arguments: Mapping[str, Any], root: Path) -> tuple[str, dict[str, Any]]:
    """Return the name and the arguments of a call as hooks get them.

    `root`: the workspace, to which paths are relative.
    """
    alias = _find_alias(tool)
    fields = {each.own: each for each in alias.fields}
    found = dict[str, Any]()
    for name, value in arguments.items():
        field = fields.get(name, FieldAlias(name, name))
        found[field.foreign] = _to_foreign_value(field, value, root)
    if tool == "edit_file":
        found |= _flatten_edits(found.pop("edits", None))
    return (alias.names or (tool,))[0], found


def from_foreign(
    tool: str, arguments: Mapping[str, Any], original: Mapping[str, Any], root: Path
) -> dict[str, Any]:
    """Return our arguments of a call that a hook changed, which can also have our names.

    Fields of the `original` that others do not have keep their value unless the hook changed it.
    """
    alias = _find_alias(tool)
    fields = {each.foreign: each for each in alias.fields}
    given = dict(arguments)
    if tool == "edit_file" and (edits := _build_edits(given)):
        given["edits"] = edits
    known = {*(each.own for each in alias.fields), *_SHARED_FIELDS.get(tool, ())}
    found = {name: value for name, value in original.items() if name not in known}
    for name, value in given.items():
        field = fields.get(name, FieldAlias(name, name))
        found[field.own] = _to_own_value(field, value, root)
    return found


_SHARED_FIELDS: Mapping[str, tuple[str, ...]] = {
    "shell": ("command",),
    "write_file": ("content",),
    "edit_file": ("edits",),
    "read_file": ("offset", "limit"),
    "glob": ("pattern",),
    "grep": ("pattern",),
    "fetch_url": ("url",),
    "propose_plan": ("plan",),
    "ask_user": ("questions",),
}
"""Fields that others have under the same name, so a changed call that lacks one has none."""


def _find_alias(tool: str) -> ToolAlias:
    return ALIASES.get(tool, _NO_ALIAS)


def _to_foreign_value(field: FieldAlias, value: Any, root: Path) -> Any:
    match field.kind:
        case "path" if isinstance(value, str):
            return os.path.normpath(root / value)
        case "seconds" if isinstance(value, int | float):
            return value * _MILLISECONDS
        case _:
            return value


def _to_own_value(field: FieldAlias, value: Any, root: Path) -> Any:
    match field.kind:
        case "path" if isinstance(value, str) and Path(value).is_relative_to(root):
            return os.path.relpath(value, root)
        case "seconds" if isinstance(value, int) and field.foreign != field.own:
            return max(1, (value + _MILLISECONDS // 2) // _MILLISECONDS)
        case "seconds" if isinstance(value, float) and field.foreign != field.own:
            return max(1, round(value / _MILLISECONDS))
        case _:
            return value


def _flatten_edits(edits: Any) -> dict[str, Any]:
    """Return one edit as the fields of `Edit`, and several as those of `MultiEdit`."""
    if not isinstance(edits, list | tuple):
        return {}
    listed = [
        {
            _EDIT_FIELDS.get(name, name): value
            for name, value in cast("dict[str, Any]", each).items()
        }
        for each in cast("list[Any]", edits)
        if isinstance(each, dict)
    ]
    return listed[0] if len(listed) == 1 else {"edits": listed}


def _build_edits(given: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the edits in foreign arguments, and remove their fields from them."""
    own = {foreign: name for name, foreign in _EDIT_FIELDS.items()}
    if "old_string" in given:
        names = (*own, "replace_all")
        return [{own.get(each, each): given.pop(each) for each in names if each in given}]
    edits = given.get("edits")
    listed = cast("list[Any]", edits) if isinstance(edits, list) else []
    return [
        {own.get(name, name): value for name, value in cast("dict[str, Any]", each).items()}
        for each in listed
        if isinstance(each, dict)
    ]
