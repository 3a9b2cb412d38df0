"""Dropped blocks of a request: one log line each, and an error if one is critical."""

import pytest
from msgspec.structs import replace

from tests.providers.fakes import MODEL, build_catalogue, make_message
from yourtool.errors import InvalidRequestError
from yourtool.messages.blocks import (
    ImageBlock,
    ImageSource,
    RedactedThinkingBlock,
    TextBlock,
    ThinkingBlock,
)
from yourtool.messages.codec import decode_content, encode_content
from yourtool.messages.message import Role
from yourtool.messages.metadata import ReplyMetadata
from yourtool.providers.dropped_blocks import DropLog
from yourtool.providers.requests.request_view import build_request_view

OTHER = build_catalogue("demo:other").get("demo:other")
HISTORY = (
    make_message(Role.USER, "hello"),
    make_message(
        Role.ASSISTANT, ThinkingBlock("a", "s"), RedactedThinkingBlock("x"), "hi", model="x:y"
    ),
    make_message(Role.USER, "go on"),
)


def marked(block):
    return (HISTORY[0], make_message(Role.ASSISTANT, block, "hi", model="x:y"), HISTORY[2])


def test_later_requests_to_the_same_model_do_not_log_a_block_again(caplog):
    losses = DropLog()
    for _ in range(3):
        build_request_view(HISTORY, MODEL, losses=losses)
    assert [each.block_type for each in caplog.records] == ["thinking", "redacted_thinking"]


def test_dropped_block_is_logged_per_model(caplog):
    losses = DropLog()
    for target in (MODEL, OTHER, MODEL, OTHER):
        build_request_view(HISTORY, target, losses=losses)
    assert len(caplog.records) == 4


def test_new_dropped_block_is_logged_in_addition_to_earlier_ones(caplog):
    losses = DropLog()
    build_request_view(HISTORY, MODEL, losses=losses)
    caplog.clear()
    more = make_message(Role.ASSISTANT, ThinkingBlock("a", "s"), "yes", model="x:y")
    build_request_view((*HISTORY, more, make_message(Role.USER, "?")), MODEL, losses=losses)
    assert [each.message_id for each in caplog.records] == [more.id]


@pytest.mark.parametrize(
    "block",
    [
        ThinkingBlock("a", "s", critical=True),
        RedactedThinkingBlock("x", critical=True),
        ImageBlock(ImageSource("url", "https://example.com/a.png"), "image/png", critical=True),
    ],
)
def test_unsupported_critical_block_fails_the_request(block, caplog):
    history = marked(block)
    with pytest.raises(InvalidRequestError, match=history[1].id) as raised:
        build_request_view(history, MODEL)
    assert MODEL.id in raised.value.message
    assert caplog.records == []


def test_critical_message_fails_the_request_for_each_of_its_blocks():
    prompt, reply, more = marked(ThinkingBlock("a", "s"))
    metadata = ReplyMetadata(model="x:y", critical=True)
    with pytest.raises(InvalidRequestError, match="marked critical"):
        build_request_view((prompt, replace(reply, metadata=metadata), more), MODEL)


def test_supported_critical_block_is_sent():
    history = (make_message(Role.USER, TextBlock("hello", critical=True)),)
    assert build_request_view(history, MODEL) == history


@pytest.mark.parametrize("critical", [True, False])
def test_critical_flag_is_stored_with_the_block(critical):
    content = (TextBlock("a", critical=critical), ThinkingBlock("b", "s", critical=critical))
    assert decode_content(encode_content(content), where="test") == content


def test_block_without_the_flag_is_stored_as_before():
    assert encode_content((TextBlock("a"),)) == b'[{"type":"text","text":"a"}]'
