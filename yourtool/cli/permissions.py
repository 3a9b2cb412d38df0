"""`yourtool permissions`: decisions of the permission gate.

It shows the decision about a command without running it.
"""

import asyncio
import os
import sys
from collections.abc import Iterable
from pathlib import Path

import msgspec
from msgspec import Struct

from yourtool.agent.session.project.project_trust import open_trusted_gate
from yourtool.cli import stored_permissions
from yourtool.cli.arguments import Arguments
from yourtool.cli.output import open_settings, print_json, print_lines
from yourtool.effects import Preview, Subject
from yourtool.errors import UsageError
from yourtool.paths import Paths, own_directories
from yourtool.permissions.gate import Gate, parse_rules
from yourtool.permissions.judging import (
    CallSubjects,
    GateDecision,
    Policy,
    build_judged_call,
    judge,
    look_up,
)
from yourtool.permissions.rules import RuleSet
from yourtool.permissions.shell.lines.plain import parse_plain
from yourtool.permissions.trust import CONTAINED_COMMANDS
from yourtool.run_result import ExitCode
from yourtool.settings.config import Mode, RunOptions
from yourtool.settings.sandbox_config import SandboxLevel
from yourtool.tools.builtin import default_toolbox
from yourtool.tools.commands.leaving_sandbox import find_leaving
from yourtool.tools.commands.shell import preview_line, shell
from yourtool.tools.git.lost_work import find_lost_work
from yourtool.tools.processes.environments import Environments
from yourtool.tools.sandbox.sandbox import Sandbox
from yourtool.tools.sandbox.sandboxes import Sandboxes

_KINDS = default_toolbox().subject_kinds


class Decided(Struct, frozen=True):
    """The decision about one command."""

    decision: str
    rule: str | None
    """The first of the rules that decided, if rules did."""
    reason: str
    commands: tuple[tuple[str, ...], ...]
    """The words of each command of the line; empty if it is not completely understood."""
    proposal: tuple[str, ...] | None
    """The rules that an approval with "always" offers first, and the wider ones."""


class DecidedRun(Decided, frozen=True):
    """The decision about one command in a session of a folder, and where it would run."""

    sandbox: SandboxLevel
    where: str
    """A description of it; empty if the sandbox is switched off."""


class _CommandLine(Struct):
    command: str
    allow_rules: tuple[str, ...] = ()
    deny_rules: tuple[str, ...] = ()
    cwd: str = ""
    trusted: bool = False
    """Whether to decide as in a folder that the user trusts."""


def run(paths: Paths, arguments: Arguments) -> int:
    """Decide about one command, or with `-` about one per line of standard input."""
    if arguments.action != "check":
        return stored_permissions.run(paths, arguments)
    if arguments.query == "-":
        return _check_lines(arguments.workspace)
    options = RunOptions(
        workspace=arguments.workspace,
        model=None,
        mode=arguments.mode,
        allow=arguments.allow,
        deny=arguments.deny,
        interactive=False,
    )
    report, workspace = open_settings(paths), arguments.workspace
    config = report.config
    gate, problems = open_trusted_gate(paths, options, config.mode, workspace, _KINDS, "")
    if report.hides_restriction:
        gate.ask_about_all()
    print_lines(*(f"yourtool: {each}" for each in problems), file=sys.stderr)
    box = None
    if config.sandbox.is_used and not arguments.no_sandbox:
        box = Sandboxes(config.sandbox, own_directories(paths)).build(workspace)
        box.exceptions.get_rules = lambda: gate.policy.rules
    decided = _decide_as_run(gate, arguments.query, workspace, box)
    if arguments.json:
        print_json(decided)
    else:
        print_lines(*_describe(decided), *_describe_place(decided))
    return ExitCode.ANSWERED


def _check_lines(workspace: Path) -> int:
    """Decide about commands with no other rules than their own."""
    for number, line in enumerate(sys.stdin.buffer, 1):
        try:
            given = msgspec.json.decode(line, type=_CommandLine)
        except (ValueError, RecursionError) as error:
            raise UsageError(
                f'line {number} of standard input is not `{{"command": "…"}}`: {error}'
            ) from error
        rules = RuleSet(
            allow=parse_rules("allow_rules", _complete(given.allow_rules), _KINDS),
            deny=parse_rules("deny_rules", _complete(given.deny_rules), _KINDS),
        )
        gate = Gate(rules, Mode.ASK, is_trusted=given.trusted)
        print_json(_decide(gate, given.command, workspace / given.cwd))
        sys.stdout.flush()
    return ExitCode.ANSWERED


def _complete(rules: Iterable[str]) -> tuple[str, ...]:
    """Return rules of `shell`; `git log*` is short for `shell(git log*)`."""
    name = shell.definition.name
    return tuple(
        rule if rule == name or rule.startswith(f"{name}(") else f"{name}({rule})" for rule in rules
    )


def _decide(gate: Gate, command: str, workspace: Path) -> Decided:
    subject = Subject("command", command, os.path.realpath(workspace))
    return _to_decided(gate.decide(shell.definition, CallSubjects((subject,)), None), command)


def _to_decided(found: GateDecision, command: str) -> Decided:
    return Decided(
        decision=found.verdict,
        rule=str(found.rules[0]) if found.rules else None,
        reason=_get_reason(found),
        commands=tuple(each.texts for each in parse_plain(command)),
        proposal=(*found.proposed_rules, *found.wider_rules) or None,
    )


def _decide_as_run(gate: Gate, command: str, workspace: Path, box: Sandbox | None) -> DecidedRun:
    """Decide as in a session of the workspace, whose sandbox is measured."""
    root = Path(os.path.realpath(workspace))
    subjects = CallSubjects((Subject("command", command, str(root)),))
    preview = asyncio.run(_preview(command, box))
    lost = find_lost_work(command, root, Environments().build_for_model(os.environ))
    loses_work = lost is not None and bool(lost.files or lost.is_unknown)
    call = build_judged_call(shell.definition, subjects, preview, loses_work=loses_work)
    policy = gate.policy
    found = judge(policy, look_up(policy, call))
    decided = _to_decided(found, command)
    missing = preview.missing_sandbox
    return DecidedRun(
        decision=decided.decision,
        rule=decided.rule,
        reason=_find_reason(found, preview, policy) or decided.reason,
        commands=decided.commands,
        proposal=decided.proposal,
        sandbox=preview.sandbox or SandboxLevel.NONE,
        where=f"no sandbox: {missing}" if missing else preview.surroundings,
    )


async def _preview(command: str, box: Sandbox | None) -> Preview:
    """Return where a command would run, and end the sandbox again."""
    try:
        return await find_leaving(await preview_line(command, box), command, "", box)
    finally:
        if box is not None:
            await box.close()


def _find_reason(found: GateDecision, preview: Preview, policy: Policy) -> str:
    """Return which setting of the sandbox decided, if one did."""
    if found.verdict == "ask" and preview.leaving:
        return preview.leaving
    if found.verdict == "ask" and preview.protected:
        return "`[sandbox] require` is not met"
    if found.verdict != "allow" or found.rules or policy.mode is Mode.AUTO:
        return ""
    if preview.is_contained and preview.has_network:
        return "the program always has a network in the sandbox"
    if preview.is_contained:
        return "`[sandbox] auto_allow` allows it"
    is_free = preview.is_fully_contained and policy.allows_contained
    return f"the folder allows {CONTAINED_COMMANDS}" if is_free else ""


def _get_reason(found: GateDecision) -> str:
    """Return why; if the command shows it, rather why no rule covers it."""
    return (found.is_evident and found.no_rule_reason) or found.reason


def _describe(decided: Decided) -> Iterable[str]:
    yield decided.decision
    if decided.rule is not None:
        yield f"rule: {decided.rule}"
    if decided.reason:
        yield f"reason: {decided.reason}"
    for rule in decided.proposal or ():
        yield f"always: {rule}"


def _describe_place(decided: DecidedRun) -> Iterable[str]:
    if decided.where:
        yield f"runs in: {decided.where}"
