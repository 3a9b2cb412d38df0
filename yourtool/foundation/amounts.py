"""Formatting of amounts for people."""

from datetime import timedelta
from decimal import Decimal

from msgspec import Struct


class Spending(Struct, frozen=True, kw_only=True):
    """The cost of several requests."""

    cost_usd: Decimal = Decimal(0)
    """Without the requests whose price is unknown."""
    requests: int = 0
    unpriced_requests: int = 0


def format_money(amount: Decimal) -> str:
    """Return US dollars: in cents; below one dollar with enough places to differ from zero."""
    if amount == 0:
        return "$0.00"
    places = 2 if round(amount, 4) >= 1 else max(4, -amount.adjusted())
    return f"${amount:.{places}f}"


def format_spending(amount: Decimal, *, unpriced: bool) -> str:
    """Return a cost; requests without a price are `unpriced`, not zero."""
    if unpriced:
        return f"{format_money(amount)} + unpriced" if amount else "unpriced"
    return format_money(amount)


def format_count(count: int, noun: str, plural: str = "") -> str:
    """Return a number with its noun, such as `1 line` and `2 entries`."""
    return f"{count:,} {noun if count == 1 else plural or f'{noun}s'}"


def format_size(size: int) -> str:
    """Return a number of bytes in the largest unit."""
    if size < 1_024:
        return f"{size} {'byte' if size == 1 else 'bytes'}"
    if size < 1_023.95 * 1_024:
        return f"{size / 1_024:.1f} KiB"
    return f"{size / 2**20:,.1f} MiB"


def format_tokens(tokens: int) -> str:
    """Return a number of tokens in short form, such as `200k`."""
    if tokens >= 1_000_000:
        return f"{tokens / 1_000_000:.3g}M"
    return f"{tokens / 1_000:.3g}k" if tokens >= 1_000 else str(tokens)


_UNITS = ((86_400, "d"), (3_600, "h"), (60, "min"), (1, "s"))


def format_duration(seconds: float) -> str:
    """Return a time in its two largest units; below ten seconds in tenths."""
    if (tenths := round(max(0.0, seconds), 1)) < 10:
        return f"{tenths:g} s"
    left, parts = round(seconds), list[str]()
    for size, unit in _UNITS:
        count, left = divmod(left, size)
        if parts or count:
            parts.append(f"{count} {unit}" if count else "")
    return " ".join(filter(None, parts[:2]))


def format_age(age: timedelta) -> str:
    """Return how long ago something happened."""
    return f"{format_duration(int(age.total_seconds()))} ago"
