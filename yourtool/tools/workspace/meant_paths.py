"""Corrected paths of files.

A path is corrected before anything else sees it, so rules, questions and checks are about the file
that is found.
"""

import os
import re
from collections.abc import Mapping
from typing import Any

from yourtool.errors import ToolError
from yourtool.foundation.similar_names import describe_meant, find_meant
from yourtool.tools.workspace.directory_opening import LIST
from yourtool.tools.workspace.workspace import Workspace

_UPDATED = re.compile(r"\*\*\* ?(?:Update|Delete) File:", re.IGNORECASE)
_MAX_CORRECTED = 16
"""Names of one path."""


def correct_arguments(
    values: Mapping[str, Any], workspace: Workspace, *, may_create: bool
) -> tuple[dict[str, Any], list[str]]:
    """Return arguments with the paths of existing files, and notes on those that differ; blocking.

    `may_create`: a path that does not exist may be that of a new file.
    """
    corrected, notes = dict(values), list[str]()

    def correct(path: str) -> str:
        found = find_meant_path(path, workspace, may_create=may_create)
        if found is None:
            return path
        notes.append(describe_meant(path, found))
        return found

    match corrected:
        case {"path": str(path)}:
            corrected["path"] = correct(path)
        case {"patch": str(patch)}:
            lines = patch.split("\n")
            for number, line in enumerate(lines):
                if (start := _UPDATED.match(line)) and (asked := line[start.end() :].strip()):
                    lines[number] = line.replace(asked, correct(asked))
            corrected["patch"] = "\n".join(lines)
        case _:
            pass
    return corrected, list(dict.fromkeys(notes))


def find_meant_path(path: str, workspace: Workspace, *, may_create: bool = False) -> str | None:
    """Return the path of the one file that a missing path means; None: it exists, or none does."""
    found = None
    for _ in range(_MAX_CORRECTED):
        try:
            with workspace.resolve(found or path) as place:
                if place.mode is not None:
                    return found
                listed = os.open(".", LIST, dir_fd=place.parent)
                try:
                    names = os.listdir(listed)  # noqa: PTH208 - a descriptor
                finally:
                    os.close(listed)
        except (ToolError, OSError):
            return None
        name = find_meant(place.missing[0], names, only_invisible=may_create)
        if name is None:
            return found if may_create else None
        known = place.parts[: len(place.parts) - len(place.missing)]
        parts = "/".join((*known, name, *place.missing[1:]))
        inside = place.root.path == workspace.root
        found = parts if inside else f"{place.root.path}/{parts}"
    return None
