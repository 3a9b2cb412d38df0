"""Repair of the answers of a server.

The library validates an answer as a whole: one odd tool or block would cost all others.
"""

import json
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from typing import Any, Protocol, TypeAlias, cast

import mcp_types
from anyio.abc import ObjectReceiveStream
from mcp.client import Transport
from mcp.shared.message import SessionMessage
from pydantic import BaseModel, TypeAdapter, ValidationError

from yourtool.foundation.text import printable
from yourtool.tools.servers.offers import MAX_OFFERS
from yourtool.tools.servers.projection import MAX_TOOLS

_Received: TypeAlias = SessionMessage | Exception
_Object: TypeAlias = dict[str, Any]

_BLOCK: TypeAdapter[Any] = TypeAdapter(mcp_types.ContentBlock)
_REQUIRED = frozenset({"name", "inputSchema", "uri"})
_MAX_NAME = 64
_MAX_BLOCKS = 1_000


class _Source(Protocol):
    async def receive(self) -> _Received: ...
    async def aclose(self) -> None: ...


class AnswerRepairs:
    """Repairs the answers of one connection."""

    def __init__(self) -> None:
        self._dropped = list[str]()

    def take_dropped(self) -> tuple[str, ...]:
        """Return why tools were dropped since the last call, each with its name."""
        taken, self._dropped = tuple(self._dropped), []
        return taken

    @asynccontextmanager
    async def wrap(self, transport: Transport) -> AsyncGenerator[tuple[Any, Any], None]:
        """Yield the streams of a transport; what comes in is repaired."""
        async with transport as (incoming, outgoing):
            yield _Repaired(incoming, self), outgoing

    def repair(self, received: _Received) -> _Received:
        """Return a message whose parts are valid; others are unchanged."""
        if isinstance(received, SessionMessage):
            message = received.message
            if isinstance(message, mcp_types.JSONRPCResponse):
                message.result = self._repair_result(message.result)
        return received

    def _repair_result(self, result: _Object) -> _Object:
        repaired = dict(result)
        if not isinstance(repaired.get("structuredContent", {}), dict):
            del repaired["structuredContent"]
        for name, value in result.items():
            parts = cast("list[object]", value) if isinstance(value, list) else []
            match name:
                case "tools" if parts:
                    first = parts[:MAX_TOOLS]
                    repaired[name] = [each for tool in first for each in self._repair_tool(tool)]
                case "prompts" if parts:
                    repaired[name] = _keep_valid(parts[:MAX_OFFERS], mcp_types.Prompt)
                case "resources" if parts:
                    repaired[name] = _keep_valid(parts[:MAX_OFFERS], mcp_types.Resource)
                case "content" if parts:
                    repaired[name] = _repair_blocks(parts)
                case _:
                    pass
        return repaired

    def _repair_tool(self, tool: object) -> Sequence[_Object]:
        """Return a tool with what is valid of it, or none without a name and a schema."""
        match tool:
            case {"name": str(name), "inputSchema": dict()} if name:
                whole = cast("_Object", tool)
                schema = {**whole["inputSchema"], "type": "object"}
                return _keep_valid([{**whole, "inputSchema": schema}], mcp_types.Tool)
            case {"name": str(name)} if name:
                named, problem = name, "its `inputSchema` is not an object"
            case _:
                named, problem = "?", "it has no name"
        self._dropped.append(f"`{printable(named[:_MAX_NAME])}`: {problem}")
        return ()


class _Repaired(ObjectReceiveStream[_Received]):
    def __init__(self, stream: _Source, repairs: AnswerRepairs) -> None:
        self._stream, self._repairs = stream, repairs

    async def receive(self) -> _Received:
        return self._repairs.repair(await self._stream.receive())

    async def aclose(self) -> None:
        await self._stream.aclose()


def _keep_valid(items: Sequence[object], kind: type[BaseModel]) -> list[_Object]:
    """Return the items that are valid, without optional fields that are not."""
    found = list[_Object]()
    for item in items:
        if not isinstance(item, dict):
            continue
        whole = cast("_Object", item)
        wrong = _find_wrong(whole, kind)
        kept = {name: value for name, value in whole.items() if name not in wrong}
        if not wrong & _REQUIRED and not _find_wrong(kept, kind):
            found.append(kept)
    return found


def _find_wrong(item: _Object, kind: type[BaseModel]) -> set[str]:
    """Return the names of the fields that are not valid."""
    try:
        kind.model_validate(item)
    except ValidationError as error:
        return {str(each["loc"][0]) for each in error.errors() if each["loc"]}
    return set()


def _repair_blocks(blocks: list[object]) -> list[object]:
    """Return the first blocks; the work for the others would stop the event loop."""
    repaired = [*map(_repair_block, blocks[:_MAX_BLOCKS])]
    if (more := len(blocks) - _MAX_BLOCKS) > 0:
        repaired.append({"type": "text", "text": f"[{more:,} more blocks were not read]"})
    return repaired


def _repair_block(block: object) -> object:
    """Return a block; one of an unknown kind as text."""
    try:
        _BLOCK.validate_python(block)
    except ValidationError:
        return {"type": "text", "text": json.dumps(block, ensure_ascii=False)}
    return block
