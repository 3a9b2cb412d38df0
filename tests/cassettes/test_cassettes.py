import json
import re

import pytest

from tests.cassettes.generate import DIALECTS, HERE, files
from tests.providers.recorded_exchanges import OWN, exchange, expected
from tests.validator.validate import errors, validate

ERRORS = ("auth", "rate_limit", "context_overflow", "invalid_request", "server_error")


def of(dialect):
    return [name for name in OWN if name.startswith(f"{dialect.prefix}-")]


def test_the_committed_files_are_what_the_generator_writes():
    made = files()
    present = {str(path.relative_to(HERE)) for path in HERE.rglob("*.json")}
    assert present == made.keys(), "run `python -m tests.cassettes.generate`"
    stale = [path for path, text in made.items() if (HERE / path).read_text("utf-8") != text]
    assert stale == [], "run `python -m tests.cassettes.generate`"


@pytest.mark.parametrize("dialect", DIALECTS, ids=lambda dialect: dialect.prefix)
def test_every_dialect_has_every_kind_of_reply(dialect):
    replies = [expected(name) for name in of(dialect)]
    streamed = ["stream" in exchange(name)["traits"] for name in of(dialect)]
    finished = [
        (right["stop_class"], is_stream)
        for right, is_stream in zip(replies, streamed, strict=True)
        if right["complete"] and not right["error"]
    ]
    for stop in ("end_turn", "tool_use", "max_tokens"):
        assert {(stop, True), (stop, False)} <= set(finished)
    assert any(len(right["tool_calls"]) == 2 for right in replies)
    assert any(call["input"] == {} for right in replies for call in right["tool_calls"])
    assert any(right["thinking"] for right in replies) is (dialect.prefix != "openai-chat")
    failed = [right["error"] for right in replies if right["error"]]
    assert any(error["in_stream"] for error in failed)
    assert {"auth", "server_error"} <= {error["class"] for error in failed}


def test_every_error_class_and_every_usage_field_occurs():
    replies = [expected(name) for name in OWN]
    classes = {right["error"]["class"] for right in replies if right["error"]}
    assert classes >= set(ERRORS)
    counted = [right["usage"]["uncached"] for right in replies if right["usage"]["uncached"]]
    for bucket in ("cached_input_tokens", "cache_creation_input_tokens", "output_tokens"):
        assert any(usage[bucket] for usage in counted)
    assert {right["stop_class"] for right in replies} >= {
        "refusal",
        "content_filter",
        "pause_turn",
        "stop_sequence",
    }
    assert any(right["redacted_thinking"] for right in replies)
    assert any(right["unfinished_tool_calls"] for right in replies)


def test_every_request_is_one_that_the_provider_accepts():
    refused = {name: find_errors(exchange(name)) for name in OWN}
    assert not {name: found for name, found in refused.items() if found}


def find_errors(recorded):
    body, path = recorded["request"]["body"], recorded["request"]["path"]
    model = re.search(r"models/([^:]+)", path)
    return errors(validate(recorded["provider"], recorded["api"], body, model[1] if model else ""))


def test_no_cassette_contains_data_of_its_machine():
    assert not re.search(r"/work|/home|/root", json.dumps(files()))
