"""`yourtool permissions`: what the gate decides about a command, without running it."""

import os
import sys
from collections.abc import Iterable
from pathlib import Path

import msgspec
from msgspec import Struct

from yourtool.agent.session.project_trust import is_trusted
from yourtool.cli import stored_permissions
from yourtool.cli.arguments import Arguments
from yourtool.cli.output import print_json, print_lines
from yourtool.config import Mode, RunOptions
from yourtool.effects import Subject
from yourtool.errors import UsageError
from yourtool.paths import Paths
from yourtool.permissions.gate import Gate, open_gate, parse_rules
from yourtool.permissions.grants import FILE_NAME, Grants
from yourtool.permissions.judging import CallSubjects
from yourtool.permissions.rules import RuleSet
from yourtool.permissions.shell.plain import parse_plain
from yourtool.run_result import ExitCode
from yourtool.tools.builtin import default_toolbox
from yourtool.tools.shell import shell

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
    """The rules that an approval with "always" offers, the narrowest first."""


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
    grants = Grants(paths.home / FILE_NAME, arguments.workspace, _KINDS)
    gate, problems = open_gate(
        options, Mode.ASK, grants, is_trusted=is_trusted(arguments.workspace, paths)
    )
    print_lines(*(f"yourtool: {each}" for each in problems), file=sys.stderr)
    decided = _decide(gate, arguments.query, arguments.workspace)
    if arguments.json:
        print_json(decided)
    else:
        print_lines(*_describe(decided))
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
    found = gate.decide(shell.definition, CallSubjects((subject,)), None)
    return Decided(
        decision=found.verdict,
        rule=str(found.rules[0]) if found.rules else None,
        reason=found.reason or found.no_rule_reason,
        commands=tuple(each.texts for each in parse_plain(command)),
        proposal=(*found.proposed_rules, *found.wider_rules) or None,
    )


def _describe(decided: Decided) -> Iterable[str]:
    yield decided.decision
    if decided.rule is not None:
        yield f"rule: {decided.rule}"
    if decided.reason:
        yield f"reason: {decided.reason}"
    for rule in decided.proposal or ():
        yield f"always: {rule}"
