"""`yourtool sessions check`: what is wrong with stored sessions, and sound copies of them."""

from collections.abc import Sequence

from msgspec import Struct

from yourtool.cli.arguments import Arguments
from yourtool.cli.output import print_json, print_lines, print_table
from yourtool.paths import Paths
from yourtool.run_result import ExitCode
from yourtool.store.base import Problem, SessionStore
from yourtool.store.checks import check_session
from yourtool.store.repaired_copies import write_repaired_copy


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

    The exit code is 1 if there are problems, unless each damaged session has a sound copy now.
    """
    ids = (session_id,) if session_id else await store.find_ids("sess_")
    found = list[CheckedSession]()
    if not session_id and (problems := await store.find_damage(None)):
        found.append(CheckedSession(session_id=None, problems=problems))
    for each in ids:
        if problems := await check_session(store, each, paths.blobs):
            copy_id = await _write_copy(store, each, paths, arguments) if arguments.fix else None
            found.append(CheckedSession(session_id=each, problems=problems, copy_id=copy_id))
    if arguments.json:
        print_json({"ok": not found, "checked": len(ids), "sessions": found})
    else:
        _print_found(found, len(ids))
    is_sound = all(each.copy_id is not None for each in found)
    return ExitCode.ANSWERED if is_sound else ExitCode.FAILED


async def _write_copy(
    store: SessionStore, session_id: str, paths: Paths, arguments: Arguments
) -> str | None:
    """Return the id of a sound copy; None if the copy has problems too."""
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
