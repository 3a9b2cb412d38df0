"""`yourtool sessions prune`: deletes old sessions and contents that nothing refers to."""

import sys

from yourtool.agent.cost_report import parse_since
from yourtool.amounts import format_age
from yourtool.cli.arguments import Arguments
from yourtool.cli.output import ask, can_ask, print_json, print_lines, print_table
from yourtool.errors import UsageError
from yourtool.messages.message import now
from yourtool.paths import Paths
from yourtool.run_result import ExitCode
from yourtool.store.base import SessionStore
from yourtool.store.pruning import Pruned, find_old_sessions, prune


async def prune_sessions(store: SessionStore, paths: Paths, arguments: Arguments) -> ExitCode:
    """List what is too old, ask in a terminal, and delete it.

    Raises:
        UsageError: the age is invalid, or there is no terminal to ask in and no `--yes`.
    """
    at = now()
    age = arguments.older_than
    before = parse_since(age, at, "--older-than") if age else None
    sessions = await find_old_sessions(store, before, arguments.keep)
    if sessions and not arguments.dry_run and not arguments.yes:
        count = _count(len(sessions))
        if not can_ask():
            raise UsageError(
                f"{count} would be deleted; `--dry-run` lists them, and `--yes` deletes them"
            )
        if not ask(f"Delete {count} permanently? (`--dry-run` lists them)"):
            print_lines("Nothing was deleted.", file=sys.stderr)
            return ExitCode.DENIED
    pruned = await prune(store, paths, sessions, at, is_trial=arguments.dry_run)
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
    print_lines(_describe(pruned, is_trial=arguments.dry_run))
    for session_id in pruned.busy:
        print_lines(f"{session_id} is open and stays.")
    return ExitCode.ANSWERED


def _describe(pruned: Pruned, *, is_trial: bool) -> str:
    verb, size = "Would delete" if is_trial else "Deleted", pruned.content_bytes / 2**20
    count = _count(len(pruned.sessions))
    return (
        f"{verb} {count}, and {pruned.contents:,} stored contents that nothing refers to"
        f" ({size:,.1f} MiB)."
    )


def _count(sessions: int) -> str:
    return "1 session" if sessions == 1 else f"{sessions:,} sessions"
