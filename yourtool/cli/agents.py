"""`yourtool agents`: states of all sessions.

In a terminal the interface lists them, as `/agents` does; elsewhere, and with `--json`, this prints
them.
"""

import asyncio

from msgspec.structs import asdict

from yourtool.agent.commands.sessions.session_list import DESCRIPTIONS, PAGE_SESSIONS
from yourtool.cli.arguments import Arguments
from yourtool.cli.output import print_json, print_lines, print_table
from yourtool.foundation.amounts import format_age, format_spending
from yourtool.messages.message import now
from yourtool.paths import Paths, require_data_directory
from yourtool.run_result import ExitCode
from yourtool.store.base import SessionActivity, SessionSummary
from yourtool.store.sqlite.database import Database
from yourtool.store.sqlite.store import SqliteStore


def run(paths: Paths, arguments: Arguments) -> int:
    """Print the sessions, last used first."""
    require_data_directory(paths)
    rows = asyncio.run(_read(paths))
    if arguments.json:
        print_json(
            [
                {**asdict(each), "state": activity.state, "process": activity.process}
                for each, activity in rows
            ]
        )
    elif not rows:
        print_lines("There are no sessions yet.")
    else:
        print_table(
            [
                (
                    each.id,
                    DESCRIPTIONS[activity.state],
                    format_age(now() - each.updated_at),
                    format_spending(each.cost_usd, unpriced=each.unpriced),
                    each.workspace_path,
                    each.title,
                )
                for each, activity in rows
            ]
        )
    return ExitCode.ANSWERED


async def _read(paths: Paths) -> list[tuple[SessionSummary, SessionActivity]]:
    store = SqliteStore(Database(paths.database))
    try:
        found = await store.list(limit=PAGE_SESSIONS)
        states = {each.id: each for each in await store.find_activity(each.id for each in found)}
        return [(each, states[each.id]) for each in found if each.id in states]
    finally:
        await store.close()
