"""Allow rules for command lines.

In a trusted workspace, reading commands need no rule.
"""

from collections.abc import Sequence

from msgspec import Struct
from msgspec.structs import replace

from yourtool.permissions.findings import Obstacle
from yourtool.permissions.shell.git_losses import find_git_loss
from yourtool.permissions.shell.lines.plain import PlainCommand, parse_plain
from yourtool.permissions.shell.lines.plain_commands import may_move
from yourtool.permissions.shell.open_rules import find_risk
from yourtool.permissions.shell.place import GLOB_CHARACTERS, Place
from yourtool.permissions.shell.programs.arguments import only_reads, without_spelled
from yourtool.permissions.shell.programs.table import find_row
from yourtool.permissions.shell.reading import find_obstacle, only_reads_inside
from yourtool.permissions.shell.specs import CommandSpec, find_strong
from yourtool.permissions.shell.wrapped import enter_git, iter_meanings, unwrap


class Coverage(Struct, frozen=True):
    """Which commands of a line need an approval."""

    commands: tuple[PlainCommand, ...] = ()
    """Empty if the line is not completely understood."""
    uncovered: tuple[PlainCommand, ...] = ()
    """The commands that no rule covers."""
    places: tuple[Place, ...] = ()
    """Where each of these runs."""
    problem: str = ""
    """Why no rule can cover the line; a clause."""
    obstacle: Obstacle | None = None
    """Why the first of these commands needs an approval, if reading commands need no spec."""

    @property
    def is_complete(self) -> bool:
        return bool(self.commands) and not (self.uncovered or self.problem)


def cover_line(
    specs: Sequence[CommandSpec], line: str, place: Place, *, is_trusted: bool = False
) -> Coverage:
    """Return which commands of a line the specs cover; a `cd` in the workspace needs none.

    `is_trusted`: the user trusts the workspace, and reading commands need no spec.
    """
    commands = parse_plain(line)
    uncovered: list[PlainCommand] = []
    places: list[Place] = []
    first: Obstacle | None = None
    moved, is_piped = "", False
    outer: list[tuple[Place, str]] = []
    for each in commands:
        outer += [(place, moved)] * each.before.count("(")
        command = _without_private_files(each, place)
        words = command.texts
        entered = moved or (words[1] if words[0] == "cd" and len(words) == 2 else "")
        is_last = ")" in each.after
        if entered and not is_last and command.operator not in ("&&", "|", ""):
            problem = f"the next command runs elsewhere if `{entered}` cannot be entered"
            return Coverage(commands, problem=problem)
        moves = may_move(words) and command.operator not in ("|", "") and not is_last
        moves = moves and ("(" in each.before or not is_piped)  # a pipeline runs in subshells
        is_piped = is_piped if each.is_repeated else each.operator == "|"
        if moves and words[0] == "cd" and len(words) == 2:
            is_plain = not (command.words[1].is_glob or command.files)
            inside = place.enter(words[1]) if is_plain else None
            if inside is None:
                return Coverage(commands, problem=f"`{words[1]}` may lead out of the workspace")
            if find_strong(command.variables):
                return Coverage(commands, problem="a variable before `cd` may change where it goes")
            place, moved = inside, words[1]
        elif moves:
            problem = f"the next command may run elsewhere after `{words[0]}`"
            return Coverage(commands, problem=problem)
        else:
            inner, where = enter_git(command, place) or (command, place)
            obstacle = _find_obstacle(inner, where) if is_trusted else Obstacle("")
            meanings = dict.fromkeys(((command, place), (inner, where)))
            if obstacle and not any(
                covers_command(spec, *each) for spec in specs for each in meanings
            ):
                uncovered.append(inner.with_values())
                places.append(where)
                first = first or obstacle
        for _ in range(each.after.count(")")):
            place, moved = outer.pop()
    obstacle = first if is_trusted else None
    return Coverage(commands, tuple(uncovered), tuple(places), obstacle=obstacle)


def _without_private_files(command: PlainCommand, place: Place) -> PlainCommand:
    """Return a command without redirections to files that only its sandbox has."""
    kept = [each for each in command.redirections if not place.is_private(each.path)]
    return replace(command, redirections=tuple(kept))


def _find_obstacle(command: PlainCommand, place: Place) -> Obstacle | None:
    """Return the obstacle of a command, or of the one that it runs; None: one of them is free."""
    inner = unwrap(command, place)
    meanings = (command,) if inner is None else (command, inner)
    found = [find_obstacle(each, place) for each in meanings]
    return None if None in found else found[-1]


def covers_line(specs: Sequence[CommandSpec], line: str, place: Place) -> bool:
    """Return whether the specs cover each command of a line."""
    return cover_line(specs, line, place).is_complete


def covers_command(spec: CommandSpec, command: PlainCommand, place: Place) -> bool:
    """Return whether a spec covers a command of a line, or the command that it runs."""
    return any(
        spec.matches(each.texts)
        and spec.permits(each.variables)
        and spec.permits_files(each.files)
        and _is_safe(spec, each, place)
        for each in iter_meanings(command, place)
    )


def _is_safe(spec: CommandSpec, command: PlainCommand, place: Place) -> bool:
    """Whether the arguments that the spec leaves open only do what its program is known for."""
    words = command.texts
    if not all(place.is_own_file(each.path) for each in command.files):
        return False
    loss = find_git_loss(words)
    if loss is not None and loss.removed and loss.mark not in spec.words:
        return False
    if find_helper(words, place) is not None:
        return False
    if not (spec.is_open or command.reads_document):
        return True
    row, rest = find_row(words)
    if spec.writes and (row is None or row.runs_code or row.loads_code):
        return False
    if row is not None and row.is_for_rules and only_reads_inside(row, rest, command, place):
        if not row.runs_code:
            return True
        if not command.reads_document:
            return _is_without_risk(spec, command, place)
    if spec.writes:
        return False
    written = _covers_writing(spec, command, place)
    if command.reads_document:
        return written is True  # for other programs, it may be code
    if written is not None:
        return written
    if (row is not None and row.is_for_rules) or (words[0] == "git" and not _names_command(spec)):
        return False
    return _is_without_risk(spec, command, place)


def find_helper(words: Sequence[str], place: Place) -> str | None:
    """Describe what lets a command of git run a program, also in a submodule that it enters."""
    if words[0] != "git":
        return None
    row, _ = find_row(words, "changes")
    enters = row is not None and row.enters_submodules
    return place.find_git_helper() or (place.find_submodule_helper() if enters else None)


def _names_command(spec: CommandSpec) -> bool:
    """Whether a spec for git names one of its commands."""
    return len(spec.words) > 1 and not spec.words[1].startswith("-")


def _is_without_risk(spec: CommandSpec, command: PlainCommand, place: Place) -> bool:
    named = len(spec.words)
    globs = [word.text for word in command.words[named:] if word.is_glob]
    if not all("/" in each or "." in each for each in globs):
        return False  # a file can have the name of a command, such as `exec`
    if any(_may_expand(each, place) and not place.is_readable(each) for each in globs):
        return False
    return not find_risk(named, command.texts, place)


def _may_expand(glob: str, place: Place) -> bool:
    """Whether the shell may replace a word by names of files; not the address `http://x/?a=b`."""
    folder = glob.rpartition("/")[0]
    return not folder or bool(GLOB_CHARACTERS.search(folder)) or place.is_present(folder)


def _covers_writing(spec: CommandSpec, command: PlainCommand, place: Place) -> bool | None:
    """Whether a program that writes does what it is known for; None if it is not known."""
    row, rest = find_row(command.texts, "changes")
    if row is None:
        return None
    named = len(spec.words) - (len(command.texts) - len(rest))
    if named < 0:
        return False
    passed = without_spelled(row, rest, named)
    globs = frozenset(word.text for word in command.words if word.is_glob)
    is_own = place.is_own_file if row.arguments == "remote" else place.is_readable
    is_known = only_reads(row, passed, globs, is_own)
    return is_known and (row.arguments != "npm" or _is_without_risk(spec, command, place))
