import asyncio

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from tests.providers.fakes import collect_events, request
from tests.providers.recorded_exchanges import exchange, recorded
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
from yourtool.events.deltas import (
    AttemptFailed,
    MessageComplete,
    MessageStart,
    RetryScheduled,
    StreamError,
    TextDelta,
    TextEnd,
    TextStart,
    UsageUpdate,
)
from yourtool.interrupt import Interrupt
from yourtool.messages.metadata import StopReason
from yourtool.providers.replies.error_mapping import error_from_response
from yourtool.providers.retry import RetryingAdapter, RetryPolicy
from yourtool.providers.scripted import Scripted, fails, says


class Clock:
    """Time that passes only while somebody sleeps."""

    def __init__(self) -> None:
        self.now = 0.0
        self.naps: list[float] = []

    def __call__(self) -> float:
        return self.now

    async def sleep(self, seconds: float) -> None:
        self.naps.append(seconds)
        self.now += seconds


def rate_limited(seconds: float, kind: type[RateLimitError | ServerError] = RateLimitError):
    error = kind("slow down")
    error.retry_after = seconds
    return error


def retrying(script, clock, jitter=0.0, **policy):
    adapter = Scripted(script)
    wrapped = RetryingAdapter(
        adapter, RetryPolicy(**policy), sleep=clock.sleep, jitter=lambda: jitter, clock=clock
    )
    return adapter, wrapped


@pytest.mark.req("R-ADP-08", "R-ADP-16")
async def test_failed_attempt_is_reported_and_the_next_one_replies():
    clock = Clock()
    adapter, wrapped = retrying([fails(ServerError("oops", status=500)), says("fine")], clock)
    events, error = await collect_events(wrapped, request())
    assert error is None
    assert events[0] == AttemptFailed(
        attempt=0,
        error_class="server_error",
        message="oops",
        retryable=True,
        status=500,
        latency_ms=0,
    )
    assert events[1] == RetryScheduled(
        attempt=2, max_attempts=3, delay_seconds=1, error_class="server_error", message="oops"
    )
    assert isinstance(events[2], MessageStart)
    assert isinstance(events[-1], MessageComplete)
    assert len(adapter.requests) == 2


@pytest.mark.req("R-ADP-08")
async def test_last_error_is_raised_after_one_attempt_plus_the_retries():
    clock = Clock()
    errors = [ServerError(str(number)) for number in range(5)]
    adapter, wrapped = retrying([fails(error) for error in errors], clock)
    events, error = await collect_events(wrapped, request())
    assert error is errors[2]
    assert error.retryable
    assert len(adapter.requests) == 3
    assert [e.attempt for e in events if isinstance(e, AttemptFailed)] == [0, 1]
    assert clock.naps == [1, 2]


@pytest.mark.req("R-ADP-08")
async def test_wait_doubles_up_to_its_maximum():
    clock = Clock()
    _, wrapped = retrying([fails(NetworkError("x"))] * 9, clock, max_retries=7)
    await collect_events(wrapped, request())
    assert clock.naps == [1, 2, 4, 8, 16, 30, 30]


@pytest.mark.req("R-ADP-08")
async def test_waits_of_a_request_total_at_most_two_minutes():
    """`security.md` R8."""
    clock = Clock()
    demand = [fails(rate_limited(seconds)) for seconds in (50, 50, 40, 1)]
    adapter, wrapped = retrying(demand, clock, max_retries=10)
    _, error = await collect_events(wrapped, request())
    assert isinstance(error, RateLimitError)
    assert (clock.naps, len(adapter.requests)) == ([50, 50], 3)


@given(
    st.lists(st.none() | st.floats(0, allow_nan=False), min_size=12, max_size=12),
    st.integers(0, 10),
    st.floats(-1, 1),
)
@settings(max_examples=200)
@pytest.mark.req("R-ADP-08")
@pytest.mark.remaining
def test_attempts_and_waits_are_bounded_for_any_provider_demands(demand, retries, jitter):
    clock = Clock()
    errors = [ServerError("x") if each is None else rate_limited(each) for each in demand]
    adapter, wrapped = retrying(
        [fails(each) for each in errors], clock, jitter, max_retries=retries
    )
    _, error = asyncio.run(collect_events(wrapped, request()))
    assert error is not None
    assert len(adapter.requests) == len(clock.naps) + 1 <= retries + 1
    assert clock.now <= 120
    assert all(nap >= min(each or 0, 60) for nap, each in zip(clock.naps, demand, strict=False))


@given(st.integers(1, 12), st.floats(-1, 1))
@pytest.mark.req("R-ADP-08")
def test_jitter_is_at_most_a_quarter_and_never_exceeds_the_maximum(failures, jitter):
    delay = RetryPolicy().delay(failures, ServerError("x"), lambda: jitter)
    backoff = min(2 ** (failures - 1), 30)
    assert backoff * 0.75 <= delay <= min(backoff * 1.25, 30)


def test_delays_are_longer_while_the_provider_is_overloaded():
    error = RateLimitError("busy", status=529, code=ErrorCode.OVERLOADED)
    delays = [RetryPolicy().delay(failures, error, lambda: 0) for failures in (1, 2, 3)]
    assert delays == [5, 10, 20]


@pytest.mark.parametrize("kind", [RateLimitError, ServerError])
@pytest.mark.parametrize(("demand", "waited"), [(0.2, 1), (7, 7), (60, 60)])
@pytest.mark.req("R-ADP-08")
async def test_wait_is_at_least_what_the_provider_demands(kind, demand, waited):
    clock = Clock()
    _, wrapped = retrying([fails(rate_limited(demand, kind)), says("fine")], clock)
    await collect_events(wrapped, request())
    assert clock.naps == [waited]


class Approver:
    """A user who confirms long waits."""

    def __init__(self, *answers: bool) -> None:
        self.answers = list(answers)
        self.waits: list[float | None] = []

    async def __call__(self, error: AdapterError) -> bool:
        self.waits.append(error.retry_after)
        return self.answers.pop(0)


@pytest.mark.parametrize("kind", [RateLimitError, ServerError])
async def test_demand_for_more_than_a_minute_needs_approval_and_is_not_shortened(kind):
    clock = Clock()
    adapter, wrapped = retrying([fails(rate_limited(61, kind)), says("never")], clock)
    _, error = await collect_events(wrapped, request())
    assert error.retry_after == 61
    assert error.retryable
    assert (clock.naps, len(adapter.requests)) == ([], 1)


async def test_approved_long_wait_is_complete_and_exempt_from_other_limits():
    clock, user = Clock(), Approver(True, True, True, True)
    script = [*(fails(rate_limited(3_600)) for _ in range(4)), says("fine")]
    _, wrapped = retrying(script, clock)
    events, error = await collect_events(wrapped, replace(request(), confirm_wait=user))
    assert error is None
    assert clock.naps == user.waits == [3_600] * 4
    waits = [event for event in events if isinstance(event, RetryScheduled)]
    assert [(each.attempt, each.max_attempts) for each in waits] == [(2, 3), (3, 3), (4, 4), (5, 5)]


async def test_declined_long_wait_raises_the_error():
    clock, user = Clock(), Approver(True, False)
    script = [fails(rate_limited(90)), fails(rate_limited(80)), says("never")]
    _, wrapped = retrying(script, clock)
    _, error = await collect_events(wrapped, replace(request(), confirm_wait=user))
    assert error.retry_after == 80
    assert (clock.naps, user.waits) == ([90], [90, 80])


async def test_stop_during_the_approval_of_a_wait_ends_the_request():
    clock, demand = Clock(), request()
    _, wrapped = retrying([fails(rate_limited(90)), says("never")], clock)

    async def stop(_: AdapterError) -> bool:
        demand.interrupt.request()
        await asyncio.Event().wait()
        return True

    async with asyncio.timeout(1):
        _, error = await collect_events(wrapped, replace(demand, confirm_wait=stop))
    assert error.retry_after == 90
    assert clock.naps == []


@pytest.mark.parametrize(
    "error",
    [
        AuthError("no"),
        ContextOverflowError("no"),
        InvalidRequestError("no"),
        OtherAdapterError("no"),
        RateLimitError("quota", retryable=False),
    ],
)
@pytest.mark.req("R-ADP-08")
async def test_permanent_error_is_raised_immediately(error):
    clock = Clock()
    adapter, wrapped = retrying([fails(error), says("never")], clock)
    assert await collect_events(wrapped, request()) == ([], error)
    assert len(adapter.requests) == 1


def recorded_error(name: str):
    response = exchange(name)["response"]
    return error_from_response(
        "p", response["status"], response["body"].encode(), response["headers"]
    )


@pytest.mark.parametrize(
    ("name", "attempts"),
    [
        ("anthropic-messages-error-credit", 1),
        ("openrouter-chat-error-credit", 1),
        ("openai-chat-error-quota", 1),
        ("openai-chat-error-rate-limit", 2),
        ("anthropic-messages-error-overloaded", 2),
        ("anthropic-messages-error-server", 2),
        ("anthropic-messages-error-gateway", 2),
        recorded("doc-anthropic-429-spend", 1),
        recorded("doc-openrouter-402", 1),
        recorded("doc-openai-chat-429", 2),
        recorded("doc-anthropic-529", 2),
        recorded("doc-anthropic-500", 2),
        recorded("doc-anthropic-502-html", 2),
    ],
)
@pytest.mark.req("R-ADP-08")
async def test_recorded_errors_are_retried_only_if_waiting_helps(name, attempts):
    clock = Clock()
    adapter, wrapped = retrying([fails(recorded_error(name)), says("fine")], clock)
    await collect_events(wrapped, request())
    assert len(adapter.requests) == attempts


@pytest.mark.req("R-ADP-08")
async def test_exhausted_quota_is_not_retried():
    body = b'{"error": {"message": "You exceeded your quota", "code": "insufficient_quota"}}'
    clock = Clock()
    adapter, wrapped = retrying(
        [fails(error_from_response("openai", 429, body)), says("no")], clock
    )
    await collect_events(wrapped, request())
    assert len(adapter.requests) == 1


@pytest.mark.req("R-ADP-08")
async def test_request_is_not_retried_after_the_first_text():
    clock = Clock()
    broken = NetworkError("cut")
    adapter, wrapped = retrying([says("half") + fails(broken), says("never")], clock)
    events, error = await collect_events(wrapped, request())
    assert error is broken
    assert len(adapter.requests) == 1
    assert [type(event) for event in events] == [
        MessageStart,
        UsageUpdate,
        TextStart,
        TextDelta,
        TextEnd,
        MessageComplete,
        StreamError,
    ]


class StartsThenFails:
    """Shows a beginning and an end of a reply around a failure, but not one word."""

    def __init__(self) -> None:
        self.attempts = 0

    async def stream(self, request):
        self.attempts += 1
        yield MessageStart(message_id=request.message_id, model="demo:x")
        if self.attempts == 1:
            yield StreamError(
                message_id=request.message_id, error_class="network", message="", retryable=True
            )
            raise NetworkError("cut")
        yield TextDelta(message_id=request.message_id, content_block_index=0, text="hi")


@pytest.mark.req("R-ADP-08")
async def test_reply_without_content_is_retried_and_starts_once():
    clock = Clock()
    adapter = StartsThenFails()
    wrapped = RetryingAdapter(adapter, sleep=clock.sleep, clock=clock)  # pyright: ignore[reportArgumentType] - only streams
    events, error = await collect_events(wrapped, request())
    assert error is None
    assert [type(event) for event in events] == [
        AttemptFailed,
        RetryScheduled,
        MessageStart,
        TextDelta,
    ]


async def test_stop_ends_the_wait_immediately_with_an_empty_cancelled_reply():
    interrupt = Interrupt()

    async def forever(_: float) -> None:
        interrupt.request()
        await asyncio.Event().wait()

    wrapped = RetryingAdapter(Scripted([fails(ServerError("x")), says("never")]), sleep=forever)
    events, error = await collect_events(wrapped, request(interrupt=interrupt))
    assert error is None
    assert isinstance(events[-2], MessageStart)
    assert isinstance(events[-1], MessageComplete)
    assert events[-1].stop_reason is StopReason.CANCELLED
    assert events[-1].final_content == ()


@pytest.mark.req("R-ADP-16")
async def test_each_failed_attempt_has_its_own_latency():
    clock = Clock()

    class Slow(Scripted):
        async def stream(self, request):
            clock.now += 0.5
            async for event in super().stream(request):
                yield event

    wrapped = RetryingAdapter(
        Slow([fails(ServerError("x"))] * 2 + [says("fine")]), sleep=clock.sleep, clock=clock
    )
    events, _ = await collect_events(wrapped, request())
    assert [e.latency_ms for e in events if isinstance(e, AttemptFailed)] == [500, 500]
