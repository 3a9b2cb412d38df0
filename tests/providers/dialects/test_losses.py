"""Dropped blocks are logged once each, and the model gets placeholders."""

import json
import logging

import pytest

from tests.providers.dialect_journeys import SWAP_TARGETS
from tests.providers.histories import image, reply_metadata
from tests.providers.recorded_exchanges import problems, request
from tests.strategies import Writer
from yourtool.messages.blocks import (
    RedactedThinkingBlock,
    TextBlock,
    ThinkingBlock,
    ToolResultBlock,
    ToolUseBlock,
)
from yourtool.messages.message import Role
from yourtool.messages.metadata import ResultMetadata
from yourtool.providers.requests.placeholders import NO_OUTPUT, placeholder_for

MISSING = image(f"sha256:{'0' * 64}", "file_ref")
everywhere = pytest.mark.parametrize("station", SWAP_TARGETS.values(), ids=SWAP_TARGETS)


def logged_blocks(caplog):
    return [record.block_type for record in caplog.records if hasattr(record, "block_type")]


def last_message(station, *content, is_error=False):
    """Return a conversation that ends with a result, as the request has it."""
    writer, own = Writer(), reply_metadata(station.model.id)
    call = writer.tool_use_id()
    messages = (
        writer.message(Role.USER, [TextBlock("look")]),
        writer.message(Role.ASSISTANT, [ToolUseBlock(call, "look", {})], own),
        writer.message(
            Role.TOOL,
            [ToolResultBlock(call, content, is_error)],
            ResultMetadata(parent_tool_use_id=call),
        ),
    )
    body = station.dialect().to_wire(request(station.model, messages)).body
    assert not problems(*station.api, body)
    return json.dumps(json.loads(body)[station.turns])


@everywhere
@pytest.mark.parametrize("is_error", [False, True])
@pytest.mark.parametrize(
    "content", [(MISSING,), (TextBlock("seen"), MISSING)], ids=["alone", "beside"]
)
@pytest.mark.req("R-ADP-05")
def test_unsendable_image_in_a_result_becomes_a_placeholder_with_one_warning(
    station, content, is_error, caplog
):
    sent_text = last_message(station, *content, is_error=is_error)
    assert sent_text.count(placeholder_for(MISSING)) == 1
    assert NO_OUTPUT not in sent_text
    assert ("seen" in sent_text) is (len(content) == 2)
    assert logged_blocks(caplog) == ["image"]


@everywhere
def test_sent_image_in_a_result_has_no_placeholder(station, caplog):
    sent_text = last_message(station, image(), MISSING)
    assert sent_text.count(placeholder_for(MISSING)) == 1
    assert logged_blocks(caplog) == ["image"]
    caplog.clear()
    assert placeholder_for(MISSING) not in last_message(station, image())
    assert logged_blocks(caplog) == []


@everywhere
@pytest.mark.req("R-ADP-05")
def test_dropped_reasoning_logs_one_warning_per_block(station, caplog):
    reasoning = (ThinkingBlock("so", "c2ln"), RedactedThinkingBlock("b3BhcXVl"))
    writer, own = Writer(), reply_metadata(station.model.id)
    messages = (
        writer.message(Role.USER, [TextBlock("a")]),
        writer.message(Role.ASSISTANT, reasoning, own),
        writer.message(Role.USER, [TextBlock("b")]),
    )
    with caplog.at_level(logging.WARNING):
        station.dialect().to_wire(request(station.model, messages))
    logged = logged_blocks(caplog)
    assert logged.count("thinking") <= 1
    assert logged.count("redacted_thinking") == 1
