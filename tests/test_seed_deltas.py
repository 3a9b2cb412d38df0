"""Metadata of messages that the first canonical format had no field for.

One group for each delta about messages. D2 and D18 are about requests, D14 about attachments, and
D9 and D21 are separate tables; `test_text_safety.py` covers D16, and the tests of the state of a
session cover D10.
"""

import json
import os
import re
import subprocess
import sys
from datetime import UTC, datetime
from decimal import Decimal

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.agent.harness import Bench, Checked, play
from tests.providers.dialect_cases import DIALECTS, EACH, sse
from tests.providers.histories import build_full_history, reply_metadata
from tests.providers.recorded_exchanges import (
    READ,
    Playback,
    collect_events,
    complete,
    model,
    problems,
    request,
)
from tests.providers.stream_rules import broken_rules
from tests.scripts import calls_badly
from tests.strategies import Writer, histories
from tests.tui.events import EventBuilder
from yourtool.effects import SideEffects, ToolHints
from yourtool.errors import ErrorCode, RateLimitError
from yourtool.events.deltas import MessageComplete, TextDelta, ToolUseEnd, ToolUseStart
from yourtool.events.model_calls import LlmCallCompleted, LlmCallFailed
from yourtool.events.tools import ToolCalled, ToolCompleted, ToolFailed
from yourtool.ids import new_tool_use_id
from yourtool.messages.blocks import TextBlock, ToolResultBlock, ToolUseBlock, canonical_json
from yourtool.messages.codec import decode_metadata, encode_metadata
from yourtool.messages.message import Role
from yourtool.messages.metadata import (
    Audience,
    ImportSource,
    MessageStatus,
    Origin,
    PromptMetadata,
    ReplyMetadata,
    ResultMetadata,
    StopReason,
)
from yourtool.messages.usage import UsageExtra
from yourtool.providers.dialects.chat.dialect import ChatDialect
from yourtool.providers.idle_timer import StreamTimeouts
from yourtool.providers.replies.error_mapping import error_from_response
from yourtool.providers.requests.request_view import build_request_view
from yourtool.providers.scripted import Scripted, calls, fails, says, stops
from yourtool.providers.tool_ids import ToolIdMap
from yourtool.providers.wire import WireAdapter
from yourtool.store.markdown import to_markdown
from yourtool.tools.base import DETAILS_LIMIT, Args, ToolOutput, tool
from yourtool.tui.transcript.text_items import ReplyItem, UserMessageItem
from yourtool.tui.transcript.timeline import Timeline
from yourtool.tui.transcript.tool_card import ToolCard
from yourtool.tui.transcript.turn_results import format_headline, get_advice

FEW = settings(max_examples=15, deadline=None)


class Nothing(Args, frozen=True):
    """No arguments."""


@pytest.fixture
async def bench(tmp_path):
    bench = Bench(tmp_path)
    yield bench
    await bench.close()


def ending(dialect, word):
    """A stream with the text `Hi` and a stop reason of the provider."""
    match dialect:
        case "anthropic":
            return sse(
                b'{"type":"message_start","message":{"id":"m"}}',
                b'{"type":"content_block_start","index":0,"content_block":'
                b'{"type":"text","text":"Hi"}}',
                b'{"type":"message_delta","delta":{"stop_reason":"%s"},"usage":{}}' % word,
                b'{"type":"message_stop"}',
            )
        case "chat" | "openrouter":
            return sse(
                b'{"choices":[{"index":0,"delta":{"content":"Hi"},"finish_reason":"%s"}]}' % word,
                b"[DONE]",
            )
        case "responses":
            status, _, reason = word.partition(b":")
            return sse(
                b'{"type":"response.completed","response":{"status":"%s","output":[{"type":'
                b'"message","content":[{"type":"output_text","text":"Hi"}]}],'
                b'"incomplete_details":{"reason":"%s"}}}' % (status, reason)
            )
        case "google":
            return sse(
                b'{"candidates":[{"content":{"parts":[{"text":"Hi"}]},"finishReason":"%s"}]}' % word
            )
        case _:
            return b'{"message":{"content":"Hi"},"done":true,"done_reason":"%s"}\n' % word


async def read(dialect, stream, headers=None):
    speaks, provider, _ = DIALECTS[dialect]
    transport = Playback([stream], headers=headers)
    adapter = WireAdapter(speaks, transport, provider, timeouts=StreamTimeouts(linger=0.001))
    events, error = await collect_events(adapter, request(model(provider)))
    assert error is None
    return events


# D1: our stop reason and the provider's; the error of a failed reply


@pytest.mark.parametrize(
    ("dialect", "word", "reason"),
    [
        ("anthropic", "end_turn", StopReason.END_TURN),
        ("anthropic", "stop_sequence", StopReason.STOP_SEQUENCE),
        ("anthropic", "max_tokens", StopReason.MAX_TOKENS),
        ("anthropic", "model_context_window_exceeded", StopReason.MAX_TOKENS),
        ("anthropic", "pause_turn", StopReason.PAUSE_TURN),
        ("anthropic", "refusal", StopReason.REFUSAL),
        ("chat", "stop", StopReason.END_TURN),
        ("chat", "length", StopReason.MAX_TOKENS),
        ("chat", "content_filter", StopReason.CONTENT_FILTER),
        ("openrouter", "error", StopReason.ERROR),
        ("responses", "completed", StopReason.END_TURN),
        ("responses", "incomplete:max_output_tokens", StopReason.MAX_TOKENS),
        ("responses", "incomplete:content_filter", StopReason.CONTENT_FILTER),
        ("google", "STOP", StopReason.END_TURN),
        ("google", "MAX_TOKENS", StopReason.MAX_TOKENS),
        ("google", "SAFETY", StopReason.CONTENT_FILTER),
        ("google", "MALFORMED_FUNCTION_CALL", StopReason.ERROR),
        ("ollama", "stop", StopReason.END_TURN),
        ("ollama", "length", StopReason.MAX_TOKENS),
    ],
)
@pytest.mark.req("D1")
async def test_each_stop_reason_is_mapped_and_the_provider_s_term_is_stored(dialect, word, reason):
    whole = complete(await read(dialect, ending(dialect, word.encode())))
    assert (whole.stop_reason, whole.stop_detail) == (reason, word)


@EACH
@pytest.mark.req("D1")
async def test_an_unknown_stop_reason_is_stored_and_not_guessed(dialect, caplog):
    whole = complete(await read(dialect, ending(dialect, b"something_new")))
    assert (whole.stop_reason, whole.stop_detail) == (StopReason.OTHER, "something_new")
    assert "something_new" in caplog.text


@pytest.mark.req("D1")
async def test_calls_run_independently_of_the_stop_reason(bench):
    reply = calls("update_plan", steps=[]) + stops(StopReason.END_TURN)
    session = await bench.session(Checked(Scripted([reply, says("done")])))
    events = await play(session.send("go"))
    await session.close()
    assert any(isinstance(event, ToolCompleted) for event in events)


@pytest.mark.parametrize(
    ("status", "body", "code"),
    [
        (402, {"error": {"code": 402, "message": "Insufficient credits"}}, ErrorCode.BILLING),
        (429, {"error": {"code": "insufficient_quota", "message": "x"}}, ErrorCode.BILLING),
        (
            400,
            {
                "error": {
                    "type": "invalid_request_error",
                    "message": "Your credit balance is too low to access the API.",
                }
            },
            ErrorCode.BILLING,
        ),
        (400, {"error": {"code": "context_length_exceeded", "message": "x"}}, ErrorCode.OVERFLOW),
        (400, {"error": {"message": "prompt is too long: 2 > 1"}}, ErrorCode.OVERFLOW),
        (400, {"error": {"code": "content_filter", "message": "x"}}, ErrorCode.CONTENT_FILTER),
        (
            400,
            {"error": {"code": "content_policy_violation", "message": "x"}},
            ErrorCode.CONTENT_FILTER,
        ),
        (429, {"error": {"code": "rate_limit_exceeded", "message": "x"}}, None),
        (500, {"error": {"message": "x"}}, None),
    ],
)
@pytest.mark.req("D1")
def test_an_error_has_a_code_beyond_its_class(status, body, code):
    error = error_from_response("acme", status, json.dumps(body).encode())
    assert error.code == code
    if code in (ErrorCode.BILLING, ErrorCode.CONTENT_FILTER):
        assert not error.retryable


@pytest.mark.req("D1")
async def test_the_error_and_its_code_are_stored_with_the_partial_reply(bench):
    error = RateLimitError("no credit", status=402, retryable=False, code=ErrorCode.BILLING)
    session = await bench.session(Scripted([says("Half") + fails(error)]))
    events = await play(session.send("go"))
    await session.close()
    [failed] = [event for event in events if isinstance(event, LlmCallFailed)]
    assert failed.error_code == "billing"
    assert format_headline(failed).startswith("No credit or quota left")
    assert get_advice(failed, "").startswith("Add credit at the provider")
    stored = session.state.messages[-1]
    assert stored.metadata.status is MessageStatus.ERROR
    assert stored.metadata.error is not None
    assert (stored.metadata.error.code, stored.metadata.error.http_status) == ("billing", 402)


# D3: arguments that are not a JSON object


@pytest.mark.req("D3")
async def test_arguments_that_are_not_an_object_are_flagged_and_the_call_never_runs(bench):
    session = await bench.session(Scripted([calls_badly("write_file", '{"path": "a'), says("ok")]))
    events = await play(session.send("go"))
    await session.close()
    [use] = session.state.messages[1].tool_uses
    assert use.input == {}
    broken = (session.state.messages[1].metadata.tool_input_errors or {})[use.id]
    assert broken.raw == '{"path": "a'
    assert not any(isinstance(event, ToolCalled) for event in events)
    [failed] = [event for event in events if isinstance(event, ToolFailed)]
    assert failed.message.result is not None and failed.message.result.is_error
    assert await bench.database.read(
        lambda connection: connection.execute("SELECT status FROM tool_calls").fetchall()
    ) == [("failed",)]


# D4: provider extras, for one model and one wire format


@pytest.mark.req("D4")
async def test_provider_extras_return_only_to_their_provider_model_and_format():
    item = {"type": "reasoning", "summary": [], "encrypted_content": "c2VhbGVk", "id": "rs_1"}
    stream = sse(
        canonical_json(
            {
                "type": "response.completed",
                "response": {
                    "status": "completed",
                    "output": [
                        item,
                        {"type": "message", "content": [{"type": "output_text", "text": "Hi"}]},
                    ],
                },
            }
        )
    )
    whole = complete(await read("responses", stream))
    assert whole.provider_raw is not None
    scope = {"provider": "openai", "api": "responses", "model": "openai:some-model"}
    assert whole.provider_raw["scope"] == scope
    assert b"c2VhbGVk" in sent_back(whole, scope)
    for name in scope:
        assert b"c2VhbGVk" not in sent_back(whole, {**scope, name: "another"})


def sent_back(whole, scope):
    writer, target = Writer(), model("openai")
    said = ReplyMetadata(
        model=target.id, provider="openai", provider_raw={**whole.provider_raw, "scope": scope}
    )
    history = [
        writer.message(Role.USER, [TextBlock("?")]),
        writer.message(Role.ASSISTANT, whole.final_content, said),
        writer.message(Role.USER, [TextBlock("and?")]),
    ]
    return (
        DIALECTS["responses"][0].to_wire(request(target, build_request_view(history, target))).body
    )


@pytest.mark.req("D4")
async def test_citations_and_grounding_are_stored_and_never_sent_as_text():
    cited = {"type": "url_citation", "url": "https://example.org", "start_index": 0}
    part = {"type": "output_text", "text": "Hi", "annotations": [cited]}
    item = {"type": "message", "content": [part], "phase": "final"}
    done = {"type": "response.completed", "response": {"status": "completed", "output": [item]}}
    raw = complete(await read("responses", sse(canonical_json(done)))).provider_raw or {}
    assert [note.get("annotations") for note in raw["notes"]["0"]] == [None, [cited]]
    grounding = {"webSearchQueries": ["cats"]}
    candidate = {
        "content": {"parts": [{"text": "Hi"}]},
        "finishReason": "STOP",
        "finishMessage": "all said",
        "groundingMetadata": grounding,
    }
    whole = complete(await read("google", sse(canonical_json({"candidates": [candidate]}))))
    assert (whole.provider_raw or {})["about"] == {
        "finishMessage": "all said",
        "groundingMetadata": grounding,
    }


# D5: details for the screen


@pytest.mark.parametrize(
    ("details", "kept"),
    [
        ({"diff": "+a\n", "exit_code": 1}, {"diff": "+a\n", "exit_code": 1}),
        ({"deep": json.loads("[" * 200 + "]" * 200)}, {"omitted": "nested too deeply"}),
        ({"rows": ["x" * 1000] * 1000}, {"omitted": "1,003,010 bytes"}),
    ],
)
@pytest.mark.req("D5")
async def test_details_have_a_size_limit_and_are_sent_to_no_model(bench, details, kept):
    @tool(SideEffects.READ)
    async def tell(args: Nothing, context: object) -> ToolOutput:
        """Print a text."""
        return ToolOutput((TextBlock("told"),), details=details)

    model = Checked(Scripted([calls("tell"), says("done")]))
    session = await bench.session(model, tools=[tell])
    await play(session.send("go"))
    await session.close()
    assert session.state.messages[2].metadata.details == kept
    bare = request(model.requests[-1].model, session.state.messages[:3])
    for speaks, _, _ in DIALECTS.values():
        body = speaks.to_wire(bare).body
        assert b"told" in body
        assert b"exit_code" not in body and b"omitted" not in body


@pytest.mark.req("D5")
async def test_a_too_long_text_is_cut_at_a_line_and_names_the_missing_amount(bench):
    @tool(SideEffects.READ)
    async def tell(args: Nothing, context: object) -> ToolOutput:
        """Print a long text."""
        return ToolOutput((), details={"diff": "+line\n" * 100_000, "created": False})

    session = await bench.session(Scripted([calls("tell"), says("done")]), tools=[tell])
    await play(session.send("go"))
    await session.close()
    details = session.state.messages[2].metadata.details or {}
    assert len(canonical_json(details)) < DETAILS_LIMIT
    assert details["created"] is False
    assert re.fullmatch(r"(\+line\n)+… 560,\d{3} more characters", details["diff"])


# D6: a tool that ends the turn


@pytest.mark.parametrize(("agree", "requests"), [((True, True), 1), ((True, False), 2)])
@pytest.mark.req("D6")
async def test_a_turn_ends_after_tools_only_if_every_result_terminates_it(bench, agree, requests):
    def made(name, terminate):
        async def run(args: Nothing, context: object) -> ToolOutput:
            """Do it."""
            return ToolOutput((TextBlock("did"),), terminate=terminate)

        run.__name__ = name
        return tool(SideEffects.READ)(run)

    model = Checked(Scripted([calls("one") + calls("two"), says("done"), says("again")]))
    session = await bench.session(model, tools=[made("one", agree[0]), made("two", agree[1])])
    await play(session.send("go"))
    assert len(model.requests) == requests
    hints = [message.metadata.terminate for message in session.state.messages[2:4]]
    assert tuple(hints) == agree
    await play(session.send("and now?"))
    assert len(model.requests) == requests + 1
    await session.close()


# D7: additional token counts of a request


@pytest.mark.req("D7")
async def test_the_kinds_of_tokens_and_the_reported_cost_are_stored():
    usage = {
        "prompt_tokens": 100,
        "completion_tokens": 20,
        "cost": 0.00125,
        "prompt_tokens_details": {"audio_tokens": 7, "image_tokens": 30, "cached_tokens": 10},
        "completion_tokens_details": {"reasoning_tokens": 5, "audio_tokens": 1},
    }
    last = {"choices": [{"index": 0, "delta": {"content": "Hi"}, "finish_reason": "stop"}]}
    stream = sse(canonical_json({**last, "usage": usage}), b"[DONE]")
    counted = complete(await read("openrouter", stream)).usage
    assert (counted.reasoning_tokens, counted.image_tokens, counted.audio_tokens) == (5, 30, 8)
    assert counted.reported_cost_usd == Decimal("0.00125")


@pytest.mark.req("D7")
async def test_google_counts_by_modality():
    meta = {
        "promptTokenCount": 300,
        "candidatesTokenCount": 3,
        "promptTokensDetails": [
            {"modality": "TEXT", "tokenCount": 20},
            {"modality": "IMAGE", "tokenCount": 258},
            {"modality": "AUDIO", "tokenCount": 22},
        ],
    }
    candidate = {"content": {"parts": [{"text": "Hi"}]}, "finishReason": "STOP"}
    stream = sse(canonical_json({"candidates": [candidate], "usageMetadata": meta}))
    counted = complete(await read("google", stream)).usage
    assert (counted.image_tokens, counted.audio_tokens) == (258, 22)


@EACH
@pytest.mark.req("D7")
async def test_every_dialect_reports_ids_and_remaining_rate_limits(dialect):
    headers = {"x-request-id": "req_7", "x-ratelimit-remaining-requests": "41"}
    stop = {"google": b"STOP", "responses": b"completed", "anthropic": b"end_turn"}
    stream = ending(dialect, stop.get(dialect, b"stop"))
    receipt = complete(await read(dialect, stream, headers)).receipt
    assert receipt is not None and receipt.rate_limits is not None
    assert (receipt.request_id, receipt.rate_limits.remaining_requests) == ("req_7", 41)


@pytest.mark.req("D7")
async def test_request_options_are_stored_with_the_message(bench):
    headers = {"request-id": "req_8"}
    stream = Playback([ending("anthropic", b"end_turn")], headers=headers)
    adapter = WireAdapter(
        DIALECTS["anthropic"][0], stream, "anthropic", timeouts=StreamTimeouts(linger=0.001)
    )
    session = await bench.session(adapter)
    await play(session.send("go"))
    await session.close()
    [stored] = [
        fact.message
        for fact in await bench.store.read(session.id)
        if isinstance(fact, LlmCallCompleted)
    ]
    extra = stored.metadata.usage_extra or UsageExtra()
    assert extra.receipt is not None
    assert (extra.receipt.request_id, extra.receipt.response_id) == ("req_8", "m")


# D8: the audience of a message


def addressed(audience):
    """A conversation whose first exchange has an audience."""
    writer, target = Writer(), model("openai")
    own, aside = reply_metadata(target.id), PromptMetadata(audience=audience)
    use = writer.tool_use_id()
    return target, [
        writer.message(Role.USER, [TextBlock("aside")], aside),
        writer.message(Role.USER, [TextBlock("Read it.")]),
        writer.message(Role.ASSISTANT, [ToolUseBlock(use, "read_file", {})], own),
        writer.message(
            Role.TOOL,
            [ToolResultBlock(use, (TextBlock("hidden words"),))],
            ResultMetadata(parent_tool_use_id=use, audience=audience),
        ),
        writer.message(Role.USER, [TextBlock("And?")]),
    ]


@pytest.mark.parametrize("audience", Audience)
@EACH
@pytest.mark.req("D8")
def test_no_request_contains_messages_for_the_user_only(audience, dialect):
    speaks, provider, api = DIALECTS[dialect]
    _, history = addressed(audience)
    target = model(provider)
    sent = speaks.to_wire(request(target, build_request_view(history, target))).body
    assert problems(provider, api, sent) == []
    is_heard = audience is not Audience.USER
    assert (b"aside" in sent, b"hidden words" in sent) == (is_heard, is_heard)


@pytest.mark.parametrize("audience", Audience)
@pytest.mark.req("D8")
def test_the_transcript_hides_messages_for_the_model_only(audience):
    session, story = EventBuilder(), Timeline()
    started, answered = session.turn_start("to be seen?"), session.reply(TextBlock("An aside."))
    for event in (started, answered):
        changed = replaced(event, audience)
        story.apply(changed)
    shown = [item.source for item in story.items if isinstance(item, UserMessageItem | ReplyItem)]
    assert shown == ([] if audience is Audience.MODEL else ["to be seen?", "An aside."])


@pytest.mark.parametrize("audience", Audience)
@pytest.mark.req("D8")
def test_a_document_for_people_omits_messages_for_the_model_only(audience):
    session = EventBuilder()
    facts = [session.turn_start("Hello?"), replaced(session.reply(TextBlock("Aside.")), audience)]
    document = b"".join(to_markdown(facts, lambda text: text))
    assert b"Hello?" in document
    assert (b"Aside." in document) is (audience is not Audience.MODEL)


def replaced(event, audience):
    message = event.message
    metadata = type(message.metadata)(audience=audience)
    fields = {name: getattr(message, name) for name in message.__struct_fields__}
    changed = type(message)(**{**fields, "metadata": metadata})
    fields = {name: getattr(event, name) for name in event.__struct_fields__}
    return type(event)(**{**fields, "message": changed})


# D11: ids in the form of each target


RULES = {
    "anthropic": r"[A-Za-z0-9_-]{1,64}",
    "chat": r"[A-Za-z0-9_-]{1,40}",
    "mistral": r"[A-Za-z0-9]{9}",
    "responses": r"[A-Za-z0-9_-]{1,64}",
    "ollama": r"[A-Za-z0-9_-]{1,64}",
}
_NAMES = ("id", "tool_use_id", "tool_call_id", "call_id")


def ids_in(value):
    """All ids of calls and results, in their order."""
    if isinstance(value, list):
        return [found for item in value for found in ids_in(item)]
    if not isinstance(value, dict):
        return []
    here = [value[name] for name in _NAMES if isinstance(value.get(name), str)]
    return here + [found for item in value.values() for found in ids_in(item)]


@pytest.mark.parametrize("dialect", RULES)
@FEW
@given(wire=st.lists(st.text(min_size=1, max_size=90), min_size=1, max_size=12))
@pytest.mark.req("D11")
def test_each_target_gets_valid_unique_call_ids(dialect, wire):
    speaks = ChatDialect({"short_tool_ids": True}) if dialect == "mistral" else DIALECTS[dialect][0]
    target, known, writer = model("anthropic"), ToolIdMap(), Writer()
    uses = [known.canonical("anthropic", one) for one in wire]
    assert len(set(uses)) == len(uses)
    history = [
        writer.message(Role.USER, [TextBlock("?")]),
        writer.message(
            Role.ASSISTANT,
            [ToolUseBlock(use, "read_file", {}) for use in uses],
            reply_metadata(target.id),
        ),
        *(writer.message(Role.TOOL, [ToolResultBlock(use, (TextBlock("x"),))]) for use in uses),
    ]
    sent = speaks.to_wire(request(target, build_request_view(history, target), tool_ids=known)).body
    found = ids_in(json.loads(sent))
    assert found[: len(uses)] == found[len(uses) :]
    assert len(set(found)) == len(uses)
    assert all(re.fullmatch(RULES[dialect], one) for one in found)


@pytest.mark.req("D11")
def test_ids_of_nine_characters_are_unique_in_a_long_session():
    ids, accepted = ToolIdMap(), re.compile(RULES["mistral"])
    minted = [ids.wire("mistral", new_tool_use_id(), accepted) for _ in range(5_000)]
    assert len(set(minted)) == len(minted)


# D12: every request is valid for any history


@EACH
@pytest.mark.req("D12")
def test_a_history_that_starts_with_a_reply_is_a_valid_request(dialect):
    speaks, provider, api = DIALECTS[dialect]
    target = model(provider)
    history = [*build_full_history(target)[3:], build_full_history(target)[2]]
    shown = build_request_view(history, target)
    assert [message.role for message in shown[:2]] == [Role.USER, Role.ASSISTANT]
    assert build_request_view(shown, target) == shown
    sent = speaks.to_wire(request(target, shown, (READ,))).body
    assert problems(provider, api, sent) == []


@EACH
@FEW
@given(history=histories(), data=st.data())
@pytest.mark.req("D12")
@pytest.mark.sample(3)
def test_pieces_of_histories_in_any_order_are_valid_requests(dialect, history, data):
    speaks, provider, api = DIALECTS[dialect]
    target = model(provider)
    pieces = data.draw(st.lists(st.sampled_from(history), min_size=1, max_size=8))
    last = Writer().message(Role.USER, [TextBlock("Go on.")])
    sent = speaks.to_wire(request(target, build_request_view([*pieces, last], target))).body
    assert problems(provider, api, sent) == []


# D13: the origin of a message


@pytest.mark.parametrize(
    "origin", [Origin.COMPACTION_SUMMARY, Origin.BRANCH_SUMMARY, "custom:todo"]
)
@EACH
@pytest.mark.req("D13")
def test_messages_of_other_origins_are_sent_as_user_text(origin, dialect):
    speaks, provider, api = DIALECTS[dialect]
    target, writer = model(provider), Writer()
    history = [
        writer.message(Role.SYSTEM, [TextBlock("What was before.")], PromptMetadata(origin=origin)),
        writer.message(Role.USER, [TextBlock("Go on.")]),
    ]
    shown = build_request_view(history, target)
    assert [message.role for message in shown] == [Role.USER, Role.USER]
    assert history[0].role is Role.SYSTEM
    assert problems(provider, api, speaks.to_wire(request(target, shown)).body) == []


@pytest.mark.parametrize("origin", [*Origin, "custom:note"])
@pytest.mark.req("D13")
def test_an_origin_is_stored_unchanged(origin):
    metadata = PromptMetadata(origin=origin)
    assert decode_metadata(encode_metadata(metadata), Role.USER, where="here") == metadata


# D15: equal requests have equal bytes


_ENCODED = """
import sys
from tests.providers.recorded_exchanges import READ, model, request
from tests.providers.histories import build_full_history
from tests.providers.dialect_cases import DIALECTS
for speaks, provider, _ in DIALECTS.values():
    target = model(provider)
    outgoing = request(target, build_full_history(target), (READ,))
    sys.stdout.buffer.write(speaks.to_wire(outgoing).body + b"\\n")
"""


@pytest.mark.req("D15")
def test_the_bytes_of_a_request_are_the_same_in_every_process():
    runs = [
        subprocess.run(
            [sys.executable, "-c", _ENCODED],
            env={**os.environ, "PYTHONHASHSEED": seed, "PYTHONPATH": os.pathsep.join(sys.path)},
            capture_output=True,
            check=True,
        ).stdout
        for seed in ("1", "2")
    ]
    assert runs[0] == runs[1]
    assert runs[0].count(b"\n") == len(DIALECTS)


@given(value=st.dictionaries(st.text(max_size=5), st.integers(), max_size=6))
@pytest.mark.req("D15")
def test_the_order_of_names_does_not_change_the_bytes(value):
    assert canonical_json(value) == canonical_json(dict(reversed(value.items())))


# D17: the source of an imported message


@pytest.mark.req("D17")
def test_the_source_of_an_import_is_stored_as_import():
    source = ImportSource(
        system="pi",
        format="session-jsonl",
        version="3",
        source_id="a1b2",
        source_path="/home/me/.pi/x.jsonl",
        source_sha256="0" * 64,
        imported_at=datetime(2026, 5, 8, tzinfo=UTC),
        warnings=("1 image was left out",),
    )
    metadata = PromptMetadata(import_source=source)
    stored = encode_metadata(metadata)
    assert json.loads(stored)["import"]["system"] == "pi"
    assert decode_metadata(stored, Role.USER, where="here") == metadata
    assert hash(decode_metadata(stored, Role.USER, where="here")) == hash(metadata)


@pytest.mark.req("D17")
def test_unknown_metadata_of_a_later_version_is_skipped_alone(caplog):
    stored = b'{"import": {"system": "pi", "format": "x"}, "audience": "nobody", "new": 1}'
    metadata = decode_metadata(stored, Role.USER, where="here")
    assert metadata.import_source == ImportSource(system="pi", format="x")
    assert metadata.audience is Audience.BOTH
    assert "['audience', 'new']" in caplog.text


# D19: deltas have the index of their block, and the last event has the full content


@EACH
@pytest.mark.req("D19")
async def test_each_delta_names_its_block_and_the_end_has_the_full_text(dialect):
    stop = {"google": b"STOP", "responses": b"completed", "anthropic": b"end_turn"}
    events = await read(dialect, ending(dialect, stop.get(dialect, b"stop")))
    assert broken_rules(events) == []
    assert isinstance(events[-1], MessageComplete)
    assert events[-1].final_content == (TextBlock("Hi"),)
    deltas = [event for event in events if isinstance(event, TextDelta)]
    assert {event.content_block_index for event in deltas} == {0}


@pytest.mark.req("D19")
async def test_the_arguments_of_a_call_are_parsed_once_at_its_end():
    stream = sse(
        b'{"choices":[{"index":0,"delta":{"content":"Hi"}}]}',
        b'{"choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"id":"c","function":'
        b'{"name":"t","arguments":"{\\"a\\":"}}]}}]}',
        b'{"choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"function":'
        b'{"arguments":" 1}"}}]},"finish_reason":"tool_calls"}]}',
        b"[DONE]",
    )
    events = await read("chat", stream)
    [start] = [event for event in events if isinstance(event, ToolUseStart)]
    [end] = [event for event in events if isinstance(event, ToolUseEnd)]
    assert start.content_block_index == end.content_block_index == 1
    assert end.final_input == {"a": 1}


# D20: display hints of a tool


@pytest.mark.req("D20")
async def test_hints_are_shown_on_the_card_and_sent_to_no_model(bench):
    hints = ToolHints(label="Look \x1b[2J it up", kind="web", icon="⌕")

    @tool(SideEffects.READ, hints=hints)
    async def lookup(args: Nothing, context: object) -> str:
        """Look something up."""
        return "found"

    model = Checked(Scripted([calls("lookup"), says("done")]))
    session = await bench.session(model, tools=[lookup])
    story = Timeline()
    for event in await play(session.send("go")):
        story.apply(event)
    await session.close()
    [card] = [item for item in story.items if isinstance(item, ToolCard)]
    card.lay_out(60)
    head = "".join(words for words, *_ in card.rows[0].spans)
    assert head.startswith("⌕ Look ␛[2J it up")
    for speaks, _, _ in DIALECTS.values():
        assert b"Look" not in speaks.to_wire(model.requests[0]).body.replace(b"Look some", b"")


@pytest.mark.parametrize(
    ("effects", "kind"),
    [
        (SideEffects.NONE, ""),
        (SideEffects.READ, "read"),
        (SideEffects.WRITE, "edit"),
        (SideEffects.EXECUTE, "execute"),
        (SideEffects.NETWORK, "web"),
    ],
)
@pytest.mark.req("D20")
def test_side_effects_set_the_kind_of_a_tool_without_a_hint(effects, kind):
    @tool(effects)
    async def something(args: Nothing, context: object) -> str:
        """Do something."""
        return ""

    assert something.definition.hints == ToolHints(kind=kind)
