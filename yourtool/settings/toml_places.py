"""Positions in the text of TOML files."""

import re
import tomllib
from collections.abc import Iterator, Mapping
from functools import cache, lru_cache
from typing import TypeAlias

from msgspec import Struct

TomlPath: TypeAlias = tuple[str | int, ...]
"""A value of the document: names of tables and keys, and positions in lists."""

_NAME = r"""(?:"(?:\\.|[^"\\\n])*"|'[^'\n]*'|[\w-]+)"""


@cache
def _statement() -> re.Pattern[str]:
    """Return the pattern of a header or key, which is compiled when a file has one."""
    return re.compile(
        rf"[ \t]*(?:\[\[[ \t]*(?P<list>{_NAME}(?:[ \t]*\.[ \t]*{_NAME})*)[ \t]*\]\]"
        rf"|\[[ \t]*(?P<table>{_NAME}(?:[ \t]*\.[ \t]*{_NAME})*)[ \t]*\]"
        rf"|(?P<key>{_NAME}(?:[ \t]*\.[ \t]*{_NAME})*)[ \t]*=[ \t]*)"
    )


@cache
def _token() -> re.Pattern[str]:
    """Return the pattern of strings, comments, brackets, commas and line ends.

    See https://toml.io/en/v1.0.0.
    """
    return re.compile(
        r'"""(?:\\.|[^\\])*?"{3,5}|\'\'\'.*?\'{3,5}|"(?:\\.|[^"\\\n])*"|\'[^\'\n]*\'|#[^\n]*'
        r"|[\[\]{},\n]",
        re.DOTALL,
    )


@cache
def _gap() -> re.Pattern[str]:
    return re.compile(r"(?:\s|#[^\n]*)*")


class Span(Struct, frozen=True):
    """A part of a text."""

    line: int
    start: int
    end: int


def find_places(text: str) -> Mapping[TomlPath, Span]:
    """Return the places of the tables, keys and elements of lists in valid TOML.

    The end of a table is the start of the next one that is not part of it. The place of a table
    that only longer names have is the start of the first one.
    """
    found = dict[TomlPath, Span]()
    counts = dict[TomlPath, int]()
    table, open_tables = TomlPath(), list[TomlPath]()
    for line, start in _iter_statements(text):
        if (statement := _statement().match(text, start)) is None:
            continue
        if (header := statement["list"] or statement["table"]) is not None:
            table = _resolve(header, counts, is_list=statement["list"] is not None)
            while open_tables and table[: len(open_tables[-1])] != open_tables[-1]:
                ended = open_tables.pop()
                found[ended] = Span(found[ended].line, found[ended].start, start)
            open_tables.append(table)
            _add(found, table, Span(line, start, len(text)))
        else:
            key = (*table, *map(_unquote, re.findall(_NAME, statement["key"])))
            _add(found, key, Span(line, start, statement.end()))
            for at, element in enumerate(_iter_elements(text, statement.end(), line)):
                found[*key, at] = element
    return found


def find_line(places: Mapping[TomlPath, Span], path: TomlPath) -> int | None:
    """Return the line of a value, or of the first one in it, or of the nearest table around it."""
    prefixes = (path[:size] for size in range(len(path), 0, -1))
    return next((places[prefix].line for prefix in prefixes if prefix in places), None)


def find_value_end(text: str, start: int) -> int:
    """Return the end of the value at `start`, without the comment after it."""
    depth = 0
    for token in _token().finditer(text, start):
        depth += {"[": 1, "{": 1, "]": -1, "}": -1}.get(token[0], 0)
        if depth == 0 and token[0][0] in "\n#":
            return start + len(text[start : token.start()].rstrip())
    return len(text)


def line_of(text: str, key: tuple[str, ...]) -> int | None:
    """Return the line of a key as `find_line` does; the elements of a list count from 1."""
    return find_line(_places_from_1(text), key)


@lru_cache(maxsize=1)
def _places_from_1(text: str) -> Mapping[TomlPath, Span]:
    return {
        tuple(part if isinstance(part, str) else str(part + 1) for part in path): span
        for path, span in find_places(text).items()
    }


def find_error_line(error: ValueError, text: str) -> int:
    """Return the line of a mistake that `tables.parse_toml` found; the last one at the end."""
    found = re.search(r"\(at line (\d+)", str(error))
    return int(found[1]) if found else max(1, len(text.splitlines()))


def _add(found: dict[TomlPath, Span], path: TomlPath, span: Span) -> None:
    found[path] = span
    for size in range(len(path) - 1, 0, -1):
        if path[:size] in found:
            return
        found[path[:size]] = Span(span.line, span.start, span.start)


def _resolve(header: str, counts: dict[TomlPath, int], *, is_list: bool) -> TomlPath:
    """Return the path of a table; the name of a list means its last element."""
    path, names = TomlPath(), [_unquote(name) for name in re.findall(_NAME, header)]
    for at, name in enumerate(names):
        path = (*path, name)
        if is_list and at == len(names) - 1:
            counts[path] = counts.get(path, 0) + 1
        if path in counts:
            path = (*path, counts[path] - 1)
    return path


def _unquote(name: str) -> str:
    if "\\" in name and name[0] == '"':
        return next(iter(tomllib.loads(f"{name} = 0")))
    return name[1:-1] if name[0] in "\"'" else name


def _iter_statements(text: str) -> Iterator[tuple[int, int]]:
    """Yield the number and the position of each line outside of strings and brackets."""
    number, depth = 1, 0
    yield 1, 0
    for token in _token().finditer(text):
        number += token[0].count("\n")
        depth += {"[": 1, "{": 1, "]": -1, "}": -1}.get(token[0], 0)
        if token[0] == "\n" and depth == 0:
            yield number, token.end()


def _iter_elements(text: str, start: int, line: int) -> Iterator[Span]:
    """Yield the elements of the list at `start`; nothing if there is no list."""
    if not text.startswith("[", start):
        return
    depth, begin, counted = 0, start + 1, start
    for token in _token().finditer(text, start):
        depth += {"[": 1, "{": 1, "]": -1, "}": -1}.get(token[0], 0)
        if depth == 0 or (depth == 1 and token[0] == ","):
            gap = _gap().match(text, begin)
            first = gap.end() if gap else begin
            if first < token.start():
                end = len(text[first : token.start()].rstrip()) + first
                line, counted = line + text.count("\n", counted, first), first
                yield Span(line, first, end)
            begin = token.end()
        if depth == 0:
            return
