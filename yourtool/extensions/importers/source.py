"""Lenient reader of untrusted files.

Every cost is linear and capped. A line that cannot be read is reported and skipped; the last one
may be half written, because the program that writes the file may run.
"""

import hashlib
import json
from collections import Counter
from collections.abc import Mapping
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any, cast

import msgspec

from yourtool.foundation.text import storable

MAX_LINE_BYTES = 2**26
"""Maximum bytes of a line."""
Object = Mapping[str, Any]
"""A JSON object."""

_MARK = b"\xef\xbb\xbf"
_MAX_COST = 10**6
_EARLIEST, _LATEST = 0.0, 7_000_000_000.0
"""Seconds since 1970 that a time can have; later numbers are milliseconds."""


class Source:
    """The bytes of a file and the values of its lines."""

    def __init__(self, content: bytes) -> None:
        self.content = content
        self.digest = hashlib.sha256(content).hexdigest()

    def get_start(self, size: int) -> "Source":
        """Return the first bytes."""
        return Source(self.content[:size])

    def read_document(self) -> object:
        """Return the value of a file that is one JSON value; None for any other."""
        try:
            return msgspec.json.decode(self.content.removeprefix(_MARK))
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
            return None

    def read_objects(self, losses: Counter[str]) -> list[Object]:
        """Return the JSON objects of the lines, in order; `losses` counts other lines."""
        lines = self.content.removeprefix(_MARK).rstrip().split(b"\n")
        found = list[Object]()
        for number, line in enumerate(lines, 1):
            if not (line := line.rstrip(b"\r")).strip():
                continue
            try:
                if len(line) > MAX_LINE_BYTES:
                    raise ValueError("too long")
                value = decode(line)
            except (ValueError, RecursionError):
                is_last = number == len(lines)
                what = "the last line, half written" if is_last else "a line that is not JSON"
                losses[what] += 1
                continue
            if isinstance(value, dict):
                found.append(cast("Object", value))
            else:
                losses["a line that is no JSON object"] += 1
        return found


def decode(line: bytes | str) -> object:
    """Decode JSON; text that is not Unicode is replaced.

    Raises:
        ValueError: it is not JSON.
        RecursionError: it is nested too deeply.
    """
    try:
        return msgspec.json.decode(line)
    except (msgspec.DecodeError, UnicodeDecodeError):
        text = line.decode("utf-8", "replace") if isinstance(line, bytes) else line
        return json.loads(text, parse_constant=_reject_constant)


def _reject_constant(name: str) -> object:
    raise ValueError(f"`{name}` is not JSON")


def as_object(value: object) -> Object:
    """Return a value if it is an object, else an empty one."""
    return cast("Object", value) if isinstance(value, dict) else {}


def as_list(value: object) -> list[object]:
    """Return a value if it is a list, else an empty one."""
    return cast("list[object]", value) if isinstance(value, list) else []


def as_text(value: object) -> str:
    """Return a value if it is a text, else an empty one; every text can be stored."""
    return storable(value) if isinstance(value, str) else ""


def as_count(value: object) -> int:
    """Return a value if it is a number of something, else 0."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return 0
    return int(value) if 0 <= value < 2**53 else 0


def as_cost(value: object) -> Decimal:
    """Return a value if it is a number of US dollars, else 0."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return Decimal(0)
    return Decimal(str(value)) if 0 <= value < _MAX_COST else Decimal(0)


def as_exit_code(value: object) -> int | None:
    """Return a value if it is the exit code of a command."""
    if isinstance(value, bool) or not isinstance(value, int):
        return None
    return value if abs(value) < 2**31 else None


def as_time(value: object, default: datetime) -> datetime:
    """Return an ISO time, or seconds or milliseconds since 1970; else `default`."""
    try:
        if isinstance(value, str):
            moment = datetime.fromisoformat(value)
            moment = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
        elif isinstance(value, int | float) and not isinstance(value, bool):
            seconds = value if value < _LATEST else value / 1000
            moment = datetime.fromtimestamp(seconds, UTC)
        else:
            return default
        return moment.astimezone(UTC) if _EARLIEST <= moment.timestamp() < _LATEST else default
    except (ValueError, OverflowError, OSError):
        return default
