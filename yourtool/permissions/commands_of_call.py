"""Questions of decisions about the commands of a call; each looks at the files once."""

import os
from collections.abc import Sequence
from pathlib import Path

from yourtool.effects import Subject
from yourtool.permissions.credential_files import find_named_credential
from yourtool.permissions.findings import Findings
from yourtool.permissions.shell import canonical, plain, writes


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


def find_protected_write(subjects: Sequence[Subject], findings: Findings) -> str | None:
    """Return a protected place that one of the commands writes to, or None."""
    commands = [each for each in subjects if each.kind == "command"]
    if not commands:
        return None
    return findings.get("protected_write", lambda: _look_for_protected_write(commands))


def _look_for_protected_write(commands: Sequence[Subject]) -> str | None:
    found = (writes.find_protected_write(each.text, Path(each.directory)) for each in commands)
    return next((place for place in found if place is not None), None)
