"""Allow rules for commands: a line is covered if each of its commands is covered by a rule.

In a trusted workspace, reading commands need no rule.
"""

from collections.abc import Iterator, Sequence

from msgspec import Struct

from yourtool.permissions.shell.git_losses import find_git_loss
from yourtool.permissions.shell.place import Place
from yourtool.permissions.shell.plain import PlainCommand, parse_plain
from yourtool.permissions.shell.programs import ProgramRow, find_row, only_reads
from yourtool.permissions.shell.specs import CommandSpec, find_strong
from yourtool.permissions.shell.wrapped import unwrap

_READ_TREES = frozenset({"grep", "egrep", "fgrep", "rg", "diff"})
"""Programs that can print the contents of all files below a directory."""
_FOLLOW_LINKS = frozenset({"diff"})
"""Those that follow the links that they find there."""


class Coverage(Struct, frozen=True):
    """Which commands of a line need an approval."""

    commands: tuple[PlainCommand, ...] = ()
    """Empty if the line is not completely understood."""
    uncovered: tuple[PlainCommand, ...] = ()
    """The commands that no rule covers."""
    problem: str = ""
    """Why no rule can cover the line; a clause."""

    @property
    def is_complete(self) -> bool:
        """Whether the line needs no approval."""
        return bool(self.commands) and not (self.uncovered or self.problem)


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
            is_plain = not (command.words[1].is_glob or command.files)
            inside = place.enter(words[1]) if is_plain else None
            if inside is None:
                return Coverage(commands, problem=f"`{words[1]}` may lead out of the workspace")
            if find_strong(command.variables):
                return Coverage(commands, problem="a variable before `cd` may change where it goes")
            place, moved = inside, words[1]
        elif not (
            is_trusted and any(is_reading(each, place) for each in iter_meanings(command, place))
        ) and not any(_covers(spec, command, place) for spec in specs):
            uncovered.append(command)
    return Coverage(commands, tuple(uncovered))


def covers_line(specs: Sequence[CommandSpec], line: str, place: Place) -> bool:
    """Return whether the specs cover each command of a line."""
    return cover_line(specs, line, place).is_complete


def _covers(spec: CommandSpec, command: PlainCommand, place: Place) -> bool:
    return any(
        spec.matches(each.texts)
        and spec.permits(each.variables)
        and spec.files == each.files
        and _is_safe(spec, each, place)
        for each in iter_meanings(command, place)
    )


def iter_meanings(command: PlainCommand, place: Place) -> Iterator[PlainCommand]:
    """Yield a command and, if it is a wrapper, the command that it runs."""
    yield command
    if (inner := unwrap(command, place)) is not None:
        yield inner


def _is_safe(spec: CommandSpec, command: PlainCommand, place: Place) -> bool:
    """Whether the arguments that the spec leaves open only do what its program is known for."""
    words = command.texts
    if not all(place.is_own_file(each.path) for each in command.files):
        return False
    row, rest = find_row(words)
    loss = find_git_loss(words)
    if loss is not None and loss.removed and loss.mark not in spec.words:
        return False
    if words[0] == "git":
        names_command = spec.words[1:] and not spec.words[1].startswith("-")
        if spec.is_open and row is None and not names_command:
            return False
        if place.find_git_helper() is not None:
            return False
    if not spec.is_open or row is None or row.needs:
        return True
    return _only_reads_inside(row, rest, command, place)


def is_reading(command: PlainCommand, place: Place) -> bool:
    """Whether a command only reads files of the workspace that are not credential files."""
    words = command.texts
    row, rest = find_row(words)
    if row is None or not row.is_free(rest) or find_strong(command.variables):
        return False
    if not all(each.is_input and place.is_own_file(each.path) for each in command.files):
        return False
    if words[0] == "git" and place.find_git_helper() is not None:
        return False
    reads_tree = words[0] in _READ_TREES or words[:2] == ("git", "grep")
    if reads_tree and not place.is_free_of_credentials():
        return False
    return _only_reads_inside(row, rest, command, place)


def _only_reads_inside(
    row: ProgramRow, arguments: Sequence[str], command: PlainCommand, place: Place
) -> bool:
    """Whether a command only reads what may be read, also behind the links that it follows."""
    globs = frozenset(word.text for word in command.words if word.is_glob)
    if command.texts[0] in _FOLLOW_LINKS and (globs or any(map(place.has_link_out, arguments))):
        return False
    return only_reads(row, arguments, globs, place.is_readable)
