"""One agent with its session.

The protocol is the Agent Client Protocol, version 1 (https://agentclientprotocol.com). A request
that it sends while no prompt runs, or after the prompt was cancelled, is refused unasked.
"""

import asyncio
from collections import deque
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

from yourtool import __version__
from yourtool.errors import AdapterError, InvalidRequestError, OtherAdapterError
from yourtool.extensions.agents.calls import ForeignCall, as_table, read_text
from yourtool.extensions.agents.connection import AgentRequestError, Connection
from yourtool.extensions.agents.messages import (
    INVALID_PARAMS,
    AgentEvent,
    AgentRequest,
    Asked,
    Ended,
    RefusedRequestError,
    Reported,
    Said,
    find_option,
    read_request,
)
from yourtool.settings.tables import is_table
from yourtool.tools.changes.workspace_watch import CommandChanges, WorkspaceWatch
from yourtool.tools.processes.json_rpc import INTERNAL_ERROR
from yourtool.tools.processes.process import ShellCommand

VERSION = 1
OPEN_SECONDS = 60.0
"""Time for the start of the program and of its session."""
CANCEL_SECONDS = 10.0
"""Time that an agent has to stop; then its process is ended."""
MAX_CALLS = 2_000
"""Calls of one prompt."""
_AUTH_REQUIRED = -32000
_CANCELLED = {"outcome": {"outcome": "cancelled"}}


class FoundChanges(NamedTuple):
    """Files that changed during a prompt."""

    changes: CommandChanges
    unasked: tuple[str, ...]
    """The paths about which the user was not asked."""


def never(_path: str) -> bool:
    """Return that no change was asked."""
    return False


def always(_path: str) -> bool:
    """Return that every change was asked: the question named no files."""
    return True


class Agent:
    """A program that answers the prompts of one session of ours."""

    def __init__(
        self,
        name: str,
        build_command: Callable[[], ShellCommand],
        workspace: Path,
        watch: WorkspaceWatch,
        *,
        offers_files: bool = True,
    ) -> None:
        """`name`: that of the model. `build_command` blocks on the file system.

        It raises `AdapterError` if there is no such program. `offers_files`: whether the agent can
        ask us to read and write files.
        """
        self.name = name
        self.unasked = dict[str, None]()
        """The files that it changed without a question since they were reported last."""
        self.permitted = dict[str, set[str]]()
        """The files that the user saw in the diffs of calls that still run, by the ids of these."""
        self._build_command = build_command
        self._workspace = workspace
        self._watch = watch
        self._offers_files = offers_files
        self.found = list[FoundChanges]()
        """Changes that are not in the journal yet."""
        self._is_watching = False
        self._connection: Connection | None = None
        self._session_id = ""
        self._prompt: asyncio.Future[Any] | None = None
        self._is_cancelled = False
        self._calls = dict[str, ForeignCall]()
        self._open = dict[int | str, AgentRequest]()
        """The requests that have no answer yet."""
        self._events = deque[AgentEvent]()
        self._wake = asyncio.Event()

    @property
    def is_working(self) -> bool:
        """Whether the agent works on a prompt."""
        return self._prompt is not None

    @property
    def has_prompt(self) -> bool:
        """Whether the agent works on a prompt, or its end was not read yet."""
        return self.is_working or bool(self._events)

    @property
    def runs_calls(self) -> bool:
        """Whether a call of the agent runs, which can take any time."""
        return any(not each.is_over and not each.is_told for each in self._calls.values())

    async def open(self, *, is_new: bool) -> bool:
        """Start the program and a session, if needed; return whether the session is a new one.

        `is_new`: start another session.

        Raises:
            AdapterError: the agent cannot be used.
        """
        connection = self._connection
        is_running = connection is not None and connection.is_running
        if is_running and self._session_id and not is_new:
            return False
        try:
            async with asyncio.timeout(OPEN_SECONDS):
                connection = connection if connection and is_running else await self._connect()
                about: dict[str, Any] = {"cwd": str(self._workspace), "mcpServers": []}
                answer = await connection.ask("session/new", about)
            session_id = as_table(answer).get("sessionId")
            if not isinstance(session_id, str):
                raise OtherAdapterError(f"`{self.name}` starts no session: its answer has no id")
        except TimeoutError:
            await self.close()
            raise OtherAdapterError(
                f"`{self.name}` did not start within {OPEN_SECONDS:.0f} s; does its `command` in"
                " `config.toml` start an agent with ACP?"
            ) from None
        except AgentRequestError as error:
            await self.close()
            way = "; log in with its own program" if error.code == _AUTH_REQUIRED else ""
            raise OtherAdapterError(f"`{self.name}` starts no session: {error}{way}") from error
        except OSError as error:  # also a lost connection
            await self.close()
            raise OtherAdapterError(f"`{self.name}` cannot be used: it {error}") from error
        except BaseException:
            await self.close()
            raise
        self._session_id = session_id
        return True

    async def begin(self, text: str) -> None:
        """Send a prompt.

        Raises:
            AdapterError: the agent has ended.
        """
        assert self._connection is not None, "it is open"
        await self._begin_watching()
        self._events.clear()
        self._calls.clear()
        self.permitted.clear()
        self._is_cancelled = False
        prompt = [{"type": "text", "text": text}]
        try:
            self._prompt = await self._connection.begin(
                "session/prompt", {"sessionId": self._session_id, "prompt": prompt}
            )
        except OSError as error:
            raise self._build_error(str(error)) from error
        self._prompt.add_done_callback(self._end_prompt)

    async def next_event(self, seconds: float | None) -> AgentEvent | None:
        """Return what comes next; None if nothing comes in time."""
        try:
            async with asyncio.timeout(seconds):
                while not self._events:
                    await self._wait()
        except TimeoutError:
            return None
        return self._events.popleft()

    def put_back(self, event: AgentEvent) -> None:
        """Let an event come next again."""
        self._events.appendleft(event)

    async def wait_for_end(self, call: ForeignCall) -> None:
        """Wait until a permitted call ends, or the agent asks for something else meanwhile."""
        while self._prompt is not None and not call.is_over:
            if any(isinstance(each, AgentRequest) for each in self._events):
                return
            await self._wait()

    def answer(self, request: AgentRequest, result: dict[str, Any]) -> None:
        """Answer a request; has no effect if it was answered."""
        if self._open.get(request.key) is request and self._connection is not None:
            del self._open[request.key]
            self._connection.send({"id": request.key, "result": result})

    def refuse(self, request: AgentRequest, reason: str, code: int = INTERNAL_ERROR) -> None:
        """Refuse a request; has no effect if it was answered."""
        if isinstance(request, Asked):
            option = None if self._is_cancelled else find_option(request, "reject_once")
            outcome = {"outcome": {"outcome": "selected", "optionId": option}}
            self.answer(request, _CANCELLED if option is None else outcome)
        elif self._open.get(request.key) is request and self._connection is not None:
            del self._open[request.key]
            self._connection.send_error(request.key, reason, code)

    def refuse_open(self, reason: str) -> None:
        """Refuse every request that our history has, and that got no answer there."""
        ahead = [id(each) for each in self._events]
        for each in tuple(self._open.values()):
            if id(each) not in ahead:
                self.refuse(each, reason)

    def find_changes(self, is_asked: Callable[[str], bool] = never) -> bool:
        """Add what changed since the last time to `found`; blocks on the file system.

        `is_asked`: whether the user was asked about the change of a path. Return whether there is
        anything.
        """
        if self._is_watching:
            self._add_changes(self._watch.take(), is_asked)
        return bool(self.found)

    async def settle(self) -> str:
        """End the prompt if it runs, and find the last changes; return how stopping it failed."""
        problem = await self._cancel()
        self._events.clear()
        if self._is_watching:
            self._is_watching = False
            self._add_changes(await asyncio.to_thread(self._watch.end), never)
        return problem

    async def close(self) -> None:
        """End the process; idempotent."""
        connection, self._connection, self._session_id = self._connection, None, ""
        self._open.clear()
        if connection is not None:
            await connection.close()

    async def _connect(self) -> Connection:
        await self.close()
        command = await asyncio.to_thread(self._build_command)
        self._connection = connection = Connection(self.name, self._take_request, self._take_update)
        try:
            await connection.start(command)
        except OSError as error:
            raise OSError(f"cannot be started: {error.strerror or error}") from error
        files = dict.fromkeys(("readTextFile", "writeTextFile"), self._offers_files)
        answer = await connection.ask(
            "initialize",
            {
                "protocolVersion": VERSION,
                "clientCapabilities": {"fs": files, "terminal": False},
                "clientInfo": {"name": "yourtool", "version": __version__},
            },
        )
        if as_table(answer).get("protocolVersion") != VERSION:
            raise InvalidRequestError(
                f"`{self.name}` does not support version {VERSION} of ACP; update it"
            )
        return connection

    async def _begin_watching(self) -> None:
        if self._is_watching:
            return
        self._is_watching = True
        beginning = asyncio.ensure_future(asyncio.to_thread(self._watch.begin))
        try:
            await asyncio.shield(beginning)
        except asyncio.CancelledError:
            await asyncio.wait([beginning])
            raise

    async def _cancel(self) -> str:
        """Stop the prompt; return how that failed, empty if it did not."""
        prompt, connection = self._prompt, self._connection
        if prompt is None or connection is None:
            return ""
        self._is_cancelled = True
        for each in tuple(self._open.values()):
            self.refuse(each, "the prompt was cancelled")
        connection.send({"method": "session/cancel", "params": {"sessionId": self._session_id}})
        done, _ = await asyncio.wait([prompt], timeout=CANCEL_SECONDS)
        if done:
            return ""
        connection.stop("did not stop")
        await self.close()
        return f"did not stop within {CANCEL_SECONDS:.0f} s, so its process was ended"

    async def _wait(self) -> None:
        self._wake.clear()
        await self._wake.wait()

    def _take_request(self, method: str, key: int | str, params: dict[str, Any]) -> None:
        assert self._connection is not None, "it sends requests"
        try:
            if params.get("sessionId") != self._session_id:
                raise RefusedRequestError(INVALID_PARAMS, "there is no such session")
            request = read_request(method, key, params, self._find_call)
        except RefusedRequestError as error:
            self._connection.send_error(key, str(error), error.code)
            return
        if key in self._open:
            self._connection.send_error(key, "a request with this id is open", INVALID_PARAMS)
            return
        self._open[key] = request
        if self._prompt is None or self._is_cancelled:
            self._is_cancelled = True
            self.refuse(request, "no prompt is running")
        else:
            self._push(request)

    def _take_update(self, params: dict[str, Any]) -> None:
        update = params.get("update")
        is_ours = params.get("sessionId") == self._session_id and self._prompt is not None
        if not is_ours or self._is_cancelled or not is_table(update):
            return
        kind, content = update.get("sessionUpdate"), update.get("content")
        match kind:
            case "agent_message_chunk" | "agent_thought_chunk" if is_table(content):
                self._push(Said([read_text(content)], is_thought=kind == "agent_thought_chunk"))
            case "tool_call" | "tool_call_update":
                call = self._find_call(update)
                if call is not None and call.is_over and not call.is_told:
                    call.is_told = True
                    self._push(Reported(call))
                self._wake.set()
            case _:
                pass  # its plan, commands and modes are its own

    def _find_call(self, fields: dict[str, Any]) -> ForeignCall | None:
        """Return the call that a message is about, updated; None if it has no id."""
        key = fields.get("toolCallId")
        if not isinstance(key, str) or (key not in self._calls and len(self._calls) >= MAX_CALLS):
            return None
        call = self._calls.setdefault(key, ForeignCall(key))
        call.update(fields)
        return call

    def _push(self, event: AgentEvent) -> None:
        last = self._events[-1] if self._events else None
        if (
            isinstance(event, Said)
            and isinstance(last, Said)
            and event.is_thought == last.is_thought
        ):
            last.parts += event.parts
        else:
            self._events.append(event)
        self._wake.set()

    def _end_prompt(self, answer: asyncio.Future[Any]) -> None:
        """Report the calls that have no end, then the end of the prompt."""
        self._prompt = None
        for call in self._calls.values():
            if not call.is_told:
                call.is_told = True
                self._push(Reported(call))
        error = None if answer.cancelled() else answer.exception()
        if isinstance(error, AgentRequestError):
            self._push(Ended(error=f"reports an error: {error}"))
        elif answer.cancelled() or error is not None:
            self._push(Ended(error=str(error or "was ended")))
        else:
            fields = as_table(answer.result())
            reason = fields.get("stopReason")
            reason = reason if isinstance(reason, str) else ""
            self._push(Ended(reason=reason, usage=fields.get("usage")))

    def _add_changes(self, found: CommandChanges, is_asked: Callable[[str], bool]) -> None:
        if found:
            permitted = set[str]().union(*self.permitted.values())
            changed = (each.path for each in found.changes if each.path not in permitted)
            paths = tuple(path for path in changed if not is_asked(path))
            self.found.append(FoundChanges(found, paths))
            self.unasked |= dict.fromkeys(paths)

    def _build_error(self, reason: str) -> AdapterError:
        return OtherAdapterError(f"`{self.name}` {reason}")
