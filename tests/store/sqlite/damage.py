"""Damaged database files: bytes and rows that a broken disk or program leaves."""

import random
import sqlite3
from collections.abc import Callable, Mapping
from pathlib import Path

PAGE = 4_096


def _flip_bytes(data: bytearray, chance: random.Random) -> None:
    for _ in range(chance.randint(1, 40)):
        data[chance.randrange(100, len(data))] ^= 1 << chance.randrange(8)


def _damage_pages(data: bytearray, chance: random.Random) -> None:
    for _ in range(chance.randint(1, 4)):
        at = chance.randrange(1, len(data) // PAGE) * PAGE
        data[at : at + PAGE] = chance.choice([bytes(PAGE), chance.randbytes(PAGE)])


def _swap_pages(data: bytearray, chance: random.Random) -> None:
    one, two = (chance.randrange(1, len(data) // PAGE) * PAGE for _ in range(2))
    first = data[one : one + PAGE]
    data[one : one + PAGE] = data[two : two + PAGE]
    data[two : two + PAGE] = first


def _truncate(data: bytearray, chance: random.Random) -> None:
    del data[chance.randrange(PAGE, len(data)) :]


def _destroy_schema(data: bytearray, chance: random.Random) -> None:
    data[100:PAGE] = chance.randbytes(PAGE - 100)


def _destroy_header(data: bytearray, chance: random.Random) -> None:
    data[:100] = chance.randbytes(100)


FILES: Mapping[str, Callable[[bytearray, random.Random], None]] = {
    "bytes": _flip_bytes,
    "pages": _damage_pages,
    "swapped": _swap_pages,
    "truncated": _truncate,
    "schema": _destroy_schema,
    "header": _destroy_header,
}
_VALUES = ("", "{", "[1, 2]", "null", "7", '{"a": 1e999}', b"\xff\xfe", 7, -(2**62), "sess_x")
_COLUMNS = {
    "sessions": ("workspace_path", "schema_version", "created_at", "updated_at", "active_model"),
    "messages": ("role", "content_json", "metadata_json", "created_at", "schema_version", "id"),
    "events": ("timestamp_us", "turn_id", "type", "payload_json", "id"),
    "tool_calls": ("status", "provider_id", "provider", "created_at"),
}


def damage_file(path: Path, kind: str, seed: int) -> None:
    """Damage the bytes of a database file."""
    data = bytearray(path.read_bytes())
    FILES[kind](data, random.Random(seed))
    path.write_bytes(data)


def damage_rows(path: Path, seed: int) -> None:
    """Write values that the program never writes into some columns."""
    chance = random.Random(seed)
    connection = sqlite3.connect(path, isolation_level=None)
    for _ in range(chance.randint(1, 4)):
        table = chance.choice([*_COLUMNS])
        column, value = chance.choice(_COLUMNS[table]), chance.choice(_VALUES)
        picked = f"SELECT rowid FROM {table} ORDER BY random() LIMIT 1"
        try:
            connection.execute(
                f"UPDATE {table} SET {column} = ? WHERE rowid = ({picked})", (value,)
            )
        except sqlite3.Error:
            continue
    connection.close()


def is_sound(path: Path) -> bool:
    """Whether SQLite finds no damage in the pages."""
    try:
        connection = sqlite3.connect(f"file:{path}?mode=ro&immutable=1", uri=True)
        try:
            return connection.execute("PRAGMA quick_check").fetchall() == [("ok",)]
        finally:
            connection.close()
    except sqlite3.Error:
        return False
