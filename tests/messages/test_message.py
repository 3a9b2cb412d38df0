import logging
from decimal import Decimal

import msgspec
import pytest
from hypothesis import given
from msgspec.structs import replace

from tests.strategies import any_messages, blocks, few
from yourtool.effects import SideEffects, ToolDefinition
from yourtool.messages.blocks import (
    AudioBlock,
    ContentBlock,
    DocumentBlock,
    ImageBlock,
    ImageSource,
    RedactedThinkingBlock,
    TextBlock,
    ThinkingBlock,
    ToolResultBlock,
    ToolUseBlock,
    canonical_json,
)
from yourtool.messages.codec import (
    BLOCK_TYPES,
    decode_content,
    decode_metadata,
    encode_content,
    encode_metadata,
)
from yourtool.messages.message import (
    MESSAGE_TYPES,
    METADATA_TYPES,
    PromptMessage,
    ReplyMessage,
    ResultMessage,
    Role,
    now,
)
from yourtool.messages.metadata import MessageStatus, ReplyMetadata, StopReason
from yourtool.messages.usage import Usage

EVERY_KIND = (
    TextBlock("words"),
    ToolUseBlock("tu_1", "read_file", {"path": "a", "lines": [1, 2]}),
    ToolResultBlock("tu_1", (TextBlock("out"), ImageBlock(ImageSource("url", "u"), "image/png"))),
    ImageBlock(ImageSource("base64", "aGk="), "image/png"),
    AudioBlock(ImageSource("file_ref", f"sha256:{'0' * 64}"), "audio/wav"),
    DocumentBlock(ImageSource("file_ref", f"sha256:{'0' * 64}"), "application/pdf", "a.pdf"),
    ThinkingBlock("hm", "sig"),
    RedactedThinkingBlock("blob"),
)


@few
@given(any_messages)
@pytest.mark.req("R-CAN-01")
def test_every_message_survives_json(message):
    again = msgspec.json.decode(canonical_json(message), type=type(message))
    assert again == message
    if isinstance(message, ReplyMessage):
        assert again.metadata.provider_raw == message.metadata.provider_raw
    assert again.created_at == message.created_at
    assert canonical_json(again) == canonical_json(message)


@few
@given(blocks)
@pytest.mark.req("R-CAN-01")
def test_every_block_survives_json_in_its_union(block):
    assert msgspec.json.decode(canonical_json(block), type=ContentBlock) == block


@few
@given(any_messages)
@pytest.mark.req("R-CAN-01")
def test_metadata_survives_storage(message):
    metadata = message.metadata
    again = decode_metadata(encode_metadata(metadata), message.role, where="row")
    assert again == metadata
    if isinstance(message, ReplyMessage):
        assert again.provider_raw == metadata.provider_raw


@pytest.mark.req("R-CAN-01")
def test_a_tool_definition_survives_json():
    tool = ToolDefinition(
        name="shell",
        description="Run a command.",
        input_schema={"type": "object", "properties": {"command": {"type": "string"}}},
        side_effects=SideEffects.EXECUTE,
    )
    assert msgspec.json.decode(canonical_json(tool), type=ToolDefinition) == tool
    assert hash(tool) == hash(replace(tool))


@pytest.mark.req("R-CAN-01")
def test_a_cost_preserves_every_digit():
    usage = Usage(
        input_tokens=1,
        output_tokens=1,
        cost_usd=Decimal("0.100000000000000000000000000001"),
        pricing_version="2026-05-08",
        latency_ms=1,
    )
    encoded = canonical_json(usage)
    assert b'"cost_usd":"0.100000000000000000000000000001"' in encoded
    assert msgspec.json.decode(encoded, type=Usage).cost_usd == usage.cost_usd


def test_the_wire_names_of_blocks_are_the_contract():
    assert set(BLOCK_TYPES) == {
        "text",
        "tool_use",
        "tool_result",
        "image",
        "audio",
        "document",
        "thinking",
        "redacted_thinking",
    }
    assert [msgspec.to_builtins(block)["type"] for block in EVERY_KIND] == [
        "text",
        "tool_use",
        "tool_result",
        "image",
        "audio",
        "document",
        "thinking",
        "redacted_thinking",
    ]


def example(**metadata):
    return ReplyMessage(
        id="m",
        session_id="s",
        content=EVERY_KIND,
        metadata=ReplyMetadata(**metadata),
        created_at=now(),
    )


@pytest.mark.req("R-CAN-05")
def test_provider_raw_is_ignored_by_equality_and_hash():
    message = example(model="openai:gpt-5", provider_raw={"signature": "a"})
    other = replace(message, metadata=replace(message.metadata, provider_raw={"b": [1]}))
    assert message == other
    assert hash(message) == hash(other)
    assert message != replace(
        message, metadata=replace(message.metadata, model="openai:gpt-5-mini")
    )
    assert message.metadata != "metadata"


@pytest.mark.parametrize("block", EVERY_KIND, ids=lambda block: type(block).__name__)
@pytest.mark.req("R-CAN-05")
def test_every_kind_of_block_can_be_hashed(block):
    copy = msgspec.convert(msgspec.to_builtins(block), type(block))
    assert copy is not block
    assert hash(copy) == hash(block)
    assert len({copy, block}) == 1


@few
@given(any_messages)
@pytest.mark.req("R-CAN-05")
def test_equal_messages_hash_equal(message):
    copy = msgspec.json.decode(canonical_json(message), type=type(message))
    assert hash(copy) == hash(message)


@pytest.mark.parametrize("number", [1, 1.0, True])
@pytest.mark.req("R-CAN-05")
def test_arguments_that_are_equal_hash_equal(number):
    one, other = ToolUseBlock("tu_1", "f", {"n": 1}), ToolUseBlock("tu_1", "f", {"n": number})
    assert one == other
    assert hash(one) == hash(other)


@pytest.mark.req("R-CAN-11")
def test_unknown_blocks_are_skipped_with_one_warning(caplog):
    stored = (
        b'[{"type":"hologram","data":1},{"type":"text","text":"a"},{"words":"typeless"},'
        b'{"type":"tool_result","tool_use_id":"tu_1","content":[{"type":"smell"},'
        b'{"type":"text","text":"b"}]},{"type":"text","text":"c","colour":"red"}]'
    )
    assert decode_content(stored, where="message `m`") == (
        TextBlock("a"),
        ToolResultBlock("tu_1", (TextBlock("b"),)),
        TextBlock("c"),
    )
    [record] = caplog.records
    assert record.levelno == logging.WARNING
    assert record.getMessage() == (
        "skipped blocks of unknown type ['hologram', None, 'smell'] in message `m`"
    )


@pytest.mark.req("R-CAN-11")
def test_unknown_metadata_is_skipped_with_one_warning(caplog):
    stored = b'{"model":"a:b","mood":"blue","stop_reason":"bored","usage":{"tokens":"many"}}'
    metadata = decode_metadata(stored, Role.ASSISTANT, where="message `m`")
    assert metadata == ReplyMetadata(model="a:b")
    [record] = caplog.records
    assert record.getMessage() == (
        "skipped unknown metadata ['mood', 'stop_reason', 'usage'] in message `m`"
    )


@pytest.mark.parametrize("role", [Role.USER, Role.SYSTEM, Role.TOOL])
@pytest.mark.req("R-CAN-11")
def test_metadata_of_another_role_is_skipped_with_one_warning(role, caplog):
    stored = b'{"model":"a:b","origin":"custom:mail","usage":7,"provider_raw":{}}'
    metadata = decode_metadata(stored, role, where="message `m`")
    assert metadata == METADATA_TYPES[role](origin="custom:mail")
    [record] = caplog.records
    assert record.getMessage() == (
        "skipped unknown metadata ['model', 'provider_raw', 'usage'] in message `m`"
    )


@pytest.mark.parametrize("role", Role)
def test_a_message_has_the_type_of_its_role(role):
    fields = {"id": "m", "session_id": "s", "role": role, "content": (), "created_at": now()}
    for kind in (PromptMessage, ReplyMessage, ResultMessage):
        if kind is MESSAGE_TYPES[role]:
            assert type(kind(**fields).metadata) is METADATA_TYPES[role]
        else:
            with pytest.raises(ValueError, match=f"cannot have the role `{role}`"):
                kind(**fields)


@pytest.mark.req("R-CAN-11")
def test_known_content_causes_no_warning(caplog):
    metadata = ReplyMetadata(stop_reason=StopReason.END_TURN, status=MessageStatus.CANCELLED)
    assert decode_content(encode_content(EVERY_KIND), where="row") == EVERY_KIND
    assert decode_metadata(encode_metadata(metadata), Role.ASSISTANT, where="row") == metadata
    assert not caplog.records


@pytest.mark.parametrize("stored", [b"", b"{}", b"[1]", b'[{"type":"text"}]', b"[{"])
def test_invalid_content_is_an_error(stored):
    with pytest.raises(msgspec.DecodeError):
        decode_content(stored, where="row")


def test_equal_values_have_equal_bytes():
    assert canonical_json({"b": 1, "a": {"d": 1, "c": 2}}) == b'{"a":{"c":2,"d":1},"b":1}'


def test_a_message_has_its_text_its_calls_and_its_result():
    message = example()
    assert message.text == "words"
    assert message.tool_uses == (EVERY_KIND[1],)
    assert message.result == EVERY_KIND[2]
    assert replace(message, content=()).result is None
