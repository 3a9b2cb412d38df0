"""Command patterns in permission rules.

`FOO=1 make test` is the command with that assignment, and `make test > out.txt` the one with that
redirection. Harmless assignments, and redirections such as `2>&1`, need no rule. `printf * > *` are
all its writes to files of the workspace.
"""

import functools
import re
from collections.abc import Sequence

from msgspec import Struct

from yourtool.permissions.shell.lines.joined_lines import join_lines
from yourtool.permissions.shell.lines.plain import PlainCommand, Redirection, parse_plain

EVERY_WRITE = " * > *"
"""End of a rule about the writes of a program that reads or prints."""

_HARMLESS_VARIABLES = frozenset(
    {
        "CARGO_TERM_COLOR", "CI", "CLICOLOR", "CLICOLOR_FORCE", "CMAKE_BUILD_PARALLEL_LEVEL",
        "COLUMNS", "CTEST_OUTPUT_ON_FAILURE", "CTEST_PARALLEL_LEVEL", "FORCE_COLOR", "GOMAXPROCS",
        "LANG", "LC_ALL", "LC_CTYPE", "LC_MESSAGES", "NO_COLOR", "OMP_NUM_THREADS",
        "PYTHONDONTWRITEBYTECODE", "PYTHONUNBUFFERED", "PY_COLORS", "RUST_BACKTRACE",
        "RUST_TEST_THREADS", "TERM", "TZ",
    }
)  # fmt: skip
"""They change colours, languages, buffers and numbers of threads in every program."""
_HARMLESS_VALUE = re.compile(r"[\w.@+-]*")
"""No path: a language, for example, can be the path of a file."""
_TIME_ZONE = re.compile(r"\w+(?:/[\w+-]+)*")
_VARIABLE_OF_LOADERS = re.compile(
    r"(?:LD|DYLD|GIT|GCONV|GLIBC|BASH|NPM_CONFIG|RUSTC|CARGO|JDK|PERL|RUBY|LUA|LESS)_?\w*"
    r"|NODE_(?:OPTIONS|PATH)|_?JAVA_\w+|PATH|HOME|XDG_\w+|TMPDIR|SHELL\w*|ENV|IFS|PS\d|PROMPT_COMMAND|CDPATH|PAGER|EDITOR"
    r"|VISUAL|BROWSER"
    r"|MAKEFLAGS|MAKEFILES|PYTHON(?:HOME|STARTUP|INSPECT|BREAKPOINT|PLATLIBDIR|USERBASE)",
    re.IGNORECASE,
)
"""Variables that make many programs load or run what they name; no rule with one is offered."""


class CommandSpec(Struct, frozen=True):
    """The first words of the commands that a rule is about."""

    words: tuple[str, ...]
    """Without quotes; at least one."""
    is_open: bool
    """Whether further arguments can follow."""
    variables: tuple[tuple[str, str], ...] = ()
    """The assignments before the command. Only rules that allow compare them."""
    files: tuple[Redirection, ...] = ()
    """The redirections to and from files. Only rules that allow compare them."""
    writes: bool = False
    """Whether it is about what a reading program writes to any files of the workspace."""

    def matches(self, words: Sequence[str]) -> bool:
        """Return whether these are the first words of a command, or all of them."""
        first = tuple(words[: len(self.words)])
        return first == self.words and (self.is_open or len(words) == len(self.words))

    def permits_files(self, files: Sequence[Redirection]) -> bool:
        """Whether a command has just the redirections of the spec."""
        if self.writes:
            return bool(files) and not any(each.is_input for each in files)
        return self.files == tuple(files)

    def permits(self, variables: Sequence[tuple[str, str]]) -> bool:
        """Whether a command sets just the variables of the spec, and perhaps harmless ones."""
        set_as_written = all(each in variables for each in self.variables)
        return set_as_written and find_strong(variables) == find_strong(self.variables)


def find_strong(variables: Sequence[tuple[str, str]]) -> tuple[tuple[str, str], ...]:
    """Return the assignments that may change what a command does, in their order."""
    return tuple((name, value) for name, value in variables if not _is_harmless(name, value))


def _is_harmless(name: str, value: str) -> bool:
    pattern = _TIME_ZONE if name == "TZ" else _HARMLESS_VALUE
    return name in _HARMLESS_VARIABLES and pattern.fullmatch(value) is not None


def loads_programs(variable: str) -> bool:
    """Whether a variable makes programs run or load others, so that no rule is offered."""
    return _VARIABLE_OF_LOADERS.fullmatch(variable) is not None


@functools.lru_cache(maxsize=1_000)
def parse_spec(spec: str) -> CommandSpec | None:
    """Parse a spec; None if it is not a single command of literal words."""
    line = spec.removesuffix(EVERY_WRITE if (writes := spec.endswith(EVERY_WRITE)) else "*")
    commands = parse_plain(line)
    if len(commands) != 1 or commands[0].timing or join_lines(line) != line:
        return None
    if commands[0].before or any(word.source for word in commands[0].words):
        return None
    if commands[0].redirections != commands[0].files:
        return None
    command, is_open = commands[0], spec.endswith("*")
    if any(word.is_glob for word in command.words) or (command.files and is_open):
        return None
    if writes and command.files:
        return None
    return CommandSpec(command.texts, is_open, command.variables, command.files, writes)


def build_spec(command: PlainCommand) -> CommandSpec:
    """Return the narrowest spec for a command."""
    variables = find_strong(command.variables)
    return CommandSpec(command.texts, is_open=False, variables=variables, files=command.files)
