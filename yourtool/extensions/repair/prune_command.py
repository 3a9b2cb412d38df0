"""Command `yourtool sessions prune`.

It deletes old sessions, and contents without any reference.
"""

import sys
from argparse import ArgumentParser

from msgspec import Struct, convert

from yourtool.agent.money.cost_report import parse_since
from yourtool.cli.arguments import Arguments
from yourtool.cli.output import ask, can_ask, print_json, print_lines, print_table
from yourtool.cli.run_options import add_command_options, parse_count
from yourtool.errors import UsageError
from yourtool.extensions.repair import pruning
from yourtool.foundation.amounts import format_age
from yourtool.messages.message import now
from yourtool.paths import Paths
from yourtool.run_result import ExitCode
from yourtool.store.sqlite.store import SqliteStore


class Options(Struct, frozen=True):
    """The options of the action."""

    older_than: str = ""
    keep: int | None = None
    """Sessions that stay in any case."""
    dry_run: bool = False


def add_arguments(parser: ArgumentParser) -> None:
    """Add the arguments of the action."""
    parser.add_argument(
        "--older-than", default="", metavar="T", help="last used before a date, or `90d`, `26w` ago"
    )
    parser.add_argument(
        "--keep", type=parse_count, metavar="N", help="never delete the N last used sessions"
    )
    parser.add_argument("--dry-run", action="store_true", help="list it, and delete nothing")
    parser.add_argument("--yes", action="store_true", help="delete without a question")
    add_command_options(parser)


async def run(session_id: str, store: SqliteStore, paths: Paths, arguments: Arguments) -> ExitCode:
    """List what is too old, ask in a terminal, and delete it.

    Raises:
        UsageError: the age is invalid, or there is no terminal to ask in and no `--yes`.
    """
    del session_id
    options, at = convert(arguments.options, Options), now()
    age = options.older_than
    before = parse_since(age, at, "--older-than") if age else None
    sessions = await pruning.find_old_sessions(store, before, options.keep)
    if sessions and not options.dry_run and not arguments.yes:
        count = _count(len(sessions))
        if not can_ask():
            raise UsageError(
                f"{count} would be deleted; `--dry-run` lists them, and `--yes` deletes them"
            )
        if not ask(f"Delete {count} permanently? (`--dry-run` lists them)"):
            print_lines("Nothing was deleted.", file=sys.stderr)
            return ExitCode.DENIED
    pruned = await pruning.prune(store, paths, sessions, at, is_trial=options.dry_run)
    if arguments.json:
        print_json(pruned)
        return ExitCode.ANSWERED
    if pruned.sessions:
        print_table(
            [
                (each.id, format_age(at - each.updated_at), each.workspace_path, each.title)
                for each in pruned.sessions
            ]
        )
    print_lines(_describe(pruned, is_trial=options.dry_run))
    for session_id in pruned.busy:
        print_lines(f"{session_id} is open and stays.")
    return ExitCode.ANSWERED


def _describe(pruned: "pruning.Pruned", *, is_trial: bool) -> str:
    verb, size = "Would delete" if is_trial else "Deleted", pruned.content_bytes / 2**20
    count = _count(len(pruned.sessions))
    return (
        f"{verb} {count}, and {pruned.contents:,} stored contents that nothing refers to"
        f" ({size:,.1f} MiB)."
    )


def _count(sessions: int) -> str:
    return "1 session" if sessions == 1 else f"{sessions:,} sessions"
