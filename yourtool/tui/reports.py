"""What `/help`, `/cost` and `/context` tell, as titled rows."""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from decimal import Decimal
from typing import TypeAlias

from msgspec import Struct
from textual.binding import Binding

from yourtool.agent.commands import COMMANDS
from yourtool.amounts import Spending, format_money
from yourtool.events import AnyFact, LlmCallCompleted, LlmCallFailed, TurnStarted
from yourtool.models import Model, Price
from yourtool.tui.keys import KEYS, KeyPlace
from yourtool.tui.widgets.transcript import Transcript

Call: TypeAlias = LlmCallCompleted | LlmCallFailed


class Section(Struct, frozen=True):
    """A heading and rows of a name and what belongs to it."""

    title: str
    rows: tuple[tuple[str, str], ...]


_PLACES: dict[KeyPlace, str] = {
    "prompt": "In the prompt",
    "chat": "Anywhere",
    "question": "In a question, half a second after the last key",
}


def help_report() -> tuple[Section, ...]:
    """Return every command and every key, from the tables that obey them."""
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
        ("@MODEL text", "ask another model this once"),
        ("@path", "mention a file; `\\@` is a plain @"),
    )
    shell = (
        ("!command", "run it here, between turns; the model sees what it prints"),
        ("!!command", "run it so that the model sees nothing; `\\!` is a plain !"),
    )
    keys = tuple(
        Section(heading, tuple((k.shown, k.description) for k in KEYS if k.place == place))
        for place, heading in _PLACES.items()
    )
    reading = Section("In the transcript", transcript_keys())
    typed = (("Commands", commands), ("Mentions", mentions), ("Shell", shell))
    return *(Section(title, rows) for title, rows in typed), *keys, reading


def transcript_keys() -> tuple[tuple[str, str], ...]:
    """Return the keys that the transcript itself obeys."""
    return tuple(
        (each.key.replace(",", ", ").title() if len(each.key) > 1 else each.key, each.description)
        for each in Transcript.BINDINGS
        if isinstance(each, Binding)
    )


def cost_report(facts: Iterable[AnyFact], today: Spending) -> tuple[Section, ...]:
    """Return what a session has cost, from the same facts that are stored.

    What providers report of their own accord stands beside what was computed, never in its place.
    """
    calls: list[Call] = []
    last_turn: list[Call] = []
    for fact in facts:
        if isinstance(fact, TurnStarted):
            last_turn = []
        elif isinstance(fact, Call) and fact.pricing_version is not None:
            calls.append(fact)
            last_turn.append(fact)
    by_model: dict[str, list[Call]] = defaultdict(list)
    by_role: dict[str, list[Call]] = defaultdict(list)
    for call in calls:
        by_model[call.model].append(call)
        by_role[call.actor.value].append(call)
    prompt = sum(call.prompt_tokens for call in calls)
    share = 100 * sum(call.cached_input_tokens for call in calls) // prompt if prompt else 0
    totals = (
        ("session", _spent(calls)),
        *_reported(calls),
        ("last turn", _spent(last_turn)),
        ("today, all sessions", _price_of(today)),
        ("read from cache", f"{share}% of {prompt:,} prompt tokens"),
    )
    groups = (("By model", by_model), ("By role", by_role))
    return Section("Cost", totals), *(
        Section(title, tuple((name, _spent(found)) for name, found in sorted(group.items())))
        for title, group in groups
        if group
    )


def context_report(
    model: Model, parts: Sequence[tuple[str, int]], last: int
) -> tuple[Section, ...]:
    """Return what the next request would hold; `last` is the size of the last one, in tokens."""
    window = model.capabilities.max_context_tokens
    total = sum(tokens for _, tokens in parts)
    rows = (*parts, ("together", total), ("free", max(0, window - total)))
    known = "" if model.known else " (a guess: nobody described this model)"
    return (
        Section("Model", ((model.id, f"{window:,} tokens{known}"),)),
        Section(
            "Next request, estimated",
            tuple((name, f"{n:,} tokens, {_per_cent(n, window)}") for name, n in rows),
        ),
        Section("Last request, counted", (("prompt and reply", f"{last:,} tokens"),)),
    )


def spent(amount: Decimal, *, unpriced: bool) -> str:
    """Write what was spent; what nobody has a price for is never nothing."""
    if unpriced:
        return f"{format_money(amount)} + unpriced" if amount else "unpriced"
    return format_money(amount)


def price_words(price: Price | None) -> str:
    """Write a price per million tokens."""
    if price is None:
        return "unpriced"
    if not price.input_per_mtok_usd and not price.output_per_mtok_usd:
        return "free"
    words = f"${price.input_per_mtok_usd:f} in, ${price.output_per_mtok_usd:f} out per M"
    if not price.tiers:
        return words
    first = min(tier.above_prompt_tokens for tier in price.tiers)
    return f"{words}, more above {tokens_words(first)}"


def tokens_words(tokens: int) -> str:
    """Write a count of tokens in short."""
    if tokens >= 1_000_000:
        return f"{tokens / 1_000_000:.3g}M"
    return f"{tokens / 1_000:.3g}k" if tokens >= 1_000 else str(tokens)


def _spent(calls: Sequence[Call]) -> str:
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
    return f"{_price_of(total)}{note}; tokens {tokens}"


def _is_unpriced(call: Call) -> bool:
    return not call.pricing_version or bool(call.usage_extra and call.usage_extra.unpriced)


def _price_of(total: Spending) -> str:
    """Write what requests cost, and how many of them nobody has a price for."""
    words = "request" if total.requests == 1 else "requests"
    unpriced = total.unpriced_requests
    if unpriced and unpriced == total.requests:
        return f"unpriced for {unpriced} {words}"
    note = f", {unpriced} unpriced" if unpriced else ""
    return f"{format_money(total.cost_usd)} for {total.requests} {words}{note}"


def _reported(calls: Sequence[Call]) -> tuple[tuple[str, str], ...]:
    """Return what providers say that requests cost, where one says it."""
    amounts = [
        extra.reported_cost_usd
        for call in calls
        if (extra := call.usage_extra) and extra.reported_cost_usd is not None
    ]
    if not amounts:
        return ()
    words = f"{format_money(sum(amounts, Decimal(0)))} for {len(amounts)} of {len(calls)} requests"
    return (("reported by providers", words),)


def _per_cent(part: int, whole: int) -> str:
    return f"{100 * part / whole:.1f}%" if whole else "?"
