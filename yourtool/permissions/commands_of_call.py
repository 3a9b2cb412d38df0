"""Checks of the commands of a call.

Decisions use them; each check looks at the files once.
"""

import os
from collections.abc import Sequence
from itertools import chain
from pathlib import Path

from yourtool.effects import Subject
from yourtool.permissions.configured_places import Protection
from yourtool.permissions.credential_files import find_named_credential
from yourtool.permissions.findings import Findings
from yourtool.permissions.shell import canonical, writes
from yourtool.permissions.shell.lines import plain

_SEPARATOR = "\0"
"""Between places, because it is in no name of a file."""
_MAX_PLACES = 100
_MAX_NAMED = 3
"""Places that a reason names."""


def find_credential(subjects: Sequence[Subject]) -> str | None:
    """Return a file with credentials that one of the commands names, or None."""
    lines = (each.text for each in subjects if each.kind == "command")
    return next(filter(None, map(find_named_credential, lines)), None)


def find_runnable(command: Subject, findings: Findings) -> tuple[str | None, str | None]:
    """Return what runs in place of a command, or why one of its programs is not safe."""
    problem = findings.get("unsafe_program", lambda: _find_canonical(command)[1])
    if problem is not None:
        return None, problem
    return findings.get("runs", lambda: _find_canonical(command)[0]), None


def _find_canonical(command: Subject) -> tuple[str | None, str | None]:
    search_path = canonical.build_search_path(os.environ, Path(command.directory))
    try:
        return canonical.build_canonical_line(plain.parse_plain(command.text), search_path), None
    except canonical.UnsafeProgramError as error:
        return None, str(error)


def find_protected_writes(
    subjects: Sequence[Subject], findings: Findings, *, is_compared: bool
) -> tuple[str, ...]:
    """Return the protected places that the commands write to.

    `is_compared`: as for `iter_protected_writes`.
    """
    commands = [each for each in subjects if each.kind == "command"]
    if not commands:
        return ()
    found = findings.get(
        "protected_write",
        lambda: _look_for_protected_writes(commands, is_compared=is_compared),
        about="compared" if is_compared else "",
    )
    return () if found is None else tuple(found.split(_SEPARATOR))


def _look_for_protected_writes(commands: Sequence[Subject], *, is_compared: bool) -> str | None:
    found = chain.from_iterable(
        writes.iter_protected_writes(each.text, Path(each.directory), is_compared=is_compared)
        for each in commands
    )
    return _SEPARATOR.join(tuple(dict.fromkeys(found))[:_MAX_PLACES]) or None


def describe_protected_writes(
    places: Sequence[str], subjects: Sequence[Subject], findings: Findings
) -> str:
    """Return the first protected places that commands write to; of a single one, also the cause."""
    first, *others = (f"`{each}`" for each in places)
    if not others:
        cause = _find_cause(places[0], subjects, findings)
        return f"it writes to {first}, a protected place" + (f": {cause}" if cause else "")
    shown = [first, *others][:_MAX_NAMED]
    last = f"{more:,} more" if (more := len(places) - len(shown)) else shown.pop()
    return f"it writes to the protected places {', '.join(shown)} and {last}"


def _find_cause(place: str, subjects: Sequence[Subject], findings: Findings) -> str | None:
    directory = Path(next(each.directory for each in subjects if each.kind == "command"))
    return findings.get(
        "protected_write", lambda: Protection(directory).find_cause(place), about="cause"
    )
