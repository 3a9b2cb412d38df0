"""A program that writes sessions and is killed; run by the tests of what survives.

Every fact is acknowledged on standard output as soon as the store says that it is durable.
"""

import asyncio
import itertools
import os
import shutil
import signal
import sqlite3
import sys
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any

from tests.store.turns import Story
from yourtool.store.database import Database
from yourtool.store.leases import Lease
from yourtool.store.log import Log
from yourtool.store.schema import STEPS, Steps

LATER: Steps = (
    *STEPS,
    (
        "ALTER TABLE sessions ADD COLUMN mood TEXT",
        "UPDATE sessions SET mood = 'calm'",
        "CREATE TABLE extra (id TEXT)",
    ),
)


def say(*words: object) -> None:
    os.write(1, f"{' '.join(map(str, words))}\n".encode())


class Doomed(Database):
    """Takes its process with it before the n-th SQL statement."""

    def __init__(self, path: Path, statement: int, steps: Steps = STEPS) -> None:
        super().__init__(path, steps)
        self._countdown = itertools.count(statement, -1)

    def _prepare(self, connection: sqlite3.Connection) -> None:
        connection.set_trace_callback(self._count)
        super()._prepare(connection)

    def _count(self, sql: str) -> None:
        if next(self._countdown) == 1:
            os.kill(os.getpid(), signal.SIGKILL)


async def one_turn(database: Database, *prefix: object) -> None:
    """Write a session of one turn, a fact at a time."""
    log, story = Log(database), Story()
    for fact in (story.created(), *story.turn()):
        await log.append(fact)
        say(*prefix, fact.session_id, fact.id)
    await database.close()


async def forever(path: Path) -> None:
    """Write turns until somebody ends it."""
    log, story = Log(Database(path)), Story()
    facts = itertools.chain((story.created(),), *(story.turn() for _ in range(1000)))
    for fact in facts:
        await log.append(fact)
        say(fact.session_id, fact.id)


async def turns(path: Path, count: int) -> None:
    """Write so many turns."""
    database, story = Database(path), Story()
    log = Log(database)
    await log.append(story.created())
    for _ in range(count):
        for fact in story.turn():
            await log.append(fact)
    await database.close()
    say(story.session_id)


async def upgrade(database: Database) -> None:
    """Bring a database to its next version."""
    await database.read(lambda connection: connection.total_changes)
    await database.close()


def killed(work: Callable[[], Coroutine[Any, Any, None]]) -> bool:
    """Tell whether a process that does `work` is killed by it."""
    if (child := os.fork()) == 0:
        asyncio.run(work())
        os._exit(0)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == -signal.SIGKILL


def sweep(directory: Path) -> None:
    """Die before every statement of a turn, each time in a database of its own."""
    for statement in itertools.count(1):
        doomed = Doomed(directory / str(statement) / "sessions.db", statement)
        if not killed(lambda doomed=doomed, number=statement: one_turn(doomed, number)):
            return


def sweep_upgrade(template: Path, directory: Path) -> None:
    """Die before every statement of an upgrade of `template`."""
    for statement in itertools.count(1):
        path = directory / str(statement) / "sessions.db"
        path.parent.mkdir(parents=True)
        shutil.copy(template, path)
        doomed = Doomed(path, statement, LATER)
        if not killed(lambda doomed=doomed: upgrade(doomed)):
            return


def hold(directory: Path, session_id: str) -> None:
    """Take a lease and keep it until standard input ends."""
    with Lease(directory, session_id):
        say("held")
        sys.stdin.read()


if __name__ == "__main__":
    match sys.argv[1:]:
        case ["forever", path]:
            asyncio.run(forever(Path(path)))
        case ["turns", path, count]:
            asyncio.run(turns(Path(path), int(count)))
        case ["sweep", directory]:
            sweep(Path(directory))
        case ["sweep-upgrade", template, directory]:
            sweep_upgrade(Path(template), Path(directory))
        case ["hold", directory, session_id]:
            hold(Path(directory), session_id)
        case other:
            raise SystemExit(f"unknown: {other}")
