"""Routing rules in `routing.toml`.

    schema_version = 1
    global_default = "sonnet"
    [tiers]                                # all three, or none
    fast = "haiku"
    balanced = "sonnet"
    deep = "opus"
    [[rules]]
    name = "proofs"
    when = { message_matches = "(?i)prove" }
    use = "deep"                           # a tier, an alias or the id of a model
    [workspaces."/home/me/project"]        # in the user's file only
    default = "haiku"
    [[workspaces."/home/me/project".rules]]
    when = { has_images = true }
    use = "sonnet"

A file with a mistake is not used at all, and every mistake is reported with its line. The rules of
a directory come first, then those of the project's own file, then those for every directory.
"""

import hashlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, TypeAlias, TypeGuard

from msgspec import Struct
from msgspec.structs import replace

from yourtool.errors import UnknownModelError
from yourtool.foundation.suggestions import find_closest
from yourtool.foundation.text import printable
from yourtool.messages.blocks import canonical_json
from yourtool.routing.predicates import (
    AllOf,
    Condition,
    ConditionError,
    CountTokens,
    TurnInput,
    describe,
    holds,
    iter_tests,
    parse_condition,
    restore_condition,
    to_table,
)
from yourtool.settings.problems import Problem
from yourtool.settings.tables import format_key, is_table, parse_toml
from yourtool.settings.toml_places import TomlPath, find_error_line, find_line, find_places

FILE_NAME = "routing.toml"
SCHEMA_VERSION = 1
TIERS = ("fast", "balanced", "deep")
MAX_RULES = 1_000
MAX_NAME = 60
MAX_BYTES = 2**20
"""Larger files are not read."""
_KEYS = ("schema_version", "global_default", "tiers", "rules", "workspaces")
_PROJECT_KEYS = ("schema_version", "default", "tiers", "rules")
_WORKSPACE_KEYS = ("default", "tiers", "rules")
_RULE_KEYS = ("name", "when", "use")

ResolveModel: TypeAlias = Callable[[str], str]
"""Returns the id of a model by id or alias; raises an UnknownModelError."""


class Rule(Struct, frozen=True, kw_only=True):
    """One rule of a file."""

    name: str
    when: Condition
    model: str
    """The id of its model."""
    condition: str
    """`when` in one line."""
    written: str
    """`use`, as written."""
    where: str
    """The file."""
    line: int


class RuleSection(Struct, frozen=True, kw_only=True):
    """Rules with a default and tiers, whose models are ids."""

    default: str | None = None
    tiers: Mapping[str, str] = {}
    rules: tuple[Rule, ...] = ()


class PolicyFile(Struct, frozen=True, kw_only=True):
    """The content of a file without mistakes."""

    general: RuleSection = RuleSection()
    workspaces: Mapping[str, RuleSection] = {}
    warnings: tuple[Problem, ...] = ()
    """Rules that cannot have an effect."""


class Policy(Struct, frozen=True, kw_only=True):
    """The rules for one directory, in the order in which they are tried."""

    rules: tuple[Rule, ...] = ()
    workspace_default: str | None = None
    global_default: str | None = None

    @property
    def version(self) -> str:
        """A digest of what it decides; empty if it decides nothing."""
        document = self.to_document()
        return hashlib.sha256(canonical_json(document)).hexdigest()[:16] if document else ""

    def to_document(self) -> dict[str, Any]:
        """Return what it decides as a value for JSON; empty if it decides nothing."""
        fields: dict[str, Any] = {
            "rules": [
                {"name": each.name, "when": to_table(each.when), "use": each.model}
                for each in self.rules
            ],
            "workspace_default": self.workspace_default,
            "global_default": self.global_default,
        }
        return {name: value for name, value in fields.items() if value}

    @classmethod
    def from_document(cls, document: Mapping[str, Any]) -> "Policy":
        """Return the rules that `to_document` returned as a value.

        Raises:
            ConditionError: another version stored a condition that this one does not have.
        """
        return cls(
            rules=tuple(map(_restore_rule, document.get("rules", ()))),
            workspace_default=document.get("workspace_default"),
            global_default=document.get("global_default"),
        )

    @property
    def predicates(self) -> frozenset[str]:
        """The names of the predicates in its conditions."""
        return frozenset(test.kind.name for rule in self.rules for test in iter_tests(rule.when))

    def matching(
        self, turn: TurnInput, count_tokens: Callable[[str], CountTokens]
    ) -> Iterator[Rule]:
        """Yield the rules that hold for a turn, in order.

        `count_tokens`: by the id of a model.
        """
        return (each for each in self.rules if holds(each.when, turn, count_tokens(each.model)))


def _restore_rule(stored: Mapping[str, Any]) -> Rule:
    condition, model = restore_condition(stored["when"]), stored["use"]
    return Rule(
        name=stored["name"],
        when=condition,
        model=model,
        condition=describe(condition),
        written=model,
        where="",
        line=0,
    )


class PolicyError(Exception):
    """A file has mistakes."""

    def __init__(self, problems: Sequence[Problem]) -> None:
        super().__init__("; ".join(map(str, problems)))
        self.problems = tuple(problems)


def build_policy(user: PolicyFile, project: PolicyFile, workspace: str) -> Policy:
    """Return the rules for a directory, a real path."""
    here = user.workspaces.get(workspace, RuleSection())
    tiers = here.tiers or project.general.tiers or user.general.tiers
    rules = (*here.rules, *project.general.rules, *user.general.rules)
    return Policy(
        rules=tuple(replace(each, model=tiers.get(each.written, each.model)) for each in rules),
        workspace_default=here.default or project.general.default,
        global_default=user.general.default,
    )


def parse_policy(
    text: str,
    where: str,
    resolve: ResolveModel,
    outer_tiers: Mapping[str, str] | None = None,
) -> PolicyFile:
    """Parse a file.

    `where` names it for the user. `outer_tiers`: for the file of a project, which has no
    `workspaces`, the tiers of the user; None: it is the user's file.

    Raises:
        PolicyError: it has mistakes.
    """
    try:
        document = parse_toml(text)
    except ValueError as error:
        line = find_error_line(error, text)
        problem = Problem(where=where, line=line, message=f"not TOML: {error}")
        raise PolicyError((problem,)) from error
    reading = _Reading(text, where, resolve)
    found = reading.read(document, outer_tiers)
    if reading.problems:
        raise PolicyError(reading.problems)
    return found


class _Reading:
    """Collects the rules and the mistakes of one document."""

    def __init__(self, text: str, where: str, resolve: ResolveModel) -> None:
        self.problems: list[Problem] = []
        self._warnings: list[Problem] = []
        self._places = find_places(text)
        self._where = where
        self._resolve = resolve

    def read(
        self, document: Mapping[str, Any], outer_tiers: Mapping[str, str] | None
    ) -> PolicyFile:
        is_project = outer_tiers is not None
        self._check_keys(document, _PROJECT_KEYS if is_project else _KEYS, ())
        version = document.get("schema_version", SCHEMA_VERSION)
        if version != SCHEMA_VERSION:
            self._add(("schema_version",), f"is {version!r}; this version reads {SCHEMA_VERSION}")
        default = "default" if is_project else "global_default"
        general = self._read_section(document, (), default, outer_tiers or {})
        workspaces = dict[str, RuleSection]()
        listed: Mapping[str, Any] = (
            {} if is_project else self._read_table(document, "workspaces", ())
        )
        for path, table in listed.items():
            here = ("workspaces", path)
            if not is_table(table):
                self._add(here, "must be a table")
                continue
            if not path.startswith("/") and path[1:3] not in (":\\", ":/"):
                self._add(here, "must be an absolute path")
            self._check_keys(table, _WORKSPACE_KEYS, here)
            workspaces[path] = self._read_section(table, here, "default", general.tiers)
        return PolicyFile(general=general, workspaces=workspaces, warnings=tuple(self._warnings))

    def _read_section(
        self,
        table: Mapping[str, Any],
        at: TomlPath,
        default: str,
        outer_tiers: Mapping[str, str],
    ) -> RuleSection:
        tiers = self._read_tiers(table, at)
        usable = tiers or outer_tiers
        return RuleSection(
            default=self._read_model(table[default], (*at, default), usable)
            if default in table
            else None,
            tiers=tiers,
            rules=self._read_rules(table, at, usable),
        )

    def _read_tiers(self, table: Mapping[str, Any], at: TomlPath) -> Mapping[str, str]:
        here = (*at, "tiers")
        named = self._read_table(table, "tiers", at)
        self._check_keys(named, TIERS, here)
        if named and (missing := [f"`{each}`" for each in TIERS if each not in named]):
            verb = "has" if len(missing) == 1 else "have"
            self._add(here, f"must name all tiers; {' and '.join(missing)} {verb} no model")
        return {
            tier: model
            for tier, written in named.items()
            if tier in TIERS and (model := self._read_model(written, (*here, tier), {}))
        }

    def _read_rules(
        self, table: Mapping[str, Any], at: TomlPath, tiers: Mapping[str, str]
    ) -> tuple[Rule, ...]:
        listed: Any = table.get("rules", [])
        here = (*at, "rules")
        if not _is_list(listed):
            self._add(here, "must be a list of tables, `[[rules]]`")
            return ()
        if len(listed) > MAX_RULES:
            self._add(here, f"has more than {MAX_RULES:,} rules")
            return ()
        rules, names = list[Rule](), set[str]()
        for number, each in enumerate(listed):
            rule = self._read_rule(each, (*here, number), tiers)
            if rule is None:
                continue
            if rule.name in names:
                self._add((*here, number, "name"), f"another rule is called `{rule.name}`")
            names.add(rule.name)
            rules.append(rule)
        self._warn(rules, here)
        return tuple(rules)

    def _read_rule(self, table: Any, here: TomlPath, tiers: Mapping[str, str]) -> Rule | None:
        if not is_table(table):
            self._add(here, "must be a table, `[[rules]]`")
            return None
        self._check_keys(table, _RULE_KEYS, here)
        missing = [each for each in ("when", "use") if each not in table]
        for each in missing:
            self._add(here, f"has no `{each}`")
        if missing:
            return None
        name = table.get("name", f"rule_{here[-1]}")
        if not isinstance(name, str) or not name.strip() or printable(name) != name:
            self._add((*here, "name"), "must be a text in one line")
            return None
        if len(name) > MAX_NAME:
            self._add((*here, "name"), f"has more than {MAX_NAME} characters")
            return None
        try:
            condition = parse_condition(table["when"])
        except ConditionError as error:
            self._add((*here, "when", *error.path), str(error), error.nearest)
            return None
        written = table["use"]
        if (model := self._read_model(written, (*here, "use"), tiers)) is None:
            return None
        return Rule(
            name=name.strip(),
            when=condition,
            model=model,
            condition=describe(condition),
            written=written,
            where=self._where,
            line=find_line(self._places, here) or 1,
        )

    def _read_model(self, written: Any, at: TomlPath, tiers: Mapping[str, str]) -> str | None:
        """Return the id of a model; None if there is a mistake."""
        if not isinstance(written, str):
            self._add(at, "must be the name of a model")
            return None
        if written in tiers:
            return tiers[written]
        if written in TIERS and at[-2:-1] != ("tiers",):
            self._add(at, f"`{written}` is a tier, and `[tiers]` names no models")
            return None
        try:
            return self._resolve(written)
        except UnknownModelError as error:
            self._add(at, str(error))
            return None

    def _read_table(self, table: Mapping[str, Any], name: str, at: TomlPath) -> Mapping[str, Any]:
        found: Any = table.get(name, {})
        if is_table(found):
            return found
        self._add((*at, name), "must be a table")
        return {}

    def _check_keys(self, table: Mapping[str, Any], known: Sequence[str], at: TomlPath) -> None:
        for name in table:
            if name not in known:
                self._add((*at, name), "there is no such key", find_closest(name, known))

    def _warn(self, rules: Sequence[Rule], at: TomlPath) -> None:
        """Report rules that cannot have an effect, and predicates that never hold."""
        first = dict[bytes, Rule]()
        for number, rule in enumerate(rules):
            here = (*at, number)
            for test in iter_tests(rule.when):
                if not test.kind.has_source:
                    message = f"`{test.kind.name}` never holds: this program has no such value"
                    self._warnings.append(self._problem((*here, "when", test.kind.name), message))
            earlier = first.setdefault(canonical_json(to_table(rule.when)), rule)
            always = first.get(canonical_json(to_table(AllOf(()))))
            hides = earlier if earlier is not rule else always
            if hides is not None and hides is not rule:
                message = (
                    f"`{rule.name}` is tried only if the model of `{hides.name}` is rejected,"
                    f" which always holds when it does (line {hides.line})"
                )
                self._warnings.append(self._problem(here, message))

    def _add(self, at: TomlPath, message: str, nearest: str | None = None) -> None:
        self.problems.append(self._problem(at, message, nearest))

    def _problem(self, at: TomlPath, message: str, nearest: str | None = None) -> Problem:
        key = format_key(tuple(each for each in at if isinstance(each, str)))
        line = find_line(self._places, at)
        return Problem(where=self._where, line=line, key=key, message=message, nearest=nearest)


def _is_list(value: Any) -> TypeGuard[list[Any]]:
    return isinstance(value, list)
