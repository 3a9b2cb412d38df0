"""A database in a separate directory, and queries of it."""

import sqlite3
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import pytest

from yourtool.store.sqlite.database import Database
from yourtool.store.sqlite.store import SqliteStore


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "data" / "sessions.db"


@pytest.fixture
async def database(path: Path) -> AsyncIterator[Database]:
    database = Database(path)
    yield database
    await database.close()


@pytest.fixture
def store(database: Database) -> SqliteStore:
    return SqliteStore(database)


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
