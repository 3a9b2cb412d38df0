"""What a command runs that is known to run another one, such as `timeout 60 make test`."""

import re
from collections.abc import Sequence

from msgspec.structs import replace

from yourtool.permissions.shell.place import Place
from yourtool.permissions.shell.plain import PlainCommand
from yourtool.permissions.shell.syntax import Word

MODULES = frozenset(
    {
        "black", "build", "coverage", "flake8", "isort", "mypy", "nox", "pylint", "pyright",
        "pytest", "ruff", "tox", "unittest",
    }
)  # fmt: skip
"""Python modules that are programs of the same name."""
_DURATION = re.compile(r"\d+(?:\.\d+)?[smhd]?")
_SIGNAL = re.compile(r"[A-Z0-9]+")
_OPTIONS = frozenset({"--foreground", "--preserve-status", "--verbose", "-v"})


def unwrap(command: PlainCommand, place: Place) -> PlainCommand | None:
    """Return the command that a wrapper such as `timeout` runs; None without a wrapper."""
    words = command.words
    start = find_inner_start(command.texts)
    if list(command.texts[:2]) == ["git", "--no-pager"]:
        return replace(command, words=(words[0], *words[2:]))
    if words[0].text in ("python", "python3") and len(words) > 2 and words[1].text == "-m":
        name = words[2].text
        if any(variable.startswith("PYTHON") for variable, _ in command.variables):
            return None
        if name not in MODULES or words[2].is_glob or place.replaces_module(name):
            return None
        return replace(command, words=(Word(name), *words[3:]))
    if start is None or start >= len(words) or any(word.is_glob for word in words[:start]):
        return None
    inner = replace(command, words=words[start:])
    return unwrap(inner, place) or inner


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
