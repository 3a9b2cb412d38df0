"""Deny rules for commands.

All commands of the syntax tree are checked: bodies of loops, substitutions, arguments of wrappers
such as `env` and `xargs`, and code for shells. What cannot be read without running it, such as
`$program`, is unclear, and an unclear line needs an approval in every mode.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from enum import IntEnum
from itertools import dropwhile, islice, pairwise

from yourtool.permissions.globs import matches_glob
from yourtool.permissions.shell.lines.commands import (
    Command,
    Glob,
    Words,
    iter_commands,
    iter_quoted_code,
)
from yourtool.permissions.shell.lines.syntax import is_gapless, is_misread, parse
from yourtool.permissions.shell.open_rules import iter_program_options
from yourtool.permissions.shell.programs.table import can_run, find_launched, is_fed, is_known
from yourtool.permissions.shell.specs import CommandSpec

_MAX_DEPTH = 8
"""Lines in arguments of lines, as in `bash -c "bash -c …"`."""

_CONTINUATION = re.compile(r"(?<!\\)((?:\\\\)*+)\\\n")
"""A line continuation: a backslash that is not escaped, and a line end."""
_INPUTS = frozenset({"-", "/dev/stdin"})
_FILE_PATTERN = re.compile(r"\.[a-z]\w*$")
"""Such as `*.py`: no interpreter or wrapper has such a name."""
_NAME = re.compile(r"[\w.+-]+")


class Denial(IntEnum):
    """Whether deny rules cover a line; the higher outcome of two commands is that of both."""

    NONE = 0
    UNCLEAR = 1
    DENIED = 2


def find_denial(specs: Sequence[CommandSpec], line: str) -> Denial:
    """Return whether one of the specs covers a command in the line."""
    forbidden: dict[str, list[CommandSpec]] = {}
    for spec in specs:
        forbidden.setdefault(_program_name(spec.words[0]), []).append(spec)
    return _Check(forbidden).line(line, depth=0) if forbidden else Denial.NONE


class _Check:
    def __init__(self, forbidden: Mapping[str, Sequence[CommandSpec]]) -> None:
        self._forbidden = forbidden

    def line(self, line: str, depth: int) -> Denial:
        # In single quotes and comments, line continuations have no effect.
        readings = {line, _CONTINUATION.sub(r"\1", line)}
        return max(self._reading(reading, depth) for reading in readings)

    def _reading(self, line: str, depth: int) -> Denial:
        if depth > _MAX_DEPTH or (root := parse(line, may_be_misread=True)) is None:
            return Denial.UNCLEAR
        is_understood = not root.has_error and is_gapless(root, line) and not is_misread(root, line)
        outcome = Denial.NONE if is_understood else Denial.UNCLEAR
        for command in iter_commands(root, line):
            found = Denial.UNCLEAR if command is None else self._command(command, depth)
            outcome = max(outcome, found)
        return max(outcome, self._mention(list(iter_quoted_code(root))))

    def _command(self, command: Command, depth: int) -> Denial:
        words = [None if isinstance(word, Glob) else word for word in command.words]
        if not words or (program := words[0]) is None:
            return Denial.UNCLEAR
        name = _program_name(program)
        outcomes = [self._at(words, 0), self._evaluated(name, words, command.inputs)]
        first = 1 if name.startswith("ld-") else find_launched(words)
        if first is not None:
            outcomes += [self._at(command.words, start) for start in range(first, len(words))]
            outcomes.append(self._code((name, *words[first:]), depth))
            inner = dropwhile(lambda word: not can_run(word or "", "code"), words[first:])
            outcomes.append(self._mention([*inner][1:]))
        elif not is_known(name):
            outcomes.append(self._argument(words))
        if can_run(name, "shell"):
            outcomes += [self.line(text, depth + 1) for text in command.inputs]
        if can_run(name, "code"):
            outcomes.append(self._mention((*words[1:], *command.inputs)))
        return max(outcomes)

    def _evaluated(self, name: str, words: Words, inputs: Sequence[str]) -> Denial:
        """Return whether arguments may be code that cannot be read here."""
        known = [word for word in words[1:] if word is not None]
        if can_run(name, "command", "shell") and _reads_input_as_code(words):
            return Denial.UNCLEAR
        if can_run(name, "shell", "file") and (
            len(known) < len(words) - 1
            or any(word.startswith(("/dev/", "/proc/")) for word in known)
        ):
            return Denial.UNCLEAR
        if name == "env" and any(re.match(r"-\w*S|--s", word) for word in known):
            return self._mention([re.sub(r"^-\w*?S|\\_", " ", word) for word in known])
        if is_fed(name) and any(can_run(word.lower(), "command", "shell") for word in known):
            return Denial.UNCLEAR  # the arguments of a wrapper come from standard input
        if not inputs and _reads_input(name, known):
            return Denial.UNCLEAR
        if can_run(name, "subscripts"):
            return self._mention(known)
        is_launched = find_launched(words) is not None
        mentioned = [] if is_launched else list(iter_program_options([name, *known]))
        if can_run(name, "lines"):
            mentioned += [word for word in known if re.search(r"[\s=!]", word)]
        return self._mention(mentioned)

    def _at(self, words: Words, start: int) -> Denial:
        if (word := words[start]) is None:
            return Denial.UNCLEAR
        if isinstance(word, Glob):
            pattern = _program_name(word)
            is_file = _FILE_PATTERN.search(pattern) is not None and "[" not in pattern
            may_be = not is_file or any(matches_glob(pattern, name) for name in self._forbidden)
            return Denial.UNCLEAR if may_be else Denial.NONE
        specs = self._forbidden.get(_program_name(word), ())
        return max(
            (_match(spec, islice(words, start + 1, None)) for spec in specs), default=Denial.NONE
        )

    def _code(self, words: Words, depth: int) -> Denial:
        """Check the arguments that can be command lines."""
        known = [word for word in words[1:] if word is not None]
        aliases = [word.partition("=")[2] for word in known if "=" in word]
        outcomes = [self._at([alias], 0) for alias in aliases if alias]
        texts = {text for word in known for text in (word, word.partition("=")[2])}
        if words[0] == "eval":
            texts.add(" ".join(known))
        lines = [text for text in texts if re.search(r"[\s;&|()`$]", text)]
        outcomes += [self.line(text, depth + 1) for text in lines]
        return max(outcomes, default=Denial.NONE)

    def _argument(self, words: Words) -> Denial:
        """Check the arguments of an unknown program, which may run what they name."""
        found = (self._at(words, at) for at in range(1, len(words)) if words[at] is not None)
        lines = [word for word in words[1:] if word is not None and re.search(r"\s", word)]
        return Denial.UNCLEAR if Denial.DENIED in found else self._mention(lines)

    def _mention(self, words: Words) -> Denial:
        """Return whether code in another language names a denied program."""
        for word in words:
            if word is None or not self._forbidden.keys().isdisjoint(_NAME.findall(word.lower())):
                return Denial.UNCLEAR
        return Denial.NONE


def _reads_input_as_code(words: Words) -> bool:
    """Whether a wrapper can start a shell without code, which reads it from standard input."""
    shells = [at for at, word in enumerate(words) if word and can_run(word.lower(), "shell")]
    if not shells:
        return False
    after = words[shells[-1] + 1 :]
    return len(shells) > 1 or all(word and word.startswith("-") for word in after)


def _reads_input(name: str, arguments: Sequence[str]) -> bool:
    """Whether a program runs what it reads from its input."""
    if can_run(name, "input"):
        return not arguments or not _INPUTS.isdisjoint(arguments)
    files = (word for option, word in pairwise(arguments) if re.fullmatch(r"-\w*f|--file", option))
    return can_run(name, "code") and not _INPUTS.isdisjoint(files)


def _match(spec: CommandSpec, arguments: Iterable[str | None]) -> Denial:
    """Compare arguments; options and their values may stand between the words of the spec."""
    states = {(1, False)}  # how many words were found, and whether an option was just read
    size = len(spec.words)
    for word in arguments:
        if spec.is_open and any(found == size for found, _ in states):
            return Denial.DENIED
        waiting = [(found, after) for found, after in states if found < size]
        if not waiting:
            return Denial.NONE
        if word is None or isinstance(word, Glob):
            return Denial.UNCLEAR
        states = {(found + 1, False) for found, _ in waiting if word == spec.words[found]}
        if word.startswith("-"):
            states |= {(found, True) for found, _ in waiting}
        else:
            states |= {(found, False) for found, after in waiting if after}
    return Denial.DENIED if any(found == size for found, _ in states) else Denial.NONE


def _program_name(word: str) -> str:
    """Return the name in lower case, because file systems of macOS ignore case."""
    return word.rpartition("/")[2].lower()
