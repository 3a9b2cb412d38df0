from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from yourtool.messages.usage import RateLimits, Receipt
from yourtool.providers.replies.response_headers import parse_receipt


def limits_of(**headers):
    receipt = parse_receipt({name.replace("_", "-"): text for name, text in headers.items()}, "")
    return receipt and receipt.rate_limits


def test_receipt_is_none_without_headers_and_id():
    assert parse_receipt({}, "") is None
    assert parse_receipt({"content-type": "text/event-stream"}, "") is None


@pytest.mark.parametrize("name", ["request-id", "x-request-id", "x-generation-id"])
def test_receipt_has_the_ids_of_request_and_reply(name):
    assert parse_receipt({name: "req_1"}, "msg_1") == Receipt(
        request_id="req_1", response_id="msg_1"
    )


def test_openai_rate_limits_are_parsed():
    assert limits_of(
        x_ratelimit_remaining_requests="59",
        x_ratelimit_remaining_tokens="149984",
        x_ratelimit_reset_requests="1s",
        x_ratelimit_reset_tokens="6m0.5s",
        x_ratelimit_limit_requests="60",
        x_ratelimit_limit_tokens="150000",
    ) == RateLimits(
        remaining_requests=59,
        remaining_tokens=149_984,
        limit_requests=60,
        limit_tokens=150_000,
        reset_seconds=360.5,
        reset_requests_seconds=1,
        reset_tokens_seconds=360.5,
    )


def test_anthropic_rate_limits_are_parsed():
    soon = datetime.now(UTC) + timedelta(hours=1)
    limits = limits_of(
        anthropic_ratelimit_requests_remaining="4999",
        anthropic_ratelimit_tokens_remaining="79000",
        anthropic_ratelimit_requests_limit="5000",
        anthropic_ratelimit_tokens_limit="80000",
        anthropic_ratelimit_tokens_reset=soon.isoformat().replace("+00:00", "Z"),
    )
    assert limits is not None
    assert (limits.remaining_requests, limits.remaining_tokens) == (4999, 79_000)
    assert (limits.limit_requests, limits.limit_tokens) == (5000, 80_000)
    assert limits.reset_tokens_seconds == limits.reset_seconds
    assert limits.reset_requests_seconds is None
    assert 3_500 < (limits.reset_seconds or 0) <= 3_600


def test_reset_in_the_past_is_no_wait():
    assert limits_of(x_ratelimit_reset="1700000000000") == RateLimits(reset_seconds=0)
    assert limits_of(x_ratelimit_reset="1700000000") == RateLimits(reset_seconds=0)


@pytest.mark.parametrize("reset", ["20ms", "0.02"])
def test_short_resets_are_seconds(reset):
    assert limits_of(x_ratelimit_reset_requests=reset) == RateLimits(
        reset_seconds=0.02, reset_requests_seconds=0.02
    )


@given(
    headers=st.dictionaries(
        st.sampled_from(
            ["request-id", "x-ratelimit-remaining", "x-ratelimit-reset", "x-ratelimit-reset-tokens"]
        ),
        st.text() | st.from_regex(r"[0-9a-zA-Z.:+-]{0,30}", fullmatch=True),
    ),
    name=st.text(st.characters(exclude_categories=())),
)
def test_any_headers_give_a_storable_receipt(headers, name):
    receipt = parse_receipt(headers, name)
    if receipt is not None and receipt.rate_limits is not None:
        assert 0 <= (receipt.rate_limits.reset_seconds or 0) < float("inf")
    str(receipt).encode()
