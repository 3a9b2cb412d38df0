"""What servers and proxies were reported to send to other clients, and none of the recordings has.

Each case is named after its deviation; a comment names the server.
"""

import asyncio
import itertools
import json

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.providers.histories import as_message, reply_metadata
from tests.providers.recorded_exchanges import Playback, collect_events, complete, model, request
from tests.providers.stream_rules import broken_rules
from tests.strategies import Writer
from yourtool.errors import (
    ContextOverflowError,
    InvalidRequestError,
    NetworkError,
    OtherAdapterError,
    RateLimitError,
    ServerError,
)
from yourtool.events.deltas import MessageComplete
from yourtool.foundation.text import MAX_JSON_DEPTH
from yourtool.messages.blocks import TextBlock, ThinkingBlock, ToolResultBlock, ToolUseBlock
from yourtool.messages.message import Role
from yourtool.messages.metadata import ResultMetadata, StopReason
from yourtool.providers.dialects.chat.dialect import ChatDialect
from yourtool.providers.dialects.generate_content.dialect import GenerateContentDialect
from yourtool.providers.dialects.messages.dialect import MessagesDialect
from yourtool.providers.dialects.ollama.dialect import OllamaDialect
from yourtool.providers.dialects.responses.dialect import ResponsesDialect
from yourtool.providers.idle_timer import StreamTimeouts
from yourtool.providers.provider_specs import ProviderSpec
from yourtool.providers.registry import load_dialect
from yourtool.providers.requests.request_view import build_request_view
from yourtool.providers.wire import WireAdapter

QUICK = StreamTimeouts(first_event=0.5, content=0.5, trailer=0.01, linger=0.001)


async def read_events(dialect, *lines, pause=None, timeouts=QUICK):
    """Return the events that a body of these lines gives, and the error that ended it."""
    transport = Playback(["".join(f"{line}\n\n" for line in lines).encode()], pause=pause)
    speaker = WireAdapter(dialect, transport, "acme", timeouts=timeouts)
    events, error = await collect_events(speaker, request(model("acme")))
    assert broken_rules(events) == []
    return events, error


async def read_reply(dialect, *lines):
    events, error = await read_events(dialect, *lines)
    assert error is None
    return complete(events)


def data(value):
    return f"data: {json.dumps(value)}"


def delta(finish=None, **fields):
    return data({"choices": [{"index": 0, "delta": fields, "finish_reason": finish}]})


def call(index=None, ident=None, **function):
    return delta(tool_calls=[{"index": index, "id": ident, "function": function}])


def calls_of(complete_event):
    return [
        (block.name, block.input)
        for block in complete_event.final_content
        if isinstance(block, ToolUseBlock) and block.id not in complete_event.tool_input_errors
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
COMPLETE = [
    (MessagesDialect, (*MESSAGE, MESSAGE_ENDS, MESSAGE_STOPS)),
    (GenerateContentDialect, (GOOGLE,)),
    (ChatDialect, (delta(content="a"), *CHAT_END)),
    (ResponsesDialect, (RESPONSE,)),
]


@pytest.mark.parametrize(("dialect", "lines"), COMPLETE)
@pytest.mark.parametrize("end", ["data: [DONE]", "event: done\ndata: [DONE]", "data: ", "data"])
async def test_done_event_ends_a_stream_of_any_dialect(dialect, lines, end):
    """LiteLLM and Copilot behind Anthropic's interface."""
    assert (await read_reply(dialect(), *lines, end)).final_content == (TextBlock("a"),)


@pytest.mark.parametrize(("dialect", "lines"), COMPLETE)
async def test_blank_events_are_skipped(dialect, lines):
    """Gateways that keep a connection alive by `data:` and nothing after it."""
    spread = [each for line in lines for each in ("data:", line)]
    assert (await read_reply(dialect(), *spread)).final_content == (TextBlock("a"),)


@pytest.mark.parametrize("junk", ["data: {", "data: OK", 'data: {"error": "gone"}'])
@pytest.mark.parametrize(("dialect", "lines"), [COMPLETE[0], COMPLETE[2], COMPLETE[3]])
async def test_data_after_the_end_is_ignored(dialect, lines, junk):
    assert (await read_reply(dialect(), *lines, junk)).final_content == (TextBlock("a"),)


@pytest.mark.parametrize("end", [(), ("data: [DONE]",), ('event: ping\ndata: {"type": "ping"}',)])
async def test_message_with_stop_reason_is_complete(end):
    """Copilot and other proxies that leave `message_stop` out."""
    complete_event = await read_reply(MessagesDialect(), *MESSAGE, MESSAGE_ENDS, *end)
    assert complete_event.stop_reason is StopReason.END_TURN
    assert complete_event.usage.output_tokens == 1


async def test_message_without_stop_reason_is_incomplete():
    _, error = await read_events(MessagesDialect(), *MESSAGE, "data: [DONE]")
    assert type(error) is NetworkError


@pytest.mark.parametrize(
    ("dialect", "lines"),
    [
        (MessagesDialect, (*MESSAGE, MESSAGE_ENDS)),
        (ChatDialect, (delta("stop", content="a"),)),
        COMPLETE[1],
    ],
)
async def test_timeout_after_the_stop_reason_is_short(dialect, lines):
    """Proxies that hold the connection open, with pings or without."""
    patient = StreamTimeouts(content=600, trailer=0.01)
    async with asyncio.timeout(30):  # hangs if it is broken
        events, error = await read_events(
            dialect(), *lines, pause=asyncio.Event().wait, timeouts=patient
        )
    assert error is None
    assert complete(events).final_content == (TextBlock("a"),)


@pytest.mark.parametrize("lines", [(), (delta(role="assistant", content=""),), (data({}),)])
async def test_stream_without_content_is_an_error(lines):
    """vLLM, where it failed before the first word; OpenRouter, where the model's host did."""
    events, error = await read_events(ChatDialect(), *lines, "data: [DONE]")
    assert type(error) is NetworkError
    assert error.retryable
    assert events == []


async def test_empty_reply_with_stop_reason_is_complete():
    complete_event = await read_reply(ChatDialect(), delta(content=""), *CHAT_END)
    assert (complete_event.final_content, complete_event.stop_reason) == ((), StopReason.END_TURN)


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
async def test_error_is_found_in_any_field(line, kind):
    _, error = await read_events(ChatDialect(), line, "data: [DONE]")
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
async def test_reply_that_failed_before_its_content_is_retried(end):
    events, error = await read_events(
        ChatDialect(), data({"choices": [{"index": 0, "delta": {}, **end}]}), "data: [DONE]"
    )
    assert events == []
    assert type(error) is ServerError
    assert error.retryable


@pytest.mark.parametrize("word", ["error", "content_filter", "network_error"])
@pytest.mark.parametrize("arguments", ["", '{"path":'])
async def test_call_cut_by_the_end_of_the_reply_does_not_run(word, arguments):
    complete_event = await read_reply(
        ChatDialect(), call(0, "1", name="f", arguments=arguments), delta(word)
    )
    assert calls_of(complete_event) == []
    assert len(complete_event.tool_input_errors) == 1


async def test_call_without_arguments_does_not_run_without_a_stop_reason():
    """A host that died right after the name of the tool, and a proxy that ends the stream."""
    both = (call(0, "1", name="f", arguments="{}"), call(1, "2", name="g", arguments=""))
    complete_event = await read_reply(ChatDialect(), *both, "data: [DONE]")
    assert calls_of(complete_event) == [("f", {})]
    complete_event = await read_reply(ChatDialect(), *both, delta("tool_calls"), "data: [DONE]")
    assert calls_of(complete_event) == [("f", {}), ("g", {})]


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
async def test_two_calls_are_separated_with_any_markers(lines):
    assert calls_of(await read_reply(ChatDialect(), *lines, *CHAT_END)) == TWO


@pytest.mark.parametrize(
    ("fragments", "arguments"),
    [
        (['{"a":', "1}", '{"a":1}'], {"a": 1}),  # vLLM and proxies repeat the full text
        (["{}", "{}"], {}),
        (['{"a":', '{"a":', "1}}"], {"a": {"a": 1}}),
        (["null"], {}),
        (['{"a":', "null", "}"], {"a": None}),
    ],
)
async def test_repeated_or_null_arguments_are_read_once(fragments, arguments):
    pieces = [call(0, arguments=fragment) for fragment in fragments]
    complete_event = await read_reply(
        ChatDialect(), call(0, "1", name="f", arguments=""), *pieces, *CHAT_END
    )
    assert calls_of(complete_event) == [("f", arguments)]


@pytest.mark.parametrize(
    "blank", [{}, {"function": {}}, {"function": {"name": "", "arguments": ""}}]
)
async def test_empty_call_is_ignored(blank):
    """Servers that put an empty entry into the list of calls of an ordinary reply."""
    entry = {"index": 0, "id": "", **blank}
    complete_event = await read_reply(
        ChatDialect(), delta(tool_calls=[entry], content="a"), *CHAT_END
    )
    assert complete_event.final_content == (TextBlock("a"),)
    assert complete_event.stop_reason is StopReason.END_TURN


COUNTED = {"prompt_tokens": 9, "completion_tokens": 2, "cached_tokens": 4}


@pytest.mark.parametrize(
    "line",
    [
        data({"choices": [{"index": 0, "delta": {}, "usage": COUNTED}]}),  # Moonshot
        data({"choices": [], "x_groq": {"usage": COUNTED}}),  # Groq
        data({"choices": [], "usage": COUNTED}),
    ],
)
@pytest.mark.req("R-ADP-12")
async def test_counters_are_found_in_any_field(line):
    used = (await read_reply(ChatDialect(), delta(content="a"), delta("stop"), line)).usage
    assert not used.estimated
    assert (used.input_tokens, used.cached_input_tokens, used.output_tokens) == (5, 4, 2)


@pytest.mark.parametrize(
    "dialect",
    [MessagesDialect, GenerateContentDialect, ChatDialect, ResponsesDialect, OllamaDialect],
)
async def test_web_page_instead_of_a_reply_gives_a_hint(dialect):
    """The `base_url` of a gateway's front page, or of a network with a login page."""
    page = "<!doctype html><html><head><title>Welcome</title></head><body>Log in</body></html>"
    _, error = await read_events(dialect(), page)
    assert type(error) is OtherAdapterError
    assert not error.retryable
    assert "Welcome" in str(error)
    assert "`base_url`" in str(error)


def request_for(target, *messages, **changes):
    return request(target, messages, **changes)


def user(text="?"):
    return Writer().message(Role.USER, [TextBlock(text)])


def result(use_id):
    metadata = ResultMetadata(parent_tool_use_id=use_id)
    return Writer().message(Role.TOOL, [ToolResultBlock(use_id, (TextBlock("5"),))], metadata)


def body(dialect, target, *messages, **changes):
    return json.loads(
        dialect.to_wire(request_for(target, *build_request_view(messages, target), **changes)).body
    )


async def turn(target, dialect, *lines):
    """Return a whole turn as it is stored, and the ids that belong to it."""
    first_request = request_for(target, user())
    transport = Playback(["".join(f"{line}\n\n" for line in lines).encode()])
    speaker = WireAdapter(dialect, transport, target.provider, timeouts=QUICK)
    events, error = await collect_events(speaker, first_request)
    assert error is None
    reply = as_message(complete(events), target, Writer())
    return (user(), reply, *(result(call.id) for call in reply.tool_uses)), first_request.tool_ids


FOREIGN = (
    user(),
    Writer().message(
        Role.ASSISTANT,
        [ThinkingBlock("hm"), ToolUseBlock("tu_01ARZ3NDEKTSV4RRFFQ69G5FAV", "f", {})],
        reply_metadata("openai:gpt-4o"),
    ),
    result("tu_01ARZ3NDEKTSV4RRFFQ69G5FAV"),
    Writer().message(Role.ASSISTANT, [TextBlock("done")], reply_metadata("openai:gpt-4o")),
    user(),
)


@pytest.mark.parametrize("field", ["reasoning_content", "reasoning"])
@pytest.mark.req("R-SWP-03")
async def test_reasoning_is_replayed_in_its_original_field(field):
    """DeepSeek, Moonshot, Z.ai and others refuse to continue without it after a call."""
    target = model("acme", "some-model")
    lines = (delta(**{field: "h"}), delta(**{field: "m"}), call(0, "1", name="f", arguments="{}"))
    history, ids = await turn(target, ChatDialect(), *lines, *CHAT_END)
    sent = body(ChatDialect(), target, *history, tool_ids=ids)["messages"][1]
    assert sent[field] == "hm"
    assert not {"reasoning", "reasoning_content"} - {field} & sent.keys()
    silent = body(ChatDialect({"reasoning_content": False}), target, *history, tool_ids=ids)
    assert field not in silent["messages"][1]
    other = body(ChatDialect(), model("acme", "other"), *history, tool_ids=ids)
    assert field not in other["messages"][1]


@pytest.mark.parametrize(
    ("name", "quirks", "is_blank"),
    [
        ("deepseek-v4-pro", {}, True),
        ("deepseek-ai/DeepSeek-V4-Flash", {}, True),
        ("kimi-k2.6", {}, True),
        ("mimo-v2.5-pro", {}, True),
        ("deepseek-v3", {}, False),
        ("gpt-4o", {}, False),
        ("deepseek-v4-pro", {"reasoning_content": False}, False),
        ("house-model", {"reasoning_content": True}, True),
    ],
)
@pytest.mark.req("R-SWP-01")
def test_model_that_requires_reasoning_gets_a_blank(name, quirks, is_blank):
    """Else another model's turns are refused after a swap: `reasoning_content must be passed`."""
    messages = body(ChatDialect(quirks), model("acme", name), *FOREIGN)["messages"]
    replies = [each for each in messages if each["role"] == "assistant"]
    assert len(replies) == 2
    assert [each.get("reasoning_content") for each in replies] == [" " if is_blank else None] * 2


@pytest.mark.req("R-SWP-01")
async def test_kimi_gets_numbered_call_ids():
    target = model("acme", "moonshotai/Kimi-K2-Instruct")
    both = (call(0, "functions.g:7", name="g"), call(1, "functions.g:8", name="g"))
    history, ids = await turn(target, ChatDialect(), *both, *CHAT_END)
    messages = body(ChatDialect(), target, *FOREIGN, *history, tool_ids=ids)["messages"]
    call_ids = [call["id"] for each in messages for call in each.get("tool_calls", ())]
    assert call_ids == ["functions.f:0", "functions.g:1", "functions.g:2"]
    assert [each["tool_call_id"] for each in messages if each["role"] == "tool"] == call_ids


@pytest.mark.req("R-SWP-03")
async def test_extra_content_of_google_calls_is_replayed():
    """Gemini 3 refuses a call without its signature, behind its own Chat Completions too."""
    target, extra = model("acme", "gemini-3-pro"), {"google": {"thought_signature": "c2ln"}}
    signed = {"index": 0, "id": "1", "function": {"name": "f"}, "extra_content": extra}
    lines = (delta(tool_calls=[signed]), call(1, "2", name="g"), *CHAT_END)
    history, ids = await turn(target, ChatDialect(), *lines)
    calls = body(ChatDialect(), target, *history, tool_ids=ids)["messages"][1]["tool_calls"]
    assert [each.get("extra_content") for each in calls] == [extra, None]
    other = body(ChatDialect(), model("acme", "gpt-4o"), *history, tool_ids=ids)
    assert "extra_content" not in json.dumps(other)


@pytest.mark.parametrize("insists", [True, False])
def test_filler_reply_separates_results_and_prompt_if_required(insists):
    """Mistral: `Unexpected role 'user' after role 'tool'`, after a turn that was stopped."""
    stopped = (*FOREIGN[:3], user("go on"))
    messages = body(
        ChatDialect({"reply_after_tools": insists}), model("acme", "devstral"), *stopped
    )["messages"]
    between = ["assistant"] if insists else []
    assert [each["role"] for each in messages] == ["user", "assistant", "tool", *between, "user"]


REASONING = (
    data({"type": "content_block_start", "index": 0, "content_block": {"type": "thinking"}}),
    data(
        {
            "type": "content_block_delta",
            "index": 0,
            "delta": {"type": "thinking_delta", "thinking": "hm"},
        }
    ),
    data(
        {
            "type": "content_block_start",
            "index": 1,
            "content_block": {"type": "tool_use", "id": "toolu_1", "name": "f", "input": {}},
        }
    ),
)


@pytest.mark.parametrize("signs", [True, False])
@pytest.mark.req("R-SWP-03")
async def test_unsigned_reasoning_is_replayed_to_servers_without_signatures(signs):
    """Kimi, MiMo and local servers behind Anthropic's interface; its own refuses it (U36)."""
    target = model("acme", "kimi-k2.6")
    history, ids = await turn(target, MessagesDialect(), *REASONING, MESSAGE_ENDS, MESSAGE_STOPS)
    dialect = MessagesDialect(requires_signatures=signs)
    blocks = body(dialect, target, *history, tool_ids=ids)["messages"][1]["content"]
    reasoning = {"type": "thinking", "thinking": "hm", "signature": ""}
    assert (blocks[0] == reasoning) is not signs
    assert blocks[-1]["type"] == "tool_use"
    other = body(dialect, model("acme", "other"), *history, tool_ids=ids)
    assert "hm" not in json.dumps(other)


@pytest.mark.parametrize("home", ["https://api.anthropic.com", "https://api.kimi.com/coding"])
async def test_only_the_host_of_anthropic_requires_signatures(home):
    row = ProviderSpec(name="acme", api="messages", base_url=home, label="acme")
    target = model("acme", "kimi-k2.6")
    history, ids = await turn(target, MessagesDialect(), *REASONING, MESSAGE_ENDS, MESSAGE_STOPS)
    sent = body(load_dialect(row), target, *history, tool_ids=ids)
    assert ("hm" in json.dumps(sent)) is not home.endswith("anthropic.com")


async def test_items_with_the_same_index_are_separate():
    """Gateways that write Chat Completions as Responses and number every item 0."""

    def about(kind, **fields):
        return data({"type": f"response.{kind}", "output_index": 0, **fields})

    def item(name, arguments=""):
        call_fields = {"call_id": f"call_{name}", "name": name, "arguments": arguments}
        return {"item": {"type": "function_call", **call_fields}}

    lines = [
        about("output_item.added", item={"type": "reasoning"}),
        about("reasoning_summary_text.delta", delta="hm"),
        about("output_item.done", item={"type": "reasoning", "summary": [{"text": "hm"}]}),
    ]
    for name in "fg":
        lines += [
            about("output_item.added", **item(name)),
            about("function_call_arguments.delta", delta=f'{{"{name}":1}}'),
            about("output_item.done", **item(name, f'{{"{name}":1}}')),
        ]
    output = [{"type": "reasoning", "summary": [{"text": "hm"}]}]
    output += [item(name, f'{{"{name}":1}}')["item"] for name in "fg"]
    lines.append(about("completed", response={"status": "completed", "output": output}))
    complete_event = await read_reply(ResponsesDialect(), *lines)
    assert complete_event.final_content[0] == ThinkingBlock("hm")
    assert calls_of(complete_event) == [("f", {"f": 1}), ("g", {"g": 1})]
    assert len(complete_event.final_content) == 3


SPLIT = st.text(st.sampled_from(["a", "é", "語", "🦊", "🙂", "\ufeff"]), min_size=1, max_size=6)


def cut_in_units(text, cuts):
    """The text cut at places counted as JavaScript counts them, which may halve a character."""
    units = [
        text.encode("utf-16-le")[at : at + 2] for at in range(0, len(text.encode("utf-16-le")), 2)
    ]
    edges = [0, *sorted(min(cut, len(units)) for cut in cuts), len(units)]
    return [
        b"".join(units[a:b]).decode("utf-16-le", "surrogatepass")
        for a, b in itertools.pairwise(edges)
    ]


@given(text=SPLIT, cuts=st.lists(st.integers(0, 12), max_size=5))
@pytest.mark.remaining
async def test_split_surrogate_pairs_are_joined(text, cuts):
    """Gateways in JavaScript that cut words and arguments every so many units."""
    pieces = cut_in_units(text, cuts)
    complete_event = await read_reply(
        ChatDialect(), *(delta(content=piece) for piece in pieces), *CHAT_END
    )
    assert complete_event.final_content == (TextBlock(text),)
    pieces = cut_in_units(json.dumps({"a": text}, ensure_ascii=False), cuts)
    lines = [call(0, "1", name="f"), *(call(0, arguments=piece) for piece in pieces)]
    assert calls_of(await read_reply(ChatDialect(), *lines, *CHAT_END)) == [("f", {"a": text})]


async def test_lone_surrogate_is_storable():
    half = "a\ud83d"
    signed = {"type": "reasoning.text", "text": half, "signature": half, "format": half}
    lines = (
        delta(reasoning_details=[signed]),
        delta(tool_calls=[{"index": 0, "id": half, "function": {"name": half}}]),
        delta("stop" + half),
    )
    complete_event = await read_reply(ChatDialect(), *lines, "data: [DONE]")
    assert (
        msgspec.json.decode(msgspec.json.encode(complete_event), type=MessageComplete)
        == complete_event
    )
    block = {"type": "server_tool_use", "id": half, "input": {half: [half]}}
    cited = {"type": "text", "text": half, "citations": [{"title": half}]}
    starts = [
        data({"type": "content_block_start", "index": at, "content_block": each})
        for at, each in enumerate((block, cited))
    ]
    complete_event = await read_reply(MessagesDialect(), *starts, MESSAGE_ENDS, MESSAGE_STOPS)
    assert (
        msgspec.json.decode(msgspec.json.encode(complete_event), type=MessageComplete)
        == complete_event
    )
    assert complete_event.provider_raw["blocks"][0]["block"]["input"] == {"a�": ["a�"]}


async def test_citations_are_stored_and_never_replayed():
    """OpenRouter's annotations, and the fields of xAI and Perplexity next to the choices."""
    notes = [{"type": "url_citation", "url_citation": {"url": f"https://e.org/{n}"}} for n in "12"]
    target, sites = model("acme", "some-model"), ["https://e.org/3"]
    lines = [delta(content="a", annotations=[note]) for note in notes]
    lines += [data({"choices": [], "citations": sites[:0]}), data({"citations": sites})]
    complete_event = await read_reply(ChatDialect(), *lines, *CHAT_END)
    assert complete_event.provider_raw["about"] == {"annotations": notes, "citations": sites}
    history, _ = await turn(target, ChatDialect(), *lines, *CHAT_END)
    assert "e.org" not in json.dumps(body(ChatDialect(), target, *history, user()))


async def test_citations_before_their_text_belong_to_it():
    """Anthropic's web search, https://docs.claude.com/en/docs/build-with-claude/citations."""

    def about(kind, index, **fields):
        return data({"type": f"content_block_{kind}", "index": index, **fields})

    cited = [{"type": "web_search_result_location", "url": f"https://e.org/{n}"} for n in "12"]
    lines = [about("start", at, content_block={"type": "text", "text": ""}) for at in (1, 2)]
    lines += [
        about("delta", at, delta=piece)
        for at, note in enumerate(cited, 1)
        for piece in (
            {"type": "citations_delta", "citation": note},
            {"type": "text_delta", "text": "b"},
        )
    ]
    complete_event = await read_reply(
        MessagesDialect(), *MESSAGE, *lines, MESSAGE_ENDS, MESSAGE_STOPS
    )
    assert complete_event.final_content == (TextBlock("a"), TextBlock("b"), TextBlock("b"))
    assert complete_event.provider_raw["notes"] == {"1": cited[:1], "2": cited[1:]}


async def test_deeply_nested_note_is_storable():
    deep = "x"
    for _ in range(MAX_JSON_DEPTH - 3):
        deep = [deep]
    item = {"type": "reasoning", "summary": [], "encrypted_content": "c2Vh", "content": deep}
    done = {"type": "response.output_item.done", "item": item}
    complete_event = await read_reply(ResponsesDialect(), data(done), RESPONSE)
    assert complete_event.provider_raw["notes"]["0"] == [{"item": item}]


async def test_error_of_a_reply_stays_if_what_follows_it_stalls_in_the_middle_of_an_event():
    error = {"type": "error", "code": "rate_limit_exceeded", "message": "slow down", "param": None}
    cut = 'event: response.failed\ndata: {"type":"response.failed","response":{"err'
    body = f"event: error\ndata: {json.dumps(error)}\n\n{cut}".encode()
    transport = Playback([body], pause=asyncio.Event().wait)
    speaker = WireAdapter(ResponsesDialect(), transport, "acme", timeouts=QUICK)
    async with asyncio.timeout(30):
        _, problem = await collect_events(speaker, request(model("acme")))
    assert type(problem) is RateLimitError
