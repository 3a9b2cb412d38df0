"""Commands for deletion: `delete`, `forget`, `removals`."""

import sys

from yourtool.cli.arguments import Arguments
from yourtool.cli.output import ask, can_ask, print_json, print_lines, print_table
from yourtool.errors import UsageError
from yourtool.paths import Paths
from yourtool.run_result import ExitCode
from yourtool.store.base import RemovalReason
from yourtool.store.edits import delete_session
from yourtool.store.sqlite.store import SqliteStore

_REASONS: dict[RemovalReason, str] = {
    "deleted": "deleted",
    "pruned": "deleted by `sessions prune`",
    "retention": "deleted by `[sessions] keep_days`",
    "forgotten": "user forgotten",
}


async def delete_stored_session(
    session_id: str, store: SqliteStore, paths: Paths, arguments: Arguments
) -> ExitCode:
    """Delete a session; a person in a terminal is asked first."""
    if not arguments.yes and can_ask():
        title = await store.find_title(session_id) or session_id
        if not ask(f"Delete “{title}” permanently, with its stored tool outputs?"):
            print_lines("Nothing was deleted.", file=sys.stderr)
            return ExitCode.DENIED
    await delete_session(store, session_id, paths)
    if arguments.json:
        print_json({"session_id": session_id})
    else:
        print_lines(f"Deleted {session_id}.")
    return ExitCode.ANSWERED


async def forget_user(store: SqliteStore, arguments: Arguments) -> ExitCode:
    """Remove the id of a user from all stored messages, if `--confirm` is given.

    Raises:
        UsageError: the id is empty.
    """
    user_id = arguments.source.strip()
    if not user_id:
        raise UsageError("no user is named: `yourtool sessions forget USER`")
    if not arguments.confirm:
        count = await store.count_user(user_id)
        if arguments.json:
            print_json({"messages": count, "forgotten": False})
        else:
            print_lines(
                f"{_count(count)} the id of this user. `--confirm` removes it from there,"
                " which cannot be undone."
            )
        return ExitCode.DENIED
    count = await store.forget_user(user_id)
    if arguments.json:
        print_json({"messages": count, "forgotten": True})
    else:
        print_lines(f"{_count(count)} no longer the id of this user.")
    return ExitCode.ANSWERED


async def list_removals(store: SqliteStore, *, as_json: bool) -> None:
    """Print the records of what was deleted, the latest first."""
    found = await store.removals()
    if as_json:
        print_json(found)
    elif not found:
        print_lines("Nothing was deleted yet.")
    else:
        print_table(
            [
                (
                    f"{each.removed_at.astimezone():%Y-%m-%d %H:%M}",
                    each.subject,
                    "1 message" if each.messages == 1 else f"{each.messages:,} messages",
                    _REASONS[each.reason],
                )
                for each in found
            ]
        )


def _count(messages: int) -> str:
    return "1 message has" if messages == 1 else f"{messages:,} messages have"
