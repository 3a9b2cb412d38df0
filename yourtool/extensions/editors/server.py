"""Agent side of a connection.

https://agentclientprotocol.com/protocol/overview, protocol version 1. Standard output carries the
protocol only.
"""

import asyncio
import logging
import os
import signal
import sys
from collections.abc import Generator, Mapping
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any

from acp.connection import Connection
from acp.exceptions import RequestError
from acp.meta import AGENT_METHODS, PROTOCOL_VERSION
from acp.schema import (
    AgentCapabilities,
    AuthenticateRequest,
    CancelNotification,
    CloseSessionRequest,
    Implementation,
    InitializeRequest,
    InitializeResponse,
    ListSessionsRequest,
    LoadSessionRequest,
    McpCapabilities,
    NewSessionRequest,
    PromptCapabilities,
    PromptRequest,
    ResumeSessionRequest,
    SessionCapabilities,
    SessionCloseCapabilities,
    SessionListCapabilities,
    SessionResumeCapabilities,
    SetSessionConfigOptionSelectRequest,
    SetSessionModeRequest,
)
from pydantic import BaseModel, ValidationError

from yourtool import __version__
from yourtool.errors import SessionNotFoundError, UnknownModelError, UsageError, YourtoolError
from yourtool.extensions import editors
from yourtool.extensions.editors.client import Client
from yourtool.extensions.editors.stdio import LineTransport
from yourtool.foundation.text import printable
from yourtool.foundation.threads import use_bounded_threads
from yourtool.paths import Paths
from yourtool.run_result import ExitCode
from yourtool.settings.config import RunOptions
from yourtool.tools.processes.json_rpc import INTERNAL_ERROR

if TYPE_CHECKING:
    from yourtool.extensions.editors.sessions import Sessions

_log = logging.getLogger(__name__)

_METHOD_NOT_FOUND = -32601
_INVALID_PARAMS = -32602
_RESOURCE_NOT_FOUND = -32002
_MAX_PROBLEMS = 3
_REQUESTS: Mapping[str, type[BaseModel]] = {
    AGENT_METHODS["initialize"]: InitializeRequest,
    AGENT_METHODS["authenticate"]: AuthenticateRequest,
    AGENT_METHODS["session_new"]: NewSessionRequest,
    AGENT_METHODS["session_load"]: LoadSessionRequest,
    AGENT_METHODS["session_resume"]: ResumeSessionRequest,
    AGENT_METHODS["session_list"]: ListSessionsRequest,
    AGENT_METHODS["session_close"]: CloseSessionRequest,
    AGENT_METHODS["session_set_mode"]: SetSessionModeRequest,
    AGENT_METHODS["session_set_config_option"]: SetSessionConfigOptionSelectRequest,
    AGENT_METHODS["session_prompt"]: PromptRequest,
}
_CANCEL = AGENT_METHODS["session_cancel"]


class Server:
    """Serves one client until the end of its input."""

    def __init__(self, paths: Paths, options: RunOptions, source: int, target: int) -> None:
        """`source` and `target`: the descriptors of the client's messages and of ours."""
        self._paths = paths
        self._options = options
        self._transport = LineTransport(source, target, self._cancel_all)
        self._connection = Connection(self._handle, self._transport, listening=False)
        self._client = Client(self._connection, self._transport)
        self._sessions: Sessions | None = None

    async def serve(self) -> None:
        """Answer requests until the client ends; then cancel turns, and wait for their results."""
        try:
            await self._connection.main_loop()
        finally:
            if self._sessions is not None:
                await self._sessions.close()
            await self._connection.close()

    def end(self) -> None:
        """End as if the client had closed its output."""
        self._transport.end()

    def _cancel_all(self) -> None:
        if self._sessions is not None:
            self._sessions.cancel_all()

    async def _handle(self, method: str, params: Any, is_notification: bool) -> Any:
        """Answer a message; every error of a request has a sentence."""
        try:
            if is_notification:
                return self._notice(method, params)
            return await self._answer(_parse(method, params))
        except RequestError:
            raise
        except ValidationError as error:
            raise RequestError(_INVALID_PARAMS, _describe(error)) from error
        except SessionNotFoundError as error:
            raise RequestError(_RESOURCE_NOT_FOUND, str(error)) from error
        except (UsageError, UnknownModelError) as error:
            raise RequestError(_INVALID_PARAMS, str(error)) from error
        except YourtoolError as error:
            raise RequestError(INTERNAL_ERROR, str(error)) from error
        except Exception as error:
            _log.exception("`%s` failed", method)
            text = f"Internal error; see `{self._paths.log_file}`."
            raise RequestError(INTERNAL_ERROR, text) from error

    async def _answer(self, request: BaseModel) -> BaseModel | dict[str, Any]:
        match request:
            case InitializeRequest():
                return self._initialize(request)
            case AuthenticateRequest():
                raise UsageError("no authentication is needed; `yourtool auth` stores keys")
            case NewSessionRequest():
                return await (await self._get_sessions()).new(request)
            case LoadSessionRequest():
                return await (await self._get_sessions()).load(request)
            case ResumeSessionRequest():
                return await (await self._get_sessions()).resume(request)
            case PromptRequest():
                return await (await self._get_sessions()).prompt(request)
            case ListSessionsRequest():
                return await (await self._get_sessions()).list(request)
            case CloseSessionRequest():
                return await (await self._get_sessions()).close_session(request)
            case SetSessionModeRequest():
                return await (await self._get_sessions()).set_mode(request)
            case SetSessionConfigOptionSelectRequest():
                return await (await self._get_sessions()).set_option(request)
            case _:
                raise AssertionError(f"`{type(request).__name__}` is in `_REQUESTS`")

    def _notice(self, method: str, params: Any) -> None:
        """Handle a notification; one that is unknown or not valid is ignored."""
        if method == _CANCEL and self._sessions is not None:
            with suppress(ValidationError):
                self._sessions.cancel(CancelNotification.model_validate(params).session_id)

    def _initialize(self, request: InitializeRequest) -> InitializeResponse:
        if request.client_capabilities is not None:
            self._client.capabilities = request.client_capabilities
        return InitializeResponse(
            protocol_version=PROTOCOL_VERSION,
            agent_info=Implementation(name="yourtool", version=__version__),
            auth_methods=[],
            agent_capabilities=AgentCapabilities(
                load_session=True,
                prompt_capabilities=PromptCapabilities(
                    image=True, audio=True, embedded_context=True
                ),
                mcp_capabilities=McpCapabilities(http=True, sse=False),
                session_capabilities=SessionCapabilities(
                    list=SessionListCapabilities(),
                    resume=SessionResumeCapabilities(),
                    close=SessionCloseCapabilities(),
                ),
            ),
        )

    async def _get_sessions(self) -> "Sessions":
        """Return the sessions; the first request that needs them imports the core in a thread.

        Later ones do not wait, so that a prompt starts before a cancellation that follows it.
        """
        if (found := self._sessions) is None:
            kind = await asyncio.to_thread(getattr, editors.sessions, "Sessions")
            if (found := self._sessions) is None:  # no other request was faster
                found = self._sessions = kind(self._paths, self._options, self._client)
        return found


def _parse(method: str, params: Any) -> BaseModel:
    """Return a request.

    Raises:
        RequestError: there is no such method.
        ValidationError: the parameters are not valid.
    """
    if (kind := _REQUESTS.get(method)) is None:
        text = f"There is no method `{printable(method)}`."
        raise RequestError(_METHOD_NOT_FOUND, text, {"method": method})
    return kind.model_validate({} if params is None else params)


def _describe(error: ValidationError) -> str:
    """Return a sentence with the first problems of parameters and their places."""
    problems = error.errors(include_url=False, include_context=False, include_input=False)
    listed = "; ".join(
        f"`{'.'.join(map(str, each['loc'])) or 'params'}`: {each['msg']}"
        for each in problems[:_MAX_PROBLEMS]
    )
    more = f"; and {len(problems) - _MAX_PROBLEMS} more" if len(problems) > _MAX_PROBLEMS else ""
    return f"The parameters are not valid: {printable(listed)}{more}."


def run(paths: Paths, options: RunOptions) -> int:
    """Serve the client on standard input and output."""
    with _own_streams() as (source, target):
        return asyncio.run(_serve(paths, options, source, target))


async def _serve(paths: Paths, options: RunOptions, source: int, target: int) -> ExitCode:
    use_bounded_threads()
    server, code = Server(paths, options, source, target), ExitCode.ANSWERED
    loop = asyncio.get_running_loop()

    def stop() -> None:
        nonlocal code
        code = ExitCode.INTERRUPTED
        server.end()

    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        loop.add_signal_handler(number, stop)
    await server.serve()
    return code


@contextmanager
def _own_streams() -> Generator[tuple[int, int], None, None]:
    """Return copies of standard input and output, which nothing else can use.

    What is printed by mistake goes to standard error, and child processes read nothing.
    """
    sys.stdout.flush()
    source, target = os.dup(0), os.dup(1)
    nothing = os.open(os.devnull, os.O_RDONLY)
    try:
        os.dup2(nothing, 0)
        os.dup2(2, 1)
        yield source, target
    finally:
        os.dup2(target, 1)
        for each in (nothing, target):
            os.close(each)
