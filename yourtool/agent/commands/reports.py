"""Command `/cost`."""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from decimal import Decimal
from typing import TYPE_CHECKING

from yourtool.agent.commands.base import CommandResults, Report, Section, SlashCommand
from yourtool.events.catalog import AnyFact
from yourtool.events.model_calls import LlmCallCostReported, LlmCallEnd
from yourtool.events.turns import TurnStarted
from yourtool.foundation.amounts import Spending, format_money
from yourtool.messages.usage import Usage

if TYPE_CHECKING:
    from yourtool.agent.runtime import Runtime
    from yourtool.agent.session.session import Session


async def show_cost(session: "Session", runtime: "Runtime", _argument: str) -> CommandResults:
    """`/cost`: show the cost of the session."""
    own = await session.stored.read_own()
    yield Report("Cost", cost_report(own, await runtime.spent_today()))


def cost_report(facts: Iterable[AnyFact], today: Spending) -> tuple[Section, ...]:
    """Return the cost of a session, computed from its facts.

    Costs that providers report are a separate row and do not replace computed costs.
    """
    calls: list[LlmCallEnd] = []
    last_turn: list[LlmCallEnd] = []
    later = dict[str | None, Decimal]()
    for fact in facts:
        if isinstance(fact, TurnStarted):
            last_turn = []
        elif isinstance(fact, LlmCallEnd) and fact.usage is not None:
            calls.append(fact)
            last_turn.append(fact)
        elif isinstance(fact, LlmCallCostReported):
            later[fact.parent_event_id] = fact.reported_cost_usd
    by_model: dict[str, list[LlmCallEnd]] = defaultdict(list)
    by_role: dict[str, list[LlmCallEnd]] = defaultdict(list)
    for call in calls:
        by_model[call.model].append(call)
        by_role[str(call.purpose) if call.purpose else call.actor.value].append(call)
    usages = _usages(calls)
    prompt = sum(usage.prompt_tokens for usage in usages)
    share = 100 * sum(usage.cached_input_tokens for usage in usages) // prompt if prompt else 0
    totals = (
        ("session", _format_calls(calls)),
        *_reported_row(calls, later),
        ("last turn", _format_calls(last_turn)),
        ("today, all sessions", _format_total(today)),
        ("read from cache", f"{share}% of {prompt:,} prompt tokens"),
    )
    groups = (("By model", by_model), ("By role", by_role))
    return Section("Cost", totals), *(
        Section(title, tuple((name, _format_calls(found)) for name, found in sorted(group.items())))
        for title, group in groups
        if group
    )


def _format_calls(calls: Sequence[LlmCallEnd]) -> str:
    usages = _usages(calls)
    output = sum(usage.output_tokens for usage in usages)
    tokens = f"{sum(usage.prompt_tokens for usage in usages):,} in, {output:,} out"
    extras = [extra for call in calls if (extra := call.usage_extra)]
    guessed = sum(extra.estimated for extra in extras)
    total = Spending(
        cost_usd=sum((usage.cost_usd for usage in usages), Decimal(0)),
        requests=len(calls),
        unpriced_requests=sum(_is_unpriced(call) for call in calls),
    )
    note = f", {guessed} with estimated tokens" if guessed else ""
    return f"{_format_total(total)}{note}; tokens {tokens}"


def _usages(calls: Iterable[LlmCallEnd]) -> list[Usage]:
    return [call.usage for call in calls if call.usage is not None]


def _is_unpriced(call: LlmCallEnd) -> bool:
    is_priced = call.usage is not None and call.usage.pricing_version
    return not is_priced or bool(call.usage_extra and call.usage_extra.unpriced)


def _format_total(total: Spending) -> str:
    """Return the cost of requests and the number of those without a price."""
    words = "request" if total.requests == 1 else "requests"
    unpriced = total.unpriced_requests
    if unpriced and unpriced == total.requests:
        return f"unpriced for {unpriced} {words}"
    note = f", {unpriced} unpriced" if unpriced else ""
    return f"{format_money(total.cost_usd)} for {total.requests} {words}{note}"


def _reported_row(
    calls: Sequence[LlmCallEnd], later: Mapping[str | None, Decimal]
) -> tuple[tuple[str, str], ...]:
    """Return a row with the costs that providers reported, if any did.

    `later`: those that arrived after the reply, by the event id of the call's end.
    """
    found = (
        later.get(call.id, call.usage_extra.reported_cost_usd if call.usage_extra else None)
        for call in calls
    )
    amounts = [each for each in found if each is not None]
    if not amounts:
        return ()
    words = f"{format_money(sum(amounts, Decimal(0)))} for {len(amounts)} of {len(calls)} requests"
    return (("reported by providers", words),)


COMMANDS = (
    SlashCommand(
        name="cost",
        run=show_cost,
        summary="show the cost of the session by model",
        aliases=("usage", "stats", "tokens"),
    ),
)
