"""Rules with `*`.

A `*` covers no option or argument that names a program, the settings of one, or the address of one.
A rule that names such an option itself covers it.
"""

import functools
import re
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import accumulate, islice, pairwise
from typing import TypeAlias

from msgspec.structs import replace

from yourtool.permissions.shell.argument_paths import find_strange_path
from yourtool.permissions.shell.place import Place
from yourtool.permissions.shell.programs.arguments import (
    PACKAGE_ARCHIVE,
    has_form,
    only_reads,
    takes_value,
)
from yourtool.permissions.shell.programs.table import Accepted, Star, find_row, load_programs
from yourtool.permissions.shell.specs import loads_programs

_EVERY = "*"
_MAX_OPERANDS = 8
"""Arguments that can be the name of a command of a program."""
_MIN_ABBREVIATION = 3
_DANGEROUS_PARTS = frozenset(
    {
        "cmd", "command", "config", "configuration", "editor", "exec", "executable", "execute",
        "hook", "hooks", "interpreter", "launcher", "loader", "pager", "plugin", "plugins",
        "preload", "program", "rcfile", "require", "rulesdir", "runner", "script", "shell",
        "wrapper",
    }
)  # fmt: skip
"""Parts of long options that name programs, settings or plugins in most programs."""
_NEGATIONS = ("no-", "disable-", "skip-", "without-", "list-", "show-", "print-")
_PROGRAM_VARIABLE = re.compile(
    r"(?:AR|AS|CC|CPP|CXX|LD|FC|RUSTC|\w*(?:COMMAND|COMPILER|LAUNCHER|LINKER|WRAPPER))"
)
_ASSIGNMENT = re.compile(r"-{0,2}D?\.?([A-Z_][A-Z0-9_]*)(?::\w+)?=")
_HUMP = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|[._]")
_PLAIN_NAME = re.compile(r"[A-Za-z][\w@-]*(?:\.\d+)*|[\d.]+")
"""A name or a version, and no path or module."""
_PACKAGE = re.compile(r"(?:@\w[\w.~-]*/)?\w[\w.-]*(?:\[[\w,.-]+\])?(?:[@<>=!~][\w.^~<>=*,! -]*)?")
_VERB = re.compile(r"\w[\w:.@-]*(?:/[\w:.@-]+)*")
_SCRIPT = re.compile(r"[./]")
_PROGRAM = re.compile(r"[A-Za-z_./][^=]*")
_SCRIPT_VERB = re.compile(r"[a-z][a-z:_-]*")
_VERSION = "0123456789.-"


IsOwnPath: TypeAlias = Callable[[str], bool]
"""Whether a path is a file of the workspace."""


@functools.cache
def load_stars() -> Mapping[str, Star]:
    """Return the rows of programs about `*`."""
    rows = load_programs()
    runners = (name for name, row in rows.items() if not row.is_named_exactly or row.runs_others)
    stars = {name: row.star for name, row in rows.items() if row.star is not None}
    return {**{each: Star(launches=True, needs=len(each.split())) for each in runners}, **stars}


def find_risk(named: int, words: Sequence[str], place: Place) -> str:
    """Return the first argument that no `*` covers, or an empty text.

    `named`: how many of the words the rule names.
    """
    rows = [load_stars()[_EVERY], *_iter_rows(words)]
    starts = [0]
    if any(row.launches or row.code for row in rows):
        starts += range(1, named)
        for start in starts[1:]:
            rows += _iter_rows(words[start:])
    if not all(_names_program(row, words[1:named]) for row in rows):
        return words[named] if named < len(words) else words[0]
    for start in starts:
        if (strange := _find_strange_command(words, start, named)) is not None:
            return strange
    listed = [start for start in starts if _get_list(words[start]) is not None]
    if listed:
        is_listed = all(_is_listed(words[start:], named - start, place) for start in listed)
        return "" if is_listed else words[-1]
    return _find_risky_argument(rows, words, named, place)


def _find_risky_argument(
    rows: Sequence[Star], words: Sequence[str], named: int, place: Place
) -> str:
    is_elsewhere = any(row.elsewhere for row in rows)
    rows = [row for row in rows if not (row.launches or row.code)]
    harmless = frozenset[str]().union(*(row.harmless for row in rows))
    are_packages = any(row.packages for row in rows)
    for at, word in enumerate(words[named:], named + 1):
        if any(_is_named_by(row, word, harmless) for row in rows) or _sets_program(word):
            return word
        following = words[at] if at < len(words) else ""
        if any(_names_code(row, word, following) for row in rows):
            return word
        if are_packages and not word.startswith("-") and not _is_package(word):
            return word
    if is_elsewhere:
        return ""
    strange = find_strange_path(
        words[named:],
        place,
        takes_addresses=any(row.addresses or row.is_offered for row in rows),
        has_at_signs=len(rows) > 1 and all(row.at_signs for row in rows[1:]),
    )
    return strange or ""


def iter_program_options(words: Sequence[str]) -> Iterator[str]:
    """Yield the options that name a program, its settings or its address, and what follows them."""
    rows = [load_stars()[_EVERY], *_iter_rows(words)]
    for word, following in pairwise((*words[1:], "")):
        if word.startswith("-") and any(row.only or _is_named_by(row, word) for row in rows):
            yield from (word, following)


def _get_list(program: str) -> Accepted | None:
    """Return the options and arguments that `*` covers of a program; None: all but some."""
    row = load_stars().get(_name(program))
    return None if row is None else row.only


def _is_listed(words: Sequence[str], named: int, place: Place) -> bool:
    """Whether the row of a program lists all arguments that the rule does not name."""
    row = _get_list(words[0])
    if row is None:
        return True
    # What follows an option that the rule names is its value, which the row may restrict further.
    last = words[named - 1] if named > 1 else ""
    given = words[named:]
    if last.startswith("-") and takes_value(row, last):
        given = words[named + 1 :] if has_form(row, last) else words[named - 1 :]
    paths: list[str] = []

    def is_readable(path: str) -> bool:
        paths.append(path)
        return place.is_readable(path)

    is_known = only_reads(
        replace(row, bundle=row.bundle and named == 1),
        given,
        frozenset(),
        is_readable,
    )
    return is_known and place.find_protected(paths) is None


def _find_strange_command(words: Sequence[str], start: int, named: int) -> str | None:
    """Return the command, or what precedes it, if a row with `covers` does not have it."""
    rows, name = load_stars(), _name(words[start])
    while (row := rows.get(name)) is not None and row.covers:
        start += 1
        if all(word.startswith("-") for word in words[start:]):
            return None
        while start < len(words) and words[start].startswith("-"):
            if start >= named and words[start] not in row.before and "=" not in words[start]:
                return words[start]  # its value may be the next word, or not
            has_value = start + 1 < named and "=" not in words[start]
            start += 1 + (has_value or words[start] in row.before)
        if start >= len(words):
            return None
        if start >= named and words[start] not in row.covers:
            return words[start]
        name = f"{name} {words[start]}"
    return None


def iter_prefixes(words: Sequence[str], is_own_file: IsOwnPath) -> Iterator[Sequence[str]]:
    """Yield the first words of a command that an offered rule with `*` may name.

    Whether such a rule covers the command is another question. `is_own_file`: whether a path is a
    file of the workspace.
    """
    row = _find_longest(words)[1]
    if row is not None and row.packages:
        return
    if (known := _find_known_prefix(words, is_own_file)) is not None:
        yield known
    for facet in ("reads", "changes"):
        row, rest = find_row(words, facet)
        if row is not None and row.is_for_rules and not row.runs_code:
            yield words[: len(words) - len(rest)]


def _find_known_prefix(
    words: Sequence[str], is_own_file: IsOwnPath, *, is_inner: bool = False
) -> Sequence[str] | None:
    size, row = _find_longest(words)
    arguments = words[size:]
    if row is None:
        is_script = "/" in words[0] and is_own_file(words[0])
        return words[: 1 + _count_verb(arguments)] if is_script else None
    if row.launches:
        if row.keeps is None or is_inner or not _is_program(arguments):
            return None
        inner = _find_known_prefix(arguments, is_own_file, is_inner=True)
        return None if inner is None else (*words[:size], *inner)
    if row.code:
        count = _count_code(arguments, is_own_file)
        return words[: size + count] if count else None
    if row.verbs:
        return words[: size + 1] if arguments[:1] and arguments[0] in row.verbs else None
    if row.keeps is None or len(arguments) < row.keeps:
        return None
    kept = arguments[: row.keeps]
    return words[: size + row.keeps] if all(map(_VERB.fullmatch, kept)) else None


def _is_program(words: Sequence[str]) -> bool:
    return bool(words) and not words[0].startswith("-") and "=" not in words[0]


def _count_code(arguments: Sequence[str], is_own_file: IsOwnPath) -> int:
    """Return how many arguments of an interpreter name a script or a module; 0: none does."""
    if arguments[:1] == ("-m",) and len(arguments) > 1:
        top = arguments[1].partition(".")[0]
        is_other = top.isidentifier() and top not in sys.stdlib_module_names
        return 2 if is_other and _VERB.fullmatch(arguments[1]) else 0
    if not arguments or arguments[0].startswith("-"):
        return 0
    is_script = _SCRIPT.search(arguments[0]) is not None and is_own_file(arguments[0])
    return 1 + _count_verb(arguments[1:]) if is_script else 0


def _count_verb(arguments: Sequence[str]) -> int:
    """Return 1 if the first argument of a script can be a command, as in `manage.py migrate`."""
    return int(bool(arguments) and _SCRIPT_VERB.fullmatch(arguments[0]) is not None)


def _find_longest(words: Sequence[str]) -> tuple[int, Star | None]:
    """Return the row for the first words of a command, and how many words it has."""
    rows, name = load_stars(), _name(words[0])
    if len(words) > 1 and (row := rows.get(f"{name} {words[1]}")) is not None:
        return 2, row
    return 1, rows.get(name)


def _iter_rows(words: Sequence[str]) -> Iterator[Star]:
    """Yield the rows of a program and of each of its arguments that can be a command of it."""
    rows, name = load_stars(), _name(words[0])
    own = rows.get(name)
    if own is not None and name != _EVERY:
        yield own
    operands = (word for word in words[1:] if not word.startswith("-"))
    first = tuple(islice(operands, _MAX_OPERANDS))
    named = (*first, *map(" ".join, pairwise(first)))
    yield from (rows[full] for each in named if (full := f"{name} {each}") in rows)
    if own is not None and own.bins:
        inner = (rows[each] for each in first[:1] if each in rows)
        yield from (row for row in inner if not row.launches)
    yield from (
        rows[full]
        for each in words[1:_MAX_OPERANDS]
        if each.startswith("--") and (full := f"{name} {each}") in rows
    )


def _name(program: str) -> str:
    """Return the name of a program without its path and its version."""
    name = program.rpartition("/")[2]
    return name if name in load_stars() else name.rstrip(_VERSION)


def _names_program(row: Star, named: Sequence[str]) -> bool:
    """Whether the words of a rule name the program that this one runs, if it runs one."""
    if not (row.launches or row.code):
        return True
    programs = [word for word in named if _PROGRAM.fullmatch(word)]
    return len(programs) >= row.needs or any(_is_named_by(row, word) for word in named)


def _is_named_by(row: Star, word: str, harmless: frozenset[str] = frozenset()) -> bool:
    if word in row.words or any(part in word for part in row.contains):
        return True
    if any(re.fullmatch(each, word, re.DOTALL) for each in row.matches):
        return True
    if not word.startswith("-") or word in ("-", "--"):
        return False
    name = word.lstrip("-").partition("=")[0]
    if row.long_only and (name in row.options or not _DANGEROUS_PARTS.isdisjoint(name.split("-"))):
        return True
    if word.startswith("--"):
        return _is_dangerous_name(row, name, harmless)
    return not row.long_only and _has_dangerous_letter(row, word[1:])


def _names_code(row: Star, word: str, following: str) -> bool:
    """Whether an option that takes a name, such as that of a reporter, has a path of code."""
    if not word.startswith("-") or not row.names:
        return False
    name, equals, value = word.lstrip("-").partition("=")
    if not word.startswith("--") and word[1:2] in row.names:
        return _PLAIN_NAME.fullmatch(word[2:].removeprefix("=") or following) is None
    is_known = any(_is_same(name, each) for each in row.names)
    return is_known and _PLAIN_NAME.fullmatch(value if equals else following) is None


def _is_same(name: str, option: str) -> bool:
    """Whether two options differ only in their style, as `setup-files` and `setupFiles`."""
    return name.replace("-", "").lower() == option.replace("-", "").lower()


def _is_dangerous_name(row: Star, written: str, harmless: frozenset[str]) -> bool:
    name = written.lower().replace("_", "-")
    outer = accumulate(name.split("."), "{}.{}".format)
    if any(_is_same(part, each) for part in outer for each in row.options):
        return True
    if name in harmless:
        return False
    can_be_short = row is not load_stars()[_EVERY] and len(name) >= _MIN_ABBREVIATION
    if can_be_short and any(each.startswith(name) and "." not in each for each in row.options):
        return True
    parts = _HUMP.sub("-", written).lower().split("-")
    return not name.startswith(_NEGATIONS) and not _DANGEROUS_PARTS.isdisjoint(parts)


def _has_dangerous_letter(row: Star, letters: str) -> bool:
    for letter in letters:
        if letter in row.letters:
            return True
        if letter in row.values:
            return False
    return False


def _sets_program(word: str) -> bool:
    """Whether an argument sets a variable that names a program, as in `make SHELL=./x`."""
    found = _ASSIGNMENT.match(word)
    return found is not None and (
        loads_programs(found[1]) or _PROGRAM_VARIABLE.fullmatch(found[1]) is not None
    )


def _is_package(word: str) -> bool:
    return _PACKAGE.fullmatch(word) is not None and not PACKAGE_ARCHIVE.fullmatch(word)
