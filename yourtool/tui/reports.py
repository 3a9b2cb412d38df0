"""The reports of `/help`, `/cost` and `/context`, as sections of rows."""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from decimal import Decimal

from msgspec import Struct
from textual.binding import Binding

from yourtool.agent.commands import COMMANDS
from yourtool.amounts import Spending, format_money
from yourtool.events.catalog import AnyFact
from yourtool.events.model_calls import LlmCallEnd
from yourtool.events.turns import TurnStarted
from yourtool.models import Model, Price
from yourtool.tui.keys import KEYS, KeyPlace
from yourtool.tui.transcript.transcript import Transcript


class Section(Struct, frozen=True):
    """A heading and rows of a name and a text."""

    title: str
    rows: tuple[tuple[str, str], ...]


_PLACE_TITLES: dict[KeyPlace, str] = {
    "prompt": "In the prompt",
    "chat": "Anywhere",
    "approval": "In an approval prompt, half a second after the last key",
}


def help_report() -> tuple[Section, ...]:
    """Return all commands and keys, from the tables that define them."""
    commands = tuple(
        (
            each.usage,
            each.summary
            + "".join(f"; also `/{alias}`" for alias in each.aliases)
            + ("" if each.during_turn else "; between turns"),
        )
        for each in COMMANDS
    )
    mentions = (
        ("@MODEL text", "send this message to another model"),
        ("@path", "mention a file; `\\@` is a literal @"),
    )
    shell = (
        ("!command", "run a shell command between turns; the model sees its output"),
        ("!!command", "run a shell command hidden from the model; `\\!` is a literal !"),
    )
    keys = tuple(
        Section(heading, tuple((k.label, k.description) for k in KEYS if k.place == place))
        for place, heading in _PLACE_TITLES.items()
    )
    reading = Section("In the transcript", transcript_keys())
    typed = (("Commands", commands), ("Mentions", mentions), ("Shell", shell))
    return *(Section(title, rows) for title, rows in typed), *keys, reading


def transcript_keys() -> tuple[tuple[str, str], ...]:
    """Return the keys of the transcript."""
    return tuple(
        (each.key.replace(",", ", ").title() if len(each.key) > 1 else each.key, each.description)
        for each in Transcript.BINDINGS
        if isinstance(each, Binding)
    )


def cost_report(facts: Iterable[AnyFact], today: Spending) -> tuple[Section, ...]:
    """Return the cost of a session, computed from its facts.

    Costs that providers report are a separate row and do not replace computed costs.
    """
    calls: list[LlmCallEnd] = []
    last_turn: list[LlmCallEnd] = []
    for fact in facts:
        if isinstance(fact, TurnStarted):
            last_turn = []
        elif isinstance(fact, LlmCallEnd) and fact.pricing_version is not None:
            calls.append(fact)
            last_turn.append(fact)
    by_model: dict[str, list[LlmCallEnd]] = defaultdict(list)
    by_role: dict[str, list[LlmCallEnd]] = defaultdict(list)
    for call in calls:
        by_model[call.model].append(call)
        by_role[call.actor.value].append(call)
    prompt = sum(call.prompt_tokens for call in calls)
    share = 100 * sum(call.cached_input_tokens for call in calls) // prompt if prompt else 0
    totals = (
        ("session", _format_calls(calls)),
        *_reported_row(calls),
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


def context_report(
    model: Model, parts: Sequence[tuple[str, int]], last: int
) -> tuple[Section, ...]:
    """Return the parts of the next request; `last` is the size of the last one in tokens."""
    window = model.capabilities.max_context_tokens
    total = sum(tokens for _, tokens in parts)
    rows = (*parts, ("total", total), ("free", max(0, window - total)))
    known = "" if model.known else " (a guess: the catalogue does not have this model)"
    return (
        Section("Model", ((model.id, f"{window:,} tokens{known}"),)),
        Section(
            "Next request, estimated",
            tuple((name, f"{n:,} tokens, {_format_percentage(n, window)}") for name, n in rows),
        ),
        Section("Last request, counted", (("prompt and reply", f"{last:,} tokens"),)),
    )


def format_spending(amount: Decimal, *, unpriced: bool) -> str:
    """Return a cost; requests without a price are `unpriced`, not zero."""
    if unpriced:
        return f"{format_money(amount)} + unpriced" if amount else "unpriced"
    return format_money(amount)


def format_price(price: Price | None) -> str:
    """Return a price per million tokens."""
    if price is None:
        return "unpriced"
    if not price.input_per_mtok_usd and not price.output_per_mtok_usd:
        return "free"
    words = f"${price.input_per_mtok_usd:f} in, ${price.output_per_mtok_usd:f} out per M"
    if not price.tiers:
        return words
    first = min(tier.above_prompt_tokens for tier in price.tiers)
    return f"{words}, more above {format_tokens(first)}"


def format_tokens(tokens: int) -> str:
    """Return a number of tokens in short form, such as `200k`."""
    if tokens >= 1_000_000:
        return f"{tokens / 1_000_000:.3g}M"
    return f"{tokens / 1_000:.3g}k" if tokens >= 1_000 else str(tokens)


def _format_calls(calls: Sequence[LlmCallEnd]) -> str:
    output = sum(call.output_tokens for call in calls)
    tokens = f"{sum(call.prompt_tokens for call in calls):,} in, {output:,} out"
    extras = [extra for call in calls if (extra := call.usage_extra)]
    guessed = sum(extra.estimated for extra in extras)
    total = Spending(
        cost_usd=sum((call.cost_usd for call in calls), Decimal(0)),
        requests=len(calls),
        unpriced_requests=sum(_is_unpriced(call) for call in calls),
    )
    note = f", {guessed} with estimated tokens" if guessed else ""
    return f"{_format_total(total)}{note}; tokens {tokens}"


def _is_unpriced(call: LlmCallEnd) -> bool:
    return not call.pricing_version or bool(call.usage_extra and call.usage_extra.unpriced)


def _format_total(total: Spending) -> str:
    """Return the cost of requests and the number of those without a price."""
    words = "request" if total.requests == 1 else "requests"
    unpriced = total.unpriced_requests
    if unpriced and unpriced == total.requests:
        return f"unpriced for {unpriced} {words}"
    note = f", {unpriced} unpriced" if unpriced else ""
    return f"{format_money(total.cost_usd)} for {total.requests} {words}{note}"


def _reported_row(calls: Sequence[LlmCallEnd]) -> tuple[tuple[str, str], ...]:
    """Return a row with the costs that providers reported, if any did."""
    amounts = [
        extra.reported_cost_usd
        for call in calls
        if (extra := call.usage_extra) and extra.reported_cost_usd is not None
    ]
    if not amounts:
        return ()
    words = f"{format_money(sum(amounts, Decimal(0)))} for {len(amounts)} of {len(calls)} requests"
    return (("reported by providers", words),)


def _format_percentage(part: int, whole: int) -> str:
    return f"{100 * part / whole:.1f}%" if whole else "?"
