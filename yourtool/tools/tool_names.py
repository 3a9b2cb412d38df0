"""Tool names of other programs."""

import re
from collections.abc import Iterable, Mapping, Sequence

from yourtool.effects import ToolDefinition
from yourtool.tools.schema import describe_fields

_MARKS = re.compile(r"<\|.*|:\d+$", re.DOTALL)
"""Additions of some models to a name: special tokens, or the number of the call."""
_SEPARATORS = re.compile(r"[\s_.:/-]+")

_SYNONYMS: Mapping[str, tuple[str, ...]] = {
    "read_file": (
        "read", "view", "cat", "open", "open_file", "file_read", "view_file", "read_text_file",
        "read_many_files", "get_file", "view_image",
    ),
    "write_file": ("write", "create", "create_file", "save_file", "file_write", "overwrite_file"),
    "edit_file": (
        "edit", "str_replace", "str_replace_editor", "str_replace_based_edit_tool", "multi_edit",
        "search_replace", "replace", "replace_in_file", "patch", "patch_file", "update_file",
        "apply_patch", "apply_diff", "insert", "text_editor", "modify_file",
    ),
    "apply_patch": (
        "edit_file", "edit", "patch", "patch_file", "apply_diff", "str_replace", "multi_edit",
    ),
    "list_dir": ("ls", "list", "list_files", "list_directory", "dir", "tree"),
    "glob": ("find", "find_files", "glob_files", "file_search", "search_files", "find_by_name"),
    "grep": ("rg", "ripgrep", "search", "grep_search", "search_text", "codebase_search",
             "grep_files", "search_file_content", "find_in_files"),
    "shell": (
        "bash", "sh", "run", "exec", "execute", "terminal", "command", "run_command", "run_shell",
        "shell_command", "execute_command", "run_shell_command", "run_terminal_cmd", "local_shell",
        "exec_command", "powershell", "run_in_terminal",
    ),
    "fetch_url": ("fetch", "web_fetch", "curl", "wget", "browse", "open_url", "http_get"),
    "ask_user": ("question", "ask", "ask_question", "request_user_input", "ask_followup_question"),
    "update_plan": ("todo", "todos", "todo_write", "plan", "write_todos", "update_todos"),
}  # fmt: skip


def describe_unknown_tool(name: str, tools: Sequence[ToolDefinition]) -> str:
    """Return the error for a name that no tool has: the tool that it means, and its arguments."""
    known = {each.name: each for each in tools}
    advice = ""
    if (meant := find_tool_name(name, known)) is not None:
        fields = describe_fields(known[meant].input_schema)
        advice = f" Call `{meant}`" + (f", whose arguments are {fields}." if fields else ".")
    names = ", ".join(f"`{each}`" for each in known)
    return f"There is no tool `{name}`.{advice} The tools are {names}."


def find_tool_name(name: str, known: Iterable[str]) -> str | None:
    """Return the tool that a wrong name means, by its spelling or as a synonym; None if unknown."""
    names = {_normalize(each): each for each in known}
    wanted = _normalize(_MARKS.sub("", name))
    for form in (wanted, wanted.removeprefix("functions"), wanted.removesuffix("tool")):
        if form in names:
            return names[form]
        for key, synonyms in _SYNONYMS.items():
            if _normalize(key) in names and form in map(_normalize, synonyms):
                return names[_normalize(key)]
    return None


def _normalize(name: str) -> str:
    return _SEPARATORS.sub("", name).lower()
