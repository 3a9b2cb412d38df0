"""Decisions about calls, from values only.

`judge` reads neither files nor the environment, so a stored decision can be made again.
"""

import hashlib
import re
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Literal

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from yourtool.effects import Finding, HookAdvice, Preview, SideEffects, Subject, ToolDefinition
from yourtool.permissions.commands_of_call import (
    describe_protected_writes,
    find_credential,
    find_protected_writes,
    find_runnable,
)
from yourtool.permissions.findings import Findings, Obstacle
from yourtool.permissions.rules import (
    EVERY_TOOL,
    Judgement,
    Rule,
    RuleSet,
    RuleSource,
    RuleVerdict,
    get_place,
    propose_rules,
)
from yourtool.permissions.shell import coverage
from yourtool.settings.config import Mode

if TYPE_CHECKING:
    from yourtool.permissions.shell.specs import CommandSpec


class GateDecision(Struct, frozen=True):
    """The decision about one call."""

    verdict: Literal["allow", "ask", "deny"]
    reason: str = ""
    """For `deny`, a message for the model; for `ask`, why an approval is needed; a clause."""
    is_evident: bool = False
    """For `ask`, whether an approval prompt shows the reason without the clause."""
    proposed_rules: tuple[str, ...] = ()
    """For `ask`, the rules that a grant would add."""
    wider_rules: tuple[str, ...] = ()
    """For `ask`, rules that the user can add to those: the commands without their assignments."""
    exact_rules: tuple[str, ...] = ()
    """For `ask`, rules that cover only this call, in place of `proposed_rules`; empty if equal."""
    no_rule_reason: str = ""
    """For `ask`, one line: why no rule is proposed."""
    rules: tuple[Rule, ...] = ()
    """The rules that decided; empty if the mode or the effect of the tool did."""
    command: str | None = None
    """For a command that needs no approval because it is understood, what runs in its place."""
    only_reads: bool = False
    """For such a command, whether it needs no rule."""
    is_free_if_trusted: bool = False
    """For `ask`, whether it would need no approval in a folder that the user trusts."""
    is_free_if_contained: bool = False
    """For `ask`, whether it would need no approval if `allows_contained` were set."""
    is_free_with_edits: bool = False
    """For `ask`, whether it would need no approval in the mode `accept-edits`."""
    protected_writes: tuple[str, ...] = ()
    """For `ask`, the protected places that the command visibly writes to, as it names them."""


class CallSubjects(Struct, frozen=True):
    """What one call is about, with real paths."""

    items: tuple[Subject, ...]
    credential_files: tuple[str, ...] = ()
    """The paths that are well-known credential files, as the model wrote them."""


_SEVERAL_SUBJECTS = "it is about several places at once, and a rule names one"
_REFUSED = (
    "`{}` was not run, because the sandbox is switched on and cannot be used: {}. The user can run"
    " commands without it: with the option `--no-sandbox`, or with `[sandbox] enabled = false` in"
    " `config.toml`."
)
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
    is_fully_contained: bool = False
    """Whether the full sandbox, without a network, contains a command."""
    private_directories: tuple[str, ...] = ()
    """The temporary directories of that sandbox; known only until the findings are recorded."""
    missing_sandbox: str = ""
    """Why a command would run without the sandbox, which is switched on."""
    is_attended: bool = True
    """Whether a user is present."""
    loses_work: bool = False
    """Whether it discards work of the user that is not committed."""
    ends_planning: bool = False
    """Whether it proposes a plan."""
    hook: HookAdvice | None = None
    """What hooks decided about it."""
    findings: tuple[Finding, ...] = ()
    """What was found about it, as `look_up` returns it."""


class Policy(Struct, frozen=True):
    """The settings that decide on the calls of a session."""

    mode: Mode
    rules: RuleSet
    workspace: str = ""
    """The real path."""
    is_trusted: bool = False
    """Whether the user trusts the workspace, where reading commands need no approval."""
    allows_contained: bool = False
    """Whether the user allows the commands of the workspace that stay in the full sandbox."""

    def get_digest(self) -> str:
        """Return the SHA-256 of the content."""
        return hashlib.sha256(msgspec.json.encode(self)).hexdigest()


def look_up(policy: Policy, call: JudgedCall) -> JudgedCall:
    """Return a call with all that its decision depends on; reads files and the environment."""
    private = call.private_directories if call.is_fully_contained else ()
    findings = Findings(call.findings, looks=True, private_directories=private)
    _judge(policy, call, findings)
    return replace(call, findings=findings.recorded)


def judge(policy: Policy, call: JudgedCall) -> GateDecision:
    """Return the decision about a call with valid arguments and confined paths.

    It depends on the arguments only.

    Raises:
        UnknownFindingError: the call has no findings for this policy.
    """
    return _judge(policy, call, Findings(call.findings))


def _judge(policy: Policy, call: JudgedCall, findings: Findings) -> GateDecision:
    decision = _judge_in_sandbox(policy, call, findings)
    if not call.missing_sandbox or decision.verdict == "deny":
        return decision
    if policy.mode is Mode.AUTO or not call.is_attended:
        return GateDecision("deny", _REFUSED.format(call.tool, call.missing_sandbox))
    return GateDecision("ask", decision.reason)


def _judge_in_sandbox(policy: Policy, call: JudgedCall, findings: Findings) -> GateDecision:
    """Return the decision about a call that runs in the sandbox as it is configured."""
    effects, subjects = call.side_effects, call.subjects
    judgements = _judge_subjects(policy, call, findings)
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
        if may_read and _find_obstacle(call, findings) is None:
            return _build_allowed(subjects, findings, only_reads=True)
        return GateDecision(
            "deny",
            f"Plan mode is on: `{call.tool}` cannot run, only tools that read can. Describe"
            " what you would do instead.",
        )
    if call.is_protected or (call.ends_planning and policy.mode is Mode.PLAN):
        return GateDecision("ask", _describe_protection(call), is_evident=True)
    if call.loses_work:
        return GateDecision("ask", "it discards uncommitted work: every mode needs an approval")
    items = subjects.items
    if places := find_protected_writes(items, findings, is_compared=call.is_fully_contained):
        reason = describe_protected_writes(places, items, findings)
        return GateDecision("ask", reason, protected_writes=places)
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
        allowing = _deciding(judgements, RuleVerdict.ALLOW)
        found = _build_allowed(subjects, findings, allowing)
        if found.verdict == "allow" or not (
            policy.mode is Mode.AUTO or _is_contained(policy, call)
        ):
            return found
    return _judge_by_default(policy, call, findings)


def _is_contained(policy: Policy, call: JudgedCall) -> bool:
    """Whether the sandbox is the reason why a call needs no approval."""
    return call.is_contained or (call.is_fully_contained and policy.allows_contained)


def _judge_by_default(policy: Policy, call: JudgedCall, findings: Findings) -> GateDecision:
    """Return the decision about a call on which no rule and no hook decides."""
    effects, subjects = call.side_effects, call.subjects
    is_contained = _is_contained(policy, call)
    secret = find_credential(subjects.items)
    if not subjects.credential_files and (
        (is_contained and secret is None)
        or not effects.needs_approval
        or _is_allowed_by_mode(policy.mode, effects)
    ):
        return GateDecision("allow")
    obstacle = _find_obstacle(call, findings, policy.rules.get_specs(call.tool))
    if obstacle is None and policy.is_trusted:
        only_reads = _find_obstacle(call, findings) is None
        return _build_allowed(subjects, findings, only_reads=only_reads)
    secrets = (secret,) if is_contained and secret is not None else subjects.credential_files
    is_edit = effects is SideEffects.WRITE and not subjects.credential_files
    asked = replace(_build_question(secrets, obstacle), is_free_with_edits=is_edit)
    is_free_if_contained = call.is_fully_contained and secret is None and not secrets
    if problem := _find_rule_problem(call):
        return replace(asked, no_rule_reason=problem, is_free_if_contained=is_free_if_contained)
    proposal = propose_rules(
        call.tool,
        subjects.items[0],
        policy.rules.allow,
        is_trusted=policy.is_trusted,
        findings=findings,
    )
    return replace(
        asked,
        proposed_rules=tuple(map(str, proposal.rules)),
        no_rule_reason=proposal.reason,
        wider_rules=tuple(map(str, proposal.wider)),
        exact_rules=tuple(map(str, proposal.exact)),
        is_free_if_trusted=obstacle is None
        and _build_allowed(subjects, findings).verdict == "allow",
        is_free_if_contained=is_free_if_contained,
    )


def _build_question(secrets: Sequence[str], obstacle: Obstacle | None) -> GateDecision:
    """Return the question about a call that neither a rule nor the mode allows."""
    if secrets:
        named = ", ".join(f"`{path}`" for path in secrets)
        reason = f"{named} may contain credentials; approval is required unless a rule allows it"
        return GateDecision("ask", reason)
    if obstacle is None:
        return GateDecision(
            "ask", "the folder is not trusted, so reading needs a rule", is_evident=True
        )
    return GateDecision("ask", obstacle.reason, is_evident=obstacle.is_evident)


def _describe_protection(call: JudgedCall) -> str:
    """Return why a call needs an approval in every mode."""
    if call.ends_planning:
        return "the plan is carried out only if you approve it"
    if paths := ", ".join(f"`{each.text}`" for each in call.subjects.items if each.kind == "path"):
        return f"{paths}: a protected place, where every mode needs an approval"
    return "it runs below the level of `[sandbox] require`, or reaches a protected place"


def _find_rule_problem(call: JudgedCall) -> str:
    """Return why no rule can allow a call, if none can."""
    if call.tool in _TYPING_TOOLS:
        return _TYPED
    return "" if len(call.subjects.items) == 1 else _SEVERAL_SUBJECTS


def _judge_subjects(policy: Policy, call: JudgedCall, findings: Findings) -> list[Judgement]:
    """Return the judgements of the rules, also of those that restrict a typed text."""
    subjects, rules = call.subjects.items, policy.rules
    found = [rules.judge(call.tool, subject, findings) for subject in subjects]
    if (tool := _TYPING_TOOLS.get(call.tool)) is not None:
        restricting = (RuleVerdict.DENY, RuleVerdict.UNCLEAR, RuleVerdict.ASK)
        lines = (replace(each, text=_get_typed_lines(each.text)) for each in subjects)
        typed = (rules.judge(tool, each, findings) for each in lines)
        found += (each for each in typed if each.verdict in restricting)
    return found


def _get_typed_lines(text: str) -> str:
    """Return the command lines that a shell reads from a typed text.

    Keys that edit the line, such as Ctrl+U, make another line of it than the text shows.
    """
    lines = text.replace("\r", "\n")
    return _UNKNOWN_COMMAND if _EDITING_KEYS.search(lines) else lines


def _build_allowed(
    subjects: CallSubjects,
    findings: Findings,
    rules: tuple[Rule, ...] = (),
    *,
    only_reads: bool = False,
) -> GateDecision:
    """Return the decision about a call that rules cover, or that only reads."""
    commands = [each for each in subjects.items if each.kind == "command"]
    if len(commands) != 1 or any(rule.spec is None for rule in rules):
        return GateDecision("allow", rules=rules)
    line, problem = find_runnable(commands[0], findings)
    if problem is not None:
        return GateDecision("ask", problem)
    return GateDecision("allow", rules=rules, command=line, only_reads=only_reads)


def build_judged_call(
    tool: ToolDefinition,
    subjects: CallSubjects,
    preview: Preview | None,
    *,
    loses_work: bool = False,
    hook: HookAdvice | None = None,
    is_attended: bool = True,
) -> JudgedCall:
    """Return what the decision about a call depends on; the options are those of `JudgedCall`."""
    shown = preview or Preview(kind="text", body="")
    return JudgedCall(
        tool.name,
        tool.side_effects,
        subjects,
        is_protected=shown.protected or bool(shown.leaving),
        is_contained=shown.is_contained,
        is_fully_contained=shown.is_fully_contained,
        private_directories=shown.private_directories,
        missing_sandbox=shown.missing_sandbox,
        is_attended=is_attended,
        loses_work=loses_work,
        ends_planning=tool.ends_planning,
        hook=hook,
    )


def _find_obstacle(
    call: JudgedCall, findings: Findings, specs: "Sequence[CommandSpec]" = ()
) -> Obstacle | None:
    """Return why a call needs an approval; None: specs cover each command, or it only reads."""
    effects = _EFFECTS.get(call.side_effects, "it has effects")
    evident = Obstacle(f"{effects}, and no rule allows it", is_evident=True)
    if call.tool in _TYPING_TOOLS or not call.subjects.items:
        return evident
    for each in call.subjects.items:
        if each.kind != "command":
            return evident
        place = get_place(each, findings)
        covered = coverage.cover_line(specs, each.text, place, is_trusted=True)
        if not covered.is_complete:
            problem = covered.problem and Obstacle(covered.problem, is_evident=True)
            return covered.obstacle or problem or evident
    return None


_EFFECTS = {
    SideEffects.WRITE: "it changes files",
    SideEffects.EXECUTE: "it runs a program",
    SideEffects.NETWORK: "it uses the network",
}


def _is_allowed_by_mode(mode: Mode, effects: SideEffects) -> bool:
    if mode is Mode.AUTO:
        return True
    return mode is Mode.ACCEPT_EDITS and effects is SideEffects.WRITE


def _deciding(judgements: Iterable[Judgement], verdict: RuleVerdict) -> tuple[Rule, ...]:
    return tuple(rule for each in judgements if each.verdict is verdict for rule in each.rules)


def _build_asking_reason(rule: Rule) -> str:
    if rule.tool == EVERY_TOOL:
        return "a file of rules or settings has a mistake that may hide a restriction"
    owner = "of the project" if rule.source is RuleSource.PROJECT else "of yours"
    return f"the rule `{rule}` {owner} asks about it in every mode"
