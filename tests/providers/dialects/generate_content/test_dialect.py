import itertools
import json
import logging

import pytest
from msgspec.structs import replace

from tests.providers.golden_bodies import build_full_request, check_golden
from tests.providers.histories import as_message, build_full_history, image
from tests.providers.recorded_exchanges import (
    READ,
    Playback,
    cases,
    collect_events,
    complete,
    exchange,
    expected,
    model,
    play,
    problems,
    recorded,
    request,
)
from tests.providers.stream_rules import broken_rules
from tests.strategies import Writer
from tests.validator.validate import errors, validate
from yourtool.messages.blocks import TextBlock, ThinkingBlock, ToolResultBlock, ToolUseBlock
from yourtool.messages.message import ReplyMessage, Role
from yourtool.messages.metadata import ReplyMetadata, ResultMetadata, StopReason
from yourtool.models import AdapterCapabilities
from yourtool.providers.base import ForcedTool
from yourtool.providers.dialects.generate_content.dialect import GenerateContentDialect
from yourtool.providers.requests.request_view import build_request_view
from yourtool.providers.tool_ids import ToolIdMap
from yourtool.providers.wire import WireAdapter

FLASH = model("google", "gemini-3.5-flash")
OLDER = model("google", "gemini-2.5-flash", thinking="budget")
SKIP = "skip_thought_signature_validator"


def wire(outgoing):
    body = json.loads(GenerateContentDialect().to_wire(outgoing).body)
    found = validate("gemini", "generateContent", body, model=outgoing.model.wire_name)
    assert errors(found) == []
    return body


async def replies(*frames):
    body = b"".join(b"data: " + json.dumps(frame).encode() + b"\r\n\r\n" for frame in frames)
    outgoing = request(FLASH, build_request_view(build_full_history(FLASH), FLASH))
    events, error = await collect_events(
        WireAdapter(GenerateContentDialect(), Playback([body]), "google"), outgoing
    )
    assert broken_rules(events) == []
    return events, error


def frame(*parts, finish=None, **rest):
    candidate = {"content": {"parts": parts, "role": "model"}, "index": 0}
    if finish:
        candidate["finishReason"] = finish
    return {"candidates": [candidate], **rest}


@pytest.mark.parametrize(
    ("target", "golden"), [(FLASH, "google.json"), (OLDER, "google_budget.json")]
)
@pytest.mark.req("R-ADP-01")
def test_conversation_with_every_block_has_the_golden_body(target, golden):
    outgoing = build_full_request(target)
    posted = GenerateContentDialect().to_wire(outgoing)
    name = target.wire_name
    assert posted.path == f"/v1beta/models/{name}:streamGenerateContent?alt=sse"
    assert problems("gemini", "generateContent", posted.body) == []
    check_golden(f"generate_content/{golden}", posted.body)


@pytest.mark.parametrize(
    ("name", "path"),
    [
        ("gemini flash?x=1", "/v1beta/models/gemini%20flash%3Fx%3D1"),
        ("tunedModels/mine", "/v1beta/tunedModels/mine"),
    ],
)
def test_model_name_cannot_change_the_url(name, path):
    posted = GenerateContentDialect().to_wire(
        request(model("google", name), build_full_history(FLASH))
    )
    assert posted.path == f"{path}:streamGenerateContent?alt=sse"


@pytest.mark.parametrize(
    "chain",
    [
        ("gemini-generate-parallel-calls", "gemini-generate-after-calls"),
        ("gemini-generate-call-stream", "gemini-generate-after-call-stream"),
        recorded(("gemini-generate-01757666", "gemini-generate-a50f353a")),
        recorded(("gemini-generate-96debad4", "gemini-generate-ac371c76")),
        recorded(("gemini-generate-c1aa0e6b", "gemini-generate-ea8f1642")),
    ],
)
@pytest.mark.req("R-ADP-01", "R-ADP-17")
async def test_calls_are_replayed_like_the_recorded_client(chain):
    first_call, answered = map(exchange, chain)
    ids, writer = ToolIdMap(), Writer()
    outgoing = request(FLASH, tool_ids=ids)
    events, _ = await play(chain[0], outgoing=outgoing)
    reply = as_message(complete(events), FLASH, writer)
    results = [
        writer.message(
            Role.TOOL,
            [ToolResultBlock(call.id, (TextBlock("x"),))],
            ResultMetadata(parent_tool_use_id=call.id),
        )
        for call in reply.tool_uses
    ]
    history = [writer.message(Role.USER, [TextBlock("?")]), reply, *results]
    ours = wire(request(FLASH, build_request_view(history, FLASH), (READ,), tool_ids=ids))[
        "contents"
    ]
    theirs = answered["request"]["body"]["contents"]
    assert [content["role"] for content in ours] == [content["role"] for content in theirs]
    assert [_standard(part) for part in ours[1]["parts"]] == [
        _standard(part) for part in theirs[1]["parts"]
    ]
    assert [_identity(part) for part in ours[2]["parts"]] == [
        _identity(part) for part in theirs[2]["parts"]
    ]
    signatures = [call.get("signature") for call in expected(chain[0])["tool_calls"]]
    sent = [part for part in ours[1]["parts"] if "functionCall" in part]
    assert [part.get("thoughtSignature") for part in sent] == signatures
    assert first_call["response"]["status"] == 200


def _standard(part):
    """The recording client wrote signatures in the other alphabet of base64."""
    signature = part.get("thoughtSignature")
    if signature is None:
        return part
    return {**part, "thoughtSignature": signature.translate(str.maketrans("-_", "+/"))}


def _identity(part):
    answer = part["functionResponse"]
    return answer["name"], answer.get("id")


@pytest.mark.parametrize(
    "name",
    cases(
        [
            "gemini-generate-signed-text",
            "gemini-generate-signed-text-stream",
            "gemini-generate-120919f4",
            "gemini-generate-422bdae7",
            "gemini-generate-7ff3370a",
            "gemini-generate-aece74ea",
            "gemini-generate-b965c499",
            "gemini-generate-d042e9f5",
            "gemini-generate-ea8f1642",
        ]
    ),
)
@pytest.mark.req("R-ADP-17")
async def test_signatures_are_replayed_on_their_part_to_their_model_only(name):
    events, error = await play(name, outgoing=request(FLASH))
    assert error is None
    writer = Writer()
    user = writer.message(Role.USER, [TextBlock("?")])
    history = [user, as_message(complete(events), FLASH, writer), user]
    parts = wire(request(FLASH, build_request_view(history, FLASH)))["contents"][1]["parts"]
    sent = [(_kind(part), part["thoughtSignature"]) for part in parts if "thoughtSignature" in part]
    right = [(entry["on"], entry["signature"]) for entry in expected(name)["part_signatures"]]
    assert sent == right
    text = "".join(part["text"] for part in parts if "text" in part and not part.get("thought"))
    assert text == expected(name)["text"]
    for other in (OLDER, model("anthropic")):
        view = build_request_view(history, other)
        replies = [message for message in view if isinstance(message, ReplyMessage)]
        assert all(reply.metadata.provider_raw is None for reply in replies)
        assert "thoughtSignature" not in json.dumps(wire(request(other, view)))


def _kind(part):
    if "text" in part:
        return "text" if part["text"] else "empty_text"
    return next(name for name in part if name != "thoughtSignature")


async def test_text_is_split_at_its_signed_part():
    events, _ = await replies(
        frame({"text": "a "}),
        frame({"text": "b", "thoughtSignature": "U0lH"}),
        frame({"text": " c"}, finish="STOP"),
    )
    assert complete(events).final_content == (TextBlock("a b c"),)
    writer = Writer()
    user = writer.message(Role.USER, [TextBlock("?")])
    reply = as_message(complete(events), FLASH, writer)
    parts = wire(request(FLASH, build_request_view([user, reply, user], FLASH)))["contents"][1][
        "parts"
    ]
    assert parts == [
        {"text": "a "},
        {"text": "b", "thoughtSignature": "U0lH"},
        {"text": " c"},
    ]


async def test_signed_reasoning_is_a_separate_block_and_is_replayed():
    events, _ = await replies(
        frame({"text": "one", "thought": True}),
        frame({"text": "two", "thought": True, "thoughtSignature": "U0lH"}),
        frame({"text": "three", "thought": True}),
        frame({"text": "", "thought": True, "thoughtSignature": "RU5E"}),
        frame({"text": "Done."}, finish="STOP"),
    )
    assert complete(events).final_content == (
        ThinkingBlock("one"),
        ThinkingBlock("two", "U0lH"),
        ThinkingBlock("three", "RU5E"),
        TextBlock("Done."),
    )
    writer = Writer()
    user = writer.message(Role.USER, [TextBlock("?")])
    reply = as_message(complete(events), FLASH, writer)
    parts = wire(request(FLASH, build_request_view([user, reply, user], FLASH)))["contents"][1][
        "parts"
    ]
    assert parts[1] == {"text": "two", "thought": True, "thoughtSignature": "U0lH"}


def test_calls_of_another_model_get_a_marker_instead_of_a_signature():
    history = build_full_history(model("openai", "gpt-4o"))
    parts = wire(request(FLASH, build_request_view(history, FLASH)))["contents"][1]["parts"]
    calls = [part for part in parts if "functionCall" in part]
    assert [call.get("thoughtSignature") for call in calls] == [SKIP, None]
    parts = wire(request(OLDER, build_request_view(history, OLDER)))["contents"][1]["parts"]
    assert not any("thoughtSignature" in part for part in parts)


@pytest.mark.req("R-ADP-05")
def test_results_follow_their_calls_before_images():
    contents = wire(request(FLASH, build_request_view(build_full_history(FLASH), FLASH)))[
        "contents"
    ]
    assert [content["role"] for content in contents] == [
        "user",
        "model",
        "user",
        "user",
        "model",
        "user",
    ]
    assert [part["functionResponse"]["response"] for part in contents[2]["parts"]] == [
        {"output": "one\ntwo"},
        {"error": "`path` is required"},
    ]
    assert [sorted(part) for part in contents[3]["parts"]] == [["text"], ["inlineData"]]
    assert contents[5]["parts"][1]["fileData"]["fileUri"] == "https://example.org/cat.png"


def test_system_messages_are_parts_of_one_instruction():
    body = wire(request(FLASH, build_full_history(FLASH)))
    assert body["systemInstruction"] == {
        "parts": [
            {"text": "You write code."},
            {"text": "Be brief."},
            {"text": "Today is a Friday."},
        ]
    }


@pytest.mark.parametrize(
    "roles", [[], ["assistant"], ["user", "assistant"], ["assistant", "assistant", "user"]]
)
@pytest.mark.req("R-SWP-02")
def test_conversation_starts_and_ends_with_the_user(roles):
    writer = Writer()
    history = [writer.message(Role(role), [TextBlock("x")]) for role in roles]
    contents = wire(request(FLASH, history))["contents"]
    assert contents[0]["role"] == contents[-1]["role"] == "user"
    assert all(a["role"] != b["role"] for a, b in itertools.pairwise(contents))


def test_invalid_names_are_sanitised_equally_in_call_and_result():
    writer = Writer()
    use = writer.tool_use_id()
    history = [
        writer.message(Role.USER, [TextBlock("?")]),
        writer.message(Role.ASSISTANT, [ToolUseBlock(use, "9 lives", {})]),
        writer.message(
            Role.TOOL, [ToolResultBlock(use, ())], ResultMetadata(parent_tool_use_id=use)
        ),
    ]
    _, reply, answered = wire(request(FLASH, history))["contents"]
    assert reply["parts"][0]["functionCall"] == {"name": "_9_lives", "args": {}}
    assert answered["parts"][0]["functionResponse"] == {
        "name": "_9_lives",
        "response": {"output": "(no output)"},
    }


@pytest.mark.parametrize(
    ("target", "effort", "config"),
    [
        (FLASH, None, None),
        (FLASH, "low", {"includeThoughts": True, "thinkingLevel": "low"}),
        (FLASH, "xhigh", {"includeThoughts": True, "thinkingLevel": "high"}),
        (FLASH, "so-so", None),
        (OLDER, "medium", {"includeThoughts": True, "thinkingBudget": 8_192}),
        (model("google", "gemma-3", capabilities=AdapterCapabilities()), "high", None),
    ],
)
@pytest.mark.req("R-ADP-17")
def test_effort_has_the_form_of_the_model(target, effort, config):
    body = wire(request(target, build_full_history(target)[6:7], effort=effort))
    assert body["generationConfig"].get("thinkingConfig") == config


@pytest.mark.req("R-ADP-05")
def test_unsendable_blocks_are_logged_once(caplog):
    blind = model("google", "gemma-3", capabilities=AdapterCapabilities())
    writer = Writer()
    own = ReplyMetadata(model=blind.id)
    history = [
        writer.message(Role.USER, [image()]),
        writer.message(Role.ASSISTANT, [ThinkingBlock("hm")], own),
    ]
    contents = wire(request(blind, history))["contents"]
    assert contents == [
        {"role": "user", "parts": [{"text": "(an image that could not be shown to you)"}]}
    ]
    assert [record.block_type for record in caplog.records] == ["image", "thinking"]


@pytest.mark.parametrize(
    ("word", "reason"),
    [
        ("STOP", StopReason.END_TURN),
        ("MAX_TOKENS", StopReason.MAX_TOKENS),
        ("SAFETY", StopReason.CONTENT_FILTER),
        ("MALFORMED_FUNCTION_CALL", StopReason.ERROR),
        ("OTHER", StopReason.OTHER),
        ("SOMETHING_NEW", StopReason.OTHER),
    ],
)
@pytest.mark.req("R-ADP-11")
async def test_stop_reasons_are_mapped_and_unknown_ones_are_logged(word, reason, caplog):
    events, error = await replies(frame({"text": "x"}, finish=word))
    assert error is None
    assert (complete(events).stop_reason, complete(events).stop_detail) == (reason, word)
    warnings = [record for record in caplog.records if "unknown stop reason" in record.getMessage()]
    assert bool(warnings) is (word == "SOMETHING_NEW")


@pytest.mark.req("R-ADP-06")
async def test_last_call_of_a_reply_cut_by_the_output_limit_is_flagged():
    call = {"functionCall": {"name": "f", "args": {"a": 1}}}
    events, _ = await replies(frame(call, call, finish="MAX_TOKENS"))
    first, last = complete(events).final_content
    assert list(complete(events).tool_input_errors) == [last.id]
    assert first.input == last.input == {"a": 1}


async def test_unknown_parts_are_stored_for_their_model():
    image_part = {"inlineData": {"mimeType": "image/png", "data": "AAAA"}}
    events, _ = await replies(
        frame({"text": "Here:"}, image_part, {"text": "Nice?"}, finish="STOP")
    )
    assert complete(events).final_content == (TextBlock("Here:"), TextBlock("Nice?"))
    writer = Writer()
    user = writer.message(Role.USER, [TextBlock("?")])
    reply = as_message(complete(events), FLASH, writer)
    parts = wire(request(FLASH, build_request_view([user, reply, user], FLASH)))["contents"][1][
        "parts"
    ]
    assert parts == [{"text": "Here:"}, image_part, {"text": "Nice?"}]


async def test_other_candidates_are_ignored():
    other = {"content": {"parts": [{"text": "no"}]}, "index": 1, "finishReason": "STOP"}
    both = frame({"text": "yes"}, finish="STOP")
    both["candidates"].append(other)
    events, _ = await replies(both)
    assert complete(events).final_content == (TextBlock("yes"),)


async def test_stream_without_finish_reason_is_an_error():
    events, error = await replies(frame({"text": "x"}))
    assert error is not None and error.error_class == "network"
    assert complete(events).stop_reason is StopReason.ERROR


@pytest.mark.parametrize("body", [b"{}", b'{"usageMetadata":{"promptTokenCount":3}}', b"{"])
async def test_document_without_reply_is_an_error(body):
    speaker = WireAdapter(GenerateContentDialect(), Playback([body]), "google")
    events, error = await collect_events(speaker, request(FLASH))
    assert error is not None
    assert events == []


@pytest.mark.parametrize(
    ("usage", "buckets"),
    [
        ({"promptTokenCount": 10, "candidatesTokenCount": 2}, (10, 2, 0, None)),
        (
            {"promptTokenCount": 10, "cachedContentTokenCount": 8, "thoughtsTokenCount": 5},
            (2, 5, 8, 5),
        ),
        (
            {
                "promptTokenCount": 10,
                "cachedContentTokenCount": 12,
                "toolUsePromptTokenCount": 1,
                "candidatesTokenCount": 1,
            },
            (0, 1, 12, None),
        ),
    ],
)
@pytest.mark.req("R-ADP-12")
async def test_counters_are_disjoint_and_never_negative(usage, buckets):
    events, _ = await replies(frame({"text": "x"}, finish="STOP", usageMetadata=usage))
    found = complete(events).usage
    assert buckets == (
        found.input_tokens,
        found.output_tokens,
        found.cached_input_tokens,
        found.reasoning_tokens,
    )


@pytest.mark.req("R-ADP-13")
async def test_missing_counters_are_estimated():
    events, _ = await replies(
        frame({"text": "x"}, finish="STOP", usageMetadata={"trafficType": "ON_DEMAND"})
    )
    assert complete(events).usage.estimated


@pytest.mark.parametrize(
    ("status", "body", "kind"),
    [
        (
            400,
            {
                "code": 400,
                "message": "API key not valid. Please pass a valid API key.",
                "status": "INVALID_ARGUMENT",
                "details": [{"reason": "API_KEY_INVALID", "domain": "googleapis.com"}],
            },
            "auth",
        ),
        (403, {"code": 403, "message": "denied", "status": "PERMISSION_DENIED"}, "auth"),
        (
            400,
            {"code": 400, "message": "bad role", "status": "INVALID_ARGUMENT"},
            "invalid_request",
        ),
        (
            400,
            {
                "code": 400,
                "message": "The input token count (1100000) exceeds the maximum number of tokens"
                " allowed (1048576).",
                "status": "INVALID_ARGUMENT",
            },
            "context_overflow",
        ),
        (500, {"code": 500, "message": "internal", "status": "INTERNAL"}, "server_error"),
        (504, {"code": 504, "message": "late", "status": "DEADLINE_EXCEEDED"}, "server_error"),
    ],
)
@pytest.mark.parametrize("wrap", [lambda error: error, lambda error: [error]])
@pytest.mark.req("R-ADP-07")
async def test_errors_in_an_array_have_their_class(status, body, kind, wrap):
    transport = Playback([json.dumps(wrap({"error": body})).encode()], status)
    _, error = await collect_events(
        WireAdapter(GenerateContentDialect(), transport, "google"), request(FLASH)
    )
    assert error is not None
    assert (error.error_class, error.status) == (kind, status)
    assert body["message"][:20] in error.message


@pytest.mark.parametrize(
    "name", cases(["gemini-generate-error-rate-limit", "gemini-generate-0d4b01b1"])
)
@pytest.mark.req("R-ADP-08")
async def test_wait_is_parsed_from_the_body(name):
    _, error = await play(name, outgoing=request(FLASH))
    assert error is not None
    assert error.retry_after == 48


@pytest.fixture(autouse=True)
def _level(caplog):
    caplog.set_level(logging.WARNING)


async def test_empty_part_is_not_replayed():
    empty = {"thought": True}
    parts = [empty, {"text": "Hi"}, {"functionCall": None}, empty]
    events, error = await replies(
        {"candidates": [{"content": {"parts": parts}, "finishReason": "STOP"}]}
    )
    assert error is None
    writer = Writer()
    history = [
        writer.message(Role.USER, [TextBlock("?")]),
        as_message(complete(events), FLASH, writer),
        writer.message(Role.USER, [TextBlock("and?")]),
    ]
    assert wire(request(FLASH, build_request_view(history, FLASH)))["contents"][1]["parts"] == [
        {"text": "Hi"}
    ]


@pytest.mark.parametrize(
    ("name", "sent"), [("9lives", "_9lives"), ("-x", "_-x"), ("9" * 80, "_" + "9" * 63)]
)
def test_tool_name_without_leading_letter_is_consistent(name, sent):
    writer = Writer()
    use = writer.tool_use_id()
    history = [
        writer.message(Role.USER, [TextBlock("?")]),
        writer.message(Role.ASSISTANT, [ToolUseBlock(use, name, {})]),
        writer.message(Role.TOOL, [ToolResultBlock(use, (TextBlock("ok"),))]),
    ]
    own = replace(READ, name=name)
    body = wire(request(FLASH, history, (own,), tool_choice=ForcedTool(name)))
    [declared] = body["tools"][0]["functionDeclarations"]
    calling = body["toolConfig"]["functionCallingConfig"]
    first_call, answered = (content["parts"][0] for content in body["contents"][1:])
    assert {declared["name"], *calling["allowedFunctionNames"]} == {sent}
    assert first_call["functionCall"]["name"] == answered["functionResponse"]["name"] == sent
