"""Permission rules, such as `shell(git status*)`, `edit_file(src/**)` or `read_file`.

A rule names a tool, and optionally which of its calls: a command, a host or a path glob, depending
on what the calls are about. Deny rules override allow rules, and calls without a rule need an
approval; specificity does not matter.
"""

import re
from collections.abc import Mapping, Sequence
from enum import StrEnum
from pathlib import Path

from msgspec import Struct

from yourtool.effects import Subject, SubjectKind
from yourtool.errors import UsageError
from yourtool.permissions.globs import matches_glob
from yourtool.permissions.hosts import allows_host, denies_host, is_host_spec
from yourtool.permissions.shell.coverage import Place, covers_line
from yourtool.permissions.shell.denials import Denial, find_denial
from yourtool.permissions.shell.specs import CommandSpec, parse_spec, propose_spec

_RULE = re.compile(r"([A-Za-z][A-Za-z0-9_-]*)(?:\((.+)\))?", re.DOTALL)


class RuleVerdict(StrEnum):
    """The verdict of the rules on a call."""

    ALLOW = "allow"
    DENY = "deny"
    UNCLEAR = "unclear"
    """Part of the command cannot be checked against the deny rules."""
    ASK = "ask"


class Rule(Struct, frozen=True):
    """One rule: a tool, and optionally which of its calls."""

    tool: str
    spec: str | None = None
    """A command, a host or a path glob; None matches every call."""

    @classmethod
    def parse(cls, text: str, kinds: Mapping[str, SubjectKind] | None = None) -> "Rule":
        """Parse `tool` or `tool(spec)`.

        `kinds`: the kinds of subject of each known tool; specs of other tools are not checked.

        Raises:
            UsageError: the syntax is invalid, or the spec can never match.
        """
        if (match := _RULE.fullmatch(text.strip())) is None:
            raise UsageError(
                f"`{text}` is not a valid rule; write `tool` or `tool(what)`, for example"
                " `shell(make test*)` or `edit_file(src/**)`"
            )
        tool, spec = match[1], match[2]
        kind = (kinds or {}).get(tool)
        if spec is not None and kind is not None and (needed := _spec_problem(kind, tool, spec)):
            raise UsageError(f"`{text}` can never match: {needed}")
        return cls(tool, spec)

    def __str__(self) -> str:
        return self.tool if self.spec is None else f"{self.tool}({self.spec})"


class RuleSet(Struct, frozen=True):
    """All active rules."""

    allow: tuple[Rule, ...] = ()
    deny: tuple[Rule, ...] = ()

    def __or__(self, other: "RuleSet") -> "RuleSet":
        return RuleSet(self.allow + other.allow, self.deny + other.deny)

    def verdict(self, tool: str, subject: Subject) -> RuleVerdict:
        """Return whether a call is allowed, denied, or needs an approval."""
        denied = [rule.spec for rule in self.deny if rule.tool == tool]
        allowed = [rule.spec for rule in self.allow if rule.tool == tool]
        if None in denied:
            return RuleVerdict.DENY
        match _find_denial([spec for spec in denied if spec is not None], subject):
            case Denial.DENIED:
                return RuleVerdict.DENY
            case Denial.UNCLEAR:
                return RuleVerdict.UNCLEAR
            case Denial.NONE:
                pass
        if None in allowed or _allows([spec for spec in allowed if spec is not None], subject):
            return RuleVerdict.ALLOW
        return RuleVerdict.ASK


def propose_rule(tool: str, subject: Subject) -> Rule | None:
    """Return the narrowest rule that covers this call; None if it always needs an approval.

    The rule for an opaque subject covers every call of the tool. The caller does not propose rules
    for protected places.
    """
    if subject.kind == "opaque":
        return Rule(tool)
    spec: str | None = subject.text
    if subject.kind == "command":
        spec = propose_spec(subject.text)
    elif set(subject.text) & set("*?") or not _allows([subject.text], subject):
        spec = None
    return Rule(tool, spec) if spec else None


def _allows(specs: Sequence[str], subject: Subject) -> bool:
    match subject.kind:
        case "command":
            workspace = Path(subject.directory)
            return covers_line(_parse_specs(specs), subject.text, Place(workspace, workspace))
        case "host":
            return any(allows_host(spec, subject.text) for spec in specs)
        case "path":
            return any(matches_glob(spec, subject.text) for spec in specs)
        case "opaque":
            return False


def _find_denial(specs: Sequence[str], subject: Subject) -> Denial:
    """Return whether a deny rule covers the subject; it matches more broadly than others."""
    match subject.kind:
        case "command":
            return find_denial(_parse_specs(specs), subject.text)
        case "host":
            is_denied = any(denies_host(spec, subject.text) for spec in specs)
        case "path":
            path = subject.text.casefold()
            is_denied = any(matches_glob(spec.casefold(), path) for spec in specs)
        case "opaque":
            is_denied = False
    return Denial.DENIED if is_denied else Denial.NONE


def _parse_specs(specs: Sequence[str]) -> list[CommandSpec]:
    """Return the valid specs; an invalid one was reported when its rule was read."""
    return [parsed for parsed in map(parse_spec, specs) if parsed is not None]


def _spec_problem(kind: SubjectKind, tool: str, spec: str) -> str | None:
    match kind:
        case "command" if parse_spec(spec) is None:
            return (
                f"a {tool} rule consists of plain words, with `*` only at the end, for example"
                f" `{tool}(git log*)`"
            )
        case "host" if not is_host_spec(spec):
            return (
                f"a rule for `{tool}` is a host in ASCII, for example `{tool}(docs.python.org)`,"
                f" `{tool}(*.example.org)` or `{tool}(example.org:8443)`"
            )
        case "opaque":
            return f"its calls have no command, host or path; write `{tool}`"
        case _:
            return None
