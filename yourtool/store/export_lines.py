"""Lines of an export.

What newer versions define never refuses a file. It stays with the session, and the import names it:
an event of an unknown type, or with an unknown value, becomes an `entry.imported` with its JSON.
What a message has and this version does not define is moved to `import.extra` of the message.
"""

import functools
from collections.abc import Iterable, Sequence
from typing import Any, cast, get_args

import msgspec
from msgspec import UNSET, Struct
from msgspec.structs import fields

from yourtool.events.catalog import FACT_TYPES, AnyFact, message_of
from yourtool.events.codec import STORED_FACT, STORED_TYPES, to_stored
from yourtool.events.facts import Fact
from yourtool.events.sessions import EntryImported
from yourtool.events.tools import ToolCalled, ToolCompleted, ToolFailed
from yourtool.events.turns import TurnCancelled, TurnCompleted
from yourtool.messages.blocks import canonical_json
from yourtool.messages.codec import BLOCK_TYPES, metadata_fields, require_shallow
from yourtool.messages.message import MESSAGE_TYPES, METADATA_TYPES, Role
from yourtool.messages.metadata import RoutingMode, StopReason

_MAX_NAME = 80
"""Characters of an unknown name or value that are shown."""
_OWN_SYSTEM = "yourtool"
_PLACE = ("id", "timestamp", "session_id", "turn_id", "parent_event_id")
"""The fields that every event has."""
_ENDS = {
    "turn.completed": ("stop_reason", StopReason.END_TURN),
    "turn.cancelled": ("reason", "user_cancel"),
}
"""The value that an unknown one becomes: without its end, a turn would be unfinished."""
_CALL_FACTS = (ToolCalled, ToolCompleted, ToolFailed)
_RESULT_PARTS = ("text", "image")


class ExportedBlob(Struct, frozen=True, kw_only=True, tag_field="type", tag="yourtool.blob"):
    """The bytes of an attachment."""

    data: str


_LINE = STORED_FACT | ExportedBlob
_LINE_DECODER = msgspec.json.Decoder(_LINE)
_OBJECT_DECODER = msgspec.json.Decoder(dict[str, Any])


def import_warnings(facts: Iterable[AnyFact]) -> tuple[str, ...]:
    """Return what an import contains that this version cannot represent."""
    found = list[str]()
    for fact in facts:
        message = message_of(fact)
        if message is not None and (source := message.metadata.import_source) is not None:
            found += source.warnings
        elif isinstance(fact, EntryImported) and fact.system == _OWN_SYSTEM:
            found.append(_describe(fact))
        elif isinstance(fact, TurnCompleted | TurnCancelled) and fact.unknown_values is not UNSET:
            found += [_name_value(name, value) for name, value in fact.unknown_values.items()]
    return tuple(found)


def decode_line(line: bytes) -> Fact | ExportedBlob:
    """Decode a line; what this version does not define is replaced and stays with the fact.

    Unknown metadata, and metadata with unknown values, is moved to `import.extra`. An unknown block
    is replaced by a text that names its kind, so that calls and results keep their order; the block
    is moved to `import.extra`. The end of a turn has its unknown value in `unknown_values`.

    Raises:
        msgspec.MsgspecError: it is not JSON, or a value has another type.
        ValueError: it is nested too deeply.
    """
    raw = _OBJECT_DECODER.decode(line)
    kind = raw.get("type")
    if not isinstance(kind, str) or kind == "yourtool.blob":
        return _LINE_DECODER.decode(line)
    if kind not in FACT_TYPES:
        return _to_entry(raw, kind)
    try:
        is_changed = _replace_unknown(raw, kind)
        return msgspec.convert(raw, _LINE) if is_changed else _LINE_DECODER.decode(line)
    except msgspec.ValidationError as error:
        if _unknown_value(error) is not None:
            return _to_entry(_OBJECT_DECODER.decode(line), kind)
        raise


def without_lost_calls(facts: Sequence[AnyFact]) -> Sequence[AnyFact]:
    """Return facts in which the results of calls in unknown events and blocks are entries."""
    calls, kept = set[str](), list[AnyFact]()
    for fact in facts:
        if (message := message_of(fact)) is not None:
            calls |= {call.id for call in message.tool_uses}
        if isinstance(fact, _CALL_FACTS) and fact.tool_use_id not in calls:
            stored = msgspec.to_builtins(to_stored(fact))
            fact = _to_entry(stored, str(type(fact).__struct_config__.tag))
        kept.append(fact)
    return kept


def _replace_unknown(raw: dict[str, Any], kind: str) -> bool:
    """Replace what an event has and this version does not define; return whether it has any."""
    if kind in _ENDS:
        name, known = _ENDS[kind]
        if (value := _unknown_in(name, raw.get(name), STORED_TYPES[kind])) is None:
            return False
        raw[name], raw["unknown_values"] = known, {name: value}
        return True
    if not isinstance(raw.get("message"), dict):
        return False
    message: dict[str, Any] = raw["message"]
    extra, warnings = _take_unknown(message, _default_role(kind), raw.get("tool_use_id"))
    reason = raw.get("stop_reason")
    if reason and (unknown := _unknown_in("stop_reason", reason, STORED_TYPES[kind])) is not None:
        if extra.setdefault("stop_reason", unknown) is unknown:
            warnings.append(_name_value("stop_reason", unknown))
        raw["stop_reason"] = StopReason.END_TURN
    if not extra:
        return False
    metadata = _as_object(message.get("metadata"))
    message["metadata"] = metadata
    source = _as_object(metadata.setdefault("import", {"system": _OWN_SYSTEM, "format": "jsonl"}))
    source["extra"] = _as_object(source.get("extra")) | extra
    if warnings:
        source["warnings"] = warnings
    require_shallow(canonical_json(metadata))
    return True


def _take_unknown(
    message: dict[str, Any], default: Role, call: object
) -> tuple[dict[str, Any], list[str]]:
    """Remove what a message has and this version does not define; return it with its names.

    `default`: the role instead of an unknown one. `call`: the id of the call of a result.
    """
    extra, warnings = dict[str, Any](), list[str]()
    if isinstance(role := message.get("role"), str) and role not in list(Role):
        extra["role"] = role
        warnings.append(_name_value("role", role))
        message["role"] = role = default
    own = Role(role) if isinstance(role, str) else default
    metadata = _as_object(message.get("metadata"))
    for name in list(metadata):
        if name not in metadata_fields(own):
            extra[name] = metadata.pop(name)
        elif (value := _unknown_in(name, metadata[name], METADATA_TYPES[own])) is not None:
            extra[name] = metadata.pop(name)
            warnings.append(_name_value(name, value))
            if name == "stop_reason":
                metadata[name] = StopReason.END_TURN
            elif name == "routing":
                metadata[name] = extra[name] | {"mode": RoutingMode.DEFAULT}
    if unknown := _replace_unknown_blocks(message.get("content"), tuple(BLOCK_TYPES)):
        extra["unknown_blocks"] = unknown
        warnings += [f"unknown block {_quote_block(each)}" for each in unknown]
        if own is Role.TOOL and not any(b.get("type") == "tool_result" for b in message["content"]):
            message["content"] = [
                {"type": "tool_result", "tool_use_id": call, "content": message["content"]}
            ]
    return extra, warnings


def _replace_unknown_blocks(content: Any, known: tuple[str, ...]) -> list[dict[str, Any]]:
    """Replace the blocks of other kinds, or with unknown values, in a list, and return them."""
    blocks = cast("list[Any]", content) if isinstance(content, list) else []  # JSON
    unknown = list[dict[str, Any]]()
    for at, block in enumerate(map(_as_object, blocks)):
        kind = block.get("type")
        if kind == "tool_result" and kind in known:
            unknown += _replace_unknown_blocks(block.get("content"), _RESULT_PARTS)
        elif isinstance(kind, str) and (kind not in known or _unknown_source(block) is not None):
            unknown.append(block)
            blocks[at] = {"type": "text", "text": f"[unknown block {_quote_block(block)}]"}
    return unknown


def _unknown_source(block: dict[str, Any]) -> str | None:
    """Return the kind of source of a block of media if this version does not define it."""
    kind = BLOCK_TYPES.get(str(block.get("type")))
    if "source" not in block or kind is None or "source" not in kind.__struct_fields__:
        return None
    return _unknown_in("source", block["source"], kind)


def _quote_block(block: dict[str, Any]) -> str:
    source = _unknown_source(block)
    suffix = "" if source is None else f" of `{source[:_MAX_NAME]}`"
    return f"`{str(block['type'])[:_MAX_NAME]}`{suffix}"


def _to_entry(raw: dict[str, Any], kind: str) -> EntryImported:
    """Return an event that this version does not define as an entry with its JSON."""
    text = canonical_json(raw)
    require_shallow(text)
    place = {name: raw.get(name) for name in _PLACE}
    entry = {"system": _OWN_SYSTEM, "kind": kind, "text": text.decode()}
    return msgspec.convert(place | entry | {"type": "entry.imported"}, EntryImported)


def _describe(entry: EntryImported) -> str:
    """Return why an event became an entry."""
    kind = entry.kind[:_MAX_NAME]
    if kind not in FACT_TYPES:
        return f"unknown event `{kind}`"
    try:
        _LINE_DECODER.decode(entry.text)
    except msgspec.ValidationError as error:
        return f"event `{kind}` with the unknown value `{_unknown_value(error) or ''}`"
    return f"event `{kind}` of a call that is missing"


def _name_value(name: str, value: str) -> str:
    return f"unknown {name.replace('_', ' ')} `{value[:_MAX_NAME]}`"


def _unknown_in(name: str, value: object, kind: type[Struct]) -> str | None:
    """Return the unknown enumerated value in the value of a field, or None."""
    try:
        msgspec.convert(value, _field_type(kind, name))
    except msgspec.ValidationError as error:
        return _unknown_value(error)
    return None


def _unknown_value(error: msgspec.ValidationError) -> str | None:
    """Return the text that is no value of an enumeration; None: the error has another cause."""
    _, start, rest = str(error).partition("Invalid enum value '")
    return rest.rpartition("'")[0] if start else None


@functools.cache
def _field_type(kind: type[Struct], name: str) -> Any:
    return next(each.type for each in fields(kind) if each.encode_name == name)


@functools.cache
def _default_role(kind: str) -> Role:
    """Return the role of the message of an event."""
    declared = _field_type(STORED_TYPES[kind], "message")
    matches = (
        role for role, own in MESSAGE_TYPES.items() if own in (declared, *get_args(declared))
    )
    return next(matches)


def _as_object(value: Any) -> dict[str, Any]:
    return cast("dict[str, Any]", value) if isinstance(value, dict) else {}  # JSON keys are strings
