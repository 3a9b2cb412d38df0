"""Reading of options and arguments."""

import functools
import re
from collections.abc import Callable, Container, Iterator, Mapping, Sequence
from itertools import dropwhile, takewhile
from typing import TypeAlias
from urllib.parse import unquote

from msgspec import Struct

from yourtool.git.config import may_be_secret
from yourtool.permissions.protected_places import is_protected
from yourtool.permissions.shell.lines.plain_commands import PLAIN_VARIABLE
from yourtool.permissions.shell.programs.table import Accepted, Arguments, Program

IsReadable: TypeAlias = Callable[[str], bool]
"""Whether a path may be read without an approval."""

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


def only_reads(
    row: Accepted, words: Sequence[str], globs: frozenset[str], is_readable: IsReadable
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


def read_arguments(row: Accepted, words: Sequence[str]) -> "GivenArguments | None":
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


def get_valued(row: Program) -> frozenset[str]:
    """Return the options of a program with a value in the next word, with their hyphens."""
    accepted = row.changes or row.reads or Accepted()
    letters = (f"-{each}" for each, kind in get_kinds(accepted).items() if kind == ":")
    long = (f"--{each[:-1]}" for each in accepted.options if each.endswith(":"))
    return frozenset((*letters, *long, *row.values))


def split_arguments(
    words: Sequence[str], valued: Container[str]
) -> tuple[Sequence[int], Sequence[int]]:
    """Return the positions of options and of other arguments; also for programs without a row.

    `valued`: the options with a value in the next word.
    """
    options, operands, at = list[int](), list[int](), 0
    while at < len(words):
        if words[at] == "--":
            operands += range(at + 1, len(words))
            break
        is_option = words[at].startswith("-") and words[at] != "-"
        (options if is_option else operands).append(at)
        at += 2 if words[at] in valued else 1
    return options, operands


def is_free(row: Accepted, words: Sequence[str]) -> bool:
    """Whether these arguments need no rule in a trusted workspace, if they only read."""
    if row.runs_code or not row.needs:
        return not row.runs_code
    given = read_arguments(row, words)
    return given is not None and any(each.lstrip("-") in given.names for each in row.needs)


def get_kinds(row: Accepted) -> Mapping[str, str]:
    """Return the marks of short options by letter."""
    return _split_letters("".join(row.letters))


@functools.cache
def _split_letters(letters: str) -> Mapping[str, str]:
    return {each[0]: each[1:] for each in re.findall(r".:{0,2}", letters)}


def _spread_bundle(row: Accepted, words: Sequence[str]) -> Sequence[str]:
    """Return words in which each letter of the first one is an option, followed by its value.

    The values are the next words: https://www.gnu.org/software/tar/manual/html_node/Old-Options.html
    """
    if not words or words[0].startswith("-"):
        return words
    values = iter(words[1:])
    spread: list[str] = []
    for letter in words[0]:
        spread.append(f"-{letter}")
        if get_kinds(row).get(letter) == ":":
            spread += [value for value in (next(values, None),) if value is not None]
    return [*spread, *values]


def _read_options(
    row: Accepted, word: str, following: Iterator[str]
) -> Sequence[tuple[str, str]] | None:
    """Return the options in a word with their values; None if one is not in the row."""
    if word.startswith("--"):
        name, equals, value = word[2:].partition("=")
        if equals:  # without it, the next word may be a value or an argument
            is_known = f"{name}=" in row.options or f"{name}:" in row.options
            return [(name, value)] if is_known else None
        if f"{name}:" in row.options:
            value = next(following, None)
            return None if value is None else [(name, value)]
        return [(name, "")] if name in row.options and not name.endswith(":") else None
    if row.numbers and word[1:].isdecimal():
        return []
    kinds, found = get_kinds(row), list[tuple[str, str]]()
    for at, letter in enumerate(word[1:], 2):
        match kinds.get(letter):
            case "::":
                return [*found, (letter, word[at:])]
            case ":":
                value = word[at:] or next(following, None)
                return None if value is None else [*found, (letter, value)]
            case "":
                found.append((letter, ""))
            case _:
                return None
    return found


def without_spelled(row: Accepted, words: Sequence[str], count: int) -> Sequence[str]:
    """Return words without those of the first `count` that the row refuses by themselves.

    These are what a rule names, such as `--exec` in `git rebase --exec*`.
    """
    named = (word for word in words[:count] if not _is_refused(row, word))
    return [*named, *words[count:]]


def takes_value(row: Accepted, option: str) -> bool:
    """Whether the row has an option, and its value is the next word."""
    following = iter(("",))
    return _read_options(row, option, following) is not None and next(following, None) is None


def has_form(row: Accepted, option: str) -> bool:
    """Whether the row restricts the value of an option, a long one or the last of some letters."""
    return (option[2:] if option.startswith("--") else option[-1]) in row.forms


def _is_refused(row: Accepted, word: str) -> bool:
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


def _is_reading_find(row: Accepted, words: Sequence[str], is_readable: IsReadable) -> bool:
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
