"""`/rules` and `/why`: the routing rules, and why the last turn had its model."""

from typing import TYPE_CHECKING

from yourtool.agent.commands.base import CommandResults, Report, Section, SlashCommand
from yourtool.errors import UsageError
from yourtool.events.deltas import Notice
from yourtool.text import printable

if TYPE_CHECKING:
    from yourtool.agent.routing_rules import RoutingRules
    from yourtool.agent.runtime import Runtime
    from yourtool.agent.session.session import Session

_ACTIONS = ("check", "show", "reload")


async def show_rules(session: "Session", runtime: "Runtime", argument: str) -> CommandResults:
    """`/rules`: list the rules in the order in which they are tried, or their mistakes."""
    action = argument.strip() or "show"
    if action not in _ACTIONS:
        raise UsageError(f"`/rules {argument}` is unknown; use {', '.join(_ACTIONS)}.")
    rules = await runtime.open_rules(session.workspace)
    for problem in rules.problems:
        yield Notice(level="warning", text=printable(str(problem)))
    if action == "show" and not rules.has_mistakes:
        yield Report("Routing rules", tuple(_describe(rules)))
    elif not rules.has_mistakes:
        count = len(rules.policy.rules)
        words = f"{count} routing rule{'s' * (count != 1)}"
        text = f"{words}, no mistakes"
        if action == "reload":
            text = f"{words}, used from the next message on"
        yield Notice(level="info", text=text)


def _describe(rules: "RoutingRules") -> list[Section]:
    policy, defaults = rules.policy, rules.defaults
    rows = tuple(
        (
            f"{number} {printable(rule.name)}",
            printable(f"{rule.condition} → {rule.model} ({rule.where}:{rule.line})"),
        )
        for number, rule in enumerate(policy.rules, 1)
    )
    default = (
        ("this directory", defaults.workspace_default or "no default"),
        ("everywhere", defaults.global_default),
    )
    empty = (("no rules", f"{rules.file} has none for this directory"),)
    return [Section("Tried in this order", rows or empty), Section("Else", default)]


async def explain_model(session: "Session", _runtime: "Runtime", _argument: str) -> CommandResults:
    """`/why`: show the active model and the result of each slot in the last turn."""
    yield Notice(level="info", text="\n".join(session.explain()))


COMMANDS = (
    SlashCommand(
        name="rules",
        run=show_rules,
        argument="[show | check | reload]",
        keywords=(
            ("show", "list the rules in the order in which they are tried"),
            ("check", "report mistakes and rules without effect"),
            ("reload", "read the files now; a changed file is also read with the next message"),
        ),
        summary="show the rules that choose models, and check them",
    ),
    SlashCommand(name="why", run=explain_model, summary="show why the last turn had its model"),
)
