"""Every capability of a model changes what is sent, what is taken or where a turn goes."""

import ast
import asyncio
import json
from pathlib import Path

import pytest
from msgspec.structs import replace

from tests.providers.dialect_journeys import SWAP_TARGETS
from tests.providers.histories import build_full_history, image
from tests.providers.recorded_exchanges import READ, complete, problems, request
from tests.strategies import Writer
from yourtool.messages.blocks import TextBlock, ToolResultBlock, ToolUseBlock
from yourtool.messages.message import Role
from yourtool.models import AdapterCapabilities, Model
from yourtool.providers.base import ForcedTool, WireResponse
from yourtool.providers.cache_plan import plan_cache
from yourtool.providers.idle_timer import StreamTimeouts
from yourtool.providers.requests import request_view
from yourtool.providers.requests.media_parts import media_support
from yourtool.providers.wire import WireAdapter
from yourtool.routing.router import Needs, find_rejection

PACKAGE = Path(__file__).parents[2] / "yourtool"
EACH = pytest.mark.parametrize("station", SWAP_TARGETS.values(), ids=SWAP_TARGETS)


def _without(model: Model, **flags: bool) -> Model:
    return replace(model, capabilities=replace(model.capabilities, **flags))


def _encode(station, target, history=None, tools=(READ,), **options):
    history = build_full_history(target) if history is None else history
    wire = station.dialect().to_wire(request(target, history, tools, **options))
    assert problems(*station.api, wire.body) == []
    return wire.path, json.loads(wire.body)


def _is_streamed(path, body) -> bool:
    return "stream" in path.lower() if "contents" in body else body["stream"] is True


@EACH
def test_model_without_streaming_gets_a_request_for_a_document(station):
    assert _is_streamed(*_encode(station, station.model))
    path, body = _encode(station, _without(station.model, supports_streaming=False))
    assert not _is_streamed(path, body)
    assert "stream_options" not in body


@EACH
def test_model_without_streamed_calls_gets_a_request_for_a_document_with_tools(station):
    target = _without(station.model, supports_streaming_tool_calls=False)
    assert not _is_streamed(*_encode(station, target))
    plain = [Writer().message(Role.USER, [TextBlock("hello")])]
    assert _is_streamed(*_encode(station, target, plain, tools=()))


DOCUMENT = {
    "anthropic": b'{"id": "msg_1", "type": "message", "role": "assistant", "model": "m",'
    b' "content": [{"type": "text", "text": "Whole."}], "stop_reason": "end_turn",'
    b' "usage": {"input_tokens": 3, "output_tokens": 2}}',
    "openai chat": b'{"id": "c1", "choices": [{"index": 0, "finish_reason": "stop", "message":'
    b' {"role": "assistant", "content": "Whole."}}],'
    b' "usage": {"prompt_tokens": 3, "completion_tokens": 2}}',
    "openai responses": b'{"id": "r1", "status": "completed", "output": [{"type": "message",'
    b' "id": "m1", "role": "assistant", "content": [{"type": "output_text", "text": "Whole.",'
    b' "annotations": []}]}], "usage": {"input_tokens": 3, "output_tokens": 2}}',
    "google": b'{"candidates": [{"content": {"role": "model", "parts": [{"text": "Whole."}]},'
    b' "finishReason": "STOP"}], "usageMetadata": {"promptTokenCount": 3,'
    b' "candidatesTokenCount": 2}}',
    "ollama": b'{"model": "m", "message": {"role": "assistant", "content": "Whole."},'
    b' "done": true, "done_reason": "stop", "prompt_eval_count": 3, "eval_count": 2}',
}
DOCUMENT["openrouter"] = DOCUMENT["openai chat"]


class _Late:
    """A transport that answers with one document, after longer than a first event may take."""

    def __init__(self, document: bytes) -> None:
        self.status, self.headers = 200, {"content-type": "application/json"}
        self._document = document

    def post(self, path: str, body: bytes) -> "_Late":
        return self

    async def __aenter__(self) -> WireResponse:
        return self

    async def __aexit__(self, *_: object) -> None: ...

    async def chunks(self):
        await asyncio.sleep(0.03)
        yield self._document

    async def read(self) -> bytes:
        return self._document


@pytest.mark.parametrize("name", DOCUMENT)
async def test_document_is_read_without_the_timeout_of_the_first_event(name):
    station = SWAP_TARGETS[name]
    target = _without(station.model, supports_streaming=False)
    patience = StreamTimeouts(first_event=0.01, document=5)
    adapter = WireAdapter(station.dialect(), _Late(DOCUMENT[name]), "x", timeouts=patience)
    events = [event async for event in adapter.stream(request(target, build_full_history(target)))]
    reply = complete(events)
    assert reply.final_content == (TextBlock("Whole."),)
    assert (reply.usage.input_tokens, reply.usage.output_tokens) == (3, 2)


ONE_CALL = {
    "anthropic": ("tool_choice", {"type": "auto", "disable_parallel_tool_use": True}),
    "openai chat": ("parallel_tool_calls", False),
    "openrouter": ("parallel_tool_calls", False),
    "openai responses": ("parallel_tool_calls", False),
}


@pytest.mark.parametrize("name", ONE_CALL)
def test_single_calls_are_requested_if_the_provider_has_an_option(name):
    station, (field, value) = SWAP_TARGETS[name], ONE_CALL[name]
    assert field not in _encode(station, station.model)[1]
    target = _without(station.model, supports_parallel_tool_calls=False)
    assert _encode(station, target)[1][field] == value
    plain = [Writer().message(Role.USER, [TextBlock("hello")])]
    assert field not in _encode(station, target, plain, tools=())[1]


@pytest.mark.parametrize(
    ("choice", "sent"),
    [
        ("any", {"type": "any", "disable_parallel_tool_use": True}),
        ("none", {"type": "none"}),
        (ForcedTool("read_file"),
         {"type": "tool", "name": "read_file", "disable_parallel_tool_use": True}),
    ],
)  # fmt: skip
def test_single_calls_combine_with_every_tool_choice(choice, sent):
    station = SWAP_TARGETS["anthropic"]
    target = _without(station.model, supports_parallel_tool_calls=False)
    assert _encode(station, target, tool_choice=choice)[1]["tool_choice"] == sent


def _two_calls(writer: Writer):
    one, other = writer.tool_use_id(), writer.tool_use_id()
    return [
        writer.message(Role.USER, [TextBlock("look")]),
        writer.message(
            Role.ASSISTANT,
            [
                TextBlock("I look."),
                ToolUseBlock(one, "read_file", {"path": "a"}),
                TextBlock("And there."),
                ToolUseBlock(other, "read_file", {"path": "b"}),
            ],
        ),
        writer.message(Role.TOOL, [ToolResultBlock(one, (TextBlock("a"),))]),
        writer.message(Role.TOOL, [ToolResultBlock(other, (TextBlock("b"),))]),
    ]


@EACH
def test_earlier_parallel_calls_are_sent_one_by_one(station):
    target = _without(station.model, supports_parallel_tool_calls=False)
    history = _two_calls(Writer())
    assert [
        len(each.tool_uses) for each in request_view.build_request_view(history, station.model)
    ] == [
        0,
        2,
        0,
        0,
    ]
    view = request_view.build_request_view(history, target)
    assert [each.role for each in view] == [
        Role.USER, Role.ASSISTANT, Role.TOOL, Role.ASSISTANT, Role.TOOL
    ]  # fmt: skip
    assert [each.text for each in view if each.role is Role.ASSISTANT] == ["I look.", "And there."]
    assert len({each.id for each in view}) == len(view)
    assert request_view.build_request_view(view, target) == view
    _encode(station, target, view)


@pytest.mark.parametrize("name", ["openai chat", "openrouter", "ollama"])
def test_system_prompt_starts_the_first_prompt_if_system_messages_are_unsupported(name):
    station, writer = SWAP_TARGETS[name], Writer()
    history = [
        writer.message(Role.SYSTEM, [TextBlock("Be brief.")]),
        writer.message(Role.SYSTEM, [TextBlock("It is Friday.")]),
        writer.message(Role.USER, [TextBlock("hello")]),
        writer.message(Role.ASSISTANT, [TextBlock("Hi.")]),
        writer.message(Role.USER, [image()]),
    ]
    first = _encode(station, station.model, history)[1]["messages"][0]
    assert first["role"] in ("system", "developer")
    target = _without(station.model, supports_system_messages_in_list=False)
    messages = _encode(station, target, history)[1]["messages"]
    assert [each["role"] for each in messages] == ["user", "assistant", "user"]
    assert messages[0]["content"] == "Be brief.\n\nIt is Friday.\n\nhello"
    history_without_call = [*history[:2], history[4]]
    assert "Be brief." in str(_encode(station, target, history_without_call)[1]["messages"][0])


@pytest.mark.parametrize("name", ["anthropic", "google", "openai responses"])
def test_dialect_with_a_system_prompt_field_always_uses_it(name):
    station, writer = SWAP_TARGETS[name], Writer()
    history = [
        writer.message(Role.SYSTEM, [TextBlock("Be brief.")]),
        writer.message(Role.USER, [TextBlock("hello")]),
    ]
    for flag in (True, False):
        target = _without(station.model, supports_system_messages_in_list=flag)
        body = _encode(station, target, history)[1]
        field = {"anthropic": "system", "google": "systemInstruction"}.get(name, "instructions")
        assert "Be brief." in str(body.pop(field))
        assert "Be brief." not in str(body)


MOST = AdapterCapabilities(
    supports_images=True,
    supports_audio=True,
    supports_documents=True,
    supports_structured_output=True,
    max_context_tokens=10_000,
)
NEEDS = {
    "supports_images": Needs(images=True),
    "supports_audio": Needs(audio=True),
    "supports_documents": Needs(documents=True),
    "supports_tools": Needs(tools=True),
    "supports_system_prompt": Needs(system_prompt=True),
    "supports_structured_output": Needs(structured_output=True),
}


@pytest.mark.parametrize("flag", NEEDS)
def test_turn_is_not_sent_to_a_model_without_the_required_capability(flag):
    able = Model(id="a:m", wire_name="m", capabilities=MOST)
    assert find_rejection(able, NEEDS[flag], None, None) is None
    assert find_rejection(_without(able, **{flag: False}), NEEDS[flag], None, None) is not None


def test_reasoning_and_cache_breakpoints_are_requested_only_if_supported():
    station = SWAP_TARGETS["anthropic"]
    body = _encode(station, station.model, effort="high")[1]
    plain = _encode(station, _without(station.model, supports_thinking=False), effort="high")[1]
    assert ("thinking" in body, "thinking" in plain) == (True, False)
    target = replace(station.model, least_cached_tokens=0)
    for flag in (True, False):
        able = _without(target, supports_prompt_caching=flag)
        assert (
            bool(plan_cache(build_full_history(target), (READ,), able, "short").breakpoints) is flag
        )


def test_only_accepted_image_types_are_sent():
    can = replace(MOST, accepted_image_media_types=("image/png",))
    assert media_support(image(), can).types == {"image/png"}


@pytest.mark.parametrize("field", AdapterCapabilities.__struct_fields__)
@pytest.mark.sample(3)
def test_every_capability_is_used(field):
    """A flag that nothing reads is a promise that nothing keeps; lists of models only fill it."""
    reads = {
        node.attr
        for path in PACKAGE.rglob("*.py")
        if path.parent.name in ("agent", "requests", "routing", "providers")
        or path.parent.parent.name == "dialects"
        for node in ast.walk(ast.parse(path.read_text("utf-8")))
        if isinstance(node, ast.Attribute)
    }
    assert field in reads
