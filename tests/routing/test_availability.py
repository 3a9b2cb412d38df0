import pytest

from yourtool.errors import ErrorClass
from yourtool.routing.availability import Availability


class Clock:
    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock():
    return Clock()


@pytest.fixture
def availability(clock):
    return Availability(clock)


def fail(availability, model, times=1, error=ErrorClass.SERVER_ERROR):
    return [outage for _ in range(times) for outage in availability.record_failure(model, error)]


@pytest.mark.req("R-RTE-05")
def test_five_failures_in_a_row_take_the_model_out(availability):
    assert fail(availability, "a:1", 4) == []
    assert availability.outage_reason("a:1") is None
    [outage] = fail(availability, "a:1")
    assert (outage.provider, outage.scope, outage.models_affected, outage.trigger_reason) == (
        "a",
        "model_specific",
        ("a:1",),
        "5_consecutive_failures",
    )
    assert "`a:1` failed 5 times in a row" in (availability.outage_reason("a:1") or "")
    assert availability.outage_reason("a:2") is None
    assert fail(availability, "a:1") == []


@pytest.mark.req("R-RTE-05")
def test_five_failures_over_more_than_two_minutes_take_nothing_out(availability, clock):
    for _ in range(8):
        assert fail(availability, "a:1") == []
        clock.now += 31
    assert availability.outage_reason("a:1") is None


@pytest.mark.parametrize(("seconds", "out"), [(120, 1), (120.5, 0)])
@pytest.mark.req("R-RTE-05")
def test_two_minutes_are_counted_to_the_fifth_failure(availability, clock, seconds, out):
    fail(availability, "a:1")
    clock.now += seconds
    assert len(fail(availability, "a:1", 4)) == out


@pytest.mark.req("R-RTE-05")
def test_a_success_between_failures_starts_the_count_again(availability):
    fail(availability, "a:1", 4)
    assert availability.record_success("a:1") == ()
    assert fail(availability, "a:1", 4) == []


@pytest.mark.req("R-RTE-05")
def test_three_models_out_within_two_minutes_take_their_provider_out(availability, clock):
    fail(availability, "a:1", 5)
    clock.now += 50
    fail(availability, "a:2", 5)
    assert availability.outage_reason("a:4") is None
    clock.now += 50
    model, provider = fail(availability, "a:3", 5)
    assert model.scope == "model_specific"
    assert (provider.scope, provider.trigger_reason) == ("provider_wide", "multi_model_failures")
    assert provider.models_affected == ("a:1", "a:2", "a:3")
    assert availability.outage_reason("a:4") is not None
    assert availability.outage_reason("b:1") is None


@pytest.mark.req("R-RTE-05")
def test_three_models_out_over_a_longer_time_leave_the_provider_in(availability, clock):
    for model in ("a:1", "a:2", "a:3"):
        fail(availability, model, 5)
        clock.now += 61
    assert availability.outage_reason("a:4") is None


@pytest.mark.req("R-RTE-05")
def test_one_refused_key_takes_the_provider_out_at_once(availability):
    [outage] = fail(availability, "a:1", error=ErrorClass.AUTH)
    assert (outage.scope, outage.trigger_reason) == ("provider_wide", "auth_error")
    assert "refused the key (it needs another one)" in (availability.outage_reason("a:2") or "")


@pytest.mark.req("R-RTE-05")
def test_two_network_errors_within_half_a_minute_take_the_provider_out(availability, clock):
    assert fail(availability, "a:1", error=ErrorClass.NETWORK) == []
    clock.now += 30
    [outage] = fail(availability, "a:2", error=ErrorClass.NETWORK)
    assert (outage.scope, outage.trigger_reason) == ("provider_wide", "dns_error")


@pytest.mark.req("R-RTE-05")
def test_network_errors_further_apart_leave_the_provider_in(availability, clock):
    for _ in range(4):
        assert fail(availability, "a:1", error=ErrorClass.NETWORK) == []
        clock.now += 30.1
    assert availability.outage_reason("a:2") is None


@pytest.mark.req("R-RTE-05")
def test_one_network_error_takes_nothing_out_but_is_one_of_the_five(availability):
    fail(availability, "a:1", 4)
    assert availability.outage_reason("a:1") is None
    [outage] = fail(availability, "a:1", error=ErrorClass.NETWORK)
    assert outage.scope == "model_specific"


@pytest.mark.parametrize(
    "harmless", [ErrorClass.CANCELLED, ErrorClass.INVALID_REQUEST, ErrorClass.CONTEXT_OVERFLOW]
)
@pytest.mark.req("R-RTE-05")
def test_what_says_nothing_about_the_provider_never_counts(availability, harmless):
    fail(availability, "a:1", 4)
    assert fail(availability, "a:1", 50, harmless) == []
    assert availability.outage_reason("a:1") is None


@pytest.mark.parametrize(
    "counted", [ErrorClass.RATE_LIMIT, ErrorClass.SERVER_ERROR, ErrorClass.OTHER]
)
@pytest.mark.req("R-RTE-05")
def test_every_other_class_counts(availability, counted):
    assert len(fail(availability, "a:1", 5, counted)) == 1


@pytest.mark.req("R-RTE-05")
def test_a_success_clears_its_model_and_the_provider_but_no_other_model(availability, clock):
    fail(availability, "a:1", 5)
    fail(availability, "a:2", 5)
    fail(availability, "a:1", error=ErrorClass.AUTH)
    clock.now += 10
    model, provider = availability.record_success("a:1")
    assert (model.scope, model.models_recovered, model.downtime_seconds) == (
        "model_specific",
        ("a:1",),
        10,
    )
    assert (provider.scope, provider.models_recovered) == ("provider_wide", ("a:1", "a:2"))
    assert availability.outage_reason("a:1") is None
    assert availability.outage_reason("a:2") is not None


@pytest.mark.req("R-RTE-05")
def test_a_success_of_any_model_clears_the_network_window(availability):
    fail(availability, "a:1", error=ErrorClass.NETWORK)
    availability.record_success("a:2")
    assert fail(availability, "a:1", error=ErrorClass.NETWORK) == []


@pytest.mark.req("R-RTE-05")
def test_after_five_minutes_without_an_attempt_everything_is_tried_again(availability, clock):
    fail(availability, "a:1", 5)
    fail(availability, "a:1", error=ErrorClass.AUTH)
    clock.now += 299
    assert availability.expire() == ()
    assert availability.outage_reason("a:1") is not None
    clock.now += 1
    assert availability.outage_reason("a:1") is None
    recovered = availability.expire()
    assert [each.scope for each in recovered] == ["provider_wide", "model_specific"]
    assert all(each.downtime_seconds == 300 for each in recovered)
    assert availability.expire() == ()


def test_a_new_key_makes_a_fresh_start(availability):
    fail(availability, "a:1", 5)
    fail(availability, "a:1", error=ErrorClass.AUTH)
    availability.reset("a")
    assert availability.outage_reason("a:1") is None
    assert availability.record_success("a:1") == ()


@pytest.mark.parametrize("error", [ErrorClass.SERVER_ERROR, ErrorClass.AUTH])
@pytest.mark.req("R-RTE-05")
def test_a_failure_after_five_quiet_minutes_is_the_first_of_a_new_row(availability, clock, error):
    fail(availability, "a:1", 5, error)
    clock.now += 300
    assert fail(availability, "a:1") == []
    assert availability.outage_reason("a:1") is None
    assert len(fail(availability, "a:1", 4)) == 1
