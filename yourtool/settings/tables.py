"""Validation of TOML tables against Structs."""

import re
import tomllib
from collections.abc import Callable, Iterator, Mapping
from decimal import Decimal
from enum import StrEnum
from functools import cache
from typing import Annotated, Any, Literal, NamedTuple, TypeAlias, TypeGuard, get_args, get_origin

import msgspec
from msgspec import Struct

from yourtool.foundation.suggestions import find_closest
from yourtool.settings.peer_words import describe_peer_word

TableKey: TypeAlias = tuple[str, ...]
"""The path of a value: the names of its tables, then its own."""


_MAX_QUOTED = 40
"""Characters of an invalid value in an error."""
_NO_TABLE = "must be a table"
_MAX_KEY_PARTS = 100
"""The time of `tomllib` is quadratic in the parts of a key."""


class Fault(Struct, frozen=True):
    """A problem with one value."""

    message: str
    nearest: str | None = None
    """The key or value that was probably meant."""


def parse_toml(text: str, parse_float: Callable[[str], Any] = float) -> dict[str, Any]:
    """Parse untrusted TOML.

    Raises:
        ValueError: it is not TOML, is nested too deeply, or has a key or number that is too large.
    """
    if any(line.count(".") > _MAX_KEY_PARTS and _has_long_key(line) for line in text.splitlines()):
        raise ValueError(f"a key has more than {_MAX_KEY_PARTS} parts")
    try:
        return tomllib.loads(text, parse_float=parse_float)
    except tomllib.TOMLDecodeError:
        raise
    except RecursionError:
        raise ValueError("it is nested too deeply") from None
    except (ValueError, ArithmeticError):
        raise ValueError("it has a number that is too large") from None


def _has_long_key(line: str) -> bool:
    no_key = re.compile(r'"(?:\\.|[^"\\])*"|\'[^\']*\'|#.*')
    parts = no_key.sub("", line).replace("=", ",").split(",")
    return any(part.count(".") > _MAX_KEY_PARTS for part in parts)


def iter_leaves(
    raw: Mapping[str, Any], kind: type[Struct], at: TableKey = ()
) -> Iterator[tuple[TableKey, "Any | Fault"]]:
    """Yield every value of a table, converted to its field's type, or its `Fault`."""
    fields = describe_fields(kind)
    for name, value in raw.items():
        key = (*at, name)
        if name not in fields:
            problem = "" if at else describe_peer_word("setting", name)
            nearest = None if problem else find_closest(name, fields)
            yield key, Fault(problem or "there is no such key", nearest)
            continue
        annotation, entry, table, is_map = fields[name]
        if entry is not None:
            yield from _iter_entries(value, entry, key)
        elif table is None:
            yield key, _convert(value, annotation)
        elif not is_table(value):
            yield key, Fault(_NO_TABLE)
        elif not is_map:
            yield from iter_leaves(value, table, key)
        else:
            for inner, content in value.items():
                if is_table(content):
                    yield from iter_leaves(content, table, (*key, inner))
                else:
                    yield (*key, inner), Fault(_NO_TABLE)


class Field(NamedTuple):
    """A key of a table."""

    annotation: Any
    entry: type[Struct] | None
    """The type of the tables in it, if it is a list of tables."""
    table: type[Struct] | None
    """Its type if it is a table, or that of the tables in it."""
    is_map: bool
    """Whether it maps names to tables."""


@cache
def describe_fields(kind: type[Struct]) -> Mapping[str, Field]:
    """Return the keys of a table."""
    return {
        field.name: Field(field.type, _find_entry(field.type), *_table_of(field.type))
        for field in msgspec.structs.fields(kind)
    }


def _iter_entries(
    raw: Any, kind: type[Struct], at: TableKey
) -> Iterator[tuple[TableKey, "Any | Fault"]]:
    """Yield a list of tables as one value, or the faults in it; its entries count from 1."""
    if not is_list(raw):
        yield at, Fault(f"must be a list of tables, each below `[[{at[-1]}]]`")
        return
    faults = list[tuple[TableKey, Fault]]()
    for number, table in enumerate(raw, 1):
        key = (*at, str(number))
        leaves = iter_leaves(table, kind, key) if is_table(table) else ((key, Fault(_NO_TABLE)),)
        faults += [(leaf, outcome) for leaf, outcome in leaves if isinstance(outcome, Fault)]
        if is_table(table) and not faults and isinstance(made := _convert(table, kind), Fault):
            faults.append((key, made))
    if faults:
        yield from faults
    else:
        yield at, msgspec.convert(raw, tuple[kind, ...])


def _find_entry(annotation: Any) -> type[Struct] | None:
    """Return the Struct type of a field that is a list of tables."""
    bare = _bare(annotation)
    if get_origin(bare) is tuple and _is_struct(entry := get_args(bare)[0]):
        return entry
    return None


def _table_of(annotation: Any) -> tuple[type[Struct] | None, bool]:
    """Return the Struct type of a field, if any, and whether the field maps names to it."""
    bare = _bare(annotation)
    if get_origin(bare) is dict:
        value = get_args(bare)[1]
        return (value, True) if _is_struct(value) else (None, False)
    return (bare, False) if _is_struct(bare) else (None, False)


def _bare(annotation: Any) -> Any:
    return get_args(annotation)[0] if get_origin(annotation) is Annotated else annotation


def _is_struct(kind: Any) -> TypeGuard[type[Struct]]:
    return isinstance(kind, type) and issubclass(kind, Struct)


def is_table(value: Any) -> TypeGuard[dict[str, Any]]:
    """Return whether `value` is a table."""
    return isinstance(value, dict)


def is_list(value: Any) -> TypeGuard[list[Any]]:
    """Return whether `value` is a list."""
    return isinstance(value, list)


def _convert(value: Any, kind: Any) -> "Any | Fault":
    try:
        return msgspec.convert(value, kind)
    except msgspec.ValidationError as error:
        bare = _bare(kind)
        choices = get_choices(kind)
        if Decimal in (bare, *get_args(bare)) and isinstance(value, str):
            return Fault(f"must be a number such as `0.50`, not `{value[:_MAX_QUOTED]}`")
        if bool in get_args(bare):
            return Fault(f"must be `true` or `false`, not `{str(value)[:_MAX_QUOTED]}`")
        if not choices:
            return Fault(str(error)[:1].lower() + str(error)[1:])
        return Fault(
            f"must be one of {', '.join(f'`{choice}`' for choice in choices)}, not `{value}`",
            find_closest(str(value), choices),
        )


def get_choices(annotation: Any) -> tuple[str, ...]:
    """Return the words of which a value is one; empty for other types."""
    kind = _bare(annotation)
    if isinstance(kind, type) and issubclass(kind, StrEnum):
        return tuple(kind)
    parts: list[Any] = [kind, *get_args(kind)]
    return tuple(
        str(word) for part in parts if get_origin(part) is Literal for word in get_args(part)
    )


def build_tables(flat: Mapping[TableKey, Any]) -> dict[str, Any]:
    """Return nested tables with these values."""
    root: dict[str, Any] = {}
    for key, value in flat.items():
        table = root
        for name in key[:-1]:
            table = table.setdefault(name, {})
        table[key[-1]] = value
    return root


def flatten(struct: Struct, at: TableKey = ()) -> Iterator[tuple[TableKey, Any]]:
    """Yield every value of a Struct and of nested Structs."""
    for name in struct.__struct_fields__:
        value = getattr(struct, name)
        if isinstance(value, Struct):
            yield from flatten(value, (*at, name))
        elif (
            is_table(value) and value and all(isinstance(entry, Struct) for entry in value.values())
        ):
            for entry, content in value.items():
                yield from flatten(content, (*at, name, entry))
        else:
            yield (*at, name), value


def format_key(key: TableKey) -> str:
    """Return a key in TOML notation."""
    return ".".join(
        part if re.fullmatch(r"[\w-]+", part, re.ASCII) else f'"{part}"' for part in key
    )
