"""Commands `/rules`, `/why` and `/route`.

They show the rules, the reason for the model of the last turn, and advice on it.
"""

from collections.abc import Iterator
from typing import TYPE_CHECKING

from yourtool.agent.commands.base import (
    CommandResults,
    Report,
    Section,
    SettingChanged,
    SlashCommand,
)
from yourtool.agent.commands.model_list import format_price
from yourtool.agent.routes.route_records import describe_advice
from yourtool.errors import UsageError
from yourtool.events.catalog import AnyFact
from yourtool.events.context import ContextHandedOver
from yourtool.events.deltas import Notice
from yourtool.events.hooks import HookRan
from yourtool.foundation.text import printable
from yourtool.models import AGENT, Model
from yourtool.providers.catalogue.models import Catalogue

if TYPE_CHECKING:
    from yourtool.agent.routes.routing_rules import RoutingRules
    from yourtool.agent.runtime import Runtime
    from yourtool.agent.session.session import Session

_ACTIONS = ("check", "show", "reload")
_SHOWN_BLOCKS = 10


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


async def explain_model(session: "Session", runtime: "Runtime", _argument: str) -> CommandResults:
    """`/why`: show the active model, its figures and the result of each slot in the last turn.

    After a swap, also what the new model did not get, and what hooks refused in the last turn.
    """
    yield Notice(level="info", text="\n".join(session.explain()))
    if figures := tuple(_describe_figures(session.model, runtime.catalogue)):
        yield Notice(level="info", text="\n".join(figures))
    if refusals := [each for each in map(_describe_refusal, session.state.facts) if each]:
        yield Notice(level="info", text="\n".join(refusals[-_SHOWN_BLOCKS:]))
    if (report := session.state.branch.hand_over) is not None:
        yield Notice(level="info", text="\n".join(_describe_hand_over(report)))


def _describe_figures(model: Model, catalogue: Catalogue) -> Iterator[str]:
    """Yield a line for each figure of a model with its sources, and what is special about them."""
    if model.is_demo or model.provider == AGENT:
        return
    if not model.known or model.window is None:
        yield f"`{model.id}`: nobody says how large its context window is."
    if model.taken_from:
        yield f"`{model.id}` is in no list; its figures are taken from `{model.taken_from}`."
    values = {
        "window": model.window and f"{model.window:,} tokens",
        "output": f"{model.capabilities.max_output_tokens:,} tokens",
        "price": format_price(model.price),
    }
    for figure, sources in catalogue.describe_sources(model.id):
        yield f"{figure}: {values.get(figure) or 'not known'} ({sources})"
    if (listed := catalogue.discovered_at(model.id)) is not None:
        yield f"The list of `{model.provider}` of {listed:%Y-%m-%d} comes before these sources."
    if model.ends is not None:
        yield f"end: {model.ends}, then `{model.successor or 'no successor is named'}`"


def _describe_refusal(fact: AnyFact) -> str:
    """Return a line about a hook that refused, asked or failed; empty for other facts."""
    match fact:
        case HookRan(verdict="ask" | "deny" | "block" | "stop" | "failed" as verdict):
            words = f"Hook `{fact.hook}` ({fact.source}, {fact.event}): {verdict}"
            return printable(f"{words}{f' – {fact.reason}' if fact.reason else ''}")
        case _:
            return ""


def _describe_hand_over(report: ContextHandedOver) -> Iterator[str]:
    """Yield a line, then one for each block that the model did not get, at most a few."""
    count = report.left_out_count
    what = "everything was sent"
    if count:
        what = f"{count:,} block{'s' * (count != 1)} not sent"
    yield f"Handed over from {report.source} to {report.model}: {what}"
    for each in report.left_out[:_SHOWN_BLOCKS]:
        yield f"  {each.kind} of message {each.message_id}: {each.reason}"
    if (more := count - _SHOWN_BLOCKS) > 0:
        yield f"  and {more:,} more: `yourtool sessions show` has the report"


async def answer_advice(session: "Session", runtime: "Runtime", argument: str) -> CommandResults:
    """`/route`: show the model that past turns recommend, use it, or hide it."""
    match argument.strip():
        case "":
            yield Notice(level="info", text=_get_advice(session, runtime))
        case "override":
            async for event in session.models.override_route():
                yield event
            yield SettingChanged("model")
        case "ignore":
            async for event in session.models.dismiss_advice():
                yield event
            text = "This recommendation is hidden in this session."
            yield Notice(level="info", text=text)
        case other:
            raise UsageError(f"`/route {other}` is unknown; use override or ignore.")


def _get_advice(session: "Session", runtime: "Runtime") -> str:
    """Return what past turns recommend, or why they recommend nothing."""
    config, route = runtime.config.routing, session.state.last_route
    if not (config.patterns and config.surface_disagreement):
        return (
            "Recommendations are off. They need `patterns = true` and"
            " `surface_disagreement = true` in `[routing]` of config.toml."
        )
    if route is None:
        return "This session has no turn with a recommendation yet."
    nothing = "Past turns recommend no other model than that of the last turn."
    return describe_advice(route) or nothing


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
    SlashCommand(
        name="route",
        run=answer_advice,
        argument="[override | ignore]",
        changes_model=True,
        keywords=(
            ("override", "use the model that past turns recommend"),
            ("ignore", "hide this recommendation in the session"),
        ),
        summary="show, use or hide the model that past turns recommend",
    ),
    SlashCommand(
        name="why",
        run=explain_model,
        summary="show why the last turn had its model, what hooks refused",
    ),
)
