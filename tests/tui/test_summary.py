import pytest
from msgspec.structs import replace

from yourtool.errors import ErrorClass
from yourtool.events import LlmCallFailed
from yourtool.routing.availability import STRIKES, Availability
from yourtool.tui.widgets.summary import headline, outage, recovery


class Clock:
    now = 0.0

    def __call__(self) -> float:
        return self.now


def failed(availability: Availability, error: ErrorClass, times: int) -> list[str]:
    found = [availability.failed("acme:m", error) for _ in range(times)]
    return [outage(event) for events in found for event in events]


@pytest.mark.parametrize(
    ("error", "times", "said"),
    [
        (
            ErrorClass.SERVER_ERROR,
            STRIKES,
            "`acme:m` is left out for now: it failed five times in a row",
        ),
        (ErrorClass.AUTH, 1, "All models of `acme` are left out for now: the key was refused"),
        (
            ErrorClass.NETWORK,
            2,
            "All models of `acme` are left out for now:"
            " the connection failed twice within half a minute",
        ),
    ],
)
def test_an_outage_of_a_model_reads_otherwise_than_one_of_its_provider_r_rte_05(error, times, said):
    assert failed(Availability(Clock()), error, times) == [said]


def test_three_models_take_their_provider_out_in_words_r_rte_05():
    availability, said = Availability(Clock()), list[str]()
    for model in ("a", "b", "c"):
        for _ in range(STRIKES):
            said += map(outage, availability.failed(f"acme:{model}", ErrorClass.SERVER_ERROR))
    assert said[-1] == "All models of `acme` are left out for now: three of its models failed"


def test_a_recovery_names_what_is_back_r_rte_05():
    availability = Availability(Clock())
    failed(availability, ErrorClass.AUTH, STRIKES)
    said = [recovery(event) for event in availability.succeeded("acme:m")]
    assert said == ["`acme:m` is back in use", "All models of `acme` are back in use"]


def test_an_error_inside_a_stream_is_not_said_to_have_the_status_of_success():
    inside = LlmCallFailed(
        model="acme:m",
        provider="acme",
        error_class=ErrorClass.SERVER_ERROR,
        error_message_redacted="no",
        retry_count=0,
        retryable=True,
        latency_ms=1,
        provider_status=200,
    )
    assert headline(inside) == "The provider failed · server_error · acme"
    assert headline(replace(inside, provider_status=502)).endswith("acme, HTTP 502")
