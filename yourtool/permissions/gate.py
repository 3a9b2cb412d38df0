"""The gate: which calls are allowed, which are denied, and which need an approval."""

import hashlib
import os
import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from yourtool.config import Mode, Problem, RunOptions
from yourtool.effects import HookAdvice, Preview, SideEffects, Subject, SubjectKind, ToolDefinition
from yourtool.errors import UsageError
from yourtool.permissions.grants import Grants
from yourtool.permissions.rules import (
    EVERY_TOOL,
    RULES_OF_SESSION,
    Judgement,
    Rule,
    RuleSet,
    RuleSource,
    RuleVerdict,
    get_place,
    is_possible_tool,
    propose_rules,
)
from yourtool.permissions.shell import canonical, coverage, plain, writes
from yourtool.tables import get_closest

if TYPE_CHECKING:
    from yourtool.permissions.shell.specs import CommandSpec


class GateDecision(Struct, frozen=True):
    """The decision about one call."""

    verdict: Literal["allow", "ask", "deny"]
    reason: str = ""
    """For `deny`, a message for the model; for `ask`, why every mode requires an approval."""
    proposed_rules: tuple[str, ...] = ()
    """For `ask`, the rules that a grant would add."""
    wider_rules: tuple[str, ...] = ()
    """For `ask`, rules that the user can add to those: the commands without their assignments."""
    no_rule_reason: str = ""
    """For `ask`, one line: why no rule is proposed."""
    rules: tuple[Rule, ...] = ()
    """The rules that decided; empty if the mode or the effect of the tool did."""
    command: str | None = None
    """For a command that needs no approval because it is understood, what runs in its place."""
    is_free_if_trusted: bool = False
    """For `ask`, whether it would need no approval in a folder that the user trusts."""


class CallSubjects(Struct, frozen=True):
    """What one call is about, with real paths."""

    items: tuple[Subject, ...]
    credential_files: tuple[str, ...] = ()
    """The paths that are well-known credential files, as the model wrote them."""


_SEVERAL_SUBJECTS = "it is about several places at once, and a rule names one"


_TYPED = "a program reads it, and a rule does not show what the program does with it"
_EDITING_KEYS = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")
_UNKNOWN_COMMAND = "$typed"
_TYPING_TOOLS = {"process_input": "shell"}
"""Tools whose text a running program reads, with the tool that started the program.

The text can be a command, if the program is a shell, so the rules that restrict the other tool
restrict these too; but no rule for commands allows it.
"""


class JudgedCall(Struct, frozen=True):
    """What a decision about a call depends on besides the policy."""

    tool: str
    side_effects: SideEffects
    subjects: CallSubjects
    is_protected: bool = False
    """Whether it needs an approval despite rules and modes."""
    is_contained: bool = False
    """Whether a command runs without an approval because a sandbox contains it."""
    loses_work: bool = False
    """Whether it discards work of the user that is not committed."""
    ends_planning: bool = False
    """Whether it proposes a plan."""
    hook: HookAdvice | None = None
    """What hooks decided about it."""


class Policy(Struct, frozen=True):
    """The settings that decide on the calls of a session."""

    mode: Mode
    rules: RuleSet
    workspace: str = ""
    """The real path."""
    is_trusted: bool = False
    """Whether the user trusts the workspace, where reading commands need no approval."""

    def get_digest(self) -> str:
        """Return the SHA-256 of the content."""
        return hashlib.sha256(msgspec.json.encode(self)).hexdigest()


def judge(policy: Policy, call: JudgedCall) -> GateDecision:
    """Return the decision about a call with valid arguments and confined paths.

    It depends on the arguments only, and on the files that a command names.
    """
    effects, subjects = call.side_effects, call.subjects
    judgements = _judge_subjects(policy, call)
    verdicts = {each.verdict for each in judgements}
    if RuleVerdict.DENY in verdicts:
        return GateDecision(
            "deny",
            f"A rule forbids this call of `{call.tool}`. Do without it.",
            rules=_deciding(judgements, RuleVerdict.DENY),
        )
    hook = None if call.hook is None else call.hook.verdict
    if hook == "deny":
        return GateDecision("deny", f"`{call.tool}` was not run: {call.hook}.")
    if policy.mode is Mode.PLAN and effects.needs_approval:
        may_read = policy.is_trusted and verdicts <= {RuleVerdict.ALLOW, RuleVerdict.NONE}
        if may_read and _only_reads(call):
            return _build_allowed(subjects)
        return GateDecision(
            "deny",
            f"Plan mode is on: `{call.tool}` cannot run, only tools that read can. Describe"
            " what you would do instead.",
        )
    if call.is_protected or (call.ends_planning and policy.mode is Mode.PLAN):
        return GateDecision("ask")
    if call.loses_work:
        return GateDecision("ask", "it discards uncommitted work: every mode needs an approval")
    if (place := _find_protected_write(subjects)) is not None:
        return GateDecision("ask", f"it writes to `{place}`, a protected place")
    if RuleVerdict.UNCLEAR in verdicts:
        return GateDecision(
            "ask", f"part of it cannot be checked against the deny rules for `{call.tool}`"
        )
    if asking := _deciding(judgements, RuleVerdict.ASK):
        return GateDecision("ask", _build_asking_reason(asking[0]), rules=asking)
    if hook == "ask":
        return GateDecision("ask", str(call.hook))
    if hook == "allow" and not subjects.credential_files:
        return GateDecision("allow")
    if verdicts == {RuleVerdict.ALLOW}:
        found = _build_allowed(subjects, _deciding(judgements, RuleVerdict.ALLOW))
        if found.verdict == "allow" or policy.mode is not Mode.AUTO:
            return found
    return _judge_by_default(policy, call)


def _judge_by_default(policy: Policy, call: JudgedCall) -> GateDecision:
    """Return the decision about a call on which no rule and no hook decides."""
    effects, subjects = call.side_effects, call.subjects
    if not subjects.credential_files and (
        call.is_contained or not effects.needs_approval or _is_allowed_by_mode(policy.mode, effects)
    ):
        return GateDecision("allow")
    only_reads = _only_reads(call, policy.rules.get_specs(call.tool))
    if only_reads and policy.is_trusted:
        return _build_allowed(subjects)
    named = ", ".join(f"`{path}`" for path in subjects.credential_files)
    reason = f"{named} may contain credentials; approval is required unless a rule allows it"
    if problem := _find_rule_problem(call):
        return GateDecision("ask", reason if named else "", no_rule_reason=problem)
    proposal = propose_rules(
        call.tool, subjects.items[0], policy.rules.allow, is_trusted=policy.is_trusted
    )
    return GateDecision(
        "ask",
        reason if named else "",
        tuple(map(str, proposal.rules)),
        no_rule_reason=proposal.reason,
        wider_rules=tuple(map(str, proposal.wider)),
        is_free_if_trusted=only_reads and _build_allowed(subjects).verdict == "allow",
    )


class Gate:
    """Decides about the calls of one session.

    Deny rules override everything; protected places need an approval in every mode.
    """

    def __init__(
        self,
        rule_set: RuleSet,
        mode: Mode,
        grants: Grants | None = None,
        *,
        is_trusted: bool = False,
    ) -> None:
        """Without `grants`, permanent grants apply to this session only.

        `is_trusted`: the user trusts the workspace, where reading commands need no approval.
        """
        self.mode = mode
        self.is_trusted = is_trusted
        self.grants = grants
        self._rules = rule_set

    @property
    def policy(self) -> Policy:
        """The present settings."""
        workspace = self.grants.workspace if self.grants else ""
        return Policy(self.mode, self._rules, workspace, self.is_trusted)

    def decide(
        self, tool: ToolDefinition, subjects: CallSubjects, preview: Preview | None
    ) -> GateDecision:
        """Return the decision about a call with valid arguments and confined paths."""
        return judge(self.policy, build_judged_call(tool, subjects, preview))

    def grant(self, rules: Iterable[str], *, always: bool) -> None:
        """Allow the calls that the rules match for the session, and permanently with `always`.

        Raises:
            ConfigError: the grant could not be stored; it still applies to the session.
        """
        own = tuple(Rule.parse(rule, source=RuleSource.SESSION) for rule in rules)
        self._rules |= RuleSet(allow=own)
        if always and self.grants is not None:
            for rule in own:
                stored = replace(rule, source=RuleSource.USER)
                self.grants.add(stored)
                self.forget(rule)
                self._rules |= RuleSet(allow=(stored,))

    def forget(self, rule: Rule) -> None:
        """Take back an allow rule of the session."""
        kept = tuple(each for each in self._rules.allow if each != rule)
        self._rules = replace(self._rules, allow=kept)

    def reload(self) -> None:
        """Read the stored rules again; blocks on the file system."""
        stored = self.grants.load().rules if self.grants is not None else RuleSet()
        lists = (self._rules.allow, self._rules.ask, self._rules.deny)
        own = (tuple(rule for rule in each if rule.source in RULES_OF_SESSION) for each in lists)
        self._rules = RuleSet(*own) | stored


def _find_rule_problem(call: JudgedCall) -> str:
    """Return why no rule can allow a call, if none can."""
    if call.tool in _TYPING_TOOLS:
        return _TYPED
    return "" if len(call.subjects.items) == 1 else _SEVERAL_SUBJECTS


def _judge_subjects(policy: Policy, call: JudgedCall) -> list[Judgement]:
    """Return the judgements of the rules, also of those that restrict a typed text."""
    subjects, rules = call.subjects.items, policy.rules
    found = [rules.judge(call.tool, subject) for subject in subjects]
    if (tool := _TYPING_TOOLS.get(call.tool)) is not None:
        restricting = (RuleVerdict.DENY, RuleVerdict.UNCLEAR, RuleVerdict.ASK)
        lines = (replace(each, text=_get_typed_lines(each.text)) for each in subjects)
        typed = (rules.judge(tool, each) for each in lines)
        found += (each for each in typed if each.verdict in restricting)
    return found


def _get_typed_lines(text: str) -> str:
    """Return the command lines that a shell reads from a typed text.

    Keys that edit the line, such as Ctrl+U, make another line of it than the text shows.
    """
    lines = text.replace("\r", "\n")
    return _UNKNOWN_COMMAND if _EDITING_KEYS.search(lines) else lines


def _build_allowed(subjects: CallSubjects, rules: tuple[Rule, ...] = ()) -> GateDecision:
    """Return the decision about a call that rules cover, or that only reads."""
    commands = [each for each in subjects.items if each.kind == "command"]
    if len(commands) != 1 or any(rule.spec is None for rule in rules):
        return GateDecision("allow", rules=rules)
    search_path = canonical.build_search_path(os.environ, Path(commands[0].directory))
    try:
        line = canonical.build_canonical_line(plain.parse_plain(commands[0].text), search_path)
    except canonical.UnsafeProgramError as error:
        return GateDecision("ask", str(error))
    return GateDecision("allow", rules=rules, command=line)


def _find_protected_write(subjects: CallSubjects) -> str | None:
    commands = (each for each in subjects.items if each.kind == "command")
    found = (writes.find_protected_write(each.text, Path(each.directory)) for each in commands)
    return next((place for place in found if place is not None), None)


def build_judged_call(
    tool: ToolDefinition,
    subjects: CallSubjects,
    preview: Preview | None,
    *,
    loses_work: bool = False,
    hook: HookAdvice | None = None,
) -> JudgedCall:
    """Return what the decision about a call depends on; the options are those of `JudgedCall`."""
    return JudgedCall(
        tool.name,
        tool.side_effects,
        subjects,
        is_protected=preview is not None and preview.protected,
        is_contained=preview is not None and preview.is_contained,
        loses_work=loses_work,
        ends_planning=tool.ends_planning,
        hook=hook,
    )


def _only_reads(call: JudgedCall, specs: "Sequence[CommandSpec]" = ()) -> bool:
    """Whether each command is covered by a spec or only reads the workspace."""
    return call.tool not in _TYPING_TOOLS and all(
        each.kind == "command"
        and coverage.cover_line(specs, each.text, get_place(each), is_trusted=True).is_complete
        for each in call.subjects.items
    )


def _is_allowed_by_mode(mode: Mode, effects: SideEffects) -> bool:
    if mode is Mode.AUTO:
        return True
    return mode is Mode.ACCEPT_EDITS and effects is SideEffects.WRITE


def _deciding(judgements: Iterable[Judgement], verdict: RuleVerdict) -> tuple[Rule, ...]:
    return tuple(rule for each in judgements if each.verdict is verdict for rule in each.rules)


def _build_asking_reason(rule: Rule) -> str:
    if rule.tool == EVERY_TOOL:
        return "a file of permission rules has a mistake that may hide a deny rule"
    owner = "of the project" if rule.source is RuleSource.PROJECT else "of yours"
    return f"the rule `{rule}` {owner} asks about it in every mode"


def parse_rules(
    option: str, texts: Iterable[str], kinds: Mapping[str, SubjectKind]
) -> tuple[Rule, ...]:
    """Return the rules in the values of a command line option; `kinds` as for `Rule.parse`.

    Raises:
        UsageError: a value is not a rule, or names a tool that does not exist.
    """
    found = tuple(Rule.parse(text, kinds, RuleSource.OPTION) for text in texts)
    for rule in found:
        if (problem := unknown_tool_error(rule, kinds)) is not None:
            raise UsageError(f"`{option}`: {problem}")
    return found


def open_gate(
    options: RunOptions, mode: Mode, grants: Grants, *, is_trusted: bool
) -> tuple[Gate, tuple[Problem, ...]]:
    """Return the gate of a session, and the mistakes in its files; blocks on the file system.

    `mode`: the mode unless the command line has one. `is_trusted`: as for `Gate`.

    Raises:
        UsageError: a rule of the command line is invalid.
    """
    given = RuleSet(
        allow=parse_rules("--allow", options.allow, grants.kinds),
        deny=parse_rules("--deny", options.deny, grants.kinds),
    )
    stored = grants.load()
    gate = Gate(given | stored.rules, options.mode or mode, grants, is_trusted=is_trusted)
    return gate, stored.problems


def unknown_tool_error(rule: Rule, tools: Iterable[str]) -> str | None:
    """Return an error message if the tool of a rule does not exist, else None."""
    names = list(tools)
    if is_possible_tool(rule.tool, names):
        return None
    close = get_closest(rule.tool, names)
    hint = f"did you mean `{close}`?" if close else f"the tools are {', '.join(names)}"
    return f"`{rule}` has no effect: there is no tool `{rule.tool}`; {hint}"
