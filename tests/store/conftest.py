"""A database in a separate directory, and queries of it."""

import sqlite3
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import pytest

from yourtool.store.database import Database
from yourtool.store.log import Log
from yourtool.store.sessions import Sessions


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "data" / "sessions.db"


@pytest.fixture
async def database(path: Path) -> AsyncIterator[Database]:
    database = Database(path)
    yield database
    await database.close()


@pytest.fixture
def log(database: Database) -> Log:
    return Log(database)


@pytest.fixture
def sessions(database: Database, tmp_path: Path) -> Sessions:
    return Sessions(database, tmp_path / "locks")


@pytest.fixture
def rows(path: Path) -> Callable[..., list[Any]]:
    """Query the file directly, as another program would."""

    def ask(query: str, *values: Any) -> list[Any]:
        connection = sqlite3.connect(path)
        try:
            with connection:
                return connection.execute(query, values).fetchall()
        finally:
            connection.close()

    return ask
