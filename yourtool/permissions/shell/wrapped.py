"""Commands inside others, as in `timeout 60 make`."""

import re
from collections.abc import Iterator, Sequence

from msgspec.structs import replace

from yourtool.permissions.shell.lines.plain import PlainCommand
from yourtool.permissions.shell.lines.syntax import Word
from yourtool.permissions.shell.place import Place
from yourtool.permissions.shell.programs.table import find_module, load_programs

_PYTHONS = ("python", "python3")
_TOOL = re.compile(r"(?:\A|/)(?:\.?venv/bin|node_modules/\.bin)/[\w.-]+\Z")
"""A program that a package of the project contains."""
_MAX_WRAPPERS = 4
_MIN_ENTERING = 4
"""Words of `git -C DIRECTORY COMMAND`."""
_DURATION = re.compile(r"\d+(?:\.\d+)?[smhd]?")
_SIGNAL = re.compile(r"[A-Z0-9]+")
_OPTIONS = frozenset({"--foreground", "--preserve-status", "--verbose", "-v"})


def unwrap(command: PlainCommand, place: Place) -> PlainCommand | None:
    """Return the command that a wrapper such as `timeout` runs; None without a wrapper."""
    words = command.words
    start = find_inner_start(command.texts)
    if list(command.texts[:2]) == ["git", "--no-pager"]:
        return replace(command, words=(words[0], *words[2:]))
    if words[0].text in _PYTHONS and len(words) > 2 and words[1].text == "-m":
        name = words[2].text
        if any(variable.startswith("PYTHON") for variable, _ in command.variables):
            return None
        program = find_module(name)
        if not program or words[2].is_glob or place.replaces_module(name):
            return None
        return replace(command, words=(Word(program), *words[3:]))
    if start is None or start >= len(words) or any(word.is_glob for word in words[:start]):
        return None
    inner = replace(command, words=words[start:])
    return unwrap(inner, place) or inner


def enter_git(command: PlainCommand, place: Place) -> tuple[PlainCommand, Place] | None:
    """Return the command of `git -C DIRECTORY`, and the place where it runs; None: not one.

    A redirection is to a file of the first place, so a command with one has no other.
    """
    words = command.words
    if list(command.texts[:2]) != ["git", "-C"] or len(words) < _MIN_ENTERING or command.files:
        return None
    if words[2].is_glob or (inside := place.enter(words[2].text)) is None:
        return None
    return replace(command, words=(words[0], *words[3:])), inside


def iter_meanings(command: PlainCommand, place: Place) -> Iterator[PlainCommand]:
    """Yield a command, the one that it runs as a wrapper, and both with the bare name of a tool.

    `.venv/bin/ruff check` is `ruff check` for rules, but never for what needs no rule.
    """
    yield command
    for _ in range(_MAX_WRAPPERS):
        inner = _name_tool(command, place) or unwrap(command, place)
        if inner is None:
            return
        yield inner
        command = inner


def _name_tool(command: PlainCommand, place: Place) -> PlainCommand | None:
    """Return a command with the bare name of its program, a tool that the project installed."""
    first, *rest = command.words
    name = first.text.rpartition("/")[2]
    row = load_programs().get(name)
    if row is None or not row.tool or _TOOL.search(first.text) is None:
        return None
    if not place.has_tool(first.text):
        return None
    return replace(command, words=(Word(name), *rest))


def find_inner_start(words: Sequence[str]) -> int | None:
    """Return where the command of `timeout` starts."""
    if words[0] != "timeout":
        return None
    at = 1
    while at < len(words) and words[at].startswith("-"):
        if words[at] in ("-k", "-s"):
            at += 1
            pattern = _DURATION if words[at - 1] == "-k" else _SIGNAL
            if at == len(words) or pattern.fullmatch(words[at]) is None:
                return None
        elif words[at] not in _OPTIONS:
            return None
        at += 1
    return at + 1 if at < len(words) and _DURATION.fullmatch(words[at]) else None
