"""The gate of a session."""

from collections.abc import Iterable, Mapping

from msgspec.structs import replace

from yourtool.effects import Preview, SubjectKind, ToolDefinition
from yourtool.errors import UsageError
from yourtool.foundation.suggestions import find_closest
from yourtool.permissions.grants import Grants
from yourtool.permissions.judging import (
    CallSubjects,
    GateDecision,
    Policy,
    build_judged_call,
    judge,
    look_up,
)
from yourtool.permissions.rules import (
    EVERY_TOOL,
    RULES_OF_SESSION,
    Rule,
    RuleSet,
    RuleSource,
    is_possible_tool,
)
from yourtool.settings.config import Mode, RunOptions
from yourtool.settings.problems import Problem


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
        allows_contained: bool = False,
    ) -> None:
        """Without `grants`, permanent grants apply to this session only.

        `is_trusted`: the user trusts the workspace, where reading commands need no approval.
        `allows_contained`: the user allows the commands that stay in the full sandbox.
        """
        self.mode = mode
        self.is_trusted = is_trusted
        self.allows_contained = allows_contained
        self.grants = grants
        self._rules = rule_set

    @property
    def policy(self) -> Policy:
        """The present settings."""
        workspace = self.grants.workspace if self.grants else ""
        return Policy(self.mode, self._rules, workspace, self.is_trusted, self.allows_contained)

    def decide(
        self, tool: ToolDefinition, subjects: CallSubjects, preview: Preview | None
    ) -> GateDecision:
        """Return the decision about a call with valid arguments and confined paths."""
        policy = self.policy
        return judge(policy, look_up(policy, build_judged_call(tool, subjects, preview)))

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

    def ask_about_all(self) -> None:
        """Ask about every call, because settings that cannot be read may restrict it."""
        self._rules |= RuleSet(ask=(Rule(EVERY_TOOL, source=RuleSource.SETTINGS),))

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
    options: RunOptions,
    mode: Mode,
    grants: Grants,
    *,
    is_trusted: bool,
    allows_contained: bool = False,
) -> tuple[Gate, tuple[Problem, ...]]:
    """Return the gate of a session, and the mistakes in its files; blocks on the file system.

    `mode`: the mode unless the command line has one. The rest is that of `Gate`.

    Raises:
        UsageError: a rule of the command line is invalid.
    """
    given = RuleSet(
        allow=parse_rules("--allow", options.allow, grants.kinds),
        deny=parse_rules("--deny", options.deny, grants.kinds),
    )
    stored = grants.load()
    gate = Gate(
        given | stored.rules,
        options.mode or mode,
        grants,
        is_trusted=is_trusted,
        allows_contained=allows_contained,
    )
    return gate, stored.problems


def unknown_tool_error(rule: Rule, tools: Iterable[str]) -> str | None:
    """Return an error message if the tool of a rule does not exist, else None."""
    names = list(tools)
    if is_possible_tool(rule.tool, names):
        return None
    close = find_closest(rule.tool, names)
    hint = f"did you mean `{close}`?" if close else f"the tools are {', '.join(names)}"
    return f"`{rule}` has no effect: there is no tool `{rule.tool}`; {hint}"
