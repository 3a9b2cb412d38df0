"""Options and arguments of programs.

`programs.toml` has the programs that only read, `writing_programs.toml` those that change files.
"""

import functools
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import dropwhile, takewhile
from pathlib import Path
from typing import Any, Literal, TypeAlias
from urllib.parse import unquote

import msgspec
from msgspec import Struct

from yourtool.git.config import may_be_secret
from yourtool.permissions.protected_places import is_protected
from yourtool.permissions.shell.lines.plain_commands import PLAIN_VARIABLE

Arguments: TypeAlias = Literal[
    "addresses", "any", "awk", "date", "downloads", "find", "jq", "none",
    "npm", "packages", "paths", "pattern", "printf", "remote", "revisions", "sed",
    "settings", "targets", "test", "text", "variables",
]  # fmt: skip
IsReadable: TypeAlias = Callable[[str], bool]
"""Whether a path may be read without an approval."""

READING, WRITING = "programs.toml", "writing_programs.toml"
_SED_PATTERN = r"(?:[^{end}\\\n\[]|\\.|\[\^?[\w .-]+\])*+"
_SED_TEXT = r"(?:[^{end}\\\n]|\\.)*+"
_SED_SUBSTITUTIONS = "|".join(
    f"s{end}{_SED_PATTERN.format(end=end)}{end}{_SED_TEXT.format(end=end)}{end}[gpiI\\d]*+"
    for end in ("/", r"\|", ",", "#", "@", ":")
)
_SED_ADDRESS = rf"(?:\d+|\$|/{_SED_PATTERN.format(end='/')}/)"
_SED_COMMAND = re.compile(
    rf"\s*(?:{_SED_ADDRESS}(?:,(?:\+?\d+|{_SED_ADDRESS}))?\s*)?!?"
    rf"(?:[pdDgGhHlnNPqQxz=]|{_SED_SUBSTITUTIONS})\s*(?:;|\n|\Z)"
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
_REMOTE = re.compile(r"\w[\w.-]*")
"""The name of a remote; git reads anything else as an address or a path."""
_PACKAGE = re.compile(r"(?:@\w[\w.~-]*/)?\w[\w.-]*(?:@[\w.^~<>=*-]+)?")
"""A package of a registry; the documentation of `npm install` has the other forms."""
PACKAGE_ARCHIVE = re.compile(r".*\.(?:tgz|tar|gz|bz2|xz|whl|zip)", re.IGNORECASE)
"""A package that is a file."""
_WEB_ADDRESS = re.compile(
    r"https?://\S+|(?!ftp\.|file\.|dict\.|ldap\.|imap\.|smtp\.|pop3\.)[\w.-]+(?::\d+)?(?:/\S*)?",
    re.IGNORECASE,
)
"""An address whose protocol is HTTP also where curl replaces braces, as in `{file}:///`."""
_TEST_WORD = re.compile(r"[\w./=!<>-]*|\(|\)|\]\]?")
_TEST_OPERATORS = frozenset({"-v", "-R", "-eq", "-ne", "-lt", "-le", "-gt", "-ge"})
"""Those that evaluate their arguments, as bash does."""

_SETTING = re.compile(r"[A-Za-z][A-Za-z0-9-]*\.(?:[^\n]*\.)?[A-Za-z][A-Za-z0-9-]*")
"""The name of a setting of git."""
_PATTERN_OPTIONS = ("e", "regexp", "expression")


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
    files: tuple[str, ...] = ()
    """Options, long ones or letters, whose values are paths."""
    numbers: bool = False
    response_files: bool = False
    """Whether the program replaces an argument or a value `@FILE` by what is in the file."""
    forms: Mapping[str, str] = {}
    """Regular expressions for the values of options, which match as a whole."""
    bundle: bool = False
    """Whether the first argument has letters of options also without a hyphen, as in `xzf`."""
    loads_code: bool = False
    """Whether it runs code of the workspace even with the options of this row."""
    runs_code: bool = False
    """Whether the program runs code of the workspace, and so never runs without a rule."""
    enters_submodules: bool = False
    """Whether git works in the submodules, too, with the settings that are there."""
    problem: str = ""
    """Why it needs an approval although it only reads; a predicate."""
    contained: bool = False
    """Whether the problem does not exist in a full sandbox."""
    needs: tuple[str, ...] = ()
    """Options; without each of them the program runs code of the workspace. Rules do not use the
    row, as they are about the program with any option."""

    @property
    def is_for_rules(self) -> bool:
        """Whether rules use the row: it is about all that the program can do."""
        return not (self.needs or self.problem)

    def is_free(self, words: Sequence[str]) -> bool:
        """Whether these arguments need no rule in a trusted workspace, if they only read."""
        if self.runs_code or not self.needs:
            return not self.runs_code
        given = read_arguments(self, words)
        return given is not None and any(each.lstrip("-") in given.names for each in self.needs)


class GivenArguments(Struct, frozen=True):
    """The options and the other arguments of a command."""

    options: tuple[tuple[str, str], ...]
    """Each without its hyphens, and its value."""
    every: tuple[str, ...]
    """The arguments that are no options."""

    @property
    def names(self) -> frozenset[str]:
        return frozenset(name for name, _ in self.options)

    @property
    def patterns(self) -> tuple[str, ...]:
        """The patterns or scripts in options."""
        return tuple(text for name, text in self.options if name in _PATTERN_OPTIONS)

    @property
    def paths(self) -> tuple[str, ...]:
        """The arguments of a program whose first one is a pattern, unless an option has it."""
        return self.every if self.patterns else self.every[1:]

    def get_values(self, name: str) -> tuple[str, ...]:
        return tuple(value for each, value in self.options if each == name)


@functools.cache
def load_programs(table: str = READING) -> Mapping[str, ProgramRow]:
    """Return the rows of a table by program, or by program and command."""
    text = Path(__file__).with_name(table).read_bytes()
    rows = msgspec.toml.decode(text, type=dict[str, ProgramRow])
    return {name: _with_inherited(row, rows) for name, row in rows.items()}


def find_row(words: Sequence[str], table: str = READING) -> tuple[ProgramRow | None, Sequence[str]]:
    """Return the row of a command, or None, and the words after the name."""
    rows = load_programs(table)
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
    if row.arguments == "any":
        return True
    if globs and row.arguments not in ("paths", "pattern", "text"):
        return False
    if row.arguments == "find":
        return _is_reading_find(row, words, is_readable)
    if row.arguments in ("test", "printf"):
        return _is_harmless_builtin(row.arguments, words)
    if (given := read_arguments(row, words)) is None:
        return False
    if not all(is_readable(value) for name, value in given.options if name in row.files):
        return False
    if row.response_files and any(
        text.startswith("@") for text in (*words, *(value for _, value in given.options))
    ):
        return False
    if not all(
        re.fullmatch(row.forms.get(name, ".*"), value, re.DOTALL) for name, value in given.options
    ):
        return False
    if not globs <= set(given.paths if row.arguments == "pattern" else given.every):
        return False  # names of files would be something else than paths
    return _are_harmless(row.arguments, given, is_readable)


def read_arguments(row: ProgramRow, words: Sequence[str]) -> "GivenArguments | None":
    """Return the options and arguments of a program; None if an option is not in the row."""
    words = _spread_bundle(row, words) if row.bundle else words
    passed = list(takewhile(lambda word: word != "--", words))
    rest = () if row.arguments == "npm" else tuple(words[len(passed) + 1 :])  # for the script
    operands: list[str] = []
    found: list[tuple[str, str]] = []
    options = iter(passed)
    for word in options:
        if not word.startswith("-") or word == "-":
            operands.append(word)
        elif (read := _read_options(row, word, options)) is None:
            return None
        else:
            found += read
    return GivenArguments(tuple(found), (*operands, *rest))


def _spread_bundle(row: ProgramRow, words: Sequence[str]) -> Sequence[str]:
    """Return words in which each letter of the first one is an option, followed by its value.

    The values are the next words: https://www.gnu.org/software/tar/manual/html_node/Old-Options.html
    """
    if not words or words[0].startswith("-"):
        return words
    values = iter(words[1:])
    spread: list[str] = []
    for letter in words[0]:
        spread.append(f"-{letter}")
        if letter in row.values:
            spread += [value for value in (next(values, None),) if value is not None]
    return [*spread, *values]


def _read_options(
    row: ProgramRow, word: str, following: Iterator[str]
) -> Sequence[tuple[str, str]] | None:
    """Return the options in a word with their values; None if one is not in the row."""
    if word.startswith("--"):
        name, equals, value = word[2:].partition("=")
        if equals:  # without it, the next word may be a value or an argument
            return [(name, value)] if name in row.option_values else None
        if name in row.separate:
            value = next(following, None)
            return None if value is None else [(name, value)]
        return [(name, "")] if name in row.options else None
    if row.numbers and word[1:].isdecimal():
        return []
    found: list[tuple[str, str]] = []
    for at, letter in enumerate(word[1:], 2):
        if letter in row.optional:
            return [*found, (letter, word[at:])]
        if letter in row.values:
            value = word[at:] or next(following, None)
            return None if value is None else [*found, (letter, value)]
        if letter not in row.flags:
            return None
        found.append((letter, ""))
    return found


def without_spelled(row: ProgramRow, words: Sequence[str], count: int) -> Sequence[str]:
    """Return words without those of the first `count` that the row refuses by themselves.

    These are what a rule names, such as `--exec` in `git rebase --exec*`.
    """
    named = (word for word in words[:count] if not _is_refused(row, word))
    return [*named, *words[count:]]


def takes_value(row: ProgramRow, option: str) -> bool:
    """Whether the row has an option, and its value is the next word."""
    following = iter(("",))
    return _read_options(row, option, following) is not None and next(following, None) is None


def has_form(row: ProgramRow, option: str) -> bool:
    """Whether the row restricts the value of an option, a long one or the last of some letters."""
    return (option[2:] if option.startswith("--") else option[-1]) in row.forms


def _is_refused(row: ProgramRow, word: str) -> bool:
    if word.startswith("-") and word not in ("-", "--"):
        return _read_options(row, word, iter(("",))) is None
    return row.arguments == "remote" and _REMOTE.fullmatch(word) is None


def _are_harmless(kind: Arguments, given: GivenArguments, is_readable: IsReadable) -> bool:
    every, patterns, paths = given.every, given.patterns, given.paths
    match kind:
        case "none":
            return not every
        case "text":
            return True
        case "variables":
            return all(map(PLAIN_VARIABLE.fullmatch, every))
        case "npm" | "targets":
            return all(map(_TARGET.fullmatch, every))
        case "packages":
            return all(
                _PACKAGE.fullmatch(word) and not PACKAGE_ARCHIVE.fullmatch(word) for word in every
            )
        case "addresses" | "downloads":
            addresses = all(map(_WEB_ADDRESS.fullmatch, every))
            return addresses and not (kind == "downloads" and any(map(_saves_protected, every)))
        case "remote":
            # git prefers a directory of this name to an unknown remote
            return not every or (_REMOTE.fullmatch(every[0]) is not None and is_readable(every[0]))
        case "settings":
            return len(every) <= 1 and all(map(_is_open_setting, every))
        case "date":
            return all(word.startswith("+") for word in every)
        case "revisions":
            return all(is_readable(part) for word in every for part in (word, *word.split(":")))
        case "sed" | "awk" | "jq" | "pattern":
            scripts = patterns or every[:1]
            is_harmless = _SCRIPTS.get(kind, bool)
            if kind == "pattern":
                return bool(scripts) and all(map(is_readable, paths))
            return bool(scripts) and all(map(is_harmless, scripts)) and all(map(is_readable, paths))
        case _:
            return all(is_readable(word) and "\n" not in word for word in every)


def _is_open_setting(key: str) -> bool:
    """Whether the value of a setting of git is no secret."""
    is_helper = key.lower().startswith("credential.")  # perhaps a script with a password
    return _SETTING.fullmatch(key) is not None and not (is_helper or may_be_secret(key))


def _saves_protected(address: str) -> bool:
    """Whether the name of a downloaded file, which is that in its address, is protected."""
    return is_protected(unquote(address.partition("#")[0]))


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
    return inherited | own if isinstance(own, (bool, dict)) else inherited + own


def _without_refused(row: ProgramRow) -> ProgramRow:
    remaining = str.maketrans("", "", row.refused)
    return msgspec.structs.replace(
        row, flags=row.flags.translate(remaining), values=row.values.translate(remaining)
    )
