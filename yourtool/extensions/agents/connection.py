"""The JSON-RPC requests between us and an agent.

https://agentclientprotocol.com/protocol/transports
"""

import asyncio
import logging
from collections.abc import Callable
from typing import Any

import msgspec

from yourtool.extensions.agents.calls import as_table, clean_line
from yourtool.tools.processes import line_peer
from yourtool.tools.processes.json_rpc import INTERNAL_ERROR, MessageError, parse_message
from yourtool.tools.processes.line_peer import LinePeer
from yourtool.tools.processes.process import ShellCommand

_log = logging.getLogger(__name__)

MAX_PROMPT_BYTES = 64 * 2**20
"""What an agent may send for one prompt."""
MAX_UNREAD = 5_000
"""Messages that an agent has still to read; one piece of its output can have 3,000 requests."""
EXIT_SECONDS = 2.0


class AgentRequestError(Exception):
    """The agent answered a request of ours with an error."""

    def __init__(self, code: int, message: str) -> None:
        super().__init__(message)
        self.code = code


class Connection:
    """Sends requests to the program of an agent and receives its answers, requests and updates."""

    def __init__(
        self,
        name: str,
        on_request: Callable[[str, int | str, dict[str, Any]], None],
        on_update: Callable[[dict[str, Any]], None],
    ) -> None:
        """`on_request` gets the method, the id and the parameters of each request.

        `on_update` gets the parameters of each `session/update`.
        """
        self._name = name
        self._on_request = on_request
        self._on_update = on_update
        self._peer = LinePeer(f"agent {name}", "acp", _parse, EXIT_SECONDS)
        self._reading: asyncio.Task[None] | None = None
        self._waiting = dict[int | str | None, asyncio.Future[Any]]()
        self._next_id = 0
        self._sending = set[asyncio.Task[None]]()

    @property
    def is_running(self) -> bool:
        """Whether messages can be exchanged."""
        return self._peer.is_running

    async def start(self, command: ShellCommand) -> None:
        """Start the program.

        Raises:
            OSError: it could not be started.
        """
        await self._peer.start(command)
        self._reading = asyncio.create_task(self._read(), name=f"agent {self._name}, output")

    async def ask(self, method: str, params: dict[str, Any]) -> Any:
        """Return the result of a request.

        Raises:
            AgentRequestError: the agent answered with an error.
            ConnectionError: it has ended.
        """
        return await (await self.begin(method, params))

    async def begin(self, method: str, params: dict[str, Any]) -> asyncio.Future[Any]:
        """Send a request and return its answer, which is still to come.

        Raises:
            ConnectionError: the agent has ended.
        """
        self._next_id += 1
        key, answer = self._next_id, asyncio.get_running_loop().create_future()
        self._waiting[key] = answer
        self._peer.received = 0
        try:
            await self._write({"id": key, "method": method, "params": params})
        except BaseException:
            self._waiting.pop(key, None)
            answer.cancel()
            raise
        return answer

    def send(self, message: dict[str, Any]) -> None:
        """Send a notification or an answer, in the order of the calls, without waiting."""
        if len(self._sending) >= MAX_UNREAD:
            self._peer.stop("reads no messages")
            return
        task = asyncio.create_task(self._send_quietly(message))
        self._sending.add(task)
        task.add_done_callback(self._sending.discard)

    def send_error(self, key: int | str, message: str, code: int = INTERNAL_ERROR) -> None:
        """Answer a request of the agent with an error."""
        self.send({"id": key, "error": {"code": code, "message": message}})

    def stop(self, problem: str) -> None:
        """End a program that does not react."""
        self._peer.stop(problem)

    def describe_end(self) -> str:
        """Return why no more messages can arrive, as the end of a sentence about the agent."""
        code = self._peer.exit_code
        how = self._peer.problem or ("ended" if code is None else f"ended with exit code {code}")
        return f"{how}; its last line: {last}" if (last := self._peer.last_line) else how

    async def close(self) -> None:
        """End the program; idempotent."""
        await self._peer.close()
        if self._reading is not None:
            self._reading.cancel()
        self._fail_requests("was ended")

    async def _write(self, message: dict[str, Any]) -> None:
        encoded = msgspec.json.encode({"jsonrpc": "2.0", **message})
        await self._peer.send(encoded, line_peer.SEND_SECONDS)

    async def _send_quietly(self, message: dict[str, Any]) -> None:
        try:
            await self._write(message)
        except (ConnectionError, OSError) as error:
            _log.warning("agent %s got no answer: %s", self._name, error)

    async def _read(self) -> None:
        try:
            await self._peer.read(self._receive_quietly, MAX_PROMPT_BYTES)
            await self._peer.wait()
        except OSError:
            pass  # the pipe is closed
        finally:
            self._fail_requests(self.describe_end())

    async def _receive_quietly(self, message: dict[str, Any]) -> None:
        try:
            self._receive(message)
        except Exception:  # noqa: BLE001 - what the agent sends is not trusted
            _log.exception("agent %s: a message could not be used", self._name)

    def _receive(self, message: dict[str, Any]) -> None:
        method, key = message.get("method"), message.get("id")
        params = as_table(message.get("params"))
        if method is None:
            self._receive_answer(message)
        elif key is not None:
            self._on_request(method, key, params)
        elif method == "session/update":
            self._on_update(params)

    def _receive_answer(self, message: dict[str, Any]) -> None:
        waiting = self._waiting.pop(message.get("id"), None)
        if waiting is None or waiting.done():
            return
        if (error := message.get("error")) is None:
            waiting.set_result(message.get("result"))
        else:
            waiting.set_exception(AgentRequestError(error["code"], clean_line(error["message"])))

    def _fail_requests(self, reason: str) -> None:
        for waiting in self._waiting.values():
            if not waiting.done():
                waiting.set_exception(ConnectionError(reason))
        self._waiting.clear()


def _parse(line: bytes) -> dict[str, Any] | None:
    """Return the message in a line, or None."""
    try:
        return parse_message(line)
    except MessageError:
        return None
