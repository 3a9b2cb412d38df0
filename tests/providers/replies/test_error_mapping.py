import json
import time
from email.utils import formatdate
from pathlib import Path

import pytest

from tests.providers.recorded_exchanges import (
    CLASSES,
    NAMES,
    RECORDED,
    cases,
    error_class,
    expected,
    play,
)
from yourtool.errors import (
    AuthError,
    ContextOverflowError,
    ErrorCode,
    InvalidRequestError,
    NetworkError,
    OtherAdapterError,
    RateLimitError,
    ServerError,
)
from yourtool.providers.replies.error_mapping import error_from_response, retry_after
from yourtool.providers.retry import RetryPolicy

FAILED = [name for name in NAMES if expected(name)["error"]]
YEAR = 366 * 24 * 3600
SPENT = {"error_code": "enforced_spend_limit_reached"}
MANY = "Limit 3 tokens exceeded"
LONG = "prompt is too long: 9 tokens > 8 maximum"
SUM = "input length and `max_tokens` exceed context limit: 9 + 8 > 10, decrease input length"
WINDOW = "This model's maximum context length is 5 tokens."
FLAGGED = json.dumps(
    {
        "error": {
            "code": 403,
            "message": "Your chosen model requires moderation and your input was flagged",
            "metadata": {"reasons": ["violence"], "flagged_input": "text", "provider_name": "p"},
        }
    }
)
GROQ = '{"error": {"message": "x", "code": "tool_use_failed", "status_code": 400}}'
PER_DAY = [{"violations": [{"quotaId": "GenerateRequestsPerDayPerProjectPerModel-FreeTier"}]}]
DAILY = json.dumps({"error": {"code": 429, "status": "RESOURCE_EXHAUSTED", "details": PER_DAY}})
ODD = '{"error": {"message": {"a": 1}, "code": [1], "type": true}}'


def anthropic(kind, message="no", **details):
    error = {"type": kind, "message": message, **({"details": details} if details else {})}
    return json.dumps({"type": "error", "error": error, "request_id": "req_1"})


def openai(code, kind=None, message="no"):
    return json.dumps({"error": {"message": message, "type": kind, "code": code}})


@pytest.mark.parametrize(
    ("status", "body", "kind", "retryable"),
    [
        (429, anthropic("rate_limit_error"), RateLimitError, True),
        (529, anthropic("overloaded_error"), RateLimitError, True),
        (200, anthropic("overloaded_error"), RateLimitError, True),
        (500, anthropic("overloaded_error"), RateLimitError, True),
        (429, anthropic("rate_limit_error", **SPENT), RateLimitError, False),
        (429, openai("rate_limit_exceeded", "tokens", MANY), RateLimitError, True),
        (429, openai("insufficient_quota", "insufficient_quota"), RateLimitError, False),
        (401, anthropic("authentication_error"), AuthError, False),
        (403, anthropic("permission_error"), AuthError, False),
        (403, FLAGGED, InvalidRequestError, False),
        (409, anthropic("conflict"), InvalidRequestError, True),
        (401, openai("invalid_api_key", "invalid_request_error"), AuthError, False),
        (400, openai("invalid_api_key"), AuthError, False),
        (401, '{"detail": "Invalid API Key"}', AuthError, False),
        (500, anthropic("api_error"), ServerError, True),
        (503, "Service Unavailable", ServerError, True),
        (502, "<html><title>502 Bad Gateway</title></html>", ServerError, True),
        (504, "", ServerError, True),
        (200, openai(None, "server_error"), ServerError, True),
        (408, "", NetworkError, True),
        (413, anthropic("request_too_large"), ContextOverflowError, False),
        (400, anthropic("invalid_request_error", LONG), ContextOverflowError, False),
        (400, anthropic("invalid_request_error", SUM), ContextOverflowError, False),
        (400, openai("context_length_exceeded"), ContextOverflowError, False),
        (400, openai(None, None, WINDOW), ContextOverflowError, False),
        (200, '{"error": "context size exceeded"}', ContextOverflowError, False),
        (400, anthropic("invalid_request_error"), InvalidRequestError, False),
        (404, anthropic("not_found_error"), InvalidRequestError, False),
        (404, openai("model_not_found"), InvalidRequestError, False),
        (402, openai(402), InvalidRequestError, False),
        (402, anthropic("billing_error"), InvalidRequestError, False),
        (400, openai(400, "exceed_context_size_error"), ContextOverflowError, False),
        (422, "malformed {", InvalidRequestError, False),
        (200, '{"error": {"code": 502, "message": "Provider returned error"}}', ServerError, True),
        (200, '{"error": {"code": "429", "message": "slow down"}}', RateLimitError, True),
        (200, GROQ, InvalidRequestError, False),
        (200, openai("content_filter"), InvalidRequestError, False),
        (200, '{"error": {"message": "odd"}}', OtherAdapterError, False),
        (302, "", OtherAdapterError, False),
        (
            429,
            openai("1113", None, "Insufficient balance, please recharge."),
            RateLimitError,
            False,
        ),
        (429, openai(None, "exceeded_current_quota_error"), RateLimitError, False),
        (429, DAILY, RateLimitError, False),
        (
            500,
            openai(500, "server_error", "Context size has been exceeded."),
            ContextOverflowError,
            False,
        ),
        (400, "\xff[[[", InvalidRequestError, False),
        (400, "[" * 50_000, InvalidRequestError, False),
        (400, ODD, InvalidRequestError, False),
        (400, "null", InvalidRequestError, False),
    ],
)
@pytest.mark.req("R-ADP-07")
def test_status_and_body_map_to_error_class(status, body, kind, retryable):
    error = error_from_response("acme", status, body.encode("latin-1"))
    assert type(error) is kind
    assert error.retryable is retryable
    assert error.status == status
    assert str(error).startswith("`acme` ")


FULL = json.loads(Path(__file__).with_name("full_contexts.json").read_text("utf-8"))
"""What servers answer to a conversation that does not fit."""


@pytest.mark.parametrize("overflow", FULL, ids=lambda overflow: overflow["server"])
@pytest.mark.req("R-ADP-07")
def test_context_overflow_is_recognised_and_not_retried(overflow):
    error = error_from_response(overflow["server"], overflow["status"], overflow["body"].encode())
    assert type(error) is ContextOverflowError
    assert not error.retryable


@pytest.mark.parametrize(
    ("status", "message"),
    [
        (400, "max_tokens: 300000 > 128000, which is the maximum allowed number of output tokens"),
        (400, "max_tokens is too large: 200000. This model supports at most 128000 completion"),
        (400, "thinking.budget_tokens: Input should be greater than or equal to 1024"),
        (400, "The maximum tokens you requested exceeds the model limit of 4096. Try again."),
        (400, "max_tokens (64000) exceeds the limit of 8192 tokens for this model"),
        (400, "max_completion_tokens exceeds the maximum of 8192 tokens"),
        (400, "max_tokens: Input should not exceed 8192 tokens"),
        (422, "max_tokens exceeds the maximum of 8192 output tokens"),
        (400, "max_tokens=5000 cannot be greater than max_model_len=4096"),
        (400, "The input image is larger than 5 MB"),
        (400, "thinking.budget_tokens must not exceed max_tokens"),
        (429, "Too many tokens, please wait before trying again."),
        (429, "Rate limit reached: this request would exceed 30,000 input tokens per minute"),
    ],
)
@pytest.mark.req("R-ADP-07")
def test_other_limits_are_not_context_overflows(status, message):
    error = error_from_response("acme", status, openai(None, None, message).encode())
    assert type(error) in (InvalidRequestError, RateLimitError)


@pytest.mark.recorded
def test_every_recorded_error_has_an_expected_class():
    assert sorted(CLASSES) == sorted(name for name in RECORDED if expected(name)["error"])


@pytest.mark.parametrize("name", cases(FAILED))
@pytest.mark.req("R-ADP-07")
async def test_recorded_errors_map_to_their_class(name):
    _, error = await play(name)
    assert error is not None
    assert error.error_class == error_class(name)


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({}, None),
        ({"retry-after": "2"}, 2),
        ({"retry-after": "2.5"}, 2.5),
        ({"retry-after": "2", "retry-after-ms": "1400"}, 1.4),
        ({"retry-after": "2", "retry-after-ms": "soon"}, 2),
        ({"retry-after": "-3"}, 0),
        ({"retry-after": "soon"}, None),
        ({"retry-after": "Wed, 21 Oct 2015 07:28:00 GMT"}, 0),
        ({"retry-after": "nan"}, None),
        ({"retry-after": "7", "retry-after-ms": "nan"}, 7),
        ({"retry-after": "7, 7"}, 7),
        ({"retry-after": "inf"}, YEAR),
        ({"retry-after": "1e400"}, YEAR),
        ({"retry-after-ms": "inf"}, YEAR),
        ({"retry-after": "Fri, 31 Dec 9999 23:59:59 GMT"}, YEAR),
    ],
)
def test_retry_after_has_three_forms(headers, seconds):
    assert retry_after(headers) == seconds


@pytest.mark.parametrize("status", [408, 409, 429, 503])
def test_retryable_errors_have_the_wait_of_the_header(status):
    """`security.md` R8."""
    error = error_from_response("acme", status, b"", {"retry-after": "30"})
    assert RetryPolicy().delay(1, error, lambda: 0) == 30


@pytest.mark.parametrize(
    ("message", "wait"),
    [
        ("Rate limit reached for gpt-6. Please try again in 6.192s. Visit the site.", 6.192),
        ("Please try again in 120ms.", 0.12),
        ("Please try again in 1m34.5s.", 94.5),
        ("You exceeded your quota. Please retry in 30.1s.", 30.1),
        ("Try again in a while.", None),
        ("Slow down.", None),
    ],
)
@pytest.mark.req("R-ADP-08")
def test_wait_is_parsed_from_the_message(message, wait):
    """In a stream there are no headers."""
    body = openai("rate_limit_exceeded", None, message).encode()
    assert error_from_response("acme", 200, body).retry_after == wait
    assert error_from_response("acme", 429, body, {"retry-after": "2"}).retry_after == 2


@pytest.mark.parametrize(
    ("delay", "wait"), [("34.074824224s", 34.075), ("0s", 0), ("soon", 7), (None, 7)]
)
@pytest.mark.req("R-ADP-08")
def test_wait_is_parsed_from_google_details(delay, wait):
    """https://cloud.google.com/apis/design/errors#error_payloads"""
    details = [{"reason": "x"}, {"retryDelay": delay}]
    error = {"code": 429, "message": "Please retry in 7s.", "details": details}
    assert (
        error_from_response("google", 429, json.dumps({"error": error}).encode()).retry_after
        == wait
    )


def test_wait_in_the_message_is_at_most_a_year():
    body = openai("rate_limit_exceeded", None, "Please try again in 999999999d.").encode()
    assert error_from_response("acme", 200, body).retry_after == YEAR


def test_retry_date_becomes_seconds_from_now():
    wait = retry_after({"retry-after": formatdate(time.time() + 100, usegmt=True)})
    assert wait is not None
    assert 90 < wait <= 100


@pytest.mark.parametrize("zone", ["", " -0000", " UTC"])
def test_date_without_timezone_is_utc(zone, monkeypatch):
    date = formatdate(time.time() + 100, usegmt=True).removesuffix(" GMT")
    with monkeypatch.context() as here:
        here.setenv("TZ", "Asia/Tokyo")
        time.tzset()
        wait = retry_after({"retry-after": date + zone})
    time.tzset()
    assert wait is not None
    assert 90 < wait <= 100


@pytest.mark.parametrize(("flag", "retryable"), [("true", True), ("false", False)])
def test_header_decides_about_retry(flag, retryable):
    headers = {"x-should-retry": flag}
    assert error_from_response("acme", 409, b"", headers).retryable is retryable
    assert error_from_response("acme", 529, b"", headers).retryable is retryable


@pytest.mark.parametrize("status", [400, 401, 403, 404, 413])
def test_no_header_makes_a_rejected_request_retryable(status):
    """`security.md` R8: these are never sent again."""
    assert not error_from_response("acme", status, b"", {"x-should-retry": "true"}).retryable


@pytest.mark.parametrize(
    ("asked", "expected_wait"),
    [
        ("60", "is rate limited (429)"),
        ("61", "is rate limited for 1 min 1 s"),
        ("7201", "is rate limited for 2 h"),
        ("inf", "366 d"),
    ],
)
@pytest.mark.req("R-ADP-08")
def test_message_mentions_a_long_wait(asked, expected_wait):
    error = error_from_response("acme", 429, b"Too many requests", {"retry-after": asked})
    assert expected_wait in str(error)


@pytest.mark.req("R-ADP-07", "R-RTE-05")
def test_moderation_is_not_a_key_error():
    error = error_from_response("openrouter", 403, FLAGGED.encode())
    assert error.code is ErrorCode.CONTENT_FILTER
    assert "key" not in str(error)


def test_api_key_is_removed_from_the_message():
    body = openai("invalid_api_key", None, "Incorrect API key provided: sk-proj-abc***xyz12.")
    error = error_from_response("openai", 401, body.encode())
    assert (
        str(error) == "`openai` does not accept the key (401): Incorrect API key provided: [key]."
    )


def test_message_contains_the_error_of_the_upstream_host():
    body = {"error": {"message": "Provider returned error", "metadata": {"raw": "no\nluck"}}}
    assert str(error_from_response("openrouter", 502, json.dumps(body).encode())).endswith(
        "Provider returned error: no luck"
    )


def test_long_and_empty_bodies_give_a_message_of_one_line():
    assert (
        str(error_from_response("acme", 500, b""))
        == "`acme` failed (500): the response has no text"
    )
    assert len(str(error_from_response("acme", 500, b"x" * 10**6))) < 700
    page = b"<style>a{}</style><h1>Bad\r\nGateway</h1>"
    assert str(error_from_response("acme", 502, page)).endswith(": Bad Gateway")


def test_huge_json_body_is_not_parsed():
    body = b'{"error": {"message": "no", "type": "overloaded_error", "x": "%b"}}' % (b"y" * 2**20)
    error = error_from_response("acme", 500, body)
    assert type(error) is ServerError
    assert len(str(error)) < 700


def test_error_has_the_request_id():
    assert error_from_response("acme", 400, anthropic("x").encode()).request_id == "req_1"
    assert error_from_response("acme", 400, b"", {"x-request-id": "r2"}).request_id == "r2"
