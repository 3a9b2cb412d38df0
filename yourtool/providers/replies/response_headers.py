"""Parser of response headers.

Sources: https://docs.claude.com/en/api/rate-limits#response-headers,
https://platform.openai.com/docs/guides/rate-limits#rate-limits-in-headers, which most compatible
servers follow, and https://openrouter.ai/docs/api-reference/limits.
"""

import re
import time
from collections.abc import Mapping, Sequence
from datetime import datetime

from yourtool.foundation.text import storable
from yourtool.messages.usage import RateLimits, Receipt

_MAX_ID_LENGTH = 200
"""Longest id that is stored, in characters."""
_ID_HEADERS = ("request-id", "x-request-id", "x-generation-id")
_REQUESTS_HEADERS = (
    "anthropic-ratelimit-requests-remaining",
    "x-ratelimit-remaining-requests",
    "x-ratelimit-remaining",
)
_TOKENS_HEADERS = ("anthropic-ratelimit-tokens-remaining", "x-ratelimit-remaining-tokens")
_LIMIT_REQUESTS_HEADERS = (
    "anthropic-ratelimit-requests-limit",
    "x-ratelimit-limit-requests",
    "x-ratelimit-limit",
)
_LIMIT_TOKENS_HEADERS = ("anthropic-ratelimit-tokens-limit", "x-ratelimit-limit-tokens")
_RESET_REQUESTS_HEADERS = ("anthropic-ratelimit-requests-reset", "x-ratelimit-reset-requests")
_RESET_TOKENS_HEADERS = ("anthropic-ratelimit-tokens-reset", "x-ratelimit-reset-tokens")
_RESET_HEADERS = (*_RESET_REQUESTS_HEADERS, *_RESET_TOKENS_HEADERS, "x-ratelimit-reset")
_UNITS = {"d": 86_400.0, "h": 3_600.0, "m": 60.0, "s": 1.0, "ms": 0.001}
_TIME_SPAN = re.compile(r"(\d{1,9}(?:\.\d{1,9})?)(ms|[dhms])")
_DURATION = re.compile(rf"(?:{_TIME_SPAN.pattern})+")
_MIN_TIMESTAMP = 1_000_000_000
"""Larger numbers are Unix timestamps, in seconds or milliseconds."""


def parse_receipt(headers: Mapping[str, str], response_id: str) -> Receipt | None:
    """Return the ids and rate limits of a response; None if it has none."""
    request_id = next((headers[name] for name in _ID_HEADERS if headers.get(name)), "")
    limits = RateLimits(
        remaining_requests=_find_number(headers, _REQUESTS_HEADERS),
        remaining_tokens=_find_number(headers, _TOKENS_HEADERS),
        limit_requests=_find_number(headers, _LIMIT_REQUESTS_HEADERS),
        limit_tokens=_find_number(headers, _LIMIT_TOKENS_HEADERS),
        reset_seconds=_find_wait(headers, _RESET_HEADERS),
        reset_requests_seconds=_find_wait(headers, _RESET_REQUESTS_HEADERS),
        reset_tokens_seconds=_find_wait(headers, _RESET_TOKENS_HEADERS),
    )
    receipt = Receipt(
        request_id=storable(request_id)[:_MAX_ID_LENGTH] or None,
        response_id=storable(response_id)[:_MAX_ID_LENGTH] or None,
        rate_limits=None if limits == RateLimits() else limits,
    )
    return None if receipt == Receipt() else receipt


def _find_number(headers: Mapping[str, str], names: Sequence[str]) -> int | None:
    values = (headers.get(name, "").strip() for name in names)
    return next((int(each[:15]) for each in values if each.isascii() and each.isdecimal()), None)


def _find_wait(headers: Mapping[str, str], names: Sequence[str]) -> float | None:
    """Return the longest wait."""
    waits = (parse_wait(headers.get(name, "")) for name in names)
    return max((wait for wait in waits if wait is not None), default=None)


def parse_wait(value: str) -> float | None:
    """Parse a duration such as `6m0s`, seconds, or a point in time into seconds from now."""
    value = value.strip()
    if _DURATION.fullmatch(value):
        return round(sum(float(n) * _UNITS[unit] for n, unit in _TIME_SPAN.findall(value)), 3)
    try:
        number = float(value)
    except ValueError:
        return _parse_date(value)
    if not 0 <= number < float("inf"):
        return None
    if number < _MIN_TIMESTAMP:
        return number
    return _seconds_until(number / 1000 if number > 1000 * _MIN_TIMESTAMP else number)


def _parse_date(moment: str) -> float | None:
    try:
        return _seconds_until(datetime.fromisoformat(moment).timestamp())
    except (ValueError, OverflowError):
        return None


def _seconds_until(timestamp: float) -> float:
    return round(max(0.0, timestamp - time.time()), 3)
