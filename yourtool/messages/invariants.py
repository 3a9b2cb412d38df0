"""Validation of messages and sessions.

Codes are those of the message contract: M1–M5 for a message, T1–T3 for tool calls across a
session, D1–D4 for metadata. Problems with a single value name its field instead.
"""

import math
from collections import Counter
from collections.abc import Iterator, Sequence
from datetime import datetime
from decimal import Decimal

from msgspec import Struct

from yourtool.ids import is_ulid
from yourtool.messages.blocks import (
    AudioBlock,
    ContentBlock,
    DocumentBlock,
    ImageBlock,
    RedactedThinkingBlock,
    TextBlock,
    ThinkingBlock,
    ToolResultBlock,
    ToolUseBlock,
)
from yourtool.messages.message import Message, ReplyMessage, ResultMessage, Role
from yourtool.messages.metadata import MessageStatus, ReplyMetadata

PERMITTED: dict[Role, tuple[type[ContentBlock], ...]] = {
    Role.USER: (TextBlock, ImageBlock, AudioBlock, DocumentBlock),
    Role.ASSISTANT: (TextBlock, ToolUseBlock, ThinkingBlock, RedactedThinkingBlock),
    Role.TOOL: (ToolResultBlock,),
    Role.SYSTEM: (TextBlock,),
}


def validate_message(message: Message) -> list[str]:
    """Return the problems of one message, each prefixed with its code.

    A `partial` message has no problems. One that was cancelled or failed may be incomplete, but
    contains only blocks of its role.
    """
    if message.metadata.status is MessageStatus.PARTIAL:
        return []
    problems = _content_problems(message)
    if isinstance(message, ResultMessage):
        problems += _link_problems(message)
    if message.metadata.status is MessageStatus.COMPLETE:
        if not message.content and message.role is not Role.SYSTEM:
            problems.insert(0, f"M1: a complete {message.role} message needs content")
        if isinstance(message, ReplyMessage):
            problems += _reply_problems(message.metadata)
    return problems


_MAX_SCHEMA_VERSION = 2**31 - 1


def value_problems(message: Message) -> list[str]:
    """Return the problems with single values of a message before it is stored.

    Of a `partial` message only the id and the times are checked.
    """
    problems = [] if is_ulid(message.id) else [f"`id` is `{message.id}`, which is not a ULID"]
    problems += _time_problems(message)
    if message.schema_version > _MAX_SCHEMA_VERSION:
        problems.append(f"`schema_version` is {message.schema_version}, which is too large")
    if message.metadata.status is MessageStatus.PARTIAL:
        return problems
    problems += [*_id_problems(message), *_pixel_problems(message)]
    if isinstance(message, ReplyMessage):
        problems += [*_routing_problems(message.metadata), *_counts(message.metadata)]
    return problems


def count_problems(where: str, value: Struct | None) -> Iterator[str]:
    """Yield a problem for every number in `value` that is negative or not finite."""
    for name in value.__struct_fields__ if value is not None else ():
        number = getattr(value, name)
        if not isinstance(number, int | float | Decimal):
            continue
        if not math.isfinite(number) or number < 0:
            yield f"`{where}{name}` is {number}; it must be 0 or more"


def validate_session(messages: Sequence[Message]) -> list[str]:
    """Return the problems with the tool calls of a conversation.

    T1: a call id that is not ours; T2: a result without a call; T3: a call with two results; and
    calls without a result. Single messages are not validated here.
    """
    blocks = [block for message in messages for block in message.content]
    uses = [block.id for block in blocks if isinstance(block, ToolUseBlock)]
    results = [block.tool_use_id for block in blocks if isinstance(block, ToolResultBlock)]
    asked, answered = set(uses), Counter(results)
    return (
        [f"T1: `{use}` is not an id of ours" for use in uses if not use.startswith("tu_")]
        + [f"T2: a result for `{use}`, which is no call" for use in answered if use not in asked]
        + [f"T3: `{use}` has {count} results" for use, count in answered.items() if count > 1]
        + [f"unanswered: `{use}` has no result" for use in uses if use not in answered]
    )


def _content_problems(message: Message) -> list[str]:
    permitted = PERMITTED[message.role]
    problems = [
        f"M3: {type(block).__name__} is not allowed in a {message.role} message"
        for block in message.content
        if not isinstance(block, permitted)
    ]
    if message.role is Role.TOOL and len(message.content) != 1:
        problems.append(
            f"M3: a tool message contains exactly one result, not {len(message.content)} blocks"
        )
    return problems


def _link_problems(message: ResultMessage) -> list[str]:
    parent, result = message.metadata.parent_tool_use_id, message.result
    if parent is None:
        return ["D4: a tool message needs `parent_tool_use_id`"]
    if result is not None and result.tool_use_id != parent:
        return [f"D4: `parent_tool_use_id` is `{parent}`, the result is for `{result.tool_use_id}`"]
    return []


def _reply_problems(metadata: ReplyMetadata) -> list[str]:
    problems = list[str]()
    if metadata.model is None or metadata.provider is None:
        problems.append("D1: a complete assistant message needs `model` and `provider`")
    if metadata.routing is None:
        problems.append("D2: a complete assistant message needs `routing`")
    if metadata.usage is None:
        problems.append("D3: a complete assistant message needs `usage`")
    return problems


def _time_problems(message: Message) -> Iterator[str]:
    source = message.metadata.import_source
    times = {
        "created_at": message.created_at,
        "metadata.import.imported_at": source.imported_at if source else None,
    }
    for name, value in times.items():
        if isinstance(value, datetime) and value.tzinfo is None:
            yield f"`{name}` has no time zone"


def _id_problems(message: Message) -> Iterator[str]:
    seen: set[str] = set()
    for place, block in enumerate(message.content):
        if isinstance(block, ToolUseBlock):
            name, value = f"content[{place}].id", block.id
            if value in seen:
                yield f"T3: `{name}` is `{value}`, which another call in the message also has"
            seen.add(value)
        elif isinstance(block, ToolResultBlock):
            name, value = f"content[{place}].tool_use_id", block.tool_use_id
        else:
            continue
        if not (value.startswith("tu_") and is_ulid(value.removeprefix("tu_"))):
            yield f"T1: `{name}` is `{value}`; ids of calls have the form `tu_<ulid>`"


def _routing_problems(metadata: ReplyMetadata) -> Iterator[str]:
    model, routing = metadata.model, metadata.routing
    if routing is None:
        return
    if model is not None and routing.chosen_model != model:
        yield (
            f"`metadata.routing.chosen_model` is `{routing.chosen_model}`,"
            f" but `metadata.model` is `{model}`"
        )
    if routing.confidence is not None and not 0 <= routing.confidence <= 1:
        yield f"`metadata.routing.confidence` is {routing.confidence}; it must be from 0 to 1"


def _counts(metadata: ReplyMetadata) -> Iterator[str]:
    yield from count_problems("metadata.usage.", metadata.usage)
    yield from count_problems("metadata.usage_extra.", metadata.usage_extra)
    receipt = metadata.usage_extra.receipt if metadata.usage_extra else None
    limits = receipt.rate_limits if receipt else None
    yield from count_problems("metadata.usage_extra.receipt.rate_limits.", limits)
    yield from count_problems("metadata.request.", metadata.request)


def _pixel_problems(message: Message) -> Iterator[str]:
    for place, block in enumerate(message.content):
        if isinstance(block, ImageBlock) and block.pixels and min(block.pixels) < 1:
            yield f"`content[{place}].pixels` is {block.pixels}; both must be 1 or more"
