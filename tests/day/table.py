"""The table of `make day`: a row for each project, a column for each command."""

from collections.abc import Iterator, Sequence

from tests.day.commands import COMMANDS
from tests.day.runner import Cell

LEGEND = "= equal   · fails in both   r documented refusal   X DIFFERENT"
MAX_TEXT = 300
_WIDTH = 3


def format_table(cells: Sequence[Cell]) -> Iterator[str]:
    """Yield the lines of the table, then the differences, those of the same kind together."""
    commands = [name for name in COMMANDS if any(cell.command == name for cell in cells)]
    projects = list(dict.fromkeys(cell.project for cell in cells))
    signs = {(cell.project, cell.command): _get_sign(cell) for cell in cells}
    yield LEGEND
    yield "; ".join(f"{number} {name}" for number, name in enumerate(commands, 1))
    width = max(map(len, projects), default=0)
    yield " " * width + "".join(f"{number:>{_WIDTH}}" for number in range(1, len(commands) + 1))
    for project in projects:
        row = (signs.get((project, command), "") for command in commands)
        yield project.ljust(width) + "".join(f"{sign:>{_WIDTH}}" for sign in row)
    yield from _format_groups([cell for cell in cells if cell.differences])
    yield _count(cells)


def _get_sign(cell: Cell) -> str:
    if cell.verdict == "equal":
        return "=" if cell.code == 0 else "·"
    return "r" if cell.verdict == "refusal" else "X"


def _format_groups(cells: Sequence[Cell]) -> Iterator[str]:
    """Yield the differences, those of a command with the same exit codes together."""
    groups = dict[tuple[str, ...], list[Cell]]()
    for cell in cells:
        code = cell.differences[0] if cell.differences[0].startswith("exit code") else "same code"
        groups.setdefault((_get_sign(cell), cell.command, code), []).append(cell)
    for (sign, command, code), group in sorted(groups.items(), key=lambda each: -len(each[1])):
        projects = ", ".join(cell.project for cell in group)
        yield f"{sign} {command}: {code}, {len(group)} times: {projects}"
        yield f"    in `{group[0].project}` the model reads: {group[0].text[-MAX_TEXT:]!r}"
        yield from (f"    {each}" for each in group[0].differences if each != code)


def _count(cells: Sequence[Cell]) -> str:
    verdicts = [cell.verdict for cell in cells]
    asked = sum(len(cell.questions) for cell in cells)
    return (
        f"{len(cells)} cells: {verdicts.count('equal')} equal, {verdicts.count('refusal')}"
        f" documented refusals, {verdicts.count('different')} different; {asked} questions"
    )
