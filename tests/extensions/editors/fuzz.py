"""Sends random messages to a server of the Agent Client Protocol, as a broken editor would."""

import asyncio
import json
import random
from typing import Any

from tests.extensions.editors.editor import RawLines

METHODS = (
    "initialize", "authenticate", "session/new", "session/load", "session/resume", "session/list",
    "session/close", "session/set_mode", "session/set_config_option", "session/prompt",
    "session/cancel", "session/frob", "", "fs/read_text_file", "session/request_permission",
)  # fmt: skip
_FIELDS = (
    "sessionId", "cwd", "mcpServers", "prompt", "modeId", "configId", "value", "protocolVersion",
    "cursor", "outcome", "optionId", "clientCapabilities", "additionalDirectories", "_meta",
)  # fmt: skip
_VALUES = (
    None, True, 0, -1, 2**70, 0.5, "", "x", "once", "always", "\x00", "\x1b]0;x\x07",
    "../../etc", "a" * 2_000, [], {}, [{"type": "text", "text": "go"}], {"outcome": "selected"},
    {"outcome": "cancelled"}, "plan", "auto",
)  # fmt: skip
_BYTES = (
    b"",
    b'{"id":1,"method":"\\ud800"}',
    b"{",
    b"\xff\xfe",
    b"[]",
    b"null",
    b"[" * 2_000,
    b'{"jsonrpc":"2.0"}',
    b"\x00" * 20,
)


class Fuzzer:
    """A client whose messages are mostly wrong; it never allows anything."""

    def __init__(
        self, client: RawLines, session_id: str, cwd: str, seed: int, prompts: float
    ) -> None:
        """`prompts`: the share of messages that start a turn."""
        self._prompts = prompts
        self._client, self._session_id, self._cwd = client, session_id, cwd
        self._chance = random.Random(seed)
        self.questions = 0
        self.answers = dict[int, int]()
        """How many answers each request got, by its id."""
        self.sent_ids = set[int]()
        self.idle = asyncio.Event()
        self._number = 1_000
        self._sent = dict[int, dict[str, Any]]()

    async def read(self) -> None:
        """Read all messages, and answer questions wrongly."""
        while line := await self._client.reader.readline():
            message = json.loads(line)
            if message.get("method") == "session/request_permission":
                self.questions += 1
                self._client.send(self._build_answer(message["id"]))
            elif isinstance(number := message.get("id"), int) and "method" not in message:
                self.answers[number] = self.answers.get(number, 0) + 1
                if self.sent_ids <= self.answers.keys():
                    self.idle.set()

    async def send(self, count: int) -> None:
        """Send so many messages, with all their answers read in between."""
        for sent in range(count):
            self._client.send(self._build())
            if sent % 50 == 49:
                await self.settle(cancel=sent % 100 == 99)
        await self.settle(cancel=True)

    async def settle(self, *, cancel: bool) -> None:
        """Wait until each request has an answer."""
        if cancel:
            self._client.send({"jsonrpc": "2.0", "method": "session/cancel",
                               "params": {"sessionId": self._session_id}})  # fmt: skip
        self.idle.clear()
        self._client.send(self._request("session/list", {}))
        try:
            async with asyncio.timeout(60):
                await self.idle.wait()
        except TimeoutError as error:
            missing = sorted(self.sent_ids - self.answers.keys())
            raise AssertionError(f"no answer: {[self._sent[each] for each in missing]}") from error

    def _build(self) -> bytes | dict[str, Any]:
        chance = self._chance
        kind = chance.random()
        if kind < 0.1:
            return chance.choice(_BYTES)
        if kind < 0.2:
            return {"jsonrpc": "2.0", "id": chance.randrange(2**31), "result": self._invent()}
        if kind < 0.2 + self._prompts:
            prompt = [{"type": "text", "text": "write"}]
            return self._request("session/prompt", {"sessionId": self._session_id,
                                                    "prompt": prompt})  # fmt: skip
        params = {name: self._invent() for name in chance.sample(_FIELDS, 4)}
        if chance.random() < 0.5:
            params |= {"sessionId": self._session_id, "mcpServers": []}
        if kind < 0.27:
            return {"jsonrpc": "2.0", "method": chance.choice(METHODS), "params": params}
        method = chance.choice(METHODS)
        if method in ("session/close", "session/new", "session/load", "session/resume"):
            params["cwd"] = chance.choice(("", "x", 5, self._cwd + "/none"))
            params["sessionId"] = "sess_none"
        if method == "session/set_mode":
            params["modeId"] = chance.choice(("plan", "ask", "accept", "", 5))
        return self._request(method, params)

    def _request(self, method: str, params: Any) -> dict[str, Any]:
        self._number += 1
        self.sent_ids.add(self._number)
        request = {"jsonrpc": "2.0", "id": self._number, "method": method, "params": params}
        self._sent[self._number] = request
        return request

    def _build_answer(self, number: Any) -> dict[str, Any]:
        """Return an answer to a question that allows nothing."""
        wrong = ({"outcome": {"outcome": "cancelled"}}, {"outcome": {"outcome": "selected"}},
                 {"outcome": {"outcome": "selected", "optionId": "none"}}, {"outcome": "once"},
                 {}, [], None, 5,
                 {"outcome": {"outcome": "selected", "optionId": "deny"}})  # fmt: skip
        return {"jsonrpc": "2.0", "id": number, "result": self._chance.choice(wrong)}

    def _invent(self) -> Any:
        return self._chance.choice(_VALUES)
