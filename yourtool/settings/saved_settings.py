"""Storage of a setting in `config.toml`."""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from decimal import Decimal
from itertools import takewhile
from pathlib import Path
from typing import Any

from msgspec import to_builtins

from yourtool.errors import ConfigError
from yourtool.foundation.files import may_exist, real_path, replace_file
from yourtool.paths import Paths
from yourtool.settings.config import config_file
from yourtool.settings.tables import TableKey, format_key, is_list, is_table, parse_toml
from yourtool.settings.toml_places import find_places, find_value_end

SAVE_OPTION = "--save"


def split_save_option(argument: str) -> tuple[str, bool]:
    """Return the argument of a command without `--save`, and whether it had one."""
    words = argument.split()
    return " ".join(each for each in words if each != SAVE_OPTION), SAVE_OPTION in words


def save_setting(paths: Paths, key: TableKey, value: Any) -> Path:
    """Set a key of `config.toml`; a `value` of None removes it.

    Comments and order do not change. A new key is inserted below the comment that names it, else at
    the start of its table, which is added at the end if it is missing. Blocks on the file system.

    Raises:
        ConfigError: the file is not valid, cannot be written, or has the key in a form that must
            be edited by hand.
    """
    file = real_path(config_file(paths))
    try:
        text = file.read_bytes().decode("utf-8-sig") if may_exist(file) else ""
        before = parse_toml(text)
        expected = _build_expected(before, key, value)
        edits = [_remove(text, key)] if value is None else _iter_edited(text, key, value)
        edited = next((each for each in edits if _is_equal(each, expected)), None)
        if edited is None:
            raise ConfigError(f"{file}: cannot change `{format_key(key)}`; edit the file by hand.")
        replace_file(file, edited.encode())
    except OSError as error:
        raise ConfigError(f"{file}: {error.strerror}") from error
    except ValueError as error:
        raise ConfigError(f"{file}: not TOML: {error}; correct it first.") from error
    return file


def format_toml(value: Any) -> str:
    """Return a value of a setting as TOML.

    >>> format_toml({"a": [1, True]})
    '{ a = [1, true] }'
    """
    if isinstance(value, Decimal):
        return f"{value:f}"
    plain = to_builtins(value, builtin_types=())
    if is_table(plain):
        inner = (f"{_format_name(name)} = {format_toml(each)}" for name, each in plain.items())
        return f"{{ {', '.join(inner)} }}" if plain else "{}"
    if is_list(plain):
        return f"[{', '.join(map(format_toml, plain))}]"
    return json.dumps(plain, ensure_ascii=False)


def _format_name(name: str) -> str:
    return name if re.fullmatch(r"[\w-]+", name, re.ASCII) else json.dumps(name, ensure_ascii=False)


def _build_expected(tables: Mapping[str, Any], key: TableKey, value: Any) -> dict[str, Any]:
    first, *rest = key
    if rest:
        return {**tables, first: _build_expected(tables.get(first, {}), tuple(rest), value)}
    others = {name: each for name, each in tables.items() if name != first}
    if value is None:
        return others
    return {**others, first: parse_toml(f"value = {format_toml(value)}")["value"]}


def _is_equal(text: str, tables: Mapping[str, Any]) -> bool:
    try:
        return parse_toml(text) == tables
    except ValueError:
        return False


def _iter_edited(text: str, key: TableKey, value: Any) -> Iterator[str]:
    """Yield texts with another value of a key, the best first; they can be wrong."""
    table, name = key[:-1], key[-1]
    places, shown = find_places(text), format_toml(value)
    if (place := places.get(key)) is not None:
        yield f"{text[: place.end]}{shown}{text[find_value_end(text, place.end) :]}"
        return
    lines = text.splitlines(keepends=True)
    if lines and not lines[-1].endswith("\n"):
        lines[-1] += "\n"
    statement, header = f"{_format_name(name)} = {shown}\n", ".".join(map(_format_name, table))
    if not table:
        yield "".join(_add(lines, 0, name, statement))
        return
    if (found := places.get(table)) is not None:
        yield "".join(_add(lines, found.line, name, statement))
    for at, line in enumerate(lines, 1):
        if line.startswith("#") and line[1:].strip() == f"[{header}]":
            yield "".join(_add(lines, at, name, statement, f"[{header}]\n"))
    yield "".join([*lines, *(["\n"] if lines else []), f"[{header}]\n", statement])


def _add(
    lines: Sequence[str], start: int, name: str, statement: str, header: str = ""
) -> Iterator[str]:
    """Yield lines with a statement below the comment in its table that shows the key.

    `start`: the index below the header. Without such a comment it is the first of the table.
    """
    template = re.compile(rf"#\s*{re.escape(name)}\s*=")
    section = takewhile(lambda line: not re.match(r"#?\s*\[", line), lines[start:])
    at = next((at for at, line in enumerate(section, start + 1) if template.match(line)), start)
    yield from (*lines[:start], *([header] if header else []), *lines[start:at], statement)
    yield from lines[at:]


def _remove(text: str, key: TableKey) -> str:
    """Return a text without the lines of a key."""
    if (place := find_places(text).get(key)) is None:
        return text
    end = text.find("\n", find_value_end(text, place.end))
    return text[: place.start] + (text[end + 1 :] if end >= 0 else "")
