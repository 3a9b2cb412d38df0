"""Which calls need no question, which may not happen, and what the user has granted."""

from collections.abc import Iterable
from typing import Literal

from msgspec import Struct

from yourtool.config import Mode
from yourtool.effects import Preview, SideEffects
from yourtool.errors import ConfigError, UsageError
from yourtool.permissions import rules
from yourtool.permissions.grants import Grants
from yourtool.permissions.rules import Rule, RuleSet, Subject
from yourtool.tables import get_closest
from yourtool.tools.base import Args, Tool, Toolbox
from yourtool.tools.workspace import Workspace


class GateDecision(Struct, frozen=True):
    """What the gate says about one call."""

    verdict: Literal["allow", "ask", "deny"]
    reason: str = ""
    """For a denial: words for the model; for a question: why it is asked in every mode."""
    proposal: str | None = None
    """For a question: the rule that a lasting grant would add."""


class Subjects(Struct, frozen=True):
    """What a call is about."""

    compared: tuple[Subject, ...]
    """What rules compare: the command, the host, or where each path really leads."""
    credential_files: tuple[str, ...] = ()
    """Those of the paths that are well-known places of credentials."""


ALLOW = GateDecision("allow")


class Gate:
    """One per session. Deny rules beat everything; protected places are asked about in any mode."""

    def __init__(self, rule_set: RuleSet, mode: Mode, grants: Grants | None = None) -> None:
        """Without `grants`, what is allowed for always is allowed for this session."""
        self.mode = mode
        self._rules = rule_set
        self._grants = grants

    def judge(self, tool: Tool, subjects: Subjects, preview: Preview | None) -> GateDecision:
        """Rule on a call whose arguments are valid and whose paths are confined."""
        effects = tool.definition.side_effects
        verdicts = {self._rules.verdict(tool.name, subject) for subject in subjects.compared}
        if rules.RuleEffect.DENY in verdicts:
            return GateDecision(
                "deny", f"A rule forbids this call of `{tool.name}`. Do without it."
            )
        if rules.RuleEffect.TOO_LONG in verdicts:
            return GateDecision(
                "deny",
                f"The command is longer than {rules.MAX_COMMAND_LENGTH:,} characters, so it"
                f" cannot be checked against the deny rules for `{tool.name}`. Write what is long"
                " to a file first, and run a shorter command that uses the file.",
            )
        if self.mode is Mode.PLAN and effects in (SideEffects.WRITE, SideEffects.EXECUTE):
            return GateDecision(
                "deny",
                f"Plan mode is on: `{tool.name}` may not run, only reading may. Describe what you"
                " would do instead.",
            )
        if preview is not None and preview.protected:
            return GateDecision("ask")
        if verdicts == {rules.RuleEffect.ALLOW}:
            return ALLOW
        if not subjects.credential_files and (not effects.needs_approval or self._waved(effects)):
            return ALLOW
        proposals = [rules.propose_rule(tool.name, subject) for subject in subjects.compared]
        only = proposals[0] if len(proposals) == 1 else None
        named = ", ".join(f"`{path}`" for path in subjects.credential_files)
        reason = f"{named} may hold credentials; approval is required unless a rule allows it"
        return GateDecision("ask", reason if named else "", None if only is None else str(only))

    def grant(self, rule: str, *, always: bool) -> None:
        """Allow what `rule` covers for the session, and for good with `always`.

        Raises:
            ConfigError: it could not be stored; it holds for the session all the same.
        """
        parsed = Rule.parse(rule)
        self._rules |= RuleSet(allow=(parsed,))
        if always and self._grants is not None:
            self._grants.add(parsed)

    def _waved(self, effects: SideEffects) -> bool:
        if self.mode is Mode.AUTO:
            return True
        return self.mode is Mode.ACCEPT_EDITS and effects is SideEffects.WRITE


def rules_of(option: str, texts: Iterable[str], toolbox: Toolbox) -> tuple[Rule, ...]:
    """Read the rules of an option.

    Raises:
        UsageError: one is no rule, or names a tool that does not exist.
    """
    found = tuple(map(Rule.parse, texts))
    for rule in found:
        if (problem := unknown_tool(rule, toolbox)) is not None:
            raise UsageError(f"`{option}`: {problem}")
    return found


def stored_rules(grants: Grants, toolbox: Toolbox) -> tuple[RuleSet, list[str]]:
    """Return the permissions that a person gave, and what is wrong with them."""
    try:
        found = grants.load()
    except ConfigError as error:
        return RuleSet(), [str(error)]
    problems = (unknown_tool(rule, toolbox) for rule in (*found.allow, *found.deny))
    return found, [f"`{grants.file}`: {each}" for each in problems if each]


def unknown_tool(rule: Rule, toolbox: Toolbox) -> str | None:
    """Return what is wrong with the tool that a rule names; None: there is such a tool."""
    if toolbox.get(rule.tool) is not None:
        return None
    names = [each.name for each in toolbox.definitions]
    close = get_closest(rule.tool, names)
    hint = f"did you mean `{close}`?" if close else f"the tools are {', '.join(names)}"
    return f"`{rule}` has no effect: there is no tool `{rule.tool}`; {hint}"


def subjects_of(tool: Tool, args: Args, workspace: Workspace) -> Subjects:
    """Return what a call is about. Blocks on the file system.

    A call about nothing has the one subject None.

    Raises:
        ToolError: a path leads outside, or none can look like that.
    """
    tool.check_paths(args, workspace)
    if (subject := tool.subject(args)) is not None:
        return Subjects((subject,))
    paths = tool.paths(args)
    return Subjects(
        tuple(map(workspace.locate, paths)) or (None,),
        tuple(filter(workspace.is_credential_file, paths)),
    )
