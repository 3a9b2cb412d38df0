"""The sessions that a client has open."""

import asyncio
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any, TypeAlias

from acp.exceptions import RequestError
from acp.schema import (
    AcpMcpServer,
    CloseSessionRequest,
    CloseSessionResponse,
    HttpMcpServer,
    ListSessionsRequest,
    ListSessionsResponse,
    LoadSessionRequest,
    LoadSessionResponse,
    McpServerStdio,
    NewSessionRequest,
    NewSessionResponse,
    PromptRequest,
    PromptResponse,
    ResumeSessionRequest,
    ResumeSessionResponse,
    SessionInfo,
    SetSessionConfigOptionResponse,
    SetSessionConfigOptionSelectRequest,
    SetSessionModeRequest,
    SetSessionModeResponse,
    SseMcpServer,
)

from yourtool.agent.runtime import Runtime
from yourtool.agent.session.demo_workspace import find_scratch_copies
from yourtool.agent.session.session import Session
from yourtool.errors import UsageError
from yourtool.events.tree import select_branch
from yourtool.extensions.editors import options
from yourtool.extensions.editors.client import Client
from yourtool.extensions.editors.questions import Questions
from yourtool.extensions.editors.turns import OpenSession
from yourtool.extensions.editors.updates import to_replayed
from yourtool.foundation.files import is_directory
from yourtool.foundation.text import printable
from yourtool.paths import Paths, from_stored_path
from yourtool.settings.config import RunOptions
from yourtool.tools.processes.json_rpc import INVALID_REQUEST
from yourtool.tools.servers.settings import SettingsFile

RESOURCE_NOT_FOUND = -32002
AnyServer: TypeAlias = HttpMcpServer | SseMcpServer | AcpMcpServer | McpServerStdio
_PAGE = 100
"""Sessions in one answer."""
_MAX_LISTED = 10_000


class Sessions:
    """Opens and closes sessions; the runtime opens with the first one."""

    def __init__(self, paths: Paths, run_options: RunOptions, client: Client) -> None:
        self._paths = paths
        self._options = run_options
        self._client = client
        self._runtime: Runtime | None = None
        self._opening = asyncio.Lock()
        self._open: dict[str, OpenSession] = {}

    async def new(self, request: NewSessionRequest) -> NewSessionResponse:
        """Start a session."""
        workspace = await _require_directory("cwd", request.cwd)
        dirs = await _require_directories(request.additional_directories)
        servers = to_settings(request.mcp_servers)
        runtime, questions = await self._get_runtime(), Questions(self._client)
        async with self._opening:
            runtime.tool_servers.give(workspace, servers)
            session = await runtime.new_session(questions.confirm, workspace=workspace, dirs=dirs)
        self._add(session, questions, runtime)
        return NewSessionResponse(
            session_id=session.id,
            modes=options.build_modes(session),
            config_options=[*options.build_options(session, runtime)],
        )

    async def load(self, request: LoadSessionRequest) -> LoadSessionResponse:
        """Open a stored session and show all of it."""
        opened = await self._resume(request)
        session = opened.session
        situation = opened.build_situation()
        for fact in select_branch(await session.stored.read_all()):
            await self._client.show(session.id, *to_replayed(fact, situation))
        return LoadSessionResponse(
            modes=options.build_modes(session),
            config_options=[*options.build_options(session, await self._get_runtime())],
        )

    async def resume(self, request: ResumeSessionRequest) -> ResumeSessionResponse:
        """Open a stored session, which the client shows already."""
        session = (await self._resume(request)).session
        return ResumeSessionResponse(
            modes=options.build_modes(session),
            config_options=[*options.build_options(session, await self._get_runtime())],
        )

    async def prompt(self, request: PromptRequest) -> PromptResponse:
        """Run a turn."""
        return await self._find(request.session_id).prompt([*request.prompt])

    async def set_mode(self, request: SetSessionModeRequest) -> SetSessionModeResponse:
        """Set the approval mode of a session."""
        session = self._find(request.session_id).session
        session.mode = options.parse_mode(request.mode_id)
        return SetSessionModeResponse()

    async def set_option(
        self, request: SetSessionConfigOptionSelectRequest
    ) -> SetSessionConfigOptionResponse:
        """Select the model or the reasoning effort of a session."""
        opened = self._find(request.session_id)
        session = opened.session
        match request.config_id:
            case options.MODEL:
                await opened.apply(session.select_model(request.value))
            case options.EFFORT:
                await opened.apply(session.select_effort(options.parse_effort(request.value)))
            case other:
                raise UsageError(
                    f"there is no option `{printable(other)}`; there are `{options.MODEL}` and"
                    f" `{options.EFFORT}`"
                )
        found = options.build_options(session, await self._get_runtime())
        return SetSessionConfigOptionResponse(config_options=[*found])

    async def list(self, request: ListSessionsRequest) -> ListSessionsResponse:
        """Return the stored sessions, of one directory or of all, last used first."""
        runtime = await self._get_runtime()
        workspaces = list[str]()
        if request.cwd:
            here = await _require_directory("cwd", request.cwd)
            copies = await asyncio.to_thread(find_scratch_copies, here, self._paths.scratch)
            workspaces = [str(each) for each in (here, *copies)]
        found = await runtime.store.list(*workspaces, limit=_MAX_LISTED)
        start = _parse_cursor(request.cursor)
        page = found[start : start + _PAGE]
        return ListSessionsResponse(
            sessions=[
                SessionInfo(
                    session_id=each.id,
                    cwd=request.cwd or each.workspace_path,
                    title=printable(each.title) or None,
                    updated_at=each.updated_at.isoformat(),
                )
                for each in page
            ],
            next_cursor=str(start + _PAGE) if start + _PAGE < len(found) else None,
        )

    async def close_session(self, request: CloseSessionRequest) -> CloseSessionResponse:
        """Stop the turn of a session and close it; it stays stored."""
        opened = self._find(request.session_id)
        del self._open[request.session_id]
        await opened.close()
        return CloseSessionResponse()

    def cancel(self, session_id: str) -> None:
        """Stop the turn of a session."""
        if (opened := self._open.get(session_id)) is not None:
            opened.cancel()

    def cancel_all(self) -> None:
        """Stop the turns of all sessions."""
        for opened in self._open.values():
            opened.cancel()

    async def close(self) -> None:
        """Store the end of all sessions."""
        while self._open:
            _, opened = self._open.popitem()
            await opened.close()
        if self._runtime is not None:
            await self._runtime.close()

    def _find(self, session_id: str) -> OpenSession:
        """Return an open session.

        Raises:
            RequestError: it is not open.
        """
        if (found := self._open.get(session_id)) is None:
            raise RequestError(
                RESOURCE_NOT_FOUND,
                f"There is no open session `{printable(session_id)}`; `session/new`,"
                " `session/load` and `session/resume` open one.",
            )
        return found

    async def _get_runtime(self) -> Runtime:
        async with self._opening:
            if self._runtime is None:
                self._runtime = await Runtime.open(self._paths, self._options)
            return self._runtime

    async def _resume(self, request: LoadSessionRequest | ResumeSessionRequest) -> OpenSession:
        """Open a stored session in its directory; that of the demo is a copy.

        Raises:
            RequestError: it is open already.
            UsageError: it belongs to another directory.
        """
        session_id = request.session_id
        if session_id in self._open:
            text = f"The session `{printable(session_id)}` is open; close it first."
            raise RequestError(INVALID_REQUEST, text)
        workspace = await _require_directory("cwd", request.cwd)
        dirs = await _require_directories(request.additional_directories)
        servers = to_settings(request.mcp_servers or ())
        runtime, questions = await self._get_runtime(), Questions(self._client)
        async with self._opening:
            stored = from_stored_path(await runtime.store.find_workspace(session_id))
            if workspace != stored and stored.parent != self._paths.scratch:
                place = printable(str(stored))
                raise UsageError(f"`cwd`: the session belongs to `{place}`; open it there.")
            runtime.tool_servers.give(workspace, servers)
            session = await runtime.resume(session_id, questions.confirm, dirs=dirs)
        return self._add(session, questions, runtime)

    def _add(self, session: Session, questions: Questions, runtime: Runtime) -> OpenSession:
        questions.session_id, questions.workspace = session.id, session.workspace
        opened = self._open[session.id] = OpenSession(session, runtime, self._client)
        opened.offer_commands()
        return opened


def to_settings(servers: Sequence[AnyServer]) -> SettingsFile | None:
    """Return the MCP servers of a client as a file of settings; None without any.

    They are the user's, who has configured them in the editor.

    Raises:
        UsageError: two servers have the same name.
    """
    entries = dict[str, dict[str, Any]]()
    for server in servers:
        if server.name in entries:
            raise UsageError(f"`mcpServers`: two servers are named `{printable(server.name)}`.")
        match server:
            case McpServerStdio():
                env = {each.name: each.value for each in server.env}
                entry = {"command": server.command, "args": server.args, "env": env}
            case HttpMcpServer() | SseMcpServer():
                headers = {each.name: each.value for each in server.headers}
                entry = {"type": server.type, "url": server.url, "headers": headers}
            case AcpMcpServer():
                entry = {"type": server.type}  # reported as an unknown type
        entries[server.name] = entry
    text = json.dumps({"mcpServers": entries})
    return SettingsFile("the editor's `mcpServers`", text, "option") if entries else None


def _parse_cursor(cursor: str | None) -> int:
    if not cursor:
        return 0
    if not (cursor.isascii() and cursor.isdigit()):
        raise UsageError("`cursor` must be the `nextCursor` of an earlier answer.")
    return int(cursor[:9])


async def _require_directories(names: Sequence[str] | None) -> list[Path] | None:
    if not names:
        return None
    return [await _require_directory("additionalDirectories", name) for name in names]


async def _require_directory(field: str, name: str) -> Path:
    """Return the real path of a directory of the client.

    Raises:
        UsageError: it is not an absolute path, or no directory.
    """
    shown = printable(name)
    if not name or "\0" in name or not Path(name).is_absolute():
        raise UsageError(f"`{field}` must be an absolute path, not `{shown}`.")
    try:
        path = await asyncio.to_thread(lambda: Path(name).resolve(strict=True))
        if await asyncio.to_thread(is_directory, path):
            return path
    except (OSError, RuntimeError, ValueError) as error:
        raise UsageError(f"`{field}`: there is no directory `{shown}`.") from error
    raise UsageError(f"`{field}`: `{shown}` is not a directory.")
