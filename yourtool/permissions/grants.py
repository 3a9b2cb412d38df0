"""Permissions of one workspace.

The user's are in `permissions.toml`, outside every workspace. A project can have its own file,
`.yourtool/permissions.toml`, whose rules can only ask and deny; it is read without trust, because
it restricts only.
"""

import re
from collections import Counter
from collections.abc import Mapping
from datetime import UTC, datetime
from itertools import takewhile
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

from yourtool.effects import SubjectKind
from yourtool.errors import ConfigError
from yourtool.foundation.files import path_exists, real_path, replace_file
from yourtool.permissions.examples import RuleExamples, build_examples
from yourtool.permissions.rule_file import (
    SCHEMA_VERSION,
    RuleEntry,
    RuleFile,
    iter_lines,
    parse_rule_file,
    read_rule_file,
)
from yourtool.permissions.rules import Rule, RuleSet, RuleSource
from yourtool.settings.problems import Problem

FILE_NAME = "permissions.toml"
PROJECT_FILE = Path(".yourtool", FILE_NAME)
_COMMA = re.compile(r"[ \t]*,[ \t]*")
_HEADER = re.compile(r"\[\[workspace\]\]\npath = [^\n]*\n\s*")
"""A table of a workspace without rules in its lists."""


class StoredRules(Struct, frozen=True):
    """The stored rules that apply to a workspace."""

    rules: RuleSet
    problems: tuple[Problem, ...] = ()


class Removal(Struct, frozen=True):
    """A rule that was removed, and the text of the file before and after."""

    entry: RuleEntry
    before: str
    after: str


class Grants:
    """The permissions of one workspace."""

    def __init__(
        self,
        file: Path,
        workspace: Path,
        kinds: Mapping[str, SubjectKind],
        session: str = "",
    ) -> None:
        """`kinds`: as for `Rule.parse`. `session`: noted in the rules that are added."""
        self.file = file
        self.kinds = kinds
        self._session = session
        self._root = real_path(workspace)

    @property
    def workspace(self) -> str:
        """The real path of the workspace."""
        return str(self._root)

    def read(self) -> RuleFile:
        """Return the content of the user's file."""
        return read_rule_file(self.file, self.kinds)

    def read_project(self) -> RuleFile:
        """Return the content of the project's file; nothing if it is the user's own."""
        file = self._root / PROJECT_FILE
        try:
            if path_exists(self.file) and file.samefile(self.file):
                return RuleFile(file=file)
        except OSError:
            pass  # missing or unreadable, which the next line reports
        return read_rule_file(file, self.kinds, RuleSource.PROJECT)

    def load(self) -> StoredRules:
        """Return the active rules and the mistakes in the files."""
        files = self.read(), self.read_project()
        rules = files[0].rules(self.workspace) | files[1].rules(self.workspace)
        return StoredRules(rules, tuple(problem for each in files for problem in each.problems))

    def add(self, rule: Rule) -> None:
        """Append an allow rule for this workspace; the existing text of the file is preserved.

        Raises:
            ConfigError: the file is invalid or cannot be written.
        """
        if any(each == rule for each in self.read().rules(self.workspace).allow):
            return
        kind = self.kinds.get(rule.tool)
        entry = RuleEntry(
            effect="allow",
            rule=rule,
            workspace=self.workspace,
            examples=RuleExamples() if kind is None else build_examples(rule, kind),
            made_at=datetime.now(UTC).replace(microsecond=0),
            session=self._session,
        )
        add_entry(self.file, entry, self.kinds)


def add_entry(file: Path, entry: RuleEntry, kinds: Mapping[str, SubjectKind]) -> None:
    """Append a rule to the user's file.

    Raises:
        ConfigError: the file is invalid or cannot be written.
    """
    before = _read_valid(file, kinds)
    text = before.text or f"schema_version = {SCHEMA_VERSION}\n"
    text += "" if text.endswith("\n") else "\n"
    text += "\n" + "".join(f"{line}\n" for line in iter_lines(entry))
    _store(file, text, (*before.entries, entry), kinds)


def remove_entry(file: Path, entry: RuleEntry, kinds: Mapping[str, SubjectKind]) -> Removal:
    """Remove a rule from the user's file; the rest of its text is preserved.

    Raises:
        ConfigError: the file is invalid or cannot be written, or the rule is not in it.
    """
    before = _read_valid(file, kinds)
    wanted = _without_place(entry)
    same = [each for each in before.entries if _without_place(each) == wanted]
    found = entry if entry in same else next(iter(same), None)
    if found is None:
        raise ConfigError(f"`{entry.rule}` is not in `{file}`")
    start, end = _find_extent(before, found)
    rest = tuple(each for each in before.entries if each.path != found.path)
    text = before.text[:start] + before.text[end:]
    _store(file, text, rest, kinds)
    return Removal(found, before.text, text)


def undo_removal(file: Path, removal: Removal, kinds: Mapping[str, SubjectKind]) -> None:
    """Put a removed rule back into its place.

    Raises:
        ConfigError: the file has changed since, or cannot be written.
    """
    present = _read_valid(file, kinds)
    if present.text != removal.after:
        raise ConfigError(f"`{file}` has changed since; add `{removal.entry.rule}` to it yourself")
    _store(file, removal.before, (*present.entries, removal.entry), kinds)


def _find_extent(file: RuleFile, entry: RuleEntry) -> tuple[int, int]:
    """Return the part of the text to remove with a rule."""
    text, places = file.text, file.places or {}
    if (place := places.get(entry.path)) is None:
        raise _unusual(file.file)
    start, end = place.start, place.end
    if not text[start:].lstrip(" \t").startswith("["):
        comma = _COMMA.match(text, end)
        return start, comma.end() if comma else end
    owner = places.get(entry.path[:2])
    if (
        entry.workspace
        and owner
        and owner.end == end
        and _HEADER.fullmatch(text, owner.start, start)
    ):
        start = owner.start
    lines = text[start:end].splitlines(keepends=True)
    end -= sum(map(len, takewhile(_is_comment, reversed(lines))))
    return start - text.endswith("\n\n", 0, start), end


def _is_comment(line: str) -> bool:
    """Whether a line is empty or a comment, which belongs to what follows."""
    return line.endswith("\n") and line.strip(" \t\n")[:1] in ("", "#")


def _without_place(entry: RuleEntry) -> RuleEntry:
    return replace(entry, path=(), line=0)


def _read_valid(file: Path, kinds: Mapping[str, SubjectKind]) -> RuleFile:
    found = read_rule_file(file, kinds)
    if found.places is None:
        raise ConfigError(str(found.problems[0]))
    return found


def _unusual(file: Path) -> ConfigError:
    return ConfigError(f"`{file}` was not changed, because its form is unusual; edit it yourself")


def _store(
    file: Path, text: str, entries: tuple[RuleEntry, ...], kinds: Mapping[str, SubjectKind]
) -> None:
    """Store a new text, unless it does not contain exactly these rules."""
    stored = parse_rule_file(file, text, kinds).entries
    if Counter(map(_without_place, stored)) != Counter(map(_without_place, entries)):
        raise _unusual(file)
    try:
        file.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        replace_file(file, text.encode())
    except OSError as error:
        raise ConfigError(
            f"the permission could not be stored in `{file}`: {error.strerror}"
        ) from error
