"""What servers and proxies were reported to send to other clients, and none of the recordings has.

Each case is named for what is odd about it; whose server it was stands beside it.
"""

import asyncio
import json

import pytest

from tests.providers.exchanges import Playback, complete, events_of, model, request
from tests.providers.rules import broken_rules
from yourtool.errors import (
    ContextOverflowError,
    InvalidRequestError,
    NetworkError,
    OtherAdapterError,
    RateLimitError,
    ServerError,
)
from yourtool.messages import StopReason, TextBlock, ToolUseBlock
from yourtool.providers.dialects.anthropic import Anthropic
from yourtool.providers.dialects.google import Google
from yourtool.providers.dialects.ollama import Ollama
from yourtool.providers.dialects.openai_chat import OpenAIChat
from yourtool.providers.dialects.openai_responses import OpenAIResponses
from yourtool.providers.wire import Patience, WireAdapter

QUICK = Patience(first_event=0.5, content=0.5, last_word=0.01, linger=0.001)


async def heard(dialect, *lines, pause=None):
    """Return the events that a body of these lines gives, and the error that ended it."""
    transport = Playback(["".join(f"{line}\n\n" for line in lines).encode()], pause=pause)
    speaker = WireAdapter(dialect, transport, "acme", patience=QUICK)
    events, error = await events_of(speaker, request(model("acme")))
    assert broken_rules(events) == []
    return events, error


async def said(dialect, *lines, pause=None):
    events, error = await heard(dialect, *lines, pause=pause)
    assert error is None
    return complete(events)


def data(value):
    return f"data: {json.dumps(value)}"


def delta(finish=None, **fields):
    return data({"choices": [{"index": 0, "delta": fields, "finish_reason": finish}]})


def call(index=None, ident=None, **function):
    return delta(tool_calls=[{"index": index, "id": ident, "function": function}])


def calls_of(whole):
    return [
        (block.name, block.input)
        for block in whole.final_content
        if isinstance(block, ToolUseBlock) and block.id not in whole.tool_input_errors
    ]


CHAT_END = (delta("stop"), "data: [DONE]")
MESSAGE = (
    data({"type": "message_start", "message": {"id": "msg_1", "usage": {"input_tokens": 1}}}),
    data({"type": "content_block_start", "index": 0, "content_block": {"type": "text"}}),
    data(
        {
            "type": "content_block_delta",
            "index": 0,
            "delta": {"type": "text_delta", "text": "a"},
        }
    ),
)
MESSAGE_ENDS = data(
    {
        "type": "message_delta",
        "delta": {"stop_reason": "end_turn"},
        "usage": {"output_tokens": 1},
    }
)
MESSAGE_STOPS = data({"type": "message_stop"})
GOOGLE = data({"candidates": [{"content": {"parts": [{"text": "a"}]}, "finishReason": "STOP"}]})
RESPONSE = data(
    {
        "type": "response.completed",
        "response": {
            "status": "completed",
            "output": [{"type": "message", "content": [{"type": "output_text", "text": "a"}]}],
        },
    }
)
WHOLE = [
    (Anthropic, (*MESSAGE, MESSAGE_ENDS, MESSAGE_STOPS)),
    (Google, (GOOGLE,)),
    (OpenAIChat, (delta(content="a"), *CHAT_END)),
    (OpenAIResponses, (RESPONSE,)),
]


@pytest.mark.parametrize(("dialect", "lines"), WHOLE)
@pytest.mark.parametrize("end", ["data: [DONE]", "event: done\ndata: [DONE]", "data: ", "data"])
async def test_any_stream_may_end_as_chat_completions_do(dialect, lines, end):
    """LiteLLM and Copilot behind Anthropic's interface."""
    assert (await said(dialect(), *lines, end)).final_content == (TextBlock("a"),)


@pytest.mark.parametrize(("dialect", "lines"), WHOLE)
async def test_blank_events_before_and_between_the_others_are_none(dialect, lines):
    """Gateways that keep a connection alive by `data:` and nothing after it."""
    spread = [each for line in lines for each in ("data:", line)]
    assert (await said(dialect(), *spread)).final_content == (TextBlock("a"),)


@pytest.mark.parametrize("junk", ["data: {", "data: OK", 'data: {"error": "gone"}'])
@pytest.mark.parametrize(("dialect", "lines"), [WHOLE[0], WHOLE[2], WHOLE[3]])
async def test_what_follows_the_end_cannot_spoil_the_reply(dialect, lines, junk):
    assert (await said(dialect(), *lines, junk)).final_content == (TextBlock("a"),)


@pytest.mark.parametrize("end", [(), ("data: [DONE]",), ('event: ping\ndata: {"type": "ping"}',)])
async def test_a_message_is_whole_with_the_reason_for_its_end(end):
    """Copilot and other proxies that leave `message_stop` out."""
    whole = await said(Anthropic(), *MESSAGE, MESSAGE_ENDS, *end)
    assert whole.stop_reason is StopReason.END_TURN
    assert whole.usage.output_tokens == 1


async def test_a_message_without_a_reason_for_its_end_is_not_whole():
    _, error = await heard(Anthropic(), *MESSAGE, "data: [DONE]")
    assert type(error) is NetworkError


@pytest.mark.parametrize(
    ("dialect", "lines"),
    [(Anthropic, (*MESSAGE, MESSAGE_ENDS)), (OpenAIChat, (delta("stop", content="a"),)), WHOLE[1]],
)
async def test_silence_after_the_reason_for_the_end_is_borne_for_a_short_while_only(dialect, lines):
    """Proxies that hold the connection open, with pings or without."""
    whole = await said(dialect(), *lines, pause=asyncio.Event().wait)
    assert whole.final_content == (TextBlock("a"),)


@pytest.mark.parametrize("lines", [(), (delta(role="assistant", content=""),), (data({}),)])
async def test_a_stream_that_ends_in_order_but_says_nothing_at_all_is_no_reply(lines):
    """vLLM, where it failed before the first word; OpenRouter, where the model's host did."""
    events, error = await heard(OpenAIChat(), *lines, "data: [DONE]")
    assert type(error) is NetworkError
    assert error.retryable
    assert events == []


async def test_a_reply_of_nothing_that_says_why_it_ended_is_whole():
    whole = await said(OpenAIChat(), delta(content=""), *CHAT_END)
    assert (whole.final_content, whole.stop_reason) == ((), StopReason.END_TURN)


@pytest.mark.parametrize(
    ("line", "kind"),
    [
        (data({"object": "error", "message": "no", "code": 400}), InvalidRequestError),  # vLLM
        (data({"error": "Model crashed"}), OtherAdapterError),  # LM Studio
        (data({"choices": [], "x": 1, "error": {"code": 502, "message": "no"}}), ServerError),
        (data({"choices": [{"error": {"code": 502, "message": "no"}}]}), ServerError),  # OpenRouter
        (data({"choices": [{"error": {"code": 429}, "finish_reason": "error"}]}), RateLimitError),
        ('event: error\ndata: {"message": "no", "code": 503}', ServerError),  # Groq
        (
            data({"error": {"code": 500, "message": "Context size has been exceeded."}}),
            ContextOverflowError,  # llama.cpp
        ),
    ],
)
async def test_an_error_is_one_wherever_the_server_puts_it(line, kind):
    _, error = await heard(OpenAIChat(), line, "data: [DONE]")
    assert type(error) is kind


@pytest.mark.parametrize(
    "end",
    [
        {"finish_reason": "error"},  # OpenRouter
        {"finish_reason": "network_error"},  # Z.ai
        {"finish_reason": "stop", "native_finish_reason": "network_error"},  # OpenRouter
        {"finish_reason": "insufficient_system_resource"},  # DeepSeek
        {"finish_reason": "abort"},  # SGLang
        {"finish_reason": "function_call_filter: MALFORMED_FUNCTION_CALL"},  # Google
    ],
)
async def test_a_reply_that_failed_before_its_first_word_is_asked_for_again(end):
    events, error = await heard(
        OpenAIChat(), data({"choices": [{"index": 0, "delta": {}, **end}]}), "data: [DONE]"
    )
    assert events == []
    assert type(error) is ServerError
    assert error.retryable


@pytest.mark.parametrize("word", ["error", "content_filter", "network_error"])
@pytest.mark.parametrize("arguments", ["", '{"path":'])
async def test_a_call_that_the_end_of_the_reply_cut_is_not_run(word, arguments):
    whole = await said(OpenAIChat(), call(0, "1", name="f", arguments=arguments), delta(word))
    assert calls_of(whole) == []
    assert len(whole.tool_input_errors) == 1


async def test_a_call_without_arguments_is_not_run_if_the_stream_gives_no_reason_for_its_end():
    """A host that died right after the name of the tool, and a proxy that ends the stream."""
    both = (call(0, "1", name="f", arguments="{}"), call(1, "2", name="g", arguments=""))
    whole = await said(OpenAIChat(), *both, "data: [DONE]")
    assert calls_of(whole) == [("f", {})]
    whole = await said(OpenAIChat(), *both, delta("tool_calls"), "data: [DONE]")
    assert calls_of(whole) == [("f", {}), ("g", {})]


TWO = [("f", {"a": 1}), ("f", {"b": 2})]


@pytest.mark.parametrize(
    "lines",
    [
        (call(0, "1", name="f", arguments='{"a":1}'), call(0, "2", name="f", arguments='{"b":2}')),
        (
            call(0, None, name="f", arguments='{"a":1}'),
            call(0, None, name="f", arguments='{"b":2}'),
        ),
        (
            call(0, "1", name="f", arguments=""),
            call(0, None, arguments='{"a":1}'),
            call(0, "2", name="f", arguments=""),
            call(0, None, arguments='{"b":2}'),
        ),
        (
            call(None, "1", name="f", arguments='{"a"'),
            call(None, "1", name="f", arguments=":1}"),
            call(None, "2", name="f", arguments='{"b":2}'),
        ),
        (
            call(None, "1"),
            call(None, None, name="f", arguments='{"a":1}'),
            call(None, "2", name="f", arguments='{"b":2}'),
        ),
        (
            call(0, "1", name="f", arguments='{"a"'),
            call(1, "2", name="f", arguments='{"b"'),
            call(0, None, arguments=":1}"),
            call(1, None, arguments=":2}"),
        ),
        (
            call(0, "1", name="f", arguments='{"a"'),
            call(0, "x", name="f", arguments=":1}"),
            call(1, "y", name="f", arguments='{"b"'),
            call(1, "z", name="f", arguments=":2}"),
        ),
    ],
    ids=[
        "index 0 for all: Ollama, Grok, gateways",
        "index 0 for all and no ids",
        "index 0 for all in pieces",
        "no index and everything repeated",
        "the id before the name",
        "by turns",
        "an id for every piece: vLLM",
    ],
)
async def test_two_calls_are_two_however_their_pieces_are_marked(lines):
    assert calls_of(await said(OpenAIChat(), *lines, *CHAT_END)) == TWO


@pytest.mark.parametrize(
    ("fragments", "arguments"),
    [
        (['{"a":', "1}", '{"a":1}'], {"a": 1}),  # vLLM and proxies flush the whole once more
        (["{}", "{}"], {}),
        (['{"a":', '{"a":', "1}}"], {"a": {"a": 1}}),
        (["null"], {}),
        (['{"a":', "null", "}"], {"a": None}),
    ],
)
async def test_arguments_that_come_twice_or_as_null_are_read_once(fragments, arguments):
    pieces = [call(0, arguments=fragment) for fragment in fragments]
    whole = await said(OpenAIChat(), call(0, "1", name="f", arguments=""), *pieces, *CHAT_END)
    assert calls_of(whole) == [("f", arguments)]


@pytest.mark.parametrize(
    "blank", [{}, {"function": {}}, {"function": {"name": "", "arguments": ""}}]
)
async def test_a_call_of_nothing_is_none(blank):
    """Servers that put an empty entry into the list of calls of an ordinary reply."""
    entry = {"index": 0, "id": "", **blank}
    whole = await said(OpenAIChat(), delta(tool_calls=[entry], content="a"), *CHAT_END)
    assert whole.final_content == (TextBlock("a"),)
    assert whole.stop_reason is StopReason.END_TURN


COUNTED = {"prompt_tokens": 9, "completion_tokens": 2, "cached_tokens": 4}


@pytest.mark.parametrize(
    "line",
    [
        data({"choices": [{"index": 0, "delta": {}, "usage": COUNTED}]}),  # Moonshot
        data({"choices": [], "x_groq": {"usage": COUNTED}}),  # Groq
        data({"choices": [], "usage": COUNTED}),
    ],
)
async def test_counters_are_found_wherever_the_server_puts_them_r_adp_12(line):
    used = (await said(OpenAIChat(), delta(content="a"), delta("stop"), line)).usage
    assert not used.estimated
    assert (used.input_tokens, used.cached_input_tokens, used.output_tokens) == (5, 4, 2)


@pytest.mark.parametrize("dialect", [Anthropic, Google, OpenAIChat, OpenAIResponses, Ollama])
async def test_a_web_page_in_place_of_a_reply_says_where_to_look(dialect):
    """The `base_url` of a gateway's front page, or of a network that wants a login first."""
    page = "<!doctype html><html><head><title>Welcome</title></head><body>Log in</body></html>"
    _, error = await heard(dialect(), page)
    assert type(error) is OtherAdapterError
    assert not error.retryable
    assert "Welcome" in str(error)
    assert "`base_url`" in str(error)
