"""Allow rules for commands: a line is covered if each of its commands is covered by a rule.

In a trusted workspace, reading commands need no rule.
"""

from collections.abc import Iterator, Sequence

from msgspec import Struct

from yourtool.permissions.shell.place import Place
from yourtool.permissions.shell.plain import PlainCommand, parse_plain
from yourtool.permissions.shell.programs import find_row, only_reads
from yourtool.permissions.shell.specs import CommandSpec
from yourtool.permissions.shell.wrapped import unwrap

_READ_TREES = frozenset({"grep", "egrep", "fgrep", "rg", "diff"})
"""Programs that can print the contents of all files below a directory."""
_HARMLESS_VARIABLES = frozenset({"CI", "FORCE_COLOR", "LANG", "LC_ALL", "NO_COLOR", "TZ"})


class Coverage(Struct, frozen=True):
    """Which commands of a line need an approval."""

    commands: tuple[PlainCommand, ...] = ()
    """Empty if the line is not completely understood."""
    uncovered: tuple[PlainCommand, ...] = ()
    """The commands that no rule covers."""
    problem: str = ""
    """Why no rule can cover the line; a clause."""
    variables: tuple[str, ...] = ()
    """Assignments that need an approval each time, for the same reason."""

    @property
    def is_complete(self) -> bool:
        """Whether the line needs no approval."""
        return bool(self.commands) and not (self.uncovered or self.problem or self.variables)


def cover_line(
    specs: Sequence[CommandSpec], line: str, place: Place, *, is_trusted: bool = False
) -> Coverage:
    """Return which commands of a line the specs cover; a `cd` in the workspace needs none.

    `is_trusted`: the user trusts the workspace, and reading commands need no spec.
    """
    commands = parse_plain(line)
    uncovered: list[PlainCommand] = []
    moved = ""
    for command in commands:
        words = command.texts
        entered = moved or (words[1] if words[0] == "cd" and len(words) == 2 else "")
        if entered and command.operator not in ("&&", "|", ""):
            problem = f"the next command runs elsewhere if `{entered}` cannot be entered"
            return Coverage(commands, problem=problem)
        if words[0] == "cd" and len(words) == 2 and command.operator == "&&":
            inside = None if command.words[1].is_glob else place.enter(words[1])
            if inside is None:
                return Coverage(commands, problem=f"`{words[1]}` may lead out of the workspace")
            place, moved = inside, words[1]
        elif not (is_trusted and _is_free(command, place)) and not any(
            _covers(spec, command, place) for spec in specs
        ):
            uncovered.append(command)
    variables = (
        f"{name}={value}"
        for command in commands
        for name, value in command.variables
        if name not in _HARMLESS_VARIABLES
    )
    return Coverage(commands, tuple(uncovered), variables=tuple(variables))


def covers_line(specs: Sequence[CommandSpec], line: str, place: Place) -> bool:
    """Return whether the specs cover each command of a line."""
    return cover_line(specs, line, place).is_complete


def _covers(spec: CommandSpec, command: PlainCommand, place: Place) -> bool:
    return any(
        spec.matches(each.texts) and _is_safe(spec, each, place)
        for each in _iter_meanings(command, place)
    )


def _iter_meanings(command: PlainCommand, place: Place) -> Iterator[PlainCommand]:
    """Yield a command, and the one that it runs if it is a wrapper."""
    yield command
    if (inner := unwrap(command, place)) is not None:
        yield inner


def _is_safe(spec: CommandSpec, command: PlainCommand, place: Place) -> bool:
    """Whether the arguments that the spec leaves open only do what its program is known for."""
    words = command.texts
    row, rest = find_row(words)
    if words[0] == "git" and (place.has_git_helpers() or (row is None and len(spec.words) == 1)):
        return False
    if not spec.is_open or row is None or row.needs:
        return True
    return only_reads(row, rest, _globs(command), place.is_readable)


def _is_free(command: PlainCommand, place: Place) -> bool:
    """Whether a command only reads files of the workspace that are not credential files."""
    words = command.texts
    row, rest = find_row(words)
    if row is None or not row.is_free(rest):
        return False
    if words[0] == "git" and place.has_git_helpers():
        return False
    if words[0] in _READ_TREES and not place.is_free_of_credentials():
        return False
    return only_reads(row, rest, _globs(command), place.is_readable)


def _globs(command: PlainCommand) -> frozenset[str]:
    return frozenset(word.text for word in command.words if word.is_glob)
