"""Exceptions from error responses.

Sources: https://docs.claude.com/en/api/errors, https://platform.openai.com/docs/guides/error-codes,
https://openrouter.ai/docs/api-reference/errors and, for Google,
https://ai.google.dev/gemini-api/docs/troubleshooting. Bodies differ: `error` is an object or a
string, codes are numbers or words, some servers use `detail` or `message`, proxies return HTML, and
an error can have status 200, inside a stream or instead of it.
"""

import re
import time
from collections.abc import Mapping
from datetime import UTC
from email.utils import parsedate_to_datetime
from http import HTTPStatus
from math import ceil, isnan
from typing import Any

from msgspec import Struct

from yourtool.errors import (
    AdapterError,
    AuthError,
    ContextOverflowError,
    ErrorCode,
    InvalidRequestError,
    NetworkError,
    OtherAdapterError,
    RateLimitError,
    ServerError,
)
from yourtool.foundation.amounts import format_duration
from yourtool.foundation.text import storable, storable_json
from yourtool.messages.blocks import canonical_json
from yourtool.providers.json_access import decode, mapping, objects, text
from yourtool.providers.replies.response_headers import parse_wait

MESSAGE_LIMIT = 600
"""Longest message of a provider that is stored, in characters."""
_MAX_JSON_BYTES = 2**20
"""Longer bodies are not parsed, but shown as text."""

_API_KEY = re.compile(r"\b(?:sk|pk|gsk|xai|key|AIza)[-_]?[A-Za-z0-9_*-]{8,}", re.IGNORECASE)
_TAGS = re.compile(
    r"<(?:script|style)\b(?:.*?</(?:script|style)>|.*)|<[^<>]*>", re.IGNORECASE | re.DOTALL
)
_OVERFLOW_MESSAGE = re.compile(
    r"prompt is too long|maximum prompt length|model token limit|`inputs` tokens"
    r"|context (?:length|window|size|limit)|context_length"
    r"|too many (?:input )?tokens|(?:input|prompt|request) (?:is )?too (?:long|large)"
    r"|prompt exceeds max|(?:input|prompt) (?:length|token count) .{0,12}(?:exceeds?|larger than)"
    r"|maximum model length|must have less than \d{1,9} tokens|range of input length"
    r"|reduce the length|length of (?:all )?messages is too long",
    re.IGNORECASE | re.DOTALL,
)
_TOKENS_EXCEEDED = re.compile(
    r"tokens? .{0,40}exceed|exceeds? .{0,60}tokens?", re.IGNORECASE | re.DOTALL
)
_OUTPUT_TOKENS_EXCEEDED = re.compile(
    r"^(?>(?:(?!prompt|input(?! should)|messages).)*?"
    r"(?:max(?:imum)?[ _](?:(?:new|output|completion)[ _])?|output |completion |budget_)tokens)"
    r".*exceed",
    re.IGNORECASE | re.DOTALL,
)
"""Matches errors about the output limit or the reasoning budget, not the prompt."""
_NON_RETRYABLE = frozenset({400, 401, 403, 404, 413})
"""Statuses that are never retried, even if a header suggests it."""
_LONG_WAIT = 60
"""Seconds; a longer wait is mentioned in the message."""
_MAX_WAIT = 366 * 24 * 3600.0
"""Seconds; limits longer waits, such as `inf`."""
_BILLING_CODES = frozenset(
    {
        "insufficient_quota",
        "insufficient_credits",
        "enforced_spend_limit_reached",
        "exceeded_current_quota_error",
        "billing_error",
        "billing_not_active",
    }
)
_BILLING_MESSAGE = re.compile(
    r"credit balance is too low|insufficient (?:credits|balance)|used all available credits"
    r"|monthly spending limit",
    re.IGNORECASE,
)
_DAILY_QUOTA = re.compile(r"per_?day", re.IGNORECASE)
"""Matches Google's names of daily quotas, for which a retry is useless."""
_RETRY_HINT = re.compile(
    r"(?:try again|retry) in ((?:\d{1,9}(?:\.\d{1,9})?(?:ms|[dhms]))+)", re.IGNORECASE
)
"""Matches a wait that only the message contains."""
_OVERLOADED = 529
"""The status with which Anthropic refuses while it has too much to do."""
_CONTENT_FILTER_CODES = frozenset(
    {"content_filter", "content_policy_violation", "responsibleaipolicyviolation"}
)
_RATE_LIMIT_CODES = _BILLING_CODES | {
    "rate_limit_error",
    "overloaded_error",
    "rate_limit_exceeded",
    "resource_exhausted",
}
_AUTH_CODES = frozenset(
    {
        "authentication_error",
        "permission_error",
        "invalid_api_key",
        "api_key_invalid",
        "unauthenticated",
        "permission_denied",
    }
)
_SERVER_ERROR_CODES = frozenset(
    {
        "api_error",
        "server_error",
        "timeout_error",
        "internal_server_error",
        "unavailable",
        "internal",
        "deadline_exceeded",
    }
)
_INVALID_KEY_MESSAGE = "api key not valid"
_OVERFLOW_CODES = frozenset(
    {
        "context_length_exceeded",
        "exceed_context_size_error",
        "request_too_large",
        "too_many_prompt_tokens",
    }
)
_INVALID_REQUEST_CODES = _CONTENT_FILTER_CODES | {
    "invalid_request_error",
    "not_found_error",
    "model_not_found",
}
_DESCRIPTIONS: dict[type[AdapterError], str] = {
    AuthError: "does not accept the key",
    RateLimitError: "is rate limited",
    ServerError: "failed",
    NetworkError: "timed out",
    ContextOverflowError: "cannot take a conversation this long",
    InvalidRequestError: "refused the request",
    OtherAdapterError: "returned an error",
}
_CODE_DESCRIPTIONS = {
    ErrorCode.BILLING: "has no credit or quota left for this key",
    ErrorCode.CONTENT_FILTER: "will not process this prompt",
}


class _ErrorBody(Struct, frozen=True):
    """The fields of an error body, independent of its shape."""

    codes: frozenset[str]
    """Types and codes that are words."""
    number: int
    """The HTTP status in the body; 0 without one."""
    message: str
    request_id: str | None
    retry_after: float | None
    """The wait in the body, in seconds."""
    is_daily: bool
    """Whether a daily quota is exhausted."""


def error_from_response(
    provider: str, status: int, body: bytes, headers: Mapping[str, str] | None = None
) -> AdapterError:
    """Return the error of a response; with `status` 200, the body contains the status."""
    headers = headers or {}
    report = _parse_body(body)
    number = status if status != HTTPStatus.OK else report.number
    kind = _classify(number, report)
    code = _find_code(number, report)
    header_wait = retry_after(headers)
    wait = report.retry_after if header_wait is None else header_wait
    wait = wait if wait is None else min(wait, _MAX_WAIT)
    description = _CODE_DESCRIPTIONS.get(code, _DESCRIPTIONS[kind]) if code else _DESCRIPTIONS[kind]
    if kind is RateLimitError and code is None and wait is not None and wait > _LONG_WAIT:
        description = f"is rate limited for {format_duration(ceil(wait))}"
    shown = f" ({number})" if number else ""
    error = kind(f"`{provider}` {description}{shown}: {report.message}", status=status, code=code)
    if code is ErrorCode.BILLING or report.is_daily:
        error.retryable = False
    elif kind is not ContextOverflowError and number not in _NON_RETRYABLE:
        advice = headers.get("x-should-retry", "").strip().lower()
        usual = error.retryable or number == HTTPStatus.CONFLICT
        error.retryable = advice == "true" if advice else usual
    error.retry_after = wait
    error.request_id = headers.get("request-id") or headers.get("x-request-id") or report.request_id
    return error


def error_from_payload(provider: str, report: dict[str, Any]) -> AdapterError:
    """Return the error in a decoded part of a reply."""
    return error_from_response(provider, HTTPStatus.OK, canonical_json(storable_json(report)))


def retry_after(headers: Mapping[str, str]) -> float | None:
    """Return the seconds to wait from headers with milliseconds, seconds, or a date."""
    if (wait := _parse_wait(headers.get("retry-after-ms", ""), per_second=1000)) is not None:
        return wait
    value = headers.get("retry-after", "").strip()
    if (wait := _parse_wait(value)) is not None:
        return wait
    try:
        when = parsedate_to_datetime(value)
        when = when if when.tzinfo else when.replace(tzinfo=UTC)
        return min(max(0.0, when.timestamp() - time.time()), _MAX_WAIT)
    except (TypeError, ValueError, OverflowError):
        return None


def _parse_wait(value: str, per_second: int = 1) -> float | None:
    """Parse a number into seconds; a repeated header is a comma-separated list."""
    try:
        number = float(value.partition(",")[0])
    except ValueError:
        return None
    return None if isnan(number) else min(max(0.0, number) / per_second, _MAX_WAIT)


def _classify(number: int, report: _ErrorBody) -> type[AdapterError]:
    codes = report.codes
    is_auth = codes & _AUTH_CODES or _INVALID_KEY_MESSAGE in report.message.lower()
    if number == 403 and codes & _CONTENT_FILTER_CODES:
        return InvalidRequestError
    if number in (401, 403) or (is_auth and number < 500):
        return AuthError
    if number == HTTPStatus.PAYMENT_REQUIRED:
        return InvalidRequestError
    if number in (429, _OVERLOADED) or codes & _RATE_LIMIT_CODES:
        return RateLimitError
    if number == 413 or codes & _OVERFLOW_CODES:
        return ContextOverflowError
    if number == 408:
        return NetworkError
    if _is_overflow(report.message):  # local servers use any status
        return ContextOverflowError
    if number >= 500 or (codes & _SERVER_ERROR_CODES and not 400 <= number < 500):
        return ServerError
    if 400 <= number < 500 or codes & _INVALID_REQUEST_CODES:
        return InvalidRequestError
    return OtherAdapterError


def _is_overflow(message: str) -> bool:
    if _OVERFLOW_MESSAGE.search(message):
        return True
    return bool(_TOKENS_EXCEEDED.search(message)) and not _OUTPUT_TOKENS_EXCEEDED.search(message)


def _find_code(number: int, report: _ErrorBody) -> ErrorCode | None:
    is_unpaid = report.codes & _BILLING_CODES or _BILLING_MESSAGE.search(report.message)
    if number == HTTPStatus.PAYMENT_REQUIRED or is_unpaid:
        return ErrorCode.BILLING
    if number == _OVERLOADED or "overloaded_error" in report.codes:
        return ErrorCode.OVERLOADED
    return ErrorCode.CONTENT_FILTER if report.codes & _CONTENT_FILTER_CODES else None


def _parse_body(body: bytes) -> _ErrorBody:
    try:
        value: Any = decode(body) if len(body) <= _MAX_JSON_BYTES else {}
    except ValueError:
        value = {}
    whole = next(iter(objects(value)), mapping(value))
    error = whole.get("error", whole)
    fields = mapping(error)
    values = [fields.get(name) for name in ("type", "code", "status", "status_code")]
    details = mapping(fields.get("details"))
    values.append(details.get("error_code"))
    found = objects(fields.get("details"))
    values += [detail.get("reason") for detail in found]
    words = {value.lower() for value in values if isinstance(value, str)}
    if "flagged_input" in mapping(fields.get("metadata")):  # OpenRouter's moderation
        words.add("content_filter")
    numbers = [_parse_status(value) for value in values]
    request_id = whole.get("request_id")
    message = _find_message(error, fields, whole, body)
    return _ErrorBody(
        codes=frozenset(words),
        number=next((number for number in numbers if number), 0),
        message=message,
        request_id=request_id if isinstance(request_id, str) else None,
        retry_after=_find_wait(found, message),
        is_daily=any(
            _DAILY_QUOTA.search(text(broken.get("quotaId")))
            for each in found
            for broken in objects(each.get("violations"))
        ),
    )


def _find_wait(details: list[dict[str, Any]], message: str) -> float | None:
    delays = [text(each.get("retryDelay")) for each in details]
    if (hint := _RETRY_HINT.search(message)) is not None:
        delays.append(hint[1])
    return next((wait for each in delays if (wait := parse_wait(each)) is not None), None)


def _parse_status(value: Any) -> int:
    if isinstance(value, str) and value.isdecimal():
        value = int(value[:4])
    return value if isinstance(value, int) and 400 <= value < 600 else 0


def _find_message(error: Any, fields: dict[str, Any], whole: dict[str, Any], body: bytes) -> str:
    candidates = (error, fields.get("message"), fields.get("detail"), whole.get("message"))
    message = next((value for value in candidates if isinstance(value, str) and value.strip()), "")
    raw = mapping(fields.get("metadata")).get("raw")
    if message and isinstance(raw, str):
        message = f"{message}: {raw}"
    if not message:
        message = _TAGS.sub(" ", body[: 16 * MESSAGE_LIMIT].decode("utf-8", "replace"))
    message = " ".join(storable(_API_KEY.sub("[key]", message)).split())
    if not message:
        return "the response has no text"
    return message if len(message) <= MESSAGE_LIMIT else f"{message[:MESSAGE_LIMIT]}…"
