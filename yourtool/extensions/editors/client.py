"""Requests of the agent to the client.

They show updates, ask the user and read files that are open in the editor.
"""

import asyncio
from contextlib import suppress

from acp.connection import Connection
from acp.exceptions import RequestError
from acp.meta import CLIENT_METHODS
from acp.schema import (
    ClientCapabilities,
    PermissionOption,
    ReadTextFileRequest,
    ReadTextFileResponse,
    RequestPermissionRequest,
    RequestPermissionResponse,
    SessionNotification,
    ToolCallUpdate,
)
from acp.utils import serialize_params
from pydantic import ValidationError

from yourtool.extensions.editors.stdio import LineTransport
from yourtool.extensions.editors.updates import Update

_READ_SECONDS = 10.0
"""How long a client can take for the text of a file."""


class Client:
    """The client of one connection."""

    def __init__(self, connection: Connection, transport: LineTransport) -> None:
        self.capabilities = ClientCapabilities()
        self._connection = connection
        self._transport = transport

    @property
    def reads_files(self) -> bool:
        """Whether it gives the text of files as it has them open."""
        files = self.capabilities.fs
        return files is not None and bool(files.read_text_file)

    async def show(self, session_id: str, *updates: Update) -> None:
        """Show updates of a session; a client that is gone gets none."""
        with suppress(ConnectionError):
            for update in updates:
                notification = SessionNotification(session_id=session_id, update=update)
                await self._connection.send_notification(
                    CLIENT_METHODS["session_update"], serialize_params(notification)
                )

    async def ask(
        self, session_id: str, call: ToolCallUpdate, options: list[PermissionOption]
    ) -> str | None:
        """Return the id of the option that the user chose; None without an answer."""
        request = RequestPermissionRequest(session_id=session_id, tool_call=call, options=options)
        answer = await self._request(CLIENT_METHODS["session_request_permission"], request)
        try:
            outcome = RequestPermissionResponse.model_validate(answer).outcome
        except ValidationError:
            return None
        return outcome.option_id if outcome.outcome == "selected" else None

    async def read_file(self, session_id: str, path: str) -> str | None:
        """Return the text of a file as the client has it; None if it does not give it in time."""
        request = ReadTextFileRequest(session_id=session_id, path=path)
        try:
            async with asyncio.timeout(_READ_SECONDS):
                answer = await self._request(CLIENT_METHODS["fs_read_text_file"], request)
            return ReadTextFileResponse.model_validate(answer).content
        except (TimeoutError, ValidationError):
            return None

    async def _request(
        self, method: str, request: RequestPermissionRequest | ReadTextFileRequest
    ) -> object:
        """Return the answer of the client; None if it has none."""
        if not self._transport.can_answer:
            return None
        try:
            return await self._connection.send_request(method, serialize_params(request))
        except (ConnectionError, RequestError):
            return None
