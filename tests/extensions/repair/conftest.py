"""A database in a separate directory."""

from tests.store.conftest import database, path, rows, store

__all__ = ["database", "path", "rows", "store"]
