"""Command `yourtool sessions salvage`.

It makes a new database with every row that can be read.
"""

import asyncio
import sqlite3
from argparse import ArgumentParser

from yourtool.cli.arguments import Arguments
from yourtool.cli.output import print_json, print_lines, print_table
from yourtool.cli.run_options import add_command_options
from yourtool.errors import StoreError
from yourtool.extensions.repair import salvage
from yourtool.paths import Paths
from yourtool.run_result import ExitCode
from yourtool.store.sqlite.store import SqliteStore


def add_arguments(parser: ArgumentParser) -> None:
    """Add the arguments of the action."""
    add_command_options(parser)


async def run(session_id: str, store: SqliteStore, paths: Paths, arguments: Arguments) -> ExitCode:
    """Save what can be read of a damaged database in a new one, and print what is lost.

    Raises:
        StoreError: the database is in use, or nothing of it can be read.
    """
    del session_id, store
    try:
        done = await asyncio.to_thread(salvage.salvage, paths.database)
    except (OSError, sqlite3.Error) as error:
        raise StoreError(f"`{paths.database}` was not salvaged: {error}") from error
    if arguments.json:
        print_json(done)
        return ExitCode.ANSWERED
    rows = [
        (each.table, f"{each.saved:,} rows saved", _describe_lost(each)) for each in done.tables
    ]
    print_table(rows)
    for session_id in done.restored_sessions:
        print_lines(f"The title and the model of {session_id} are lost.")
    print_lines(
        f"The file as it was is now {done.damaged}. `yourtool sessions check` shows which sessions"
        " have lost something."
    )
    return ExitCode.ANSWERED


def _describe_lost(rows: "salvage.TableRows") -> str:
    if not rows.lost_count:
        return "none lost"
    more = (
        f" and {rows.lost_count - len(rows.lost):,} more"
        if rows.lost_count > len(rows.lost)
        else ""
    )
    return f"at most {rows.lost_count:,} lost: row {', '.join(map(str, rows.lost))}{more}"
