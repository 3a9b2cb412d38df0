import json
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from tests.providers.fakes import build_paths, collect_events, make_message, request
from yourtool.errors import ErrorCode
from yourtool.events.deltas import AttemptFailed, RetryScheduled, TextDelta
from yourtool.messages.message import Role
from yourtool.paths import shipped_directory
from yourtool.providers.catalogue.models import Catalogue
from yourtool.providers.provider_specs import BUILT_IN
from yourtool.providers.registry import load_dialect
from yourtool.providers.replies.error_mapping import error_from_response
from yourtool.providers.requests.output_limits import LEAST_OUTPUT, find_advice, fit_output
from yourtool.providers.retry import RetryingAdapter
from yourtool.providers.scripted import Scripted, fails, says

USUAL = 32_000


@pytest.fixture(scope="module")
def catalogue(tmp_path_factory):
    return Catalogue.load(build_paths(tmp_path_factory.mktemp("home")))


@pytest.mark.parametrize(
    ("name", "prompt", "wanted", "output"),
    [
        ("anthropic:claude-sonnet-5-5", 5_000, USUAL, 32_000),
        ("anthropic:claude-sonnet-5-5", 5_000, 100_000, 100_000),
        ("anthropic:claude-sonnet-5-5", 5_000, 10**6, 128_000),
        ("anthropic:claude-haiku-4-5", 180_000, USUAL, 200_000 - 180_000 - 9_000 - 512),
        ("anthropic:claude-haiku-4-5", 250_000, USUAL, LEAST_OUTPUT),
        ("mine:unknown", 250_000, USUAL, 4_096),
        ("mine:unknown", 0, 100, 100),
    ],
)
def test_reply_is_as_long_as_fits(catalogue, name, prompt, wanted, output):
    assert fit_output(catalogue.get(name), prompt, wanted) == output


MESSAGES = [
    (
        402,
        "This request requires more credits, or fewer max_tokens. You requested up to 32000"
        " tokens, but can only afford 1234.",
        1_234,
    ),
    (
        400,
        "max_tokens is too large: 32000. This model supports at most 16384 completion tokens,"
        " whereas you provided 32000.",
        16_384,
    ),
    (
        400,
        "max_tokens: 32000 > 8192, which is the maximum allowed number of output tokens for"
        " claude-3-haiku-20240307",
        8_192,
    ),
    (
        400,
        "input length and `max_tokens` exceed context limit: 190000 + 32000 > 200000, decrease"
        " input length or `max_tokens` and try again",
        10_000,
    ),
    (
        413,
        "Request too large for model `openai/gpt-oss-120b` in organization `org_1` service tier"
        " `on_demand` on tokens per minute (TPM): Limit 8000, Requested 34000, please reduce your"
        " message size and try again.",
        6_000,
    ),
    (
        400,
        "This model's maximum context length is 8192 tokens. However, you requested 33000 tokens"
        " (1000 in the messages, 32000 in the completion). Please reduce the length.",
        7_192,
    ),
    (
        400,
        "This endpoint's maximum context length is 40960 tokens. However, you requested about"
        " 42000 tokens (10000 of text input, 32000 in the output). Please reduce the length.",
        30_960,
    ),
    (
        400,
        "'max_tokens' or 'max_completion_tokens' is too large: 32000. This model's maximum context"
        " length is 16384 tokens and your request has 2000 input tokens (32000 > 16384 - 2000).",
        14_384,
    ),
    (
        400,
        "Unable to submit request because it has a maxOutputTokens value of 32000 but the supported"
        " range is from 1 (inclusive) to 8193 (exclusive). Update the value and try again.",
        8_192,
    ),
    (400, "Invalid max_tokens value, the valid range of max_tokens is [1, 8192]", 8_192),
    (400, "Range of max_tokens should be [1, 16384]", 16_384),
    (
        400,
        "`max_tokens` must be less than or equal to `8192`, the maximum value for `max_tokens` is"
        " less than the `context_window` for this model",
        8_192,
    ),
    (400, "The maximum tokens you requested exceeds the model limit of 8192.", 8_192),
]


def answer(status, message):
    body = json.dumps({"error": {"message": message, "code": status}}).encode()
    return error_from_response("host", status, body)


def ask(most=USUAL):
    return replace(request(), max_output_tokens=most)


@pytest.mark.parametrize(("status", "message", "allowed"), MESSAGES)
async def test_request_is_sent_once_more_with_the_length_that_the_error_names(
    status, message, allowed
):
    script = Scripted([fails(answer(status, message)), says("It fits.")])
    events, error = await collect_events(RetryingAdapter(script), ask())
    assert error is None
    assert [each.max_output_tokens for each in script.requests] == [USUAL, allowed]
    assert any(isinstance(each, AttemptFailed) for each in events)
    [wait] = [each for each in events if isinstance(each, RetryScheduled)]
    assert wait.delay_seconds == 0
    assert any(isinstance(each, TextDelta) for each in events)


@pytest.mark.parametrize(("status", "message", "allowed"), MESSAGES)
async def test_same_error_a_second_time_is_not_retried(status, message, allowed):
    script = Scripted([fails(answer(status, message)), fails(answer(status, message)), says("no")])
    _, error = await collect_events(RetryingAdapter(script), ask())
    assert error is not None
    assert len(script.requests) == 2


@pytest.mark.parametrize(
    ("status", "message"),
    [
        (402, "This request requires more credits, or fewer max_tokens. You requested up to 32000"
              " tokens, but can only afford 12."),
        (413, "Request too large for model `x` on tokens per minute (TPM): Limit 8000, Requested"
              " 64000, please reduce your message size and try again."),
        (400, "input length and `max_tokens` exceed context limit: 199900 + 32000 > 200000"),
    ],
)  # fmt: skip
async def test_limit_that_no_reply_meets_is_said_and_not_retried(status, message):
    script = Scripted([fails(answer(status, message)), says("never")])
    _, error = await collect_events(RetryingAdapter(script), ask())
    assert error is not None
    assert "No reply is short enough for this limit" in str(error)
    assert message[:40] in str(error)
    assert len(script.requests) == 1
    assert (error.code == ErrorCode.BILLING) == (status == 402)


async def test_limit_of_a_model_is_remembered_and_that_of_a_request_is_not():
    lasting, passing = MESSAGES[1], MESSAGES[3]
    for (status, message, allowed), second in ((lasting, lasting[2]), (passing, USUAL)):
        script = Scripted([fails(answer(status, message)), says("One."), says("Two.")])
        adapter = RetryingAdapter(script)
        await collect_events(adapter, ask())
        await collect_events(adapter, ask())
        lengths = [each.max_output_tokens for each in script.requests]
        assert lengths == [USUAL, allowed, second]


@pytest.mark.parametrize(
    "message",
    [
        "prompt is too long: 210000 tokens > 200000 maximum",
        "Rate limit reached on tokens per minute (TPM): Limit 8000, Used 7000, retry in 3s",
        "max_tokens must be a number",
        "",
    ],
)
def test_other_errors_name_no_length(message):
    assert find_advice(message, USUAL) is None


@given(st.text(alphabet="max_tokens []0123456789,()>+ limit range", max_size=4_000))
def test_any_message_is_read_quickly(message):
    before = time.process_time()
    advice = find_advice(message, USUAL)
    assert advice is None or isinstance(advice.tokens, int)
    assert time.process_time() - before < 0.5


def list_openrouter():

    file = shipped_directory("config") / "catalogue.json"
    rows = json.loads(file.read_text())["models"]
    return {name: row for name, row in rows.items() if name.startswith("openrouter:")}


def find_fault(row, body, prompt_tokens):
    """Return what OpenRouter rejects in a request, by its list; the prompt is that of `hi`."""
    whole = body["max_tokens"] + prompt_tokens
    if whole > row["window"]:
        return f"{whole} tokens of {row['window']}"
    if body["max_tokens"] > row.get("output", row["window"]):
        return f"max_tokens {body['max_tokens']} of {row['output']}"
    effort = body.get("reasoning", {}).get("effort")
    if effort and row.get("levels") and effort not in row["levels"]:
        return f"effort {effort}"
    if body.get("tools") and "tools" not in row["can"]:
        return "tools"
    if row.get("fixed_temperature") and "temperature" in body:
        return "temperature"
    return None


@pytest.mark.parametrize("prompt_tokens", [20, 6_000])
def test_hi_to_every_model_of_openrouter_keeps_the_limits_of_its_list(catalogue, prompt_tokens):
    rows = list_openrouter()
    assert len(rows) > 400
    dialect = load_dialect(next(each for each in BUILT_IN if each.name == "openrouter"))
    faults = {}
    for name, row in rows.items():
        model = catalogue.get(name)
        hi = request(make_message(Role.USER, "hi"), model=model)
        hi = replace(hi, max_output_tokens=fit_output(model, prompt_tokens, USUAL), effort="high")
        body = json.loads(dialect.to_wire(hi).body)
        if row["window"] > 2 * prompt_tokens and (fault := find_fault(row, body, prompt_tokens)):
            faults[name] = fault
    assert faults == {}
