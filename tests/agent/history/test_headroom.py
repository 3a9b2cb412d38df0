"""What is left of rate limits (R-CST-04)."""

import time
from datetime import UTC, datetime, timedelta

import pytest

from yourtool.agent.history.headroom import LatestLimits, find_headroom
from yourtool.messages.usage import RateLimits

pytestmark = pytest.mark.req("R-CST-04")
NOW = datetime(2026, 11, 10, 12, 0, 30, tzinfo=UTC)


@pytest.fixture(autouse=True)
def utc(monkeypatch):
    with monkeypatch.context() as patch:
        patch.setenv("TZ", "UTC")
        time.tzset()
        yield
    time.tzset()


def describe(now=NOW, at=NOW, **limits):
    found = find_headroom(LatestLimits(RateLimits(**limits), at), now)
    return found and found.describe(now)


@pytest.mark.parametrize(
    ("limits", "expected"),
    [
        ({"remaining_requests": 12, "limit_requests": 100}, "requests 12% left"),
        ({"remaining_requests": 19, "limit_requests": 100}, "requests 19% left"),
        ({"remaining_requests": 199, "limit_requests": 1000}, "requests 19% left"),
        ({"remaining_requests": 20, "limit_requests": 100}, None),
        ({"remaining_requests": 0, "limit_requests": 3}, "requests 0% left"),
        ({"remaining_tokens": 1, "limit_tokens": 10}, "tokens 10% left"),
        ({"remaining_requests": 5, "limit_requests": 0}, None),
        ({"remaining_requests": 5}, None),
        ({"limit_requests": 5}, None),
        ({"remaining_requests": 500, "limit_requests": 5}, None),
        ({}, None),
    ],
)
def test_rest_is_shown_below_a_fifth_of_a_limit(limits, expected):
    assert describe(**limits) == expected


def test_smallest_rest_is_shown_with_its_own_reset():
    limits = {
        "remaining_requests": 10,
        "limit_requests": 100,
        "reset_requests_seconds": 60.0,
        "remaining_tokens": 4,
        "limit_tokens": 100,
        "reset_tokens_seconds": 7_200.0,
        "reset_seconds": 7_200.0,
    }
    assert describe(**limits) == "tokens 4% left, resets 14:01"
    assert describe(**limits | {"limit_tokens": 8}) == "requests 10% left, resets 12:02"


@pytest.mark.parametrize(
    ("wait", "expected"),
    [(20.0, "12:01"), (30.0, "12:01"), (31.0, "12:02"), (86_400.0, "Nov 11 12:01")],
)
def test_reset_is_a_full_minute_that_is_not_too_early(wait, expected):
    found = describe(remaining_requests=1, limit_requests=10, reset_seconds=wait)
    assert found == f"requests 10% left, resets {expected}"


def test_limits_count_until_their_reset_or_for_a_minute():
    low = {"remaining_requests": 1, "limit_requests": 10}
    assert describe(NOW + timedelta(seconds=9), **low, reset_seconds=10.0) is not None
    assert describe(NOW + timedelta(seconds=10), **low, reset_seconds=10.0) is None
    assert describe(NOW + timedelta(seconds=59), **low) is not None
    assert describe(NOW + timedelta(seconds=60), **low) is None
    assert describe(NOW, **low, reset_seconds=0.0) is None


@pytest.mark.parametrize("wait", [1e9, 1e300])
def test_reset_in_many_years_is_ignored(wait):
    low = {"remaining_requests": 1, "limit_requests": 10}
    assert describe(**low, reset_seconds=wait) == "requests 10% left"


def test_no_limits_are_no_headroom():
    assert find_headroom(None, NOW) is None
