"""`yourtool sessions check` and `salvage`: what is wrong with stored sessions, and what is not."""

import sqlite3
from collections.abc import Awaitable, Callable, Sequence
from functools import partial

from msgspec import Struct

from yourtool.cli.arguments import Arguments
from yourtool.cli.output import print_json, print_lines, print_table
from yourtool.errors import StoreError
from yourtool.paths import Paths
from yourtool.run_result import ExitCode
from yourtool.store.base import Problem, SessionStore
from yourtool.store.checks import check_session
from yourtool.store.repaired_copies import find_repaired_copies, write_repaired_copy
from yourtool.store.sqlite.salvage import TableRows, salvage


class CheckedSession(Struct, frozen=True, kw_only=True):
    """A session with problems, or the store with problems of no session."""

    session_id: str | None
    """None: the problems belong to no session."""
    problems: Sequence[Problem]
    copy_id: str | None = None
    """The sound copy that `--fix` wrote."""


async def check_sessions(
    session_id: str, store: SessionStore, paths: Paths, arguments: Arguments
) -> ExitCode:
    """Print the problems of a session, or of all if `session_id` is empty.

    The exit code is 1 if there are problems, unless each damaged session has a sound copy now. No
    copy is written into a damaged file.
    """
    ids = (session_id,) if session_id else await store.find_ids("sess_")
    of_store = await _find_problems(lambda: store.find_damage(None))
    is_file_damaged = any(each.kind == "file" for each in of_store)
    found = list[CheckedSession]()
    if of_store and (is_file_damaged or not session_id):
        found.append(CheckedSession(session_id=None, problems=of_store))
    for each in ids:
        problems = await _find_problems(partial(check_session, store, each, paths.blobs))
        if problems:
            can_fix = arguments.fix and not is_file_damaged
            copy_id = await _write_copy(store, each, paths, arguments) if can_fix else None
            found.append(CheckedSession(session_id=each, problems=problems, copy_id=copy_id))
    if arguments.json:
        print_json({"ok": not found, "checked": len(ids), "sessions": found})
    else:
        _print_found(found, len(ids))
        if arguments.fix and is_file_damaged:
            print_lines("No copy was written, because the database file itself is damaged.")
    is_sound = all(each.copy_id is not None for each in found)
    return ExitCode.ANSWERED if is_sound else ExitCode.FAILED


async def _find_problems(find: Callable[[], Awaitable[Sequence[Problem]]]) -> Sequence[Problem]:
    """Return what is found; if the file cannot be read, that is the problem."""
    try:
        return await find()
    except StoreError as error:
        return (Problem(kind="file", id="", text=str(error)),)


def salvage_store(paths: Paths, arguments: Arguments) -> ExitCode:
    """Save what can be read of a damaged database in a new one, and print what is lost.

    Raises:
        StoreError: the database is in use, or nothing of it can be read.
    """
    try:
        done = salvage(paths.database)
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


def _describe_lost(rows: TableRows) -> str:
    if not rows.lost_count:
        return "none lost"
    more = (
        f" and {rows.lost_count - len(rows.lost):,} more"
        if rows.lost_count > len(rows.lost)
        else ""
    )
    return f"at most {rows.lost_count:,} lost: row {', '.join(map(str, rows.lost))}{more}"


async def _write_copy(
    store: SessionStore, session_id: str, paths: Paths, arguments: Arguments
) -> str | None:
    """Return the id of a sound copy, which can exist; None if the copy has problems too."""
    for earlier in await find_repaired_copies(store, session_id):
        if not await check_session(store, earlier, paths.blobs):
            return earlier
    copy_id = await write_repaired_copy(store, session_id, arguments.workspace, paths.blobs)
    return None if await check_session(store, copy_id, paths.blobs) else copy_id


def _print_found(found: Sequence[CheckedSession], count: int) -> None:
    for each in found:
        print_lines(each.session_id or "The store")
        print_table([(f"  {one.kind}", one.id, one.text) for one in each.problems])
        if each.copy_id is not None:
            print_lines(f"  A sound copy: yourtool --resume {each.copy_id}")
    damaged = sum(each.session_id is not None for each in found)
    checked = "1 session checked" if count == 1 else f"{count} sessions checked"
    print_lines(f"{checked}, {damaged or 'none'} with problems.")
