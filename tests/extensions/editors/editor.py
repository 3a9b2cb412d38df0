"""An editor: the client of the Python SDK, connected to a server in this process."""

import asyncio
import json
import socket
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from acp import connect_to_agent, text_block
from acp.client.connection import ClientSideConnection
from acp.exceptions import RequestError
from acp.schema import (
    AllowedOutcome,
    ClientCapabilities,
    DeniedOutcome,
    FileSystemCapabilities,
    ReadTextFileResponse,
    RequestPermissionResponse,
)

from yourtool.extensions.editors.server import Server
from yourtool.paths import resolve_paths
from yourtool.settings.config import RunOptions

READS = ClientCapabilities(fs=FileSystemCapabilities(read_text_file=True))
CANCELLED = "cancelled"
"""The client withdraws the question."""


class Editor:
    """Records what the agent shows and asks, and answers with the id of an option."""

    def __init__(self, *answers: str) -> None:
        self.updates: list[dict[str, Any]] = []
        self.asked: list[dict[str, Any]] = []
        self.options: list[dict[str, str]] = []
        """The names of the options of each question, by their id."""
        self.buffers: dict[str, str] = {}
        self.when_asked: Callable[[], Any] = lambda: None
        self._answers = list(answers)
        self.conn: ClientSideConnection
        self.server: Server
        self.writer: asyncio.StreamWriter

    def on_connect(self, conn) -> None:
        pass

    async def session_update(self, session_id, update, **_) -> None:
        del session_id
        self.updates.append(update.model_dump(exclude_none=True, by_alias=True))

    async def request_permission(self, session_id, tool_call, options, **_):
        del session_id
        self.asked.append(tool_call.model_dump(exclude_none=True, by_alias=True))
        self.options.append({each.option_id: each.name for each in options})
        if (waiting := self.when_asked()) is not None:
            await waiting
        answer = self._answers.pop(0) if len(self._answers) > 1 else self._answers[0]
        if answer == CANCELLED:
            return RequestPermissionResponse(outcome=DeniedOutcome(outcome="cancelled"))
        if answer == "error":
            raise RequestError(-32603, "the editor failed")
        return RequestPermissionResponse(
            outcome=AllowedOutcome(outcome="selected", option_id=answer)
        )

    async def read_text_file(self, session_id, path, line=None, limit=None, **_):
        del session_id, line, limit
        if path not in self.buffers:
            raise RequestError(-32002, "not open")
        return ReadTextFileResponse(content=self.buffers[path])

    def of(self, kind: str) -> list[dict[str, Any]]:
        """Return the updates of a kind."""
        return [each for each in self.updates if each["sessionUpdate"] == kind]

    @property
    def text(self) -> str:
        """All text of replies."""
        return "".join(each["content"]["text"] for each in self.of("agent_message_chunk"))

    def call(self, call_id: str) -> dict[str, Any]:
        """Return a call as the updates about it have it together."""
        found: dict[str, Any] = {}
        for each in self.updates:
            if each.get("toolCallId") == call_id:
                found |= each
        return found

    @property
    def calls(self) -> list[dict[str, Any]]:
        """All calls as they are at last."""
        return [self.call(each["toolCallId"]) for each in self.of("tool_call")]

    async def open(self, cwd: Path, **fields: Any) -> str:
        """Initialize, start a session and return its id."""
        await self.conn.initialize(protocol_version=1, **fields)
        return (await self.conn.new_session(cwd=str(cwd), mcp_servers=[])).session_id

    async def prompt(self, session_id: str, text: str) -> str:
        """Return the reason for which the turn stopped."""
        answer = await self.conn.prompt(session_id=session_id, prompt=[text_block(text)])
        return answer.stop_reason


@asynccontextmanager
async def connected(
    work: Path, *answers: str, editor: Editor | None = None, **options: Any
) -> AsyncGenerator[Editor, None]:
    """Yield an editor that is connected to a server, whose input ends afterwards."""
    editor = editor or Editor(*answers or ("once",))
    ours, theirs = socket.socketpair()
    with ours:
        run_options = RunOptions(workspace=work, **options)
        editor.server = Server(resolve_paths(), run_options, ours.fileno(), ours.fileno())
        serving = asyncio.create_task(editor.server.serve())
        reader, editor.writer = await asyncio.open_connection(sock=theirs, limit=2**24)
        editor.conn = connect_to_agent(editor, editor.writer, reader, use_unstable_protocol=True)
        try:
            yield editor
        finally:
            if not editor.writer.is_closing():
                editor.writer.write_eof()
            await serving
            await editor.conn.close()
            editor.writer.close()


@asynccontextmanager
async def raw_lines(work: Path) -> AsyncGenerator["RawLines", None]:
    """Yield the two ends of a connection without a library."""
    ours, theirs = socket.socketpair()
    with ours:
        server = Server(resolve_paths(), RunOptions(workspace=work), ours.fileno(), ours.fileno())
        serving = asyncio.create_task(server.serve())
        reader, writer = await asyncio.open_connection(sock=theirs, limit=2**24)
        try:
            yield RawLines(reader, writer)
        finally:
            if not writer.is_closing():
                writer.write_eof()
            await serving
            writer.close()


class RawLines:
    """Sends bytes, and receives messages."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.reader = reader
        self.writer = writer

    def send(self, line: bytes | dict[str, Any]) -> None:
        data = line if isinstance(line, bytes) else json.dumps(line).encode()
        self.writer.write(data + b"\n")

    async def receive(self) -> dict[str, Any]:
        return json.loads(await self.reader.readline())

    async def ask(self, method: str, params: Any = None, number: int = 1) -> dict[str, Any]:
        """Return the answer to a request."""
        self.send({"jsonrpc": "2.0", "id": number, "method": method, "params": params})
        while (message := await self.receive()).get("id") != number or "method" in message:
            pass
        return message
