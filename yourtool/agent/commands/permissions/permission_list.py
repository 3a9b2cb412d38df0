"""List of all permission rules.

The rules are those of all files and of a session; each has its source, last use and coverage.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from pathlib import Path

from msgspec import Struct

from yourtool.agent.history.stored_decisions import RuleUse
from yourtool.effects import SubjectKind
from yourtool.foundation.amounts import format_age
from yourtool.messages.message import now
from yourtool.permissions.examples import RuleExamples, build_examples
from yourtool.permissions.rule_file import RuleEffect, RuleEntry, RuleFile
from yourtool.permissions.rules import (
    EVERY_TOOL,
    HOST_RULE,
    RULES_OF_SESSION,
    Rule,
    RuleSet,
    RuleSource,
)
from yourtool.permissions.trust import CONTAINED_COMMANDS, TrustStore

_OF_HOSTS = "all commands in the sandbox, whichever asked for it"


class Permission(Struct, frozen=True, kw_only=True):
    """One rule of the list."""

    effect: RuleEffect
    rule: str
    workspace: str | None
    """None: every workspace."""
    source: RuleSource
    file: str | None = None
    """None: the rule is not stored."""
    line: int | None = None
    made_at: datetime | None = None
    session: str = ""
    last_used: datetime | None = None
    covers: tuple[str, ...] = ()
    does_not_cover: tuple[str, ...] = ()

    @property
    def origin(self) -> str:
        """Where it is from."""
        match self.source:
            case RuleSource.OPTION:
                return "command line"
            case RuleSource.SESSION:
                return "this session"
            case RuleSource.SETTINGS:
                return "a mistake in config.toml"
            case RuleSource.USER | RuleSource.PROJECT:
                return f"{self.file}:{self.line}" if self.line is not None else str(self.file)

    @property
    def facts(self) -> tuple[tuple[str, str], ...]:
        """Labels and texts that describe it."""
        made = "" if self.made_at is None else f"{self.made_at.astimezone():%Y-%m-%d %H:%M}"
        of_session = f" in {self.session}" if self.session else ""
        used = "never" if self.last_used is None else format_age(now() - self.last_used)
        rows = (
            ("applies in", self.workspace or "every workspace"),
            ("applies to", _OF_HOSTS if self.rule.startswith(f"{HOST_RULE}(") else ""),
            ("from", self.origin),
            ("granted", f"{made}{of_session}" if made else ""),
            ("last used", used),
            ("covers", "\n".join(self.covers)),
            ("not", "\n".join(self.does_not_cover)),
        )
        return tuple(row for row in rows if row[1])


class PermissionLister:
    """Builds the list; `kinds` as for `Rule.parse`."""

    def __init__(self, kinds: Mapping[str, SubjectKind], uses: Mapping[RuleUse, datetime]) -> None:
        self._kinds = kinds
        self._uses = uses

    def of_file(
        self, found: RuleFile, workspace: str, entries: Sequence[RuleEntry] | None = None
    ) -> Iterator[Permission]:
        """Yield the rules of a file; `workspace`: where the rules of a project apply."""
        for entry in found.entries if entries is None else entries:
            is_project = entry.rule.source is RuleSource.PROJECT
            where = workspace if is_project else entry.workspace
            examples = self._examples(entry.rule, entry.effect)
            yield Permission(
                effect=entry.effect,
                rule=str(entry.rule),
                workspace=where,
                source=entry.rule.source,
                file=str(found.file),
                line=entry.line,
                made_at=entry.made_at,
                session=entry.session,
                last_used=self._last_use(entry.rule, where),
                covers=examples.match,
                does_not_cover=examples.not_match,
            )

    def of_session(self, rules: RuleSet, workspace: str) -> Iterator[Permission]:
        """Yield the rules that are not stored in a file."""
        lists: Iterable[tuple[RuleEffect, tuple[Rule, ...]]] = (
            ("allow", rules.allow),
            ("ask", rules.ask),
            ("deny", rules.deny),
        )
        for effect, listed in lists:
            for rule in listed:
                if rule.source in RULES_OF_SESSION:
                    examples = self._examples(rule, effect)
                    yield Permission(
                        effect=effect,
                        rule=str(rule),
                        workspace=workspace,
                        source=rule.source,
                        last_used=self._last_use(rule, workspace),
                        covers=examples.match,
                        does_not_cover=examples.not_match,
                    )

    def of_folders(self, store: TrustStore) -> Iterator[Permission]:
        """Yield the folders whose commands need no approval in the sandbox.

        Raises:
            ConfigError: the file is invalid.
        """
        for folder in store.load_contained():
            yield Permission(
                effect="allow",
                rule=CONTAINED_COMMANDS,
                workspace=folder.path,
                source=RuleSource.USER,
                file=str(store.file),
                made_at=folder.allowed_at,
                last_used=self._last_contained(Path(folder.path)),
                covers=("every command that stays in the full sandbox, without a network",),
                does_not_cover=(
                    "protected places, credential files, uncommitted work,"
                    " and what rules deny or ask about",
                ),
            )

    def _last_contained(self, folder: Path) -> datetime | None:
        used = (
            at
            for use, at in self._uses.items()
            if use.rule == CONTAINED_COMMANDS and Path(use.workspace).is_relative_to(folder)
        )
        return max(used, default=None)

    def _examples(self, rule: Rule, effect: RuleEffect) -> RuleExamples:
        kind = self._kinds.get(rule.tool)
        if kind is None or rule.tool == EVERY_TOOL:
            return RuleExamples()
        if kind == "opaque":
            return RuleExamples(match=(f"every call of {rule.tool}",))
        return build_examples(rule, kind, denies=effect != "allow")

    def _last_use(self, rule: Rule, workspace: str | None) -> datetime | None:
        text = str(rule)
        if workspace is not None:
            return self._uses.get(RuleUse(text, workspace))
        return max((at for use, at in self._uses.items() if use.rule == text), default=None)


def find_removable(found: RuleFile, wanted: str) -> tuple[RuleEntry, ...]:
    """Return the rules of the user's file with this text or on this line."""
    return tuple(
        each
        for each in found.entries
        if str(each.rule) == wanted or (wanted.isdecimal() and each.line == int(wanted))
    )
