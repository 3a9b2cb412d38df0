import json
from datetime import UTC, datetime, timedelta, timezone

import pytest
from hypothesis import given

from tests.strategies import any_messages, few, times
from yourtool.messages.blocks import TextBlock, ThinkingBlock
from yourtool.messages.message import ReplyMessage, Role
from yourtool.messages.metadata import ReplyMetadata
from yourtool.store.sqlite.row_codec import (
    from_microseconds,
    message_from_row,
    message_row,
    to_microseconds,
)


@few
@given(times)
def test_times_preserve_microseconds(time):
    assert from_microseconds(to_microseconds(time)) == time


def test_time_of_another_zone_is_stored_as_the_same_instant():
    tokyo = datetime(2026, 5, 8, 9, 0, 0, 1, timezone(timedelta(hours=9)))
    assert from_microseconds(to_microseconds(tokyo)) == datetime(2026, 5, 8, 0, 0, 0, 1, UTC)


@few
@given(any_messages)
@pytest.mark.req("R-CAN-01")
def test_any_message_round_trips_through_its_row(message):
    again = message_from_row(message_row(message))
    assert again == message
    if isinstance(message, ReplyMessage):
        assert again.metadata.provider_raw == message.metadata.provider_raw


ROW = (
    "m1",
    "sess_1",
    "assistant",
    json.dumps([{"type": "thought", "words": "hm"}, {"type": "text", "text": "yes"}]),
    json.dumps({"vendor": "anthropic"}),
    0,
)


def thoughts_become_thinking(content, metadata):
    blocks = [
        {"type": "thinking", "text": block["words"]} if block["type"] == "thought" else block
        for block in content
    ]
    return blocks, metadata


def vendors_become_providers(content, metadata):
    return content, {"provider": metadata["vendor"]}


UPGRADES = {0: thoughts_become_thinking, 1: vendors_become_providers}


@pytest.mark.parametrize("written", [0, 1, 2])
@pytest.mark.req("R-CAN-12")
def test_row_passes_through_every_upgrade_after_its_version(written, caplog):
    content, metadata = json.loads(ROW[3]), json.loads(ROW[4])
    for version in range(written):
        content, metadata = UPGRADES[version](content, metadata)
    row = (*ROW[:3], json.dumps(content), json.dumps(metadata), 0, written)
    message = message_from_row(row, UPGRADES, version=2)
    assert message.content == (ThinkingBlock("hm"), TextBlock("yes"))
    assert message.metadata == ReplyMetadata(provider="anthropic")
    assert message.role is Role.ASSISTANT
    assert message.schema_version == 2
    assert not caplog.records


@pytest.mark.req("R-CAN-12")
def test_known_fields_of_a_newer_row_are_read(caplog):
    message = message_from_row((*ROW, 7))
    assert message.content == (TextBlock("yes"),)
    assert message.schema_version == 7
    assert "newer schema version 7" in caplog.text
