"""Conversion between database rows and facts or messages.

Reading is tolerant: rows that only a newer version understands are skipped with a warning, and the
rest of the session is read. Rows of an older version are upgraded in memory.
"""

import functools
import logging
from collections.abc import Callable, Mapping
from datetime import UTC, datetime, timedelta
from typing import Any, TypeAlias

import msgspec
from msgspec import UNSET
from msgspec.structs import replace

from yourtool.events.catalog import AnyFact
from yourtool.events.codec import STORED_TYPES, from_stored, to_stored
from yourtool.events.facts import Fact
from yourtool.messages.blocks import ContentBlock, ToolResultBlock, canonical_json
from yourtool.messages.codec import (
    decode_content,
    decode_metadata,
    encode_content,
    encode_metadata,
    intern_value,
    require_shallow,
)
from yourtool.messages.message import MESSAGE_TYPES, SCHEMA_VERSION, Message, Role
from yourtool.messages.metadata import MessageMetadata, ResultMetadata

_log = logging.getLogger(__name__)

_OBJECT = msgspec.json.Decoder(dict[str, Any])
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)
DECODE_ERRORS = (msgspec.MsgspecError, ValueError, TypeError, OverflowError)
"""Exceptions that decoding a damaged row can raise."""
_ENVELOPE_FIELDS = frozenset(Fact.__struct_fields__) | {"message"}
"""Fields of a fact that are not part of its payload."""

INSERT_MESSAGE = """
    INSERT INTO messages
        (id, session_id, role, content_json, metadata_json, created_at, schema_version)
    VALUES (?, ?, ?, ?, ?, ?, ?)
"""
SELECT_MESSAGE = """
    SELECT id, session_id, role, content_json, metadata_json, created_at, schema_version
    FROM messages WHERE id = ? AND session_id = ?
"""
SELECT_MESSAGES = """
    SELECT id, session_id, role, content_json, metadata_json, created_at, schema_version
    FROM messages WHERE session_id = ? ORDER BY created_at
"""
MessageRow: TypeAlias = tuple[str, str, str, str, str, int, int]

INSERT_EVENT = """
    INSERT INTO events
        (id, timestamp_us, session_id, turn_id, parent_event_id, type, actor, sensitivity,
         payload_json)
    VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)
"""
SELECT_EVENTS = """
    SELECT id, timestamp_us, session_id, turn_id, parent_event_id, type, actor, sensitivity,
           payload_json
    FROM events WHERE session_id = ? ORDER BY id
"""
SELECT_EVENTS_OF_TYPES = """
    SELECT id, timestamp_us, session_id, turn_id, parent_event_id, type, actor, sensitivity,
           payload_json
    FROM events WHERE type IN (SELECT value FROM json_each(?)) ORDER BY session_id, id
"""
"""Sorts the events, which is quick if they are few."""
SCAN_EVENTS_OF_TYPES = SELECT_EVENTS_OF_TYPES.replace(
    "FROM events", "FROM events INDEXED BY idx_events_session"
)
"""Passes over all events in this order, which is quicker than to sort many."""
COUNT_EVENTS_OF_TYPES = """
    SELECT (SELECT count(*) FROM events WHERE type IN (SELECT value FROM json_each(?))),
           (SELECT count(*) FROM events)
"""
EventRow: TypeAlias = tuple[str, int, str, str | None, str | None, str, str, str, str]

Upgrade: TypeAlias = Callable[
    [list[dict[str, Any]], dict[str, Any]], tuple[list[dict[str, Any]], dict[str, Any]]
]
"""Upgrades content and metadata, as decoded JSON, from one schema version to the next."""

UPGRADES: Mapping[int, Upgrade] = {}
"""Upgrades by their source version; a version without an entry needs none."""


def to_microseconds(moment: datetime) -> int:
    """Return the exact number of microseconds since 1970."""
    return (moment - _EPOCH) // _MICROSECOND


def from_microseconds(microseconds: int) -> datetime:
    """Return a UTC time from microseconds since 1970."""
    return _EPOCH + microseconds * _MICROSECOND


def event_row(fact: Fact, message: Message | None) -> EventRow:
    """Encode a fact; its message is reduced to the id."""
    kind, stored = type(fact), to_stored(fact)
    payload = {
        name: value
        for name in stored.__struct_fields__
        if name not in _ENVELOPE_FIELDS and (value := getattr(stored, name)) is not UNSET
    }
    if message is not None:
        payload["message_id"] = message.id
    return (
        fact.id,
        to_microseconds(fact.timestamp),
        fact.session_id,
        fact.turn_id,
        fact.parent_event_id,
        str(kind.__struct_config__.tag),
        kind.actor,
        kind.sensitivity,
        canonical_json(payload).decode(),
    )


def fact_from_row(row: EventRow, find_message: Callable[[str], Message | None]) -> AnyFact | None:
    """Decode a fact with its message; None if this version cannot read it.

    `find_message` returns a stored message by its id.
    """
    try:
        return decode_fact(row, find_message)
    except DECODE_ERRORS as error:
        _log.warning("skipped event `%s`, a `%s`: %s", row[0], row[5], error)
        return None


def decode_fact(row: EventRow, find_message: Callable[[str], Message | None]) -> AnyFact:
    """Decode a fact with its message; as `fact_from_row`.

    Raises:
        DECODE_ERRORS: this version cannot read it.
    """
    event_id, timestamp_us, session_id, turn_id, parent_event_id, name, _, _, payload = row
    if (kind := STORED_TYPES.get(name)) is None:
        raise ValueError("an unknown type of event")
    require_shallow(payload)
    envelope: dict[str, Any] = {
        "id": event_id,
        "timestamp": from_microseconds(timestamp_us),
        "session_id": session_id,
        "turn_id": turn_id,
        "parent_event_id": parent_event_id,
    }
    if (decoder := _payload_decoder(kind)) is not None:
        try:
            return from_stored(replace(decoder.decode(payload), **envelope))
        except msgspec.ValidationError:
            pass  # a payload can have a name of the envelope, which the columns override
    fields = _OBJECT.decode(payload)
    message_id = fields.pop("message_id", None)
    if "message" in kind.__struct_fields__:
        fields["message"] = find_message(message_id) if isinstance(message_id, str) else None
    return from_stored(msgspec.convert(fields | envelope, kind))


@functools.cache
def _payload_decoder(kind: type[Fact]) -> msgspec.json.Decoder[Fact] | None:
    """Return a decoder for a fact whose payload is all of it; None: it has a message too."""
    return None if "message" in kind.__struct_fields__ else msgspec.json.Decoder(kind)


def message_row(message: Message) -> MessageRow:
    """Encode a message as a row of its schema version, at least the current one."""
    return (
        message.id,
        message.session_id,
        message.role,
        encode_content(message.content).decode(),
        encode_metadata(message.metadata).decode(),
        to_microseconds(message.created_at),
        max(message.schema_version, SCHEMA_VERSION),
    )


def message_from_row(
    row: MessageRow, upgrades: Mapping[int, Upgrade] = UPGRADES, version: int = SCHEMA_VERSION
) -> Message | None:
    """Decode a message, upgraded to `version`; None if this version cannot read it."""
    try:
        return decode_message(row, upgrades, version)
    except DECODE_ERRORS as error:
        _log.warning("skipped message `%s`: %s", row[0], error)
        return None


def decode_message(
    row: MessageRow, upgrades: Mapping[int, Upgrade] = UPGRADES, version: int = SCHEMA_VERSION
) -> Message:
    """Decode a message, upgraded to `version`.

    Raises:
        DECODE_ERRORS: this version cannot read it.
    """
    message_id, session_id, role, content, metadata, created_at, stored_version = row
    label = f"message `{message_id}`"
    if stored_version < version:
        content, metadata = _apply_upgrades(
            content, metadata, range(stored_version, version), upgrades
        )
    elif stored_version > version:
        _log.warning("%s has the newer schema version %d", label, stored_version)
    known_role = Role(role)
    blocks = decode_content(content, where=label)
    fields = decode_metadata(metadata, known_role, where=label)
    return MESSAGE_TYPES[known_role](
        id=message_id,
        session_id=intern_value(session_id),
        role=known_role,
        content=blocks,
        metadata=_share_call_id(fields, blocks),
        created_at=from_microseconds(created_at),
        schema_version=max(stored_version, version),
    )


def _share_call_id(fields: MessageMetadata, blocks: tuple[ContentBlock, ...]) -> MessageMetadata:
    """Return metadata whose id of a call is the same object as in the result, to save memory."""
    match fields, blocks:
        case ResultMetadata(parent_tool_use_id=str(known)), (ToolResultBlock(tool_use_id=shared),):
            return replace(fields, parent_tool_use_id=shared) if known == shared else fields
        case _:
            return fields


def _apply_upgrades(
    content: str, metadata: str, versions: range, upgrades: Mapping[int, Upgrade]
) -> tuple[str, str]:
    blocks = msgspec.json.decode(content, type=list[dict[str, Any]])
    fields = msgspec.json.decode(metadata, type=dict[str, Any])
    for version in versions:
        if (upgrade := upgrades.get(version)) is not None:
            blocks, fields = upgrade(blocks, fields)
    return canonical_json(blocks).decode(), canonical_json(fields).decode()
