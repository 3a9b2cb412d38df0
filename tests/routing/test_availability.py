import pytest

from tests.clocks import SetClock
from yourtool.errors import ErrorClass
from yourtool.routing.availability import Availability


@pytest.fixture
def clock():
    return SetClock()


@pytest.fixture
def availability(clock):
    return Availability(clock)


def fail(availability, model, times=1, error=ErrorClass.SERVER_ERROR):
    return [outage for _ in range(times) for outage in availability.record_failure(model, error)]


@pytest.mark.req("R-RTE-05")
def test_five_consecutive_failures_disable_the_model(availability):
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
def test_five_failures_over_more_than_two_minutes_disable_nothing(availability, clock):
    for _ in range(8):
        assert fail(availability, "a:1") == []
        clock.now += 31
    assert availability.outage_reason("a:1") is None


@pytest.mark.parametrize(("seconds", "out"), [(120, 1), (120.5, 0)])
@pytest.mark.req("R-RTE-05")
def test_two_minutes_end_at_the_fifth_failure(availability, clock, seconds, out):
    fail(availability, "a:1")
    clock.now += seconds
    assert len(fail(availability, "a:1", 4)) == out


@pytest.mark.req("R-RTE-05")
def test_success_between_failures_resets_the_count(availability):
    fail(availability, "a:1", 4)
    assert availability.record_success("a:1") == ()
    assert fail(availability, "a:1", 4) == []


@pytest.mark.req("R-RTE-05")
def test_three_models_disabled_within_two_minutes_disable_their_provider(availability, clock):
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
def test_three_models_disabled_over_a_longer_time_do_not_disable_the_provider(availability, clock):
    for model in ("a:1", "a:2", "a:3"):
        fail(availability, model, 5)
        clock.now += 61
    assert availability.outage_reason("a:4") is None


@pytest.mark.req("R-RTE-05")
def test_rejected_key_disables_the_provider_immediately(availability):
    [outage] = fail(availability, "a:1", error=ErrorClass.AUTH)
    assert (outage.scope, outage.trigger_reason) == ("provider_wide", "auth_error")
    assert "refused the key" in (availability.outage_reason("a:2") or "")


@pytest.mark.req("R-RTE-05")
def test_two_network_errors_within_half_a_minute_disable_the_provider(availability, clock):
    assert fail(availability, "a:1", error=ErrorClass.NETWORK) == []
    clock.now += 30
    [outage] = fail(availability, "a:2", error=ErrorClass.NETWORK)
    assert (outage.scope, outage.trigger_reason) == ("provider_wide", "dns_error")


@pytest.mark.req("R-RTE-05")
def test_network_errors_further_apart_do_not_disable_the_provider(availability, clock):
    for _ in range(4):
        assert fail(availability, "a:1", error=ErrorClass.NETWORK) == []
        clock.now += 30.1
    assert availability.outage_reason("a:2") is None


@pytest.mark.req("R-RTE-05")
def test_one_network_error_disables_nothing_but_counts_as_a_failure(availability):
    fail(availability, "a:1", 4)
    assert availability.outage_reason("a:1") is None
    [outage] = fail(availability, "a:1", error=ErrorClass.NETWORK)
    assert outage.scope == "model_specific"


@pytest.mark.parametrize(
    "harmless", [ErrorClass.CANCELLED, ErrorClass.INVALID_REQUEST, ErrorClass.CONTEXT_OVERFLOW]
)
@pytest.mark.req("R-RTE-05")
def test_errors_unrelated_to_the_provider_never_count(availability, harmless):
    fail(availability, "a:1", 4)
    assert fail(availability, "a:1", 50, harmless) == []
    assert availability.outage_reason("a:1") is None


@pytest.mark.parametrize(
    "counted", [ErrorClass.RATE_LIMIT, ErrorClass.SERVER_ERROR, ErrorClass.OTHER]
)
@pytest.mark.req("R-RTE-05")
def test_every_other_error_class_counts(availability, counted):
    assert len(fail(availability, "a:1", 5, counted)) == 1


@pytest.mark.req("R-RTE-05")
def test_success_enables_its_model_and_provider_but_no_other_model(availability, clock):
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
def test_success_of_any_model_clears_the_network_errors(availability):
    fail(availability, "a:1", error=ErrorClass.NETWORK)
    availability.record_success("a:2")
    assert fail(availability, "a:1", error=ErrorClass.NETWORK) == []


@pytest.mark.req("R-RTE-05")
def test_everything_is_enabled_after_five_minutes_without_an_attempt(availability, clock):
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


def test_new_key_resets_the_provider(availability):
    fail(availability, "a:1", 5)
    fail(availability, "a:1", error=ErrorClass.AUTH)
    availability.reset("a")
    assert availability.outage_reason("a:1") is None
    assert availability.record_success("a:1") == ()


@pytest.mark.parametrize("error", [ErrorClass.SERVER_ERROR, ErrorClass.AUTH])
@pytest.mark.req("R-RTE-05")
def test_failure_after_five_minutes_without_an_attempt_starts_a_new_count(
    availability, clock, error
):
    fail(availability, "a:1", 5, error)
    clock.now += 300
    assert fail(availability, "a:1") == []
    assert availability.outage_reason("a:1") is None
    assert len(fail(availability, "a:1", 4)) == 1
