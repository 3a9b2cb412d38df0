"""The JSON-RPC requests between us and an agent."""

import asyncio
import logging
from collections.abc import Callable
from typing import Any

from yourtool.extensions.agents.calls import as_table, clean_line
from yourtool.extensions.agents.messages import INTERNAL_ERROR
from yourtool.extensions.agents.process import AgentProcess
from yourtool.tools.process import ShellCommand

_log = logging.getLogger(__name__)

MAX_UNREAD = 5_000
"""Messages that an agent has still to read; one piece of its output can have 3,000 requests."""


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
        self._process = AgentProcess(name, self._receive, self._lose)
        self._waiting = dict[int, asyncio.Future[Any]]()
        self._next_id = 0
        self._sending = set[asyncio.Task[None]]()

    @property
    def is_running(self) -> bool:
        """Whether messages can be exchanged."""
        return self._process.is_running

    async def start(self, command: ShellCommand) -> None:
        """Start the program.

        Raises:
            OSError: it could not be started.
        """
        await self._process.start(command)

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
        self._process.begin_prompt()
        try:
            message = {"jsonrpc": "2.0", "id": key, "method": method, "params": params}
            await self._process.send(message)
        except BaseException:
            self._waiting.pop(key, None)
            answer.cancel()
            raise
        return answer

    def send(self, message: dict[str, Any]) -> None:
        """Send a notification or an answer, in the order of the calls, without waiting."""
        if len(self._sending) >= MAX_UNREAD:
            self._process.stop("reads no messages")
            return
        task = asyncio.create_task(self._send_quietly({"jsonrpc": "2.0", **message}))
        self._sending.add(task)
        task.add_done_callback(self._sending.discard)

    def send_error(self, key: int | str, message: str, code: int = INTERNAL_ERROR) -> None:
        """Answer a request of the agent with an error."""
        self.send({"id": key, "error": {"code": code, "message": message}})

    def stop(self, problem: str) -> None:
        """End a program that does not react."""
        self._process.stop(problem)

    def describe_end(self) -> str:
        """Return why no more messages can arrive, as the end of a sentence about the agent."""
        return self._process.describe_end()

    async def close(self) -> None:
        """End the program; idempotent."""
        await self._process.close()
        self._fail_requests("was ended")

    async def _send_quietly(self, message: dict[str, Any]) -> None:
        try:
            await self._process.send(message)
        except (ConnectionError, OSError) as error:
            _log.warning("agent %s got no answer: %s", self._name, error)

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
        waiting = self._waiting.pop(message["id"], None)
        if waiting is None or waiting.done():
            return
        if "error" not in message:
            waiting.set_result(message.get("result"))
            return
        error = as_table(message["error"])
        code, text = error.get("code"), error.get("message")
        waiting.set_exception(
            AgentRequestError(
                code if isinstance(code, int) else INTERNAL_ERROR,
                clean_line(text) if isinstance(text, str) else "an error without a message",
            )
        )

    def _lose(self) -> None:
        """End what waits for a program that has ended."""
        self._fail_requests(self.describe_end())

    def _fail_requests(self, reason: str) -> None:
        for waiting in self._waiting.values():
            if not waiting.done():
                waiting.set_exception(ConnectionError(reason))
        self._waiting.clear()
