"""Table of commands and actions."""

from argparse import ArgumentParser
from collections.abc import Callable, Iterable
from functools import partial
from typing import TypeAlias

from yourtool import extensions

Rows: TypeAlias = dict[str, tuple[str, Callable[[ArgumentParser], None]]]
"""The names with their summaries, and what adds their arguments."""


def with_extensions(core: Rows, commands: Iterable[extensions.Command]) -> Rows:
    """Return the rows of the core with those of extensions, in the order of lists."""
    rows = list(core.items())
    for each in commands:
        names = [name for name, _ in rows]
        at = names.index(each.before) if each.before in names else len(rows)
        rows.insert(at, (each.name, (each.summary, partial(_add_arguments, each))))
    return dict(rows)


def add_actions(parser: ArgumentParser, rows: Rows) -> None:
    """Add the actions of a command."""
    actions = parser.add_subparsers(dest="action", required=True, metavar="|".join(rows))
    for name, (summary, add_arguments) in rows.items():
        add_arguments(actions.add_parser(name, help=summary, description=summary))


def _add_arguments(command: extensions.Command, parser: ArgumentParser) -> None:
    extensions.load_command(command).add_arguments(parser)
