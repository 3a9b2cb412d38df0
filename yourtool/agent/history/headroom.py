"""Remaining rate limits of a provider."""

from collections.abc import Iterator
from datetime import datetime, timedelta
from typing import Literal, TypeAlias

from msgspec import Struct

from yourtool.messages.usage import RateLimits

SHOWN_BELOW = 20
"""Percentage of a limit below which its rest is shown."""
_WINDOW = timedelta(minutes=1)
"""How long limits without a time of their reset count; most providers count by the minute."""
_LONGEST_WAIT = 366 * 86_400
"""Seconds; a later reset is a mistake."""

LimitKind: TypeAlias = Literal["requests", "tokens"]


class LatestLimits(Struct, frozen=True):
    """The rate limits in a reply, and when it ended."""

    limits: RateLimits
    at: datetime


class Headroom(Struct, frozen=True):
    """The rest of a limit that is nearly used up."""

    kind: LimitKind
    percent: int
    until: datetime
    """When it is reset, or when it no longer counts."""
    has_reset: bool
    """Whether the provider sent the time of the reset."""

    def describe(self, now: datetime) -> str:
        """Return it in the local time, such as `requests 12% left, resets 14:05`."""
        left = f"{self.kind} {self.percent}% left"
        if not self.has_reset:
            return left
        local = (self.until + timedelta(seconds=59)).astimezone()  # a full minute, not before
        is_today = local.date() == now.astimezone().date()
        return f"{left}, resets {local.strftime('%H:%M' if is_today else '%b %d %H:%M')}"


def find_headroom(latest: LatestLimits | None, now: datetime) -> Headroom | None:
    """Return the smallest rest below `SHOWN_BELOW`; None: there is more, or it is not known."""
    if latest is None:
        return None
    low = (each for each in _measure(latest) if each.percent < SHOWN_BELOW and each.until > now)
    return min(low, key=lambda each: each.percent, default=None)


def _measure(latest: LatestLimits) -> Iterator[Headroom]:
    limits, at = latest.limits, latest.at
    requests, tokens = limits.reset_requests_seconds, limits.reset_tokens_seconds
    if requests is None and tokens is None:
        requests = tokens = limits.reset_seconds
    if limits.remaining_requests is not None and limits.limit_requests:
        percent = 100 * limits.remaining_requests // limits.limit_requests
        yield _build_headroom("requests", percent, at, requests)
    if limits.remaining_tokens is not None and limits.limit_tokens:
        percent = 100 * limits.remaining_tokens // limits.limit_tokens
        yield _build_headroom("tokens", percent, at, tokens)


def _build_headroom(kind: LimitKind, percent: int, at: datetime, wait: float | None) -> Headroom:
    if wait is None or wait > _LONGEST_WAIT:
        return Headroom(kind, percent, at + _WINDOW, has_reset=False)
    return Headroom(kind, percent, at + timedelta(seconds=wait), has_reset=True)
