"""A program that writes sessions and is killed, for the crash tests.

Every fact is acknowledged on standard output as soon as it is durable.
"""

import asyncio
import itertools
import os
import shutil
import signal
import sqlite3
import sys
from collections.abc import Callable, Coroutine, Sequence
from functools import partial
from pathlib import Path
from types import FrameType, ModuleType
from typing import Any

from tests.providers.fakes import build_paths
from tests.store.turns import FactBuilder
from yourtool.foundation import files
from yourtool.messages import blobs
from yourtool.providers.catalogue import discovery_cache
from yourtool.providers.provider_specs import ProviderSpec
from yourtool.settings import credentials
from yourtool.store.exports import from_jsonl, read_lines
from yourtool.store.forks import fork, import_session
from yourtool.store.sqlite.database import Database
from yourtool.store.sqlite.leases import FileLease
from yourtool.store.sqlite.schema import MIGRATIONS, Migrations
from yourtool.store.sqlite.store import SqliteStore

PICTURE = b"\x89PNG\r\n\x1a\n a dot"
LATER: Migrations = (
    *MIGRATIONS,
    (
        "ALTER TABLE sessions ADD COLUMN mood TEXT",
        "UPDATE sessions SET mood = 'calm'",
        "CREATE TABLE extra (id TEXT)",
    ),
)


def print_line(*words: object) -> None:
    os.write(1, f"{' '.join(map(str, words))}\n".encode())


class Death:
    """Exits the process at the n-th step."""

    def __init__(self, step: int) -> None:
        self._countdown = itertools.count(step, -1)

    def step(self, _: object = None) -> None:
        if next(self._countdown) == 1:
            os.kill(os.getpid(), signal.SIGKILL)

    def watch(self, *modules: ModuleType) -> None:
        """Count every executed line of the modules as a step."""
        watched = {module.__file__ for module in modules}

        def trace(frame: FrameType, event: str, _: object) -> Any:
            if frame.f_code.co_filename not in watched:
                return None
            if event == "line":
                self.step()
            return trace

        sys.settrace(trace)


class Doomed(Database):
    """Exits the process before the n-th SQL statement."""

    def __init__(self, path: Path, death: Death, steps: Migrations = MIGRATIONS) -> None:
        super().__init__(path, steps)
        self._death = death

    def _prepare(self, connection: sqlite3.Connection) -> None:
        connection.set_trace_callback(self._death.step)
        super()._prepare(connection)


async def one_turn(database: Database, *prefix: object) -> None:
    """Write a session of one turn, fact by fact."""
    store, builder = SqliteStore(database), FactBuilder()
    for fact in (builder.session_start(), *builder.turn()):
        await store.append(fact)
        print_line(*prefix, fact.session_id, fact.id)
    await database.close()


async def write_forever(path: Path) -> None:
    """Write turns until the process is killed."""
    store, builder = SqliteStore(Database(path)), FactBuilder()
    facts = itertools.chain((builder.session_start(),), *(builder.turn() for _ in range(1000)))
    for fact in facts:
        await store.append(fact)
        print_line(fact.session_id, fact.id)


async def acknowledge_turns(path: Path, count: int) -> None:
    """Write a number of turns, fact by fact, and close the database."""
    database, builder = Database(path), FactBuilder()
    store = SqliteStore(database)
    facts = itertools.chain((builder.session_start(),), *(builder.turn() for _ in range(count)))
    for fact in facts:
        await store.append(fact)
        print_line(fact.session_id, fact.id)
    await database.close()


async def turns(path: Path, count: int) -> None:
    """Write a number of turns."""
    database, builder = Database(path), FactBuilder()
    store = SqliteStore(database)
    await store.append(builder.session_start())
    for _ in range(count):
        for fact in builder.turn():
            await store.append(fact)
    await database.close()
    print_line(builder.session_id)


async def upgrade(database: Database) -> None:
    """Upgrade a database to the next version."""
    await database.read(lambda connection: connection.total_changes)
    await database.close()


def run_until_killed(work: Callable[[], Coroutine[Any, Any, None]]) -> bool:
    """Return whether `work` kills its process."""
    if (child := os.fork()) == 0:
        asyncio.run(work())
        os._exit(0)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == -signal.SIGKILL


def sweep(directory: Path) -> None:
    """Crash before every statement of a turn, each time in a new database."""
    for statement in itertools.count(1):
        doomed = Doomed(directory / str(statement) / "sessions.db", Death(statement))
        if not run_until_killed(lambda doomed=doomed, number=statement: one_turn(doomed, number)):
            return


def sweep_upgrade(template: Path, directory: Path, steps: Migrations) -> None:
    """Crash before every statement of an upgrade of `template`."""
    for statement in itertools.count(1):
        path = directory / str(statement) / "sessions.db"
        path.parent.mkdir(parents=True)
        shutil.copy(template, path)
        doomed = Doomed(path, Death(statement), steps)
        if not run_until_killed(lambda doomed=doomed: upgrade(doomed)):
            return


def sweep_copies(template: Path, session_id: str, directory: Path) -> None:
    """Crash before every statement of a fork of a session."""

    async def forking(database: Database) -> None:
        print_line(database.path.parent.name, await fork(SqliteStore(database), session_id))
        await database.close()

    for statement in itertools.count(1):
        path = directory / str(statement) / "sessions.db"
        path.parent.mkdir(parents=True)
        shutil.copy(template, path)
        doomed = Doomed(path, Death(statement))
        if not run_until_killed(lambda doomed=doomed: forking(doomed)):
            return


def sweep_imports(export: Path, directory: Path) -> None:
    """Crash an import at every line that stores an attachment and before every statement."""

    async def importing(place: Path, death: Death) -> None:
        database = Doomed(place / "sessions.db", death)
        death.watch(blobs, files)
        with export.open("rb") as file:
            facts = from_jsonl(read_lines(file), place / "blobs")
        print_line(place.name, await import_session(SqliteStore(database), facts, place))
        await database.close()

    for step in itertools.count(1):
        place = directory / str(step)
        place.mkdir()
        if not run_until_killed(partial(importing, place, Death(step))):
            return


def keep_blob(place: Path) -> None:
    blobs.store_blob(place / "blobs", PICTURE + place.name.encode())


def save_key(place: Path) -> None:
    credentials.Credentials(build_paths(place), {}).save("p", place.name)


def remember_models(place: Path) -> None:
    row = ProviderSpec(name="p", api="chat", base_url=f"http://{place.name}/v1", label="P")
    discovery_cache.save_discoveries(
        place / "models.json", [discovery_cache.new_discovery(row, ())]
    )


FILES: dict[str, tuple[ModuleType, Callable[[Path], None]]] = {
    "blob": (blobs, keep_blob),
    "key": (credentials, save_key),
    "models": (discovery_cache, remember_models),
}
"""Programs that write separate files, by name."""


def sweep_files(name: str, directory: Path) -> None:
    """Crash at every line that writes a file a second time; name directories after the line."""
    module, write = FILES[name]
    (directory / "first").mkdir()
    write(directory / "first")

    async def writing(place: Path, death: Death) -> None:
        death.watch(module, files)
        write(place)

    for step in itertools.count(1):
        place = directory / str(step)
        shutil.copytree(directory / "first", place)
        if not run_until_killed(partial(writing, place, Death(step))):
            return


def hold_lease(directory: Path, session_id: str) -> None:
    """Acquire a lease and release it at the end of standard input."""
    with FileLease(directory, session_id):
        print_line("held")
        sys.stdin.read()


def main(arguments: Sequence[str]) -> None:
    match arguments:
        case ["forever", path]:
            asyncio.run(write_forever(Path(path)))
        case ["acknowledge", path, count]:
            asyncio.run(acknowledge_turns(Path(path), int(count)))
        case ["turns", path, count]:
            asyncio.run(turns(Path(path), int(count)))
        case ["sweep", directory]:
            sweep(Path(directory))
        case ["sweep-upgrade", template, directory]:
            sweep_upgrade(Path(template), Path(directory), LATER)
        case ["sweep-first-upgrade", template, directory]:
            sweep_upgrade(Path(template), Path(directory), MIGRATIONS)
        case ["upgrade", path]:
            asyncio.run(upgrade(Database(Path(path))))
        case ["sweep-copies", template, session_id, directory]:
            sweep_copies(Path(template), session_id, Path(directory))
        case ["sweep-imports", export, directory]:
            sweep_imports(Path(export), Path(directory))
        case ["sweep-files", name, directory]:
            sweep_files(name, Path(directory))
        case ["hold", directory, session_id]:
            hold_lease(Path(directory), session_id)
        case other:
            raise SystemExit(f"unknown: {other}")


if __name__ == "__main__":
    main(sys.argv[1:])
