"""`yourtool -p` over HTTP against the recorded answers of real providers."""

import json
import os
import subprocess
from dataclasses import replace
from unittest.mock import ANY

import pytest

from tests.e2e.terminal import YOURTOOL
from tests.provider_server import ProviderServer, replay
from tests.providers.recorded_exchanges import (
    COUNTERS,
    NAMES,
    SEVERAL_RESPONSES,
    WITH_TEXT,
    cases,
    error_class,
    exchange,
    expected,
    responses,
    sets,
)
from yourtool.run_result import ExitCode

CALLED_HERE = {"gemini": "google", "openai-compat": "compatible"}
"""Providers with a different name in the recordings."""
MAY_PASS = ("rate_limit", "server_error", "network")
"""Error classes after which a script can retry."""
NOTHING = {"type": "text", "text": ""}
"""The stored text of a reply without content."""
IN_A_PROCESS = (
    "anthropic-messages-call-stream",
    "openrouter-chat-unfinished-call-stream",
    "anthropic-messages-error-overloaded",
    "gemini-generate-parallel-calls-stream",
    "ollama-chat-thinking-stream",
    "openai-chat-refusal-stream",
    "openai-compat-chat-stream-error-stream",
    "openai-compat-responses-text",
    "openai-responses-parallel-calls-stream",
    "anthropic-messages-36913693",
    "cut-openrouter-chat-3",
    "doc-anthropic-529",
    "gemini-generate-01757666",
    "ollama-chat-681d9b76",
    "openai-chat-f34327d5",
    "openai-compat-chat-f6e1c46c",
    "openai-responses-eabbd6ae",
)

CASES = cases(NAMES)


def provider_of(name):
    provider = exchange(name)["provider"]
    return CALLED_HERE.get(provider, provider)


def model_of(name):
    return f"{provider_of(name)}:{expected(name)['model'] or 'some-model'}"


def options_of(name):
    run = ("--output-format", "stream-json", "--max-turns", "1")
    return ("-p", "hello", "-m", model_of(name), *run)


def write_settings(home, name, server):
    """Write settings for the provider and the dialect of the exchange, without retries.

    The model has a catalogue row, so that the defaults of its provider apply.
    """
    settings = "[limits]\nmax_retries = 0\n"
    if provider_of(name) in ("openai", "compatible"):
        settings += f'[providers.{provider_of(name)}]\napi = "{exchange(name)["api"]}"\n'
    if provider_of(name) == "compatible":
        settings += f'base_url = "{server.compatible_url}"\n'
    (home / "config.toml").write_text(settings)
    (home / "models.toml").write_text(f'[models."{model_of(name)}"]\n')


def recorded_answer(name):
    """Return the recorded answer; if a body contains several, the expected one."""
    reply = replay(name)
    return replace(reply, body=responses()[-1]) if name == SEVERAL_RESPONSES else reply


def expected_output(name):
    """Return the expected output for the exchange."""
    right = expected(name)
    unfinished = [{**call, "input": None} for call in right["unfinished_tool_calls"]]
    calls = [*right["tool_calls"], *unfinished]
    error = error_class(name) or (None if right["complete"] else "network")
    stop = "error" if error else right["stop_class"]
    ended, code = error, ExitCode.ANSWERED
    if error is not None:
        code = ExitCode.RETRYABLE if error in MAY_PASS else ExitCode.FAILED
    elif calls or stop == "pause_turn":
        ended, code = "limit", ExitCode.LIMIT
    elif stop == "error":
        ended, code = "other", ExitCode.FAILED
    told = {"ended": ended, "code": code, "status": (right["error"] or {}).get("status")}
    if error is None:
        told |= {"refused": len(calls), "ids": [call["id"] for call in calls if call["id"]]}
    if name in WITH_TEXT or calls:
        counted = right["usage"]["uncached"] or {"input_tokens": None}
        is_counted = counted["input_tokens"] is not None
        usage = {each: counted[each] or 0 for each in COUNTERS} if is_counted else None
        if error is not None:  # the output tokens of a truncated reply are estimated
            usage = _prompt(usage) if usage else ANY
        told |= {
            "stop": (stop, right["stop_reason"] or None),
            "text": right["text"]
            if is_constrained(right)
            else right["text"] + (right["refusal"] or ""),
            "thinking": [(each["text"], each["signature"]) for each in right["thinking"]],
            "sealed": right["redacted_thinking"],
            "calls": [(call["name"], call["input"] or {}) for call in calls],
            "unusable": [call["input"] is None for call in calls],
            "response": right["response_id"] or None,
            "usage": usage,
        }
    return told


def is_constrained(right):
    """Whether the host constrained the answer to a schema."""
    return isinstance(right["text"], dict)


def _prompt(usage):
    return {each: usage[each] for each in COUNTERS if each != "output_tokens"}


def parse_output(printed, code):
    """Return the same fields of the lines that the program printed."""
    events = [json.loads(line) for line in printed.splitlines()]
    last = {event["type"]: event for event in events}
    result, reply = last["result"], last.get("message_complete")
    error, ended = result["error"] or {}, last.get("llm.call_completed")
    assert (result["num_requests"], result["exit_code"]) == (1, code)
    heard = {"ended": error.get("class"), "code": code, "status": error.get("status")}
    if ended is not None:
        refused = [event for event in events if event["type"] == "tool.failed"]
        heard |= {"refused": len(refused), "ids": list(ended["provider_tool_ids"].values())}
        assert ended["message"]["content"] == (reply["final_content"] or [NOTHING])
        assert result["usage"] == {each: reply["usage"][each] for each in COUNTERS}
    elif reply is not None:
        kept = (last["llm.call_failed"]["message"] or {"content": []})["content"]
        assert kept == [each for each in reply["final_content"] if each["type"] != "tool_use"]
    if reply is not None:
        heard |= content_of(reply)
        if error and ended is None:
            heard["usage"] = _prompt(reply["usage"])
        assert (result["result"], result["stop_reason"]) == (heard["text"], heard["stop"][0])
    return heard


def content_of(reply):
    def of(kind):
        return [block for block in reply["final_content"] if block["type"] == kind]

    usage = reply["usage"]
    return {
        "stop": (reply["stop_reason"], reply["stop_detail"]),
        "text": "".join(block["text"] for block in of("text")),
        "thinking": [(block["text"], block["signature"]) for block in of("thinking")],
        "sealed": [block["data"] for block in of("redacted_thinking")],
        "calls": [(block["name"], block["input"]) for block in of("tool_use")],
        "unusable": [block["id"] in reply["tool_input_errors"] for block in of("tool_use")],
        "response": (reply["receipt"] or {}).get("response_id"),
        "usage": None if usage["estimated"] else {each: usage[each] for each in COUNTERS},
    }


@pytest.mark.usefixtures("own_logging")
@pytest.mark.parametrize("name", CASES)
@pytest.mark.req("R-ADP-01", "R-CLI-02")
@pytest.mark.sample(9)
def test_output_matches_the_recording(name, line, monkeypatch):
    with ProviderServer([recorded_answer(name)]) as server:
        for variable, value in server.environment.items():
            monkeypatch.setenv(variable, value)
        write_settings(line.home, name, server)
        code, printed, remarks = line(*options_of(name))
        heard = parse_output(printed, code)
        if is_constrained(expected(name)):
            heard["text"] = json.loads(heard["text"])
        assert heard == expected_output(name)
        assert len(server.requests) == 1
    told = json.loads(printed.splitlines()[-1])["error"]
    assert told is None or f"yourtool: {told['message']}\n" in remarks


@pytest.mark.parametrize("name", cases(IN_A_PROCESS))
@pytest.mark.req("R-CLI-01", "R-CLI-02")
@pytest.mark.remaining
def test_separate_process_prints_the_same(name, home, tmp_path):
    with ProviderServer([recorded_answer(name)]) as server:
        write_settings(home, name, server)
        done = subprocess.run(
            (*YOURTOOL, *options_of(name)),
            cwd=tmp_path,
            env={**os.environ, **server.environment},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            check=False,
        )
        assert parse_output(done.stdout.decode(), done.returncode) == expected_output(name)
        assert len(server.requests) == 1


@pytest.mark.parametrize("names", sets())
def test_separate_process_works_with_every_provider(names):
    started = {provider_of(name) for name in IN_A_PROCESS if name in names}
    assert started == {provider_of(name) for name in names}
