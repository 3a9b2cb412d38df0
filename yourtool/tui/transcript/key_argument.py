"""Call arguments in tool card heads."""

import re
from collections.abc import Mapping
from typing import Any

from yourtool.foundation.text import printable

_KEYS = ("command", "pattern", "path", "url", "query", "file", "name", "title")
_INPUT = ("id", "text")
"""The arguments of `process_input`, which are shown together."""
_PATCH = "patch"
_PATCHED_FILE = re.compile(
    r"^(?:\*\*\* (?:Add|Update|Delete) File:|\+\+\+ b/)([^\n]+)\n", re.MULTILINE
)
"""The first line about a file in a patch of `apply_patch`, when it is complete."""
_MAX_PATCH = 100_000
"""Characters of a patch in which files are looked for."""
_MAX_SHOWN = 4_000
"""Characters of the argument that are shown."""


def get_key_argument(arguments: Mapping[str, Any]) -> str:
    """Return the most telling argument: the paths of a patch, or else the first text there is."""
    patch = arguments.get(_PATCH)
    if isinstance(patch, str) and (paths := _PATCHED_FILE.findall(patch[:_MAX_PATCH])):
        return ", ".join(dict.fromkeys(path.strip() for path in paths))
    if isinstance(typed := arguments.get("text"), str) and tuple(arguments)[:2] == _INPUT:
        return f"{arguments['id']}: {typed}"
    for key in (*_KEYS, *arguments):
        if isinstance(value := arguments.get(key), str) and value:
            return value
    return ""


def format_first_line(argument: str) -> str:
    """Return the first line of an argument as it is shown, with a mark if there are more."""
    first, newline, _ = argument.strip().partition("\n")
    return printable(first[:_MAX_SHOWN]).replace("\t", " ") + (" …" if newline else "")


def find_other_arguments(arguments: Mapping[str, Any], shown: str) -> Mapping[str, Any]:
    """Return the arguments without the one that the head shows completely."""
    hidden = {name for name in _KEYS if arguments.get(name) == shown}
    return {name: value for name, value in arguments.items() if name not in hidden}
