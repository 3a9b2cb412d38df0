"""Commands that only read the workspace."""

import os
from collections.abc import Sequence

from yourtool.permissions.findings import Obstacle
from yourtool.permissions.shell.lines.plain import PlainCommand
from yourtool.permissions.shell.place import Place
from yourtool.permissions.shell.programs.arguments import is_free, only_reads
from yourtool.permissions.shell.programs.table import Accepted, find_row
from yourtool.permissions.shell.searches import find_searched
from yourtool.permissions.shell.specs import find_strong


def find_obstacle(command: PlainCommand, place: Place) -> Obstacle | None:
    """Return why a command needs an approval in a trusted folder.

    None: it only reads files of the workspace, and below directories no credential files.
    """
    words, name = command.texts, command.texts[0]
    row, rest = find_row(words)
    if row is None or not is_free(row, rest):
        return Obstacle(f"`{name}` can do more than read files", is_evident=True)
    if strong := find_strong(command.variables):
        return Obstacle(f"the variable `{strong[0][0]}` can change what `{name}` does")
    for each in command.files:
        if not each.is_input:
            return Obstacle(f"it writes to `{each.path}`", is_evident=True)
        if not place.is_own_file(each.path):
            return _refuse_path(each.path)
    if name == "git" and (helper := place.find_git_helper(only_reads=True)) is not None:
        return Obstacle(f"git may run other programs because of {helper}")
    if row.enters_submodules and (helper := place.find_submodule_helper()) is not None:
        return Obstacle(f"git may run other programs because of {helper}")
    top = os.path.relpath(place.root, place.directory)
    for each in find_searched(words, place.is_present, top):
        if place.is_private(each.path):
            continue
        if (problem := place.find_unreadable(each)) is not None:
            return Obstacle(problem)
    if only_reads_inside(row, rest, command, place):
        is_harmless = not row.problem or (row.contained and place.is_contained())
        return None if is_harmless else Obstacle(f"`{name}` {row.problem}")
    if row.arguments == "settings":
        return Obstacle("it changes a setting of git, or shows one that may be a secret")
    given = (word for word in rest if not word.startswith("-"))
    path = next((word for word in given if not place.is_readable(word)), None)
    if path is not None:
        return _refuse_path(path)
    return Obstacle(f"`{name}` can do more than read files with these arguments", is_evident=True)


def is_known_to_read(command: PlainCommand, place: Place) -> bool:
    """Whether a command only reads, even if it needs an approval for what it shows."""
    row, rest = find_row(command.texts)
    return row is not None and bool(row.problem) and only_reads_inside(row, rest, command, place)


def only_reads_inside(
    row: Accepted, arguments: Sequence[str], command: PlainCommand, place: Place
) -> bool:
    """Whether a command only reads what may be read, also behind the links that it follows."""
    globs = frozenset(word.text for word in command.words if word.is_glob)
    if row.follows_links and (globs or any(map(place.has_link_out, arguments))):
        return False
    if not only_reads(row, arguments, globs, place.is_readable):
        return False
    is_list = row.arguments == "settings" and all(each.startswith("-") for each in arguments)
    return not (is_list and place.has_secret_setting())


def _refuse_path(path: str) -> Obstacle:
    return Obstacle(f"`{path}` may contain credentials, or leads out of the workspace")
