"""Removal of private data from exports.

Pure functions: the same facts and salt give the same result, a second application changes nothing,
and the store is not touched. The ids, order, times, types, tokens, costs and models of facts stay.
"""

import hashlib
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from decimal import Decimal
from enum import Enum
from functools import cache
from typing import Any, Literal, TypeAlias, TypeVar, cast

from msgspec import Struct, inspect, structs

from yourtool.events.catalog import AnyFact
from yourtool.events.model_calls import LlmCallCompleted, LlmCallFailed
from yourtool.events.tools import ToolCompleted, ToolFailed
from yourtool.events.turns import TurnCompleted
from yourtool.messages.blocks import (
    AudioBlock,
    DocumentBlock,
    ImageBlock,
    TextBlock,
    ThinkingBlock,
    ToolUseBlock,
)

RedactionMode: TypeAlias = Literal[
    "passthrough", "pseudonymize", "redact_private", "aggregate_only"
]
S = TypeVar("S", bound=Struct)

REDACTED = "[REDACTED]"
_PSEUDONYM = re.compile("redacted_[0-9a-f]{12}")
NAMES = frozenset(
    {
        *("session_id", "source_session_id", "worker_session_id", "parent_session_id"),
        *("turn_id", "turns", "user_id", "team_id", "gateway_key_id"),
        *("workspace", "workspace_path", "workspace_hash", "request_id", "response_id"),
    }
)
"""Fields that name a person, a session, a place or a request."""
KEPT = frozenset(
    {
        *("id", "parent_event_id", "changed_event_id", "last_event_id_at_resume", "source_id"),
        *("message_id", "tool_use_id", "parent_tool_use_id", "triggered_by_tool_use_id"),
        *("confirmation_request_id", "process_id", "leaf", "left", "target", "through", "kept"),
        *("rejected_through", "provider_tool_ids"),
        *("model", "provider", "chosen_model", "candidate_model", "initial_active_model"),
        *("requested_model", "models_affected", "models_recovered", "pricing_version"),
        *("tool_name", "dropped_tools", "media_type", "api", "cache_retention", "service_tier"),
        *("thinking_level", "error_class", "error_code", "code", "tier", "purpose", "policy"),
        *("format", "system", "origin", "schema_version"),
    }
)
"""Fields with texts that do not depend on the conversation; every other text is private."""
_MAPPINGS_BY_ID = frozenset({"provider_tool_ids", "tool_input_errors", "cut_calls"})
"""Mappings whose keys are ids; all others are private, with their keys."""


def redact(facts: Sequence[AnyFact], mode: RedactionMode, salt: str = "") -> Sequence[AnyFact]:
    """Return the facts with pseudonyms, and for `redact_private` without private texts."""
    match mode:
        case "pseudonymize":
            return [_replace_names(fact, salt) for fact in facts]
        case "redact_private":
            return [_replace_texts(_replace_names(fact, salt)) for fact in facts]
        case _:
            return facts


def aggregate(facts: Iterable[AnyFact]) -> Mapping[str, Any]:
    """Return counts, sums, minima and maxima of a session, as one JSON object without texts."""
    events, models = Counter[str](), defaultdict[str, Counter[str]](Counter)
    costs, ranges = defaultdict[str, Decimal](Decimal), defaultdict[str, list[float]](list)
    times, failed_calls = list[datetime](), 0
    for fact in facts:
        events[str(fact.__struct_config__.tag)] += 1
        times.append(fact.timestamp)
        match fact:
            case LlmCallCompleted() | LlmCallFailed():
                usage = fact.message.metadata.usage if fact.message else None
                models[fact.model]["requests"] += 1
                models[fact.model]["failed"] += isinstance(fact, LlmCallFailed)
                if usage is not None:
                    models[fact.model] += _count_tokens(usage)
                    costs[fact.model] += usage.cost_usd
                    ranges["latency_ms"].append(usage.latency_ms)
            case ToolCompleted() | ToolFailed():
                is_failed = isinstance(fact, ToolFailed) or not fact.success
                failed_calls += is_failed
                ranges["tool_latency_ms"].append(fact.latency_ms)
            case TurnCompleted():
                ranges["turn_seconds"].append(fact.wall_time_seconds)
            case _:
                pass
    return {
        "type": "yourtool.aggregate",
        "version": 1,
        "events": dict(sorted(events.items())),
        "models": {
            name: {**dict(counts), "cost_usd": f"{costs[name]:f}"}
            for name, counts in sorted(models.items())
        },
        "failed_tool_calls": failed_calls,
        "duration_seconds": (max(times) - min(times)).total_seconds() if times else 0.0,
        **{
            name: {"sum": sum(each), "min": min(each), "max": max(each)}
            for name, each in sorted(ranges.items())
        },
    }


def _count_tokens(usage: Struct) -> Counter[str]:
    fields = structs.asdict(usage)
    return Counter({name: count for name, count in fields.items() if name.endswith("_tokens")})


def _replace_names(value: S, salt: str) -> S:
    """Return a struct with pseudonyms in the fields that name something, at every depth."""
    changes: dict[str, object] = {}
    for name in value.__struct_fields__:
        old: object = getattr(value, name)
        new = _map_names(old, salt, is_name=name in NAMES)
        if new is not old:
            changes[name] = new
    return structs.replace(value, **changes) if changes else value


def _map_names(value: object, salt: str, *, is_name: bool) -> object:
    match value:
        case Struct():
            return _replace_names(value, salt)
        case tuple():
            elements = cast("tuple[object, ...]", value)
            return tuple(_map_names(each, salt, is_name=is_name) for each in elements)
        case Mapping():
            items = cast("Mapping[str, object]", value).items()
            return {key: _map_names(each, salt, is_name=key in NAMES) for key, each in items}
        case str() if is_name and value and not _PSEUDONYM.fullmatch(value):
            return "redacted_" + hashlib.sha256(f"{salt}{value}".encode()).hexdigest()[:12]
        case _:
            return value


def _replace_texts(value: S) -> S:
    """Return a struct without private texts, at every depth."""
    closed = _closed_fields(type(value))
    return structs.replace(
        value,
        **{
            name: _hide(getattr(value, name), name, is_closed=name in closed)
            for name in value.__struct_fields__
        },
    )


def _hide(value: object, name: str, *, is_closed: bool = False) -> object:
    match value:
        case ImageBlock() | AudioBlock() | DocumentBlock():
            return TextBlock(REDACTED)
        case ThinkingBlock():
            return ThinkingBlock(REDACTED)  # a signature is of the text
        case ToolUseBlock():
            return ToolUseBlock(value.id, value.name, {})
        case Struct():
            return _replace_texts(value)
        case tuple():
            elements = cast("tuple[object, ...]", value)
            return tuple(_hide(each, name, is_closed=is_closed) for each in elements)
        case Mapping() if name in _MAPPINGS_BY_ID:
            items = cast("Mapping[str, object]", value).items()
            return {key: _hide(each, name) for key, each in items}
        case Mapping():
            return {}
        case str() if not value or isinstance(value, Enum) or is_closed:
            return value
        case str() if name in KEPT or name in NAMES:
            return value
        case str():
            return REDACTED
        case _:
            return value


@cache
def _closed_fields(kind: type[Struct]) -> frozenset[str]:
    """Return the fields whose texts are values of a closed set, which are not private."""
    found = inspect.type_info(kind)
    assert isinstance(found, inspect.StructType), "of a Struct"
    return frozenset(field.name for field in found.fields if _is_closed(field.type))


def _is_closed(kind: inspect.Type) -> bool:
    match kind:
        case inspect.UnionType(types=types):
            return any(map(_is_closed, types)) and not any(
                isinstance(each, inspect.StrType) for each in types
            )
        case inspect.VarTupleType(item_type=item):
            return _is_closed(item)
        case inspect.LiteralType() | inspect.EnumType():
            return True
        case _:
            return False
