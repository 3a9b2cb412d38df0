"""Permission rules for tool calls.

Examples are `shell(git status*)`, `edit_file(src/**)` and `read_file`. A rule names a tool, and
optionally which of its calls: a command, a host or a path glob, depending on what the calls are
about. Deny rules override ask rules, and these override allow rules, from any source; specificity
does not matter, nor does the order or the number of rules.
"""

import re
from collections.abc import Container, Mapping, Sequence
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import Struct

from yourtool.effects import Subject, SubjectKind
from yourtool.errors import UsageError
from yourtool.permissions.findings import Findings
from yourtool.permissions.globs import matches_glob
from yourtool.permissions.hosts import allows_host, denies_host, is_host_spec
from yourtool.permissions.shell import coverage, denials, place, proposals, wrapped
from yourtool.permissions.shell import specs as command_specs
from yourtool.permissions.shell.lines import plain

if TYPE_CHECKING:
    from yourtool.permissions.shell.denials import Denial
    from yourtool.permissions.shell.place import Place
    from yourtool.permissions.shell.specs import CommandSpec

_COVERING_TOOLS: Mapping[str, tuple[str, ...]] = {"apply_patch": ("edit_file", "write_file")}
"""Tools whose rules cover the calls of another tool on the same paths."""
SERVER_PREFIX = "mcp__"
"""Start of the names of tools of MCP servers, `mcp__server__tool`; a rule can name the server."""
AGENT_CALL = "agent_call"
"""The tool for what another agent asks for, which only turns of agents have."""
EVERY_TOOL = "*"
"""The tool of a rule that replaces an unreadable rule; a user cannot write it."""
_RULE = re.compile(r"([A-Za-z][A-Za-z0-9_-]*)(?:\((.+)\))?", re.DOTALL)


class RuleVerdict(StrEnum):
    """The verdict of the rules on a call."""

    DENY = "deny"
    UNCLEAR = "unclear"
    """Part of the command cannot be checked against the deny and ask rules."""
    ASK = "ask"
    ALLOW = "allow"
    NONE = "none"
    """No rule covers the call."""


class RuleSource(StrEnum):
    """Where a rule comes from."""

    USER = "user"
    """The user's `permissions.toml`."""
    OPTION = "option"
    """The command line."""
    SESSION = "session"
    """An answer to an approval prompt, for this session."""
    PROJECT = "project"
    """A file of the workspace, which can only ask and deny."""
    SETTINGS = "settings"
    """A mistake in `config.toml` that may hide a restriction."""


RULES_OF_SESSION = (RuleSource.OPTION, RuleSource.SESSION, RuleSource.SETTINGS)
"""The sources of rules that are not stored in a file."""


OUTSIDE_RULE, NETWORK_RULE, HOST_RULE = "sandbox_outside", "sandbox_network", "sandbox_host"
SANDBOX_RULES: Mapping[str, SubjectKind] = {
    OUTSIDE_RULE: "command", NETWORK_RULE: "command", HOST_RULE: "host"
}  # fmt: skip
"""Rules about no tool: commands outside the sandbox or with a network in it, and its hosts."""


class Rule(Struct, frozen=True):
    """One rule: a tool, and optionally which of its calls."""

    tool: str
    """The name of a tool, or `EVERY_TOOL`."""
    spec: str | None = None
    """A command, a host or a path glob; None matches every call."""
    source: RuleSource = RuleSource.USER

    @classmethod
    def parse(
        cls,
        text: str,
        kinds: Mapping[str, SubjectKind] | None = None,
        source: RuleSource = RuleSource.USER,
    ) -> "Rule":
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
        is_foreign = tool == AGENT_CALL or tool.startswith(SERVER_PREFIX)
        kind = "opaque" if is_foreign else (kinds or {}).get(tool)
        if spec is not None and kind is not None and (needed := _spec_problem(kind, tool, spec)):
            raise UsageError(f"`{text}` can never match: {needed}")
        return cls(tool, spec, source)

    def covers_tool(self, tool: str) -> bool:
        return self.tool in (tool, find_server(tool))

    def __str__(self) -> str:
        return self.tool if self.spec is None else f"{self.tool}({self.spec})"


class Judgement(Struct, frozen=True):
    """The verdict of the rules on a call, and the rules that decided it."""

    verdict: RuleVerdict
    rules: tuple[Rule, ...] = ()
    """The rule that denies or asks, or those that allow the parts of a command."""


class RuleSet(Struct, frozen=True):
    """All active rules."""

    allow: tuple[Rule, ...] = ()
    ask: tuple[Rule, ...] = ()
    deny: tuple[Rule, ...] = ()

    def __or__(self, other: "RuleSet") -> "RuleSet":
        return RuleSet(self.allow + other.allow, self.ask + other.ask, self.deny + other.deny)

    def get_specs(self, tool: str) -> "Sequence[CommandSpec]":
        """Return what the rules allow of a tool for commands."""
        return _get_specs(self.allow, tool)

    def verdict(self, tool: str, subject: Subject) -> RuleVerdict:
        return self.judge(tool, subject).verdict

    def judge(self, tool: str, subject: Subject, findings: Findings | None = None) -> Judgement:
        """Return the verdict on a call: deny, then unclear, then ask, then allow.

        `findings`: what is known about the files of a command; None: they are looked up.
        """
        is_denied, denying = _find_denial(_of_tool(self.deny, tool), subject)
        if is_denied is denials.Denial.DENIED:
            return Judgement(RuleVerdict.DENY, denying)
        is_asked, asking = _find_denial(_of_tool(self.ask, tool), subject)
        if denials.Denial.UNCLEAR in (is_denied, is_asked):
            return Judgement(RuleVerdict.UNCLEAR)
        if is_asked is denials.Denial.DENIED:
            return Judgement(RuleVerdict.ASK, asking)
        if allowing := _find_allowing(_of_tool(self.allow, tool), subject, findings):
            return Judgement(RuleVerdict.ALLOW, allowing)
        return Judgement(RuleVerdict.NONE)


class Proposal(Struct, frozen=True):
    """The rules that a lasting approval of a call would add."""

    rules: tuple[Rule, ...] = ()
    reason: str = ""
    """Why no rule is proposed, or which part of the call the rules do not cover."""
    wider: tuple[Rule, ...] = ()
    """Rules for the same commands without their assignments, which the user can add."""
    exact: tuple[Rule, ...] = ()
    """For a command, rules that cover only it, in place of `rules`; empty if they are the same."""


def propose_rules(
    tool: str,
    subject: Subject,
    allow: Sequence[Rule] = (),
    *,
    is_trusted: bool = False,
    findings: Findings | None = None,
) -> Proposal:
    """Return the rules that are offered for this call; none if it always needs an approval.

    `allow`: the rules in effect. `is_trusted`: commands that only read need no rule.
    The rule for an opaque subject covers every call of the tool. The caller does not propose rules
    for protected places.
    """
    if subject.kind == "opaque":
        return Proposal((Rule(tool),))
    if subject.kind == "command":
        proposed = proposals.propose_specs(
            subject.text,
            _get_specs(allow, tool),
            get_place(subject, findings),
            is_trusted=is_trusted,
        )
        rules, wider, exact = (
            tuple(Rule(tool, spec) for spec in each)
            for each in (proposed.specs, proposed.wider, proposed.exact)
        )
        return Proposal(rules, proposed.note, wider, exact)
    if not subject.text or set(subject.text) & set("*?") or not _allows([subject.text], subject):
        return Proposal(reason="its name has characters that mean something else in a rule")
    return Proposal((Rule(tool, subject.text),))


def _allows(specs: Sequence[str], subject: Subject, findings: Findings | None = None) -> bool:
    match subject.kind:
        case "command":
            where = get_place(subject, findings)
            return coverage.covers_line(_parse_specs(specs), subject.text, where)
        case "host":
            return any(allows_host(spec, subject.text) for spec in specs)
        case "path":
            return any(matches_glob(spec, subject.text) for spec in specs)
        case "opaque":
            return False


def _of_tool(rules: Sequence[Rule], tool: str) -> Sequence[Rule]:
    tools = (tool, find_server(tool), EVERY_TOOL, *_COVERING_TOOLS.get(tool, ()))
    return [rule for rule in rules if rule.tool in tools]


def _find_allowing(
    rules: Sequence[Rule], subject: Subject, findings: Findings | None
) -> tuple[Rule, ...]:
    """Return the rules that cover all of the subject; empty if they do not."""
    for rule in rules:
        if rule.spec is None:
            return (rule,)
    specs = [rule.spec for rule in rules if rule.spec is not None]
    if not _allows(specs, subject, findings):
        return ()
    if subject.kind != "command":
        return (next(rule for rule in rules if rule.spec and _allows([rule.spec], subject)),)
    parsed = [
        (rule, command_specs.parse_spec(rule.spec)) for rule in rules if rule.spec is not None
    ]
    where = get_place(subject, findings)
    commands = plain.parse_plain(subject.text)
    entered = (wrapped.enter_git(each, where) for each in commands)
    meanings = [
        meaning.texts
        for pair in (*((each, where) for each in commands), *filter(None, entered))
        for meaning in wrapped.iter_meanings(*pair)
    ]
    used = [rule for rule, spec in parsed if spec and any(map(spec.matches, meanings))]
    return tuple(dict.fromkeys(used or rules))


def _find_denial(rules: Sequence[Rule], subject: Subject) -> "tuple[Denial, tuple[Rule, ...]]":
    """Return whether a rule that denies or asks covers the subject, and the first that does."""
    for rule in rules:
        if rule.spec is None:
            return denials.Denial.DENIED, (rule,)
    specs = [rule.spec for rule in rules if rule.spec is not None]
    if (outcome := _match_denials(specs, subject)) is not denials.Denial.DENIED:
        return outcome, ()
    if len(rules) == 1:
        return outcome, (rules[0],)
    denied = denials.Denial.DENIED
    matching = (
        (rule,) for rule in rules if rule.spec and _match_denials([rule.spec], subject) is denied
    )
    return outcome, next(matching, ())


def _match_denials(specs: Sequence[str], subject: Subject) -> "Denial":
    """Return whether a spec covers the subject; it matches more broadly than an allow rule."""
    match subject.kind:
        case "command":
            return denials.find_denial(_parse_specs(specs), subject.text)
        case "host":
            is_denied = any(denies_host(spec, subject.text) for spec in specs)
        case "path":
            path = subject.text.casefold()
            is_denied = any(matches_glob(spec.casefold(), path) for spec in specs)
        case "opaque":
            is_denied = False
    return denials.Denial.DENIED if is_denied else denials.Denial.NONE


def find_server(tool: str) -> str | None:
    """Return what names the MCP server of a tool in rules, `mcp__server`; None for other tools."""
    server, _, name = tool.removeprefix(SERVER_PREFIX).partition("__")
    return SERVER_PREFIX + server if tool.startswith(SERVER_PREFIX) and name else None


def is_possible_tool(name: str, tools: Container[str]) -> bool:
    """Whether there is a tool, or could be one: which tools servers have is found out later."""
    return name in tools or name == AGENT_CALL or name.startswith(SERVER_PREFIX)


def _get_specs(rules: Sequence[Rule], tool: str) -> "Sequence[CommandSpec]":
    return _parse_specs([rule.spec for rule in _of_tool(rules, tool) if rule.spec is not None])


def get_place(subject: Subject, findings: Findings | None = None) -> "Place":
    """Return where a command starts; `findings` as for `RuleSet.judge`."""
    return place.Place(Path(subject.directory), Path(subject.directory), findings)


def _parse_specs(specs: Sequence[str]) -> "list[CommandSpec]":
    """Return the valid specs; an invalid one was reported when its rule was read."""
    return [parsed for parsed in map(command_specs.parse_spec, specs) if parsed is not None]


def _spec_problem(kind: SubjectKind, tool: str, spec: str) -> str | None:
    match kind:
        case "command" if command_specs.parse_spec(spec) is None:
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
