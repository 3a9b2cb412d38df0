import pytest
from msgspec.structs import replace

from tests.clocks import SetClock
from tests.tui.events import EventBuilder
from yourtool.errors import ErrorClass
from yourtool.events.model_calls import LlmCallFailed
from yourtool.messages.blocks import TextBlock
from yourtool.messages.metadata import StopReason
from yourtool.routing.availability import MAX_FAILURES, Availability
from yourtool.tui.transcript.turn_results import (
    TurnSummary,
    format_headline,
    format_outage,
    format_recovery,
)


def failed(availability: Availability, error: ErrorClass, times: int) -> list[str]:
    found = [availability.record_failure("acme:m", error) for _ in range(times)]
    return [format_outage(event) for events in found for event in events]


@pytest.mark.parametrize(
    ("error", "times", "said"),
    [
        (
            ErrorClass.SERVER_ERROR,
            MAX_FAILURES,
            "`acme:m` failed 5 times in a row. Automatic choices skip it for now.",
        ),
        (
            ErrorClass.AUTH,
            1,
            "`acme` refused the key. Automatic choices skip its models for now.",
        ),
        (
            ErrorClass.NETWORK,
            2,
            "`acme` could not be reached, or broke off, 2 times within 30 s."
            " Automatic choices skip its models for now.",
        ),
    ],
)
@pytest.mark.req("R-RTE-05")
def test_model_outage_and_provider_outage_have_different_texts(error, times, said):
    assert failed(Availability(SetClock(0.0)), error, times) == [said]


@pytest.mark.req("R-RTE-05")
def test_outage_of_three_models_is_reported_as_a_provider_outage():
    availability, said = Availability(SetClock(0.0)), list[str]()
    for model in ("a", "b", "c"):
        for _ in range(MAX_FAILURES):
            said += map(
                format_outage, availability.record_failure(f"acme:{model}", ErrorClass.SERVER_ERROR)
            )
    assert said[-1] == (
        "`acme` failed with 3 of its models. Automatic choices skip its models for now."
    )


@pytest.mark.req("R-RTE-05")
def test_recovery_names_the_available_model_or_provider():
    availability = Availability(SetClock(0.0))
    failed(availability, ErrorClass.AUTH, MAX_FAILURES)
    said = [format_recovery(event) for event in availability.record_success("acme:m")]
    assert said == ["`acme:m` is available again", "All models of `acme` are available again"]


def test_error_inside_a_stream_has_no_success_status():
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
    assert format_headline(inside) == "The provider failed · server_error · acme"
    assert format_headline(replace(inside, provider_status=502)).endswith("acme, HTTP 502")


@pytest.mark.parametrize(
    ("content", "stop", "detail", "said"),
    [
        ("Fine.", StopReason.END_TURN, None, ""),
        (" \n", StopReason.END_TURN, None, "The reply is empty. `/retry` retries."),
        (
            "",
            StopReason.ERROR,
            "MALFORMED_FUNCTION_CALL",
            "The provider ended the reply with an error (MALFORMED_FUNCTION_CALL)."
            " `/retry` retries.",
        ),
        ("", StopReason.REFUSAL, None, "The model refused to answer."),
    ],
)
def test_empty_reply_is_reported_below_it(content, stop, detail, said):
    session = EventBuilder()
    reply = session.reply(TextBlock(content))
    metadata = replace(reply.message.metadata, stop_reason=stop, stop_detail=detail)
    message = replace(reply.message, metadata=metadata)
    summary = TurnSummary()
    summary.add_request(replace(reply, message=message))
    footer = summary.footer(session.turn_end(stop))
    assert footer.source.endswith(said or " s")
    assert ("again" in footer.source) == ("again" in said)
