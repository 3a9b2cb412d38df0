"""Files of permission rules.

    schema_version = 1
    deny = ["shell(git push*)"]           # in every workspace
    [[workspace]]
    path = "/home/me/project"             # the real path; tables with the same path are merged
    ask = ["edit_file(docs/**)"]
    [[workspace.allow]]                   # a rule with examples, which are checked
    rule = "shell(make test*)"
    match = ["make test", "make test -k a"]
    not_match = ["make deploy"]

A mistake never grants anything and never loses a denial. A rule of `allow` with a mistake is left
out. What a rule of `ask` or `deny` with a mistake was to prevent cannot be known, so every call of
its tool needs an approval; and if the tool cannot be read, every call of all tools.
"""

import re
from collections.abc import Iterator, Mapping
from datetime import datetime
from pathlib import Path
from typing import Any, Literal, TypeAlias, TypeGuard, get_args

import msgspec
from msgspec import Struct

from yourtool.effects import SubjectKind
from yourtool.errors import UsageError
from yourtool.foundation.files import read_small_file
from yourtool.foundation.suggestions import find_closest
from yourtool.permissions.examples import RuleExamples, covers_example
from yourtool.permissions.rules import (
    EVERY_TOOL,
    Rule,
    RuleSet,
    RuleSource,
    is_possible_tool,
)
from yourtool.settings.problems import Problem
from yourtool.settings.tables import is_table, parse_toml
from yourtool.settings.toml_places import Span, TomlPath, find_error_line, find_line, find_places

SCHEMA_VERSION = 1
MAX_BYTES = 2**20
"""Larger files are not read."""
RuleEffect: TypeAlias = Literal["allow", "ask", "deny"]
_EFFECTS = get_args(RuleEffect)
_RESTRICTION = re.compile(r"^[^#\n]*\b(?:ask|deny)\b", re.MULTILINE)


class RuleEntry(Struct, frozen=True, kw_only=True):
    """One rule of a file."""

    effect: RuleEffect
    rule: Rule
    workspace: str | None = None
    """The only workspace in which it applies; None: all."""
    examples: RuleExamples = RuleExamples()
    made_at: datetime | None = None
    session: str = ""
    """The session in which the user granted it."""
    path: TomlPath = ()
    """Where it is in the document."""
    line: int = 1


class RuleFile(Struct, frozen=True, kw_only=True):
    """The content of a file of rules."""

    file: Path
    entries: tuple[RuleEntry, ...] = ()
    """The rules that apply."""
    lost: tuple[RuleEntry, ...] = ()
    """Rules that ask, in place of those with mistakes."""
    problems: tuple[Problem, ...] = ()
    text: str = ""
    places: Mapping[TomlPath, Span] | None = None
    """The position of each rule in the text; None if the text is not valid TOML."""

    def rules(self, workspace: str) -> RuleSet:
        """Return the rules for one workspace, a real path."""
        here = [each for each in (*self.entries, *self.lost) if each.workspace in (None, workspace)]
        return RuleSet(
            *(tuple(each.rule for each in here if each.effect == name) for name in _EFFECTS)
        )


def read_rule_file(
    file: Path, kinds: Mapping[str, SubjectKind], source: RuleSource = RuleSource.USER
) -> RuleFile:
    """Read a file of rules; a missing one is empty.

    `kinds`: as for `Rule.parse`. Rules of a project apply to its workspace only and cannot allow.
    """
    try:
        text = read_small_file(file, MAX_BYTES).decode("utf-8-sig")
    except FileNotFoundError:
        return RuleFile(file=file, places={})
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is not UTF-8"
        return _unreadable(file, f"it cannot be read: {reason}", None, "deny")
    return parse_rule_file(file, text, kinds, source)


def parse_rule_file(
    file: Path,
    text: str,
    kinds: Mapping[str, SubjectKind],
    source: RuleSource = RuleSource.USER,
) -> RuleFile:
    """Parse the text of a rule file; takes the same arguments as `read_rule_file`."""
    try:
        document = parse_toml(text)
    except ValueError as error:
        line = find_error_line(error, text)
        return _unreadable(file, f"not TOML: {error}", line, text)
    if (version := document.pop("schema_version", SCHEMA_VERSION)) != SCHEMA_VERSION:
        return _unreadable(file, f"its `schema_version` is {version}, not 1", 1, "deny")
    return _Reading(file, text, kinds, source).read(document)


def _unreadable(file: Path, message: str, line: int | None, text: str) -> RuleFile:
    """Return a file without rules; without the words `ask` and `deny`, no denial can be lost."""
    is_lost = _RESTRICTION.search(text) is not None
    tail = "; until it is corrected, every call needs an approval" if is_lost else ""
    problem = Problem(where=str(file), line=line, message=f"{message}. It grants nothing{tail}")
    lost = (RuleEntry(effect="ask", rule=Rule(EVERY_TOOL)),) if is_lost else ()
    return RuleFile(file=file, lost=lost, problems=(problem,), text=text)


def _is_list(value: Any) -> TypeGuard[list[Any]]:
    return isinstance(value, list)


class _MistakeError(Exception):
    """A mistake in one rule."""


class _Reading:
    """Collects the rules and the mistakes of one document."""

    def __init__(
        self, file: Path, text: str, kinds: Mapping[str, SubjectKind], source: RuleSource
    ) -> None:
        self._file, self._text, self._kinds, self._source = file, text, kinds, source
        self._places = find_places(text)
        self._entries: list[RuleEntry] = []
        self._lost: list[RuleEntry] = []
        self._problems: list[Problem] = []

    def read(self, document: Mapping[str, Any]) -> RuleFile:
        tables = document.get("workspace", [])
        if self._source is RuleSource.PROJECT or "workspace" not in document:
            self._read_lists(document, (), None)
            return self._result()
        lists = {name: value for name, value in document.items() if name != "workspace"}
        self._read_lists(lists, (), None)
        if not _is_list(tables):
            self._lose(("workspace",), "must be `[[workspace]]` tables", None)
            tables = []
        for at, table in enumerate(tables):
            path: TomlPath = ("workspace", at)
            if not is_table(table) or not isinstance(table.get("path"), str):
                self._lose(path, "a workspace needs a `path`, a text", None)
                continue
            lists = {name: value for name, value in table.items() if name != "path"}
            self._read_lists(lists, path, table["path"])
        return self._result()

    def _result(self) -> RuleFile:
        return RuleFile(
            file=self._file,
            entries=tuple(self._entries),
            lost=tuple(self._lost),
            problems=tuple(self._problems),
            text=self._text,
            places=self._places,
        )

    def _read_lists(self, table: Mapping[str, Any], at: TomlPath, workspace: str | None) -> None:
        for effect in _EFFECTS:
            rules = table.get(effect, [])
            if not _is_list(rules):
                self._lose((*at, effect), "must be a list of rules", workspace, effect)
            elif rules and effect == "allow" and self._source is RuleSource.PROJECT:
                message = "is ignored: a file of a project can only ask and deny"
                self._report((*at, effect), message)
            else:
                for index, raw in enumerate(rules):
                    self._read_rule(effect, raw, (*at, effect, index), workspace)
        for name in table:
            if name not in _EFFECTS:
                nearest = find_closest(name, _EFFECTS)
                self._lose((*at, name), "there is no such key", workspace, nearest)

    def _read_rule(self, name: RuleEffect, raw: Any, path: TomlPath, workspace: str | None) -> None:
        text = raw.get("rule") if is_table(raw) else raw
        try:
            entry = self._build_entry(name, raw, path, workspace)
        except _MistakeError as error:
            self._mistake(name, text, str(error), path, workspace)
            return
        if (message := self._find_contradiction(entry)) is not None:
            self._mistake(name, text, message, path, workspace)
            if name == "allow":
                return
        elif self._kinds and not is_possible_tool(entry.rule.tool, self._kinds):
            self._report_unknown_tool(entry, path)
        self._entries.append(entry)

    def _build_entry(
        self, name: RuleEffect, raw: Any, path: TomlPath, workspace: str | None
    ) -> RuleEntry:
        try:
            written = msgspec.convert({"rule": raw} if isinstance(raw, str) else raw, _Written)
            rule = Rule.parse(written.rule, self._kinds, self._source)
        except (msgspec.ValidationError, UsageError) as error:
            raise _MistakeError(str(error)) from error
        return RuleEntry(
            effect=name,
            rule=rule,
            workspace=workspace,
            examples=RuleExamples(written.match, written.not_match),
            made_at=written.made_at,
            session=written.session,
            path=path,
            line=self._line(path),
        )

    def _find_contradiction(self, entry: RuleEntry) -> str | None:
        """Return how a rule differs from its examples; rules for unknown tools are not checked."""
        if (kind := self._kinds.get(entry.rule.tool)) is None:
            return None
        denies = entry.effect != "allow"
        for text in entry.examples.match:
            if not covers_example(entry.rule, kind, text, denies=denies):
                return f"`{entry.rule}` does not match `{text}`, an example in its `match`"
        for text in entry.examples.not_match:
            if covers_example(entry.rule, kind, text, denies=denies):
                return f"`{entry.rule}` matches `{text}`, an example in its `not_match`"
        return None

    def _mistake(
        self, name: RuleEffect, text: Any, message: str, path: TomlPath, workspace: str | None
    ) -> None:
        if name == "allow":
            self._report(path, f"{message}. This rule grants nothing")
        else:
            found = (
                re.match(r"\s*([A-Za-z][A-Za-z0-9_-]*)", text) if isinstance(text, str) else None
            )
            self._lose(path, message, workspace, name, found[1] if found else EVERY_TOOL)

    def _lose(
        self,
        path: TomlPath,
        message: str,
        workspace: str | None,
        nearest: str | None = None,
        tool: str = EVERY_TOOL,
    ) -> None:
        """Report a mistake; unless it is about an allowed call, ask where it may have denied."""
        if nearest == "allow":
            self._report(path, f"{message}. It grants nothing", nearest)
            return
        self._lost.append(RuleEntry(effect="ask", rule=Rule(tool), workspace=workspace))
        calls = "every call" if tool == EVERY_TOOL else f"every call of `{tool}`"
        self._report(path, f"{message}. Until it is corrected, {calls} needs an approval", nearest)

    def _report_unknown_tool(self, entry: RuleEntry, path: TomlPath) -> None:
        nearest = find_closest(entry.rule.tool, self._kinds)
        self._report(path, f"`{entry.rule}`: there is no tool `{entry.rule.tool}`", nearest)

    def _report(self, path: TomlPath, message: str, nearest: str | None = None) -> None:
        key = ".".join(str(part) for part in path if isinstance(part, str))
        hint = None if nearest in path else nearest
        self._problems.append(
            Problem(
                where=str(self._file), line=self._line(path), key=key, message=message, nearest=hint
            )
        )

    def _line(self, path: TomlPath) -> int:
        return find_line(self._places, path) or 1


class _Written(Struct, frozen=True, forbid_unknown_fields=True):
    """A rule as a table."""

    rule: str
    match: tuple[str, ...] = ()
    not_match: tuple[str, ...] = ()
    made_at: datetime | None = None
    session: str = ""


def iter_lines(entry: RuleEntry) -> Iterator[str]:
    """Yield the lines that store a rule, as tables."""
    table = entry.effect
    if entry.workspace is not None:
        yield "[[workspace]]"
        yield f"path = {_quote(entry.workspace)}"
        table = f"workspace.{entry.effect}"
    yield f"[[{table}]]"
    yield f"rule = {_quote(str(entry.rule))}"
    if entry.examples.match:
        yield f"match = {_quote_list(entry.examples.match)}"
    if entry.examples.not_match:
        yield f"not_match = {_quote_list(entry.examples.not_match)}"
    if entry.made_at is not None:
        yield f"made_at = {entry.made_at.isoformat(timespec='seconds')}"
    if entry.session:
        yield f"session = {_quote(entry.session)}"


def _quote(text: str) -> str:
    return msgspec.json.encode(text).decode()


def _quote_list(texts: tuple[str, ...]) -> str:
    return f"[{', '.join(map(_quote, texts))}]"
