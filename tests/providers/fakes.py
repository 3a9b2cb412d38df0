"""Small real things that provider tests share."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import aclosing
from pathlib import Path

from yourtool.effects import SideEffects, ToolDefinition
from yourtool.errors import AdapterError
from yourtool.events.deltas import StreamEvent
from yourtool.ids import new_id
from yourtool.interrupt import Interrupt
from yourtool.messages.blocks import ContentBlock, TextBlock
from yourtool.messages.message import MESSAGE_TYPES, METADATA_TYPES, Message, Role, now
from yourtool.messages.metadata import ReplyMetadata
from yourtool.models import AdapterCapabilities, Model
from yourtool.paths import Paths
from yourtool.providers.base import Adapter, Request
from yourtool.providers.catalogue.models import Catalogue
from yourtool.providers.tool_ids import ToolIdMap

MODEL = Model(id="demo:x", wire_name="x", capabilities=AdapterCapabilities())


def build_paths(root: Path) -> Paths:
    return Paths(root, root / "data", root / "state", root / "cache")


def build_catalogue(*ids: str, aliases: dict[str, tuple[str, ...]] | None = None) -> Catalogue:
    return Catalogue(
        (
            Model(
                id=name,
                wire_name="x",
                capabilities=AdapterCapabilities(),
                aliases=(aliases or {}).get(name, ()),
            )
            for name in ids
        ),
        "2026-01-01",
    )


def make_message(
    role: Role, *content: ContentBlock | str, model: str | None = None, session_id: str = "sess_1"
) -> Message:
    return MESSAGE_TYPES[role](
        id=new_id(),
        session_id=session_id,
        role=role,
        content=tuple(TextBlock(part) if isinstance(part, str) else part for part in content),
        metadata=ReplyMetadata(model=model) if role is Role.ASSISTANT else METADATA_TYPES[role](),
        created_at=now(),
    )


def definition(name: str) -> ToolDefinition:
    return ToolDefinition(
        name=name, description=name, input_schema={}, side_effects=SideEffects.NONE
    )


def request(
    *messages: Message,
    model: Model = MODEL,
    tools: tuple[ToolDefinition, ...] = (),
    interrupt: Interrupt | None = None,
    session_id: str = "sess_1",
) -> Request:
    return Request(
        request_id=new_id(),
        session_id=session_id,
        message_id=new_id(),
        model=model,
        messages=messages or (make_message(Role.USER, "hello"),),
        tools=tools,
        max_output_tokens=1000,
        tool_ids=ToolIdMap(),
        interrupt=interrupt or Interrupt(),
    )


async def collect_events(
    adapter: Adapter, outgoing: Request
) -> tuple[list[StreamEvent], AdapterError | None]:
    """Return what an adapter yields and the error it ends with.

    Control goes to the event loop first: a test that plays many replies does not block it.
    """
    events: list[StreamEvent] = []
    await asyncio.sleep(0)
    try:
        async with aclosing(adapter.stream(outgoing)) as stream:
            async for event in stream:
                events.append(event)
    except AdapterError as error:
        return events, error
    return events, None


async def join_chunks(chunks: AsyncIterator[bytes]) -> bytes:
    return b"".join([chunk async for chunk in chunks])
