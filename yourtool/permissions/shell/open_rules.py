"""Rules with `*`: what they never cover, and which of them are offered; `open_rules.toml`.

A `*` covers no option or argument that names a program, the settings of one, or the address of one.
A rule that names such an option itself covers it.
"""

import functools
import re
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import islice
from pathlib import Path
from typing import TypeAlias

import msgspec
from msgspec import Struct

from yourtool.permissions.shell.programs import PACKAGE_ARCHIVE, READING, WRITING, find_row
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
_ASSIGNMENT = re.compile(r"-{0,2}D?([A-Z_][A-Z0-9_]*)(?::\w+)?=")
_ADDRESS = re.compile(
    r"(?<![a-z0-9+.-])[a-z0-9+.-]+:(?:/|:)|git\+|(?<![\w.-])[\w.-]+@[\w.-]+:", re.IGNORECASE
)
_PACKAGE = re.compile(r"(?:@\w[\w.~-]*/)?\w[\w.-]*(?:\[[\w,.-]+\])?(?:[@<>=!~][\w.^~<>=*,! -]*)?")
_VERB = re.compile(r"\w[\w:.@-]*(?:/[\w:.@-]+)*")
_SCRIPT = re.compile(r"[./]")
_PROGRAM = re.compile(r"[A-Za-z_./][^=]*")
_SCRIPT_VERB = re.compile(r"[a-z][a-z:_-]*")
_VERSION = "0123456789.-"


class OpenRow(Struct, forbid_unknown_fields=True):
    """One row of the table, whose comment describes the fields."""

    same_as: str = ""
    letters: str = ""
    values: str = ""
    options: frozenset[str] = frozenset()
    harmless: frozenset[str] = frozenset()
    words: frozenset[str] = frozenset()
    contains: tuple[str, ...] = ()
    long_only: bool = False
    addresses: bool = False
    packages: bool = False
    keeps: int | None = None
    verbs: frozenset[str] = frozenset()
    launches: bool = False
    code: bool = False
    needs: int = 1

    @property
    def is_offered(self) -> bool:
        """Whether rules with `*` are offered for it."""
        return self.keeps is not None or bool(self.verbs)


IsOwnPath: TypeAlias = Callable[[str], bool]
"""Whether a path leads into the workspace."""


@functools.cache
def _load_rows() -> Mapping[str, OpenRow]:
    text = Path(__file__).with_name("open_rules.toml").read_bytes()
    rows = msgspec.toml.decode(text, type=dict[str, OpenRow])
    return {name: rows[row.same_as] if row.same_as else row for name, row in rows.items()}


def find_risk(named: int, words: Sequence[str], is_inside: IsOwnPath) -> str:
    """Return the first argument that no `*` covers, or an empty text.

    `named`: how many of the words the rule names.
    """
    rows = [_load_rows()[_EVERY], *_iter_rows(words)]
    for start in range(1, named) if any(row.launches or row.code for row in rows) else ():
        rows += _iter_rows(words[start:])
    if not all(_names_program(row, words[1:named]) for row in rows):
        return words[named] if named < len(words) else words[0]
    rows = [row for row in rows if not (row.launches or row.code)]
    harmless = frozenset[str]().union(*(row.harmless for row in rows))
    checks_paths = any(row.addresses or row.is_offered for row in rows)
    are_packages = any(row.packages for row in rows)
    for word in words[named:]:
        if any(_is_named_by(row, word, harmless) for row in rows) or _sets_program(word):
            return word
        if checks_paths and _leads_elsewhere(word, is_inside):
            return word
        if are_packages and not word.startswith("-") and not _is_package(word):
            return word
    return ""


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
    for table in (READING, WRITING):
        row, rest = find_row(words, table)
        if row is not None and not (row.needs or row.runs_code):
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


def _find_longest(words: Sequence[str]) -> tuple[int, OpenRow | None]:
    """Return the row for the first words of a command, and how many words it has."""
    rows, name = _load_rows(), _name(words[0])
    if len(words) > 1 and (row := rows.get(f"{name} {words[1]}")) is not None:
        return 2, row
    return 1, rows.get(name)


def _iter_rows(words: Sequence[str]) -> Iterator[OpenRow]:
    """Yield the rows of a program and of each of its arguments that can be a command of it."""
    rows, name = _load_rows(), _name(words[0])
    if name in rows and name != _EVERY:
        yield rows[name]
    operands = (word for word in words[1:] if not word.startswith("-"))
    first = islice(operands, _MAX_OPERANDS)
    yield from (rows[full] for each in first if (full := f"{name} {each}") in rows)
    yield from (
        rows[full]
        for each in words[1:_MAX_OPERANDS]
        if each.startswith("--") and (full := f"{name} {each}") in rows
    )


def _name(program: str) -> str:
    """Return the name of a program without its path and its version."""
    name = program.rpartition("/")[2]
    return name if name in _load_rows() else name.rstrip(_VERSION)


def _names_program(row: OpenRow, named: Sequence[str]) -> bool:
    """Whether the words of a rule name the program that this one runs, if it runs one."""
    if not (row.launches or row.code):
        return True
    programs = [word for word in named if _PROGRAM.fullmatch(word)]
    return len(programs) >= row.needs or any(_is_named_by(row, word) for word in named)


def _is_named_by(row: OpenRow, word: str, harmless: frozenset[str] = frozenset()) -> bool:
    """Whether a row names an argument as dangerous."""
    if word in row.words or any(part in word for part in row.contains):
        return True
    if not word.startswith("-") or word in ("-", "--"):
        return False
    name = word.lstrip("-").partition("=")[0]
    if row.long_only and name in row.options:
        return True
    if word.startswith("--"):
        return _is_dangerous_name(row, name.lower().replace("_", "-"), harmless)
    return not row.long_only and _has_dangerous_letter(row, word[1:])


def _is_dangerous_name(row: OpenRow, name: str, harmless: frozenset[str]) -> bool:
    if name in row.options:
        return True
    if name in harmless:
        return False
    can_be_short = row is not _load_rows()[_EVERY] and len(name) >= _MIN_ABBREVIATION
    if can_be_short and any(each.startswith(name) for each in row.options):
        return True
    return not name.startswith(_NEGATIONS) and not _DANGEROUS_PARTS.isdisjoint(name.split("-"))


def _has_dangerous_letter(row: OpenRow, letters: str) -> bool:
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


def _leads_elsewhere(word: str, is_inside: IsOwnPath) -> bool:
    """Whether an argument is an address, or a path that leads out of the workspace."""
    value = word.partition("=")[2]
    parts = {word, value, word[2:]} if word.startswith("-") else {word, value}
    return any(
        _ADDRESS.match(part) is not None
        or (("/" in part or part.startswith(("~", ".."))) and not is_inside(part))
        for part in filter(None, parts)
    )


def _is_package(word: str) -> bool:
    return _PACKAGE.fullmatch(word) is not None and not PACKAGE_ARCHIVE.fullmatch(word)
