"""One connection to an MCP server.

The only user of the library's client. Nothing cancels it from outside: deadlines are those of
scopes in the same task, and a request to close ends it in order.
"""

import asyncio
import math
from collections.abc import Awaitable, Callable
from contextlib import suppress
from functools import partial
from typing import Any, cast

import anyio
import httpx2
import mcp_types
from mcp import Client, MCPError
from mcp.client import ClientRequestContext, Transport
from mcp.client.auth import OAuthFlowError
from mcp.client.session import ElicitationFnT
from mcp.client.streamable_http import streamable_http_client
from msgspec import Struct
from pydantic import BaseModel, ValidationError

from yourtool import __version__
from yourtool.foundation.decompression import ACCEPTED
from yourtool.foundation.text import printable
from yourtool.tools.mcp.answer_repairs import AnswerRepairs
from yourtool.tools.mcp.login_addresses import LoginAddresses, RefusedAddressError
from yourtool.tools.mcp.questions import Answer, ask_address, ask_form
from yourtool.tools.mcp.responses import limit_response
from yourtool.tools.mcp.transport import StdioTransport
from yourtool.tools.mcp.unread_answers import UnreadAnswers
from yourtool.tools.servers.calls import ASKING_SECONDS, ForeignResult, ServerConnectionError
from yourtool.tools.servers.client import CallRequest, Owner, ToolList
from yourtool.tools.servers.offers import MAX_OFFERS, Offers, build_prompt, build_resource
from yourtool.tools.servers.projection import MAX_TOOLS, ForeignTool

_MAX_PAGES = 50
_LIST_SECONDS = 1.0
"""Time between two lists, which a server that announces changes without end would repeat."""
_LIST_CHANGES = (
    mcp_types.ToolListChangedNotification,
    mcp_types.PromptListChangedNotification,
    mcp_types.ResourceListChangedNotification,
)
_MAX_REASON = 300
"""Characters of the message of an error."""
_REFUSED = (401, 403)
_END_SECONDS = 0.2
"""How long after an error of the kind "connection closed" the connection has ended."""
_HTTP_SECONDS = 30.0
"""For a connection and for sending; replies can take as long as their call."""


class _Call:
    """A request that was sent, and its limits."""

    def __init__(self, request: CallRequest) -> None:
        self.request = request
        self.asking_seconds = ASKING_SECONDS
        """How long questions to the user can still take."""
        self.scope = anyio.CancelScope(deadline=anyio.current_time() + request.seconds)
        request.result.add_done_callback(self._obey)

    def _obey(self, result: asyncio.Future[ForeignResult]) -> None:
        if result.cancelled():
            self.scope.cancel()  # which the server learns from a notification


class _Wire(Struct, frozen=True):
    """A transport and how it ends."""

    streams: Transport
    ended: anyio.Event
    get_problem: Callable[[], str] = str
    """Returns how the server broke the protocol; empty if it did not."""


async def serve_child(transport: StdioTransport, owner: Owner) -> None:
    """Connect to a child process and serve its owner until the connection ends.

    Raises:
        ServerConnectionError: it failed, or ended unasked.
    """
    try:
        await _serve(_Wire(transport.connect(), transport.ended, lambda: transport.problem), owner)
    except ServerConnectionError as error:
        line = transport.last_line.removesuffix(".")
        last = f"; its last message is: {line}" if line else ""
        raise ServerConnectionError(f"{transport.problem or error}{last}") from error


async def serve_url(
    url: str, headers: dict[str, str], owner: Owner, auth: httpx2.Auth | None = None
) -> None:
    """Connect to a server by HTTP and serve its owner until it closes the connection.

    Raises:
        ServerConnectionError: it failed.
    """
    timeout, statuses = httpx2.Timeout(_HTTP_SECONDS, read=None), [0]

    async def note(response: httpx2.Response) -> None:
        statuses[0] = response.status_code

    check = LoginAddresses(url).check
    hooks: dict[str, list[Callable[..., Any]]] = {
        "request": [check],
        "response": [note, limit_response],
    }
    trusted = await asyncio.to_thread(httpx2.create_ssl_context)  # reads a file of certificates
    client = httpx2.AsyncClient(
        headers=headers, timeout=timeout, auth=auth, event_hooks=hooks, verify=trusted
    )
    client.headers.update(ACCEPTED)
    async with client:
        streams = streamable_http_client(url, http_client=client)
        try:
            await _serve(_Wire(streams, anyio.Event()), owner)
        except RefusedAddressError:
            raise
        except ServerConnectionError as error:
            if statuses[0] in _REFUSED and not error.needs_login:  # the library drops the status
                raise ServerConnectionError("needs a login", needs_login=True) from error
            raise


async def _serve(wire: _Wire, owner: Owner) -> None:
    deadline = anyio.current_time() + owner.connect_seconds
    calls, unread = list[_Call](), UnreadAnswers(wire.ended.set)
    repairs = AnswerRepairs()
    try:
        with anyio.CancelScope(deadline=deadline) as scope:
            async with Client(
                repairs.wrap(unread.limit(wire.streams)),
                client_info=mcp_types.Implementation(name="yourtool", version=__version__),
                message_handler=_build_handler(changed := asyncio.Event()),
                elicitation_callback=_build_elicitation(owner, calls),
                cache=None,
            ) as client:
                list_tools = partial(_list_tools, client, owner, repairs)
                await list_tools()
                scope.deadline = math.inf
                await _serve_calls(client, owner, (wire.ended, changed), calls, list_tools)
    except Exception as error:
        raise _explain(error, unread.problem) from error
    finally:
        problem = unread.problem or wire.get_problem() or "ended"
        for each in calls:
            each.request.fail(f"{problem} during the call")
    if scope.cancelled_caught:
        raise ServerConnectionError(f"did not answer within {owner.connect_seconds:g} s")


async def _serve_calls(
    client: Client,
    owner: Owner,
    events: tuple[anyio.Event, asyncio.Event],
    calls: list[_Call],
    list_tools: Callable[[], Awaitable[None]],
) -> None:
    """Send the calls of the owner, several at a time, until it asks to close."""
    ended, changed = events
    async with anyio.create_task_group() as group:

        async def watch_end() -> None:
            await ended.wait()
            raise ServerConnectionError("ended")

        async def watch_lists() -> None:
            while True:
                await _list_offers(client, owner)
                await changed.wait()
                changed.clear()
                await list_tools()
                await anyio.sleep(_LIST_SECONDS)

        group.start_soon(watch_end)
        group.start_soon(watch_lists)
        while (request := await owner.requests.get()) is not None:
            if not request.result.done():  # it can be cancelled
                calls.append(call := _Call(request))
                group.start_soon(_send_call, client, call, calls)
        group.cancel_scope.cancel()


async def _send_call(client: Client, call: _Call, calls: list[_Call]) -> None:
    """Send one call, and set its result."""
    request = call.request
    with call.scope:
        try:
            found = await _send(client, request)
            if not request.result.done():
                request.result.set_result(found)
        except MCPError as error:
            is_end = error.error.code == mcp_types.CONNECTION_CLOSED  # or a server's own use of it
            if is_end:
                await anyio.sleep(_END_SECONDS)  # the end of the connection has the reason
            request.fail(f"refused the call: {_shorten(error)}", may_have_run=is_end)
        except Exception as error:  # noqa: BLE001 - a result of any form
            request.fail(f"sent a result that is not valid: {_shorten(error)}")
    if call.scope.cancelled_caught:
        request.fail(f"has no result within {request.seconds:g} s")
    calls.remove(call)


async def _send(client: Client, request: CallRequest) -> ForeignResult:
    match request.method:
        case "prompts/get":
            prompt = _dump(await client.get_prompt(request.name, request.arguments))
            return ForeignResult(tuple(each["content"] for each in prompt["messages"]))
        case "resources/read":
            read = _dump(await client.read_resource(request.name))
            contents = ({"type": "resource", "resource": each} for each in read["contents"])
            return ForeignResult(tuple(contents))
        case "tools/call":
            found = await client.call_tool(request.name, request.arguments)
            dumped = _dump(found)
            content, structured = tuple(dumped["content"]), dumped.get("structuredContent")
            return ForeignResult(content, structured, bool(found.is_error))


def _dump(found: BaseModel) -> dict[str, Any]:
    return found.model_dump(mode="json", by_alias=True, exclude_none=True)


async def _list_tools(client: Client, owner: Owner, repairs: AnswerRepairs) -> None:
    """Pass on the tools of the server; a server without tools has an empty list."""
    tools = list[ForeignTool]()
    cursor: str | None = None
    if client.server_capabilities.tools is not None:
        for _ in range(_MAX_PAGES):
            page = await client.list_tools(cursor=cursor)
            tools += map(_describe, page.tools)
            if (cursor := page.next_cursor) is None or len(tools) >= MAX_TOOLS:
                break
    found, instructions = tuple(tools[:MAX_TOOLS]), client.instructions or ""
    await owner.show_tools(ToolList(found, instructions, repairs.take_dropped()))


def _describe(tool: mcp_types.Tool) -> ForeignTool:
    claims = (
        tool.annotations.model_dump(exclude_none=True, by_alias=True) if tool.annotations else {}
    )
    return ForeignTool(
        name=tool.name,
        title=tool.title or "",
        description=tool.description or "",
        input_schema=tool.input_schema,
        annotations=claims,
        only_as_task=tool.execution is not None and tool.execution.task_support == "required",
    )


async def _list_offers(client: Client, owner: Owner) -> None:
    """Pass on prompts and resources; a server that cannot list them has none."""
    can, prompts, resources = client.server_capabilities, list[Any](), list[Any]()
    if can.prompts is not None:
        with suppress(MCPError, ValidationError):
            prompts = (await client.list_prompts()).prompts
    if can.resources is not None:
        with suppress(MCPError, ValidationError):
            resources = (await client.list_resources()).resources
    owner.show_offers(
        Offers(
            tuple(build_prompt(_dump(each)) for each in prompts[:MAX_OFFERS]),
            tuple(build_resource(_dump(each)) for each in resources[:MAX_OFFERS]),
            can.resources is not None,
        )
    )


def _build_handler(changed: asyncio.Event) -> Any:
    async def handle(message: object) -> None:
        if isinstance(message, _LIST_CHANGES):
            changed.set()

    return handle


def _build_elicitation(owner: Owner, calls: list[_Call]) -> ElicitationFnT:
    """Return what answers the server's questions: the user, during a call that can ask."""

    async def answer(
        context: ClientRequestContext, params: mcp_types.ElicitRequestParams
    ) -> mcp_types.ElicitResult:
        del context  # it does not name the call
        call = next((each for each in calls if each.request.ask is not None), None)
        if call is None or (ask := call.request.ask) is None:
            return mcp_types.ElicitResult(action="cancel")
        if isinstance(params, mcp_types.ElicitRequestURLParams):
            asking = ask_address(owner.name, params.message, params.url, ask)
        else:
            schema = params.model_dump(mode="json", by_alias=True)["requestedSchema"]
            asking = ask_form(owner.name, params.message, schema, ask)
        found = await _wait_for_user(call, asking)
        content = found.content if found.action == "accept" else None
        return mcp_types.ElicitResult.model_validate({"action": found.action, "content": content})

    return answer


async def _wait_for_user(call: _Call, asking: Awaitable[Answer]) -> Answer:
    """Wait for the user; this time does not count for the call, but all of it is limited."""
    started, deadline = anyio.current_time(), call.scope.deadline
    call.scope.deadline = math.inf
    found = Answer("cancel")
    with anyio.move_on_after(call.asking_seconds):
        found = await asking
    waited = anyio.current_time() - started
    call.asking_seconds -= waited
    call.scope.deadline = deadline + waited
    return found


def _explain(error: BaseException, problem: str = "") -> ServerConnectionError:
    """Return the problem, which is known or the first cause in groups of errors."""
    if problem:
        return ServerConnectionError(problem)
    if isinstance(error, BaseExceptionGroup):
        return _explain(cast("BaseExceptionGroup[BaseException]", error).exceptions[0])
    match error:
        case ServerConnectionError():
            return error
        case OAuthFlowError():
            return ServerConnectionError(f"needs a login: {_shorten(error)}", needs_login=True)
        case httpx2.HTTPError():
            return ServerConnectionError(f"cannot be reached: {_shorten(error)}")
        case OSError():
            return ServerConnectionError(f"cannot be started: {error.strerror or error}")
        case MCPError() if error.error.code == mcp_types.CONNECTION_CLOSED:
            return ServerConnectionError("ended")
        case MCPError():
            return ServerConnectionError(f"refused the connection: {_shorten(error)}")
        case _:
            return ServerConnectionError(f"broke the protocol: {_shorten(error)}")


def _shorten(error: BaseException) -> str:
    """Return the message of an error, which can quote what the server sent, in a short line."""
    text = " ".join(printable(str(error)).split()) or type(error).__name__
    return text if len(text) <= _MAX_REASON else f"{text[:_MAX_REASON]}…"
