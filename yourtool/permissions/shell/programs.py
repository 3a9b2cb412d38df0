"""What reading programs accept, from `programs.toml`: options, and what their arguments are."""

import functools
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import dropwhile, takewhile
from pathlib import Path
from typing import Any, Literal, TypeAlias

import msgspec
from msgspec import Struct

Arguments: TypeAlias = Literal[
    "awk", "date", "find", "jq", "none", "npm", "paths", "pattern", "printf", "revisions", "sed",
    "targets", "test", "text",
]  # fmt: skip
IsReadable: TypeAlias = Callable[[str], bool]
"""Whether a path may be read without an approval."""

_SED_COMMAND = re.compile(
    r"""\s*(?:(?:\d+|\$|/(?:[^/\\\n\[]|\\.)*+/)(?:,(?:\+?\d+|\$|/(?:[^/\\\n\[]|\\.)*+/))?\s*)?!?
    (?:[pdDgGhHlnNPqQxz=]|s/(?:[^/\\\n\[]|\\.)*+/(?:[^/\\\n\[]|\\.)*+/[gpiI\d]*+)\s*(?:;|\n|\Z)""",
    re.VERBOSE,
)
"""https://www.gnu.org/software/sed/manual/sed.html, without what runs, reads or writes files."""
_AWK_PROGRAM = re.compile(r"""[\w\s${},;()+*/%.:"'=!~&?\[\]^\\#-]*""")
_AWK_ACTIONS = re.compile(
    r"\b(?:system|getline|close|fflush|extension|ENVIRON|PROCINFO|ARGV|SYMTAB|FUNCTAB)\b"
)
_JQ_ACTIONS = re.compile(r"(?<![.\w])(?:env|ENV|import|include|modulemeta)\b")
"""What reads the environment or other files: https://jqlang.github.io/jq/manual/."""
_STORING_CONVERSION = re.compile(r"%[-+ #'0-9.*]*[hjlLqtz]*n")
"""bash's `printf %n` sets a variable."""
_TARGET = re.compile(r"\w[\w./:-]*")
_TEST_WORD = re.compile(r"[\w./=!<>-]*|\(|\)")
_TEST_OPERATORS = frozenset({"-v", "-R", "-eq", "-ne", "-lt", "-le", "-gt", "-ge"})
"""Those that evaluate their arguments, as bash does."""


class ProgramRow(Struct, forbid_unknown_fields=True):
    """One row of the table."""

    arguments: Arguments = "none"
    same_as: str = ""
    flags: str = ""
    values: str = ""
    optional: str = ""
    refused: str = ""
    options: tuple[str, ...] = ()
    option_values: tuple[str, ...] = ()
    tests: tuple[str, ...] = ()
    separate: tuple[str, ...] = ()
    """Options of `option_values` that always have a value, which may be the next word."""
    numbers: bool = False
    response_files: bool = False
    """Whether the program replaces an argument `@FILE` by the words in the file."""
    loads_code: bool = False
    """Whether it runs code of the workspace even with the options of this row."""
    runs_code: bool = False
    """Whether the program runs code of the workspace, and so never runs without a rule."""
    needs: tuple[str, ...] = ()
    """Options; without each of them the program runs code of the workspace. Rules do not use the
    row, as they are about the program with any option."""

    def is_free(self, words: Sequence[str]) -> bool:
        """Whether these arguments need no rule in a trusted workspace, if they only read."""
        return not self.runs_code and (
            not self.needs or any(option in words for option in self.needs)
        )


@functools.cache
def load_programs() -> Mapping[str, ProgramRow]:
    """Return the rows by program, or by program and command."""
    text = Path(__file__).with_name("programs.toml").read_bytes()
    rows = msgspec.toml.decode(text, type=dict[str, ProgramRow])
    return {name: _with_inherited(row, rows) for name, row in rows.items()}


def find_row(words: Sequence[str]) -> tuple[ProgramRow | None, Sequence[str]]:
    """Return the row of a command, or None, and the words after the name."""
    rows = load_programs()
    for size in (3, 2):
        if (row := rows.get(" ".join(words[:size]))) is not None:
            return row, words[size:]
    return rows.get(words[0]), words[1:]


def only_reads(
    row: ProgramRow, words: Sequence[str], globs: frozenset[str], is_readable: IsReadable
) -> bool:
    """Return whether a program with these options and arguments only reads what it may read.

    `globs`: the words that the shell replaces with names of files.
    """
    if globs and row.arguments not in ("paths", "pattern"):
        return False
    if row.arguments == "find":
        return _is_reading_find(row, words, is_readable)
    if row.arguments in ("test", "printf"):
        return _is_harmless_builtin(row.arguments, words)
    passed = list(takewhile(lambda word: word != "--", words))
    rest = list(words[len(passed) + 1 :])
    if row.arguments == "npm":
        rest = []  # for the script
    operands: list[str] = []
    patterns: list[str] = []
    options = iter(passed)
    for word in options:
        if not word.startswith("-") or word == "-":
            operands.append(word)
        elif (option := _read_option(row, word, options)) is None:
            return False
        elif option[0] in ("e", "regexp", "expression"):
            patterns.append(option[1])
    if row.response_files and any(word.startswith("@") for word in words):
        return False
    if not globs <= {*operands[0 if patterns or row.arguments == "paths" else 1 :], *rest}:
        return False  # names of files would be something else than paths
    return _are_harmless(row.arguments, operands, rest, patterns, is_readable)


def _read_option(row: ProgramRow, word: str, following: Iterator[str]) -> tuple[str, str] | None:
    """Return an option with a value, and the value; None if an option is not in the row."""
    if word.startswith("--"):
        name, equals, value = word[2:].partition("=")
        if equals:  # without it, the next word may be a value or an argument
            return (name, value) if name in row.option_values else None
        if name in row.separate:
            value = next(following, None)
            return None if value is None else (name, value)
        return (name, "") if name in row.options else None
    if row.numbers and word[1:].isdecimal():
        return "", ""
    for at, letter in enumerate(word[1:], 2):
        if letter in row.optional:
            return letter, word[at:]
        if letter in row.values:
            value = word[at:] or next(following, None)
            return None if value is None else (letter, value)
        if letter not in row.flags:
            return None
    return "", ""


def _are_harmless(
    kind: Arguments,
    operands: list[str],
    rest: list[str],
    patterns: list[str],
    is_readable: IsReadable,
) -> bool:
    every = [*operands, *rest]
    match kind:
        case "none":
            return not every
        case "text":
            return True
        case "npm" | "targets":
            return all(map(_TARGET.fullmatch, every))
        case "date":
            return all(word.startswith("+") for word in every)
        case "revisions":
            return all(is_readable(part) for word in every for part in (word, *word.split(":")))
        case "sed" | "awk" | "jq" | "pattern":
            scripts, paths = (patterns, every) if patterns else (every[:1], every[1:])
            is_harmless = _SCRIPTS.get(kind, bool)
            if kind == "pattern":
                return bool(scripts) and all(map(is_readable, paths))
            return bool(scripts) and all(map(is_harmless, scripts)) and all(map(is_readable, paths))
        case _:
            return all(map(is_readable, every))


def _is_reading_sed(script: str) -> bool:
    at = 0
    while at < len(script):
        if (command := _SED_COMMAND.match(script, at)) is None:
            return False
        at = command.end()
    return True


def _is_reading_awk(program: str) -> bool:
    return _AWK_PROGRAM.fullmatch(program) is not None and _AWK_ACTIONS.search(program) is None


def _is_reading_jq(script: str) -> bool:
    return _JQ_ACTIONS.search(script) is None


_SCRIPTS: Mapping[Arguments, Callable[[str], bool]] = {
    "awk": _is_reading_awk,
    "jq": _is_reading_jq,
    "sed": _is_reading_sed,
}
"""Whether a script only reads the files in the arguments."""


def _is_reading_find(row: ProgramRow, words: Sequence[str], is_readable: IsReadable) -> bool:
    starts = list(takewhile(lambda word: not word.startswith(("-", "(", "!")), words))
    return all(map(is_readable, starts)) and all(
        not word.startswith("-") or word[1:] in row.tests or word[1:].isdecimal()
        for word in words[len(starts) :]
    )


def _is_harmless_builtin(kind: Arguments, words: Sequence[str]) -> bool:
    if kind == "printf":
        template = next(dropwhile(lambda word: word == "--", words), "-")
        return (
            template[:1] != "-" and _STORING_CONVERSION.search(template.replace("%%", "")) is None
        )
    return _TEST_OPERATORS.isdisjoint(words) and all(map(_TEST_WORD.fullmatch, words))


def _with_inherited(row: ProgramRow, rows: Mapping[str, ProgramRow]) -> ProgramRow:
    if not row.same_as:
        return _without_refused(row)
    base = _with_inherited(rows[row.same_as], rows)
    merged = {name: _merge(getattr(base, name), getattr(row, name)) for name in _INHERITED}
    arguments = base.arguments if row.arguments == "none" else row.arguments
    needs = base.needs or row.needs
    return _without_refused(
        ProgramRow(**merged, arguments=arguments, needs=needs, refused=row.refused)
    )


_INHERITED = frozenset(ProgramRow.__struct_fields__) - {"arguments", "same_as", "refused", "needs"}
"""Fields that a row has in addition to those of the row that it is the same as."""


def _merge(inherited: Any, own: Any) -> Any:
    return inherited or own if isinstance(own, bool) else inherited + own


def _without_refused(row: ProgramRow) -> ProgramRow:
    remaining = str.maketrans("", "", row.refused)
    return msgspec.structs.replace(
        row, flags=row.flags.translate(remaining), values=row.values.translate(remaining)
    )
