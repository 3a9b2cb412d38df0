"""Facts and messages as rows, and rows as facts and messages.

Reading is tolerant: what a later version wrote is skipped with a warning and never costs the rest
of the session. A row that an earlier version wrote is brought up to date in memory.
"""

import logging
from collections.abc import Callable, Mapping
from datetime import UTC, datetime, timedelta
from typing import Any, TypeAlias, cast

import msgspec

from yourtool.events import FACT_TYPES, AnyFact, Fact
from yourtool.messages import SCHEMA_VERSION, Message, Role, canonical_json
from yourtool.notation import (
    decode_content,
    decode_metadata,
    encode_content,
    encode_metadata,
    one_instance,
    require_shallow,
)
from yourtool.text import storable

_log = logging.getLogger(__name__)

_OBJECT = msgspec.json.Decoder(dict[str, Any])
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)
UNREADABLE = (msgspec.MsgspecError, ValueError, TypeError, OverflowError)
"""What decoding a damaged row raises."""
_APART = frozenset(Fact.__struct_fields__) | {"message"}
"""Fields of a fact that are no part of its payload."""

INSERT_MESSAGE = """
    INSERT INTO messages
        (id, session_id, role, content_json, metadata_json, created_at, schema_version)
    VALUES (?, ?, ?, ?, ?, ?, ?)
"""
SELECT_MESSAGE = """
    SELECT id, session_id, role, content_json, metadata_json, created_at, schema_version
    FROM messages WHERE id = ? AND session_id = ?
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
EventRow: TypeAlias = tuple[str, int, str, str | None, str | None, str, str, str, str]

Upgrade: TypeAlias = Callable[
    [list[dict[str, Any]], dict[str, Any]], tuple[list[dict[str, Any]], dict[str, Any]]
]
"""Brings content and metadata, as decoded JSON, from one schema version to the next."""

Rewrite: TypeAlias = Callable[[str], str]

UPGRADES: Mapping[int, Upgrade] = {}
"""By the version that they start from; versions without an entry changed nothing that matters."""


def microseconds(moment: datetime) -> int:
    """Return whole microseconds since 1970, exactly."""
    return (moment - _EPOCH) // _MICROSECOND


def moment(microseconds: int) -> datetime:
    """Return the UTC time that many microseconds after 1970."""
    return _EPOCH + microseconds * _MICROSECOND


def event_row(fact: Fact, message: Message | None) -> EventRow:
    """Encode a fact; of its message, only the id."""
    kind = type(fact)
    payload = {name: getattr(fact, name) for name in fact.__struct_fields__ if name not in _APART}
    if message is not None:
        payload["message_id"] = message.id
    return (
        fact.id,
        microseconds(fact.timestamp),
        fact.session_id,
        fact.turn_id,
        fact.parent_event_id,
        str(kind.__struct_config__.tag),
        kind.actor,
        kind.sensitivity,
        canonical_json(payload).decode(),
    )


def fact_from(row: EventRow, message: Callable[[str], Message | None]) -> AnyFact | None:
    """Decode a fact and give it its message back; None if this version cannot read it.

    `message` finds a stored message by its id.
    """
    event_id, timestamp_us, session_id, turn_id, parent_event_id, name, _, _, payload = row
    if (kind := FACT_TYPES.get(name)) is None:
        _log.warning("skipped event `%s` of unknown type %r", event_id, name)
        return None
    try:
        require_shallow(payload)
        fields = _OBJECT.decode(payload)
        message_id = fields.pop("message_id", None)
        if "message" in kind.__struct_fields__:
            fields["message"] = message(message_id) if isinstance(message_id, str) else None
        fields |= {
            "id": event_id,
            "timestamp": moment(timestamp_us),
            "session_id": session_id,
            "turn_id": turn_id,
            "parent_event_id": parent_event_id,
        }
        return msgspec.convert(fields, kind)
    except UNREADABLE as error:
        _log.warning("skipped event `%s`, a `%s`: %s", event_id, name, error)
        return None


def message_row(message: Message) -> MessageRow:
    """Encode a message, as a row of the current schema version."""
    return (
        message.id,
        message.session_id,
        message.role,
        encode_content(message.content).decode(),
        encode_metadata(message.metadata).decode(),
        microseconds(message.created_at),
        SCHEMA_VERSION,
    )


def message_from(
    row: MessageRow, upgrades: Mapping[int, Upgrade] = UPGRADES, version: int = SCHEMA_VERSION
) -> Message | None:
    """Decode a message as one of `version`; None if this version cannot read it."""
    message_id, session_id, role, content, metadata, created_at, written = row
    where = f"message `{message_id}`"
    try:
        if written < version:
            content, metadata = _upgraded(content, metadata, range(written, version), upgrades)
        elif written > version:
            _log.warning("%s has the newer schema version %d", where, written)
        return Message(
            id=message_id,
            session_id=one_instance(session_id),
            role=Role(role),
            content=decode_content(content, where=where),
            metadata=decode_metadata(metadata, where=where),
            created_at=moment(created_at),
            schema_version=max(written, version),
        )
    except UNREADABLE as error:
        _log.warning("skipped %s: %s", where, error)
        return None


def scrubbed(fact: AnyFact) -> AnyFact:
    """Return the fact with every text in it made storable."""
    return rewritten(fact, storable)


def rewritten(fact: AnyFact, rewrite: Rewrite) -> AnyFact:
    """Return the fact with every text in it rewritten, names in objects included."""
    return msgspec.convert(_rewritten(msgspec.to_builtins(fact), rewrite), type(fact))


def _upgraded(
    content: str, metadata: str, versions: range, upgrades: Mapping[int, Upgrade]
) -> tuple[str, str]:
    blocks = msgspec.json.decode(content, type=list[dict[str, Any]])
    fields = msgspec.json.decode(metadata, type=dict[str, Any])
    for version in versions:
        if (upgrade := upgrades.get(version)) is not None:
            blocks, fields = upgrade(blocks, fields)
    return canonical_json(blocks).decode(), canonical_json(fields).decode()


def _rewritten(value: object, rewrite: Rewrite) -> object:
    match value:
        case str():
            return rewrite(value)
        case dict():
            entries = cast("dict[str, object]", value)  # builtins only, named by texts
            new = {rewrite(key): _rewritten(entry, rewrite) for key, entry in entries.items()}
            if entries.get("type") == "thinking" and new != entries:
                new["signature"] = None  # providers refuse one that was made for other words
            return new
        case list() | tuple():
            return [_rewritten(entry, rewrite) for entry in cast("list[object]", value)]
        case _:
            return value
