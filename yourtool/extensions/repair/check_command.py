"""Command `yourtool sessions check`.

It reports problems of stored sessions and makes sound copies of them.
"""

from argparse import ArgumentParser
from collections.abc import Awaitable, Callable, Sequence
from functools import partial

from msgspec import Struct, convert

from yourtool.cli.arguments import Arguments
from yourtool.cli.output import print_json, print_lines, print_table
from yourtool.cli.run_options import add_command_options
from yourtool.errors import StoreError
from yourtool.extensions.repair import checks, repaired_copies
from yourtool.paths import Paths
from yourtool.run_result import ExitCode
from yourtool.store.base import Problem, SessionStore
from yourtool.store.sqlite.store import SqliteStore


class CheckedSession(Struct, frozen=True, kw_only=True):
    """A session with problems, or the store with problems of no session."""

    session_id: str | None
    """None: the problems belong to no session."""
    problems: Sequence[Problem]
    copy_id: str | None = None
    """The sound copy that `--fix` wrote."""


class Options(Struct, frozen=True):
    """The options of the action."""

    fix: bool = False
    """Store what is sound as a new session."""


def add_arguments(parser: ArgumentParser) -> None:
    """Add the arguments of the action."""
    parser.add_argument("id", nargs="?", default="", metavar="ID", help="default: all sessions")
    parser.add_argument(
        "--fix", action="store_true", help="store what is sound of a damaged session as a new one"
    )
    add_command_options(parser)


async def run(session_id: str, store: SqliteStore, paths: Paths, arguments: Arguments) -> ExitCode:
    """Print the problems of a session, or of all if `session_id` is empty.

    The exit code is 1 if there are problems, unless each damaged session has a sound copy now. No
    copy is written into a damaged file.
    """
    fix = convert(arguments.options, Options).fix
    ids = (session_id,) if session_id else await store.find_ids("sess_")
    of_store = await _find_problems(lambda: store.find_damage(None))
    is_file_damaged = any(each.kind == "file" for each in of_store)
    found = list[CheckedSession]()
    if of_store and (is_file_damaged or not session_id):
        found.append(CheckedSession(session_id=None, problems=of_store))
    for each in ids:
        problems = await _find_problems(partial(checks.check_session, store, each, paths.blobs))
        if problems:
            can_fix = fix and not is_file_damaged
            copy_id = await _write_copy(store, each, paths, arguments) if can_fix else None
            found.append(CheckedSession(session_id=each, problems=problems, copy_id=copy_id))
    if arguments.json:
        print_json({"ok": not found, "checked": len(ids), "sessions": found})
    else:
        _print_found(found, len(ids))
        if fix and is_file_damaged:
            print_lines("No copy was written, because the database file itself is damaged.")
    is_sound = all(each.copy_id is not None for each in found)
    return ExitCode.ANSWERED if is_sound else ExitCode.FAILED


async def _find_problems(find: Callable[[], Awaitable[Sequence[Problem]]]) -> Sequence[Problem]:
    """Return what is found; if the file cannot be read, that is the problem."""
    try:
        return await find()
    except StoreError as error:
        return (Problem(kind="file", id="", text=str(error)),)


async def _write_copy(
    store: SessionStore, session_id: str, paths: Paths, arguments: Arguments
) -> str | None:
    """Return the id of a sound copy, which can exist; None if the copy has problems too."""
    for earlier in await repaired_copies.find_repaired_copies(store, session_id):
        if not await checks.check_session(store, earlier, paths.blobs):
            return earlier
    copy_id = await repaired_copies.write_repaired_copy(
        store, session_id, arguments.workspace, paths.blobs
    )
    return None if await checks.check_session(store, copy_id, paths.blobs) else copy_id


def _print_found(found: Sequence[CheckedSession], count: int) -> None:
    for each in found:
        print_lines(each.session_id or "The store")
        print_table([(f"  {one.kind}", one.id, one.text) for one in each.problems])
        if each.copy_id is not None:
            print_lines(f"  A sound copy: yourtool --resume {each.copy_id}")
    damaged = sum(each.session_id is not None for each in found)
    checked = "1 session checked" if count == 1 else f"{count} sessions checked"
    print_lines(f"{checked}, {damaged or 'none'} with problems.")
