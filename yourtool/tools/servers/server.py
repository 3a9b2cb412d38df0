"""One MCP server."""

import asyncio
import logging
import os
import shlex
import shutil
from collections.abc import Mapping, Sequence
from contextlib import AsyncExitStack, suppress
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Any

from msgspec import Struct

from yourtool.errors import YourtoolError
from yourtool.foundation.files import real_path
from yourtool.tools.base import AskText
from yourtool.tools.commands.workspace_programs import uses_workspace
from yourtool.tools.processes.environments import Environments
from yourtool.tools.processes.process import ShellCommand
from yourtool.tools.servers import tool as tools
from yourtool.tools.servers.acceptance import Acceptance, describe_difference
from yourtool.tools.servers.calls import (
    CallFailedError,
    ForeignResult,
    ServerConnectionError,
    build_call_error,
)
from yourtool.tools.servers.client import (
    CONNECT_SECONDS,
    Address,
    CallRequest,
    Client,
    Owner,
    RequestMethod,
    ToolList,
    load_client,
)
from yourtool.tools.servers.logins import Logins
from yourtool.tools.servers.offers import ForeignPrompt, Offers
from yourtool.tools.servers.projection import ForeignTool, ProjectedTool, project_tools
from yourtool.tools.servers.settings import McpSettingsError, ServerSettings

if TYPE_CHECKING:
    from yourtool.tools.sandbox.sandbox import Sandbox

_log = logging.getLogger(__name__)

PAUSES = (2.0, 10.0, 60.0, 300.0)
"""Seconds before a failed server is tried again; the last one repeats."""
_CLOSE_SECONDS = 5.0
_IN_SANDBOX = '; it runs in the sandbox, unless your own `mcp.json` has it with `"sandbox": false`'
_REACHES_HOSTS = "; in the sandbox it reaches only the `hosts` of its settings"
"""Added to the reason why a server failed."""


class ServerState(StrEnum):
    """What a server does now."""

    PENDING = "pending"
    CONNECTED = "connected"
    FAILED = "failed"
    NEEDS_LOGIN = "needs login"
    NOT_ACCEPTED = "not accepted"
    """The user has not seen the server of a project as it is configured now."""
    DISABLED = "disabled"


class Surroundings(Struct, frozen=True):
    """Where servers run."""

    workspace: Path
    acceptance: Acceptance
    logins: Logins
    sandbox: "Sandbox | None" = None
    environments: Environments = Environments()
    environ: Mapping[str, str] = os.environ
    pauses: Sequence[float] = PAUSES
    connect_seconds: float = CONNECT_SECONDS


class ToolServer:
    """A configured server, which its task connects to until it is closed."""

    def __init__(self, settings: ServerSettings, part: str, around: Surroundings) -> None:
        """`part`: the part of the names of its tools."""
        self.settings = settings
        self.name = settings.name
        self.state = ServerState.DISABLED if settings.disabled else ServerState.PENDING
        self.reason = ""
        """Why it is not connected, as the end of a sentence about the server."""
        self.instructions = ""
        self.difference = ""
        """How its tools differ from the accepted ones; if they do, none is offered."""
        self.is_enclosed = False
        """Whether it is a program that starts in the sandbox."""
        self.tools: tuple[ProjectedTool, ...] = ()
        """All of its tools that are switched on."""
        self._listed, self._dropped = tuple[ForeignTool, ...](), tuple[str, ...]()
        self._offers = Offers()
        self.part = part
        self._around = around
        self._requests: asyncio.Queue[CallRequest | None] = asyncio.Queue()
        self._wake, self._settled = asyncio.Event(), asyncio.Event()
        self._shown: tuple[object, ...] = ()
        self._reported = ""
        self._closing = False
        self._failures = 0
        self._task: asyncio.Task[None] | None = None

    def start(self) -> None:
        """Start the task that owns the connection; does not wait."""
        if self.state is ServerState.DISABLED:
            self._settled.set()
        elif self._task is None:
            self._task = asyncio.create_task(self._own(), name=f"MCP server {self.name}")

    async def settle(self) -> None:
        """Wait until the first attempt to connect has succeeded or failed."""
        await self._settled.wait()

    async def close(self) -> None:
        """End the connection in order; idempotent."""
        self._closing = True
        self._requests.put_nowait(None)
        self._wake.set()
        if self._task is not None:
            await asyncio.wait([self._task], timeout=_CLOSE_SECONDS)
            if not self._task.done():
                _log.warning("MCP server %s did not end in time", self.name)
                self._task.cancel()

    @property
    def is_offered(self) -> bool:
        """Whether models get its tools."""
        return self.state is ServerState.CONNECTED and not self.difference

    @property
    def offers(self) -> Offers:
        """Its prompts and resources; none while its tools are not offered."""
        return self._offers if self.is_offered else Offers()

    @property
    def problem(self) -> str | None:
        """Why its tools are not available, for the user; None if they are, or are not wanted."""
        start = f"The MCP server `{self.name}` ({self.settings.place})"
        match self.state:
            case ServerState.CONNECTED if self.difference:
                return f"{start} changed its tools; `/mcp` shows the change and accepts it."
            case ServerState.CONNECTED if self._dropped:
                return f"{start} has tools that are not valid: {'; '.join(self._dropped[:5])}."
            case ServerState.FAILED:
                return f"{start} {self.reason}. It is tried again; `/mcp` shows its state."
            case ServerState.NEEDS_LOGIN:
                return f"{start} needs a login: `yourtool mcp login {self.name}` does it."
            case ServerState.NOT_ACCEPTED:
                return (
                    f"{start} is not started before you accept it: `/mcp {self.name}` shows it,"
                    f" and then `/mcp accept {self.name}` starts it, or in a shell"
                    f" `yourtool mcp accept {self.name}`."
                )
            case _:
                return None

    @property
    def new_problem(self) -> str | None:
        """The problem, unless `report_problem` has returned it."""
        return None if self.problem == self._reported else self.problem

    def report_problem(self) -> str | None:
        """Return the problem for a caller that shows it."""
        self._reported = self.problem or ""
        return self.problem

    @property
    def is_shown(self) -> bool:
        """Whether the user has seen the server as it is now."""
        return self._shown == self._get_content()

    def mark_shown(self) -> None:
        """Note that the user sees the server as it is now."""
        self._shown = self._get_content()

    def _get_content(self) -> tuple[object, ...]:
        return self.settings.definition, self._listed, self.difference

    async def accept(self) -> None:
        """Accept the server as it is shown: its definition, and its tools if it is connected.

        Raises:
            ConfigError: the answer cannot be stored.
        """
        acceptance, settings = self._around.acceptance, self.settings
        listed, is_connected = self._listed, self.state is ServerState.CONNECTED
        await asyncio.to_thread(acceptance.accept_definition, settings)
        if is_connected:
            texts = {each.name: each.text for each in listed}
            await asyncio.to_thread(acceptance.accept_tools, settings, texts)
            if listed is self._listed:  # no change arrived since
                self.difference = ""
        self.retry()

    def retry(self) -> None:
        """Try again now, if it is not connected."""
        if self.state in (ServerState.FAILED, ServerState.NEEDS_LOGIN, ServerState.NOT_ACCEPTED):
            self._settled.clear()
            self._wake.set()

    async def call(
        self, tool: ProjectedTool, arguments: dict[str, Any], ask: AskText | None = None
    ) -> ForeignResult:
        """Return the result of one call; `ask`: asks the user what the server asks.

        Raises:
            ToolError: there is none; the message names the server and the reason.
        """
        if self.difference and tool.foreign not in self._listed:
            reason = f"changed the tool `{tool.foreign.name}` since it was offered"
            raise build_call_error(self.name, reason, may_have_run=False)
        return await self._request("tools/call", tool.foreign.name, arguments, ask)

    async def read_prompt(self, prompt: ForeignPrompt, words: str) -> str:
        """Return the text of a prompt for words of the user.

        Raises:
            ToolError: as `call`.
            UsageError: the words are too few or too many.
        """
        found = await self._request("prompts/get", prompt.name, prompt.parse(words))
        return "\n\n".join(tools.read_texts(found))

    async def read_resource(self, uri: str) -> list[str]:
        """Return the texts of a resource.

        Raises:
            ToolError: as `call`.
        """
        return tools.read_texts(await self._request("resources/read", uri, {}))

    async def _request(
        self,
        method: RequestMethod,
        name: str,
        arguments: Mapping[str, Any],
        ask: AskText | None = None,
    ) -> ForeignResult:
        if self.state is not ServerState.CONNECTED:
            reason = f"is not connected: it {self.reason or 'starts'}"
            raise build_call_error(self.name, reason, may_have_run=False)
        seconds = self.settings.timeout_seconds
        request = CallRequest(method, name, dict(arguments), seconds, ask)
        self._requests.put_nowait(request)
        try:
            return await request.result
        except CallFailedError as error:
            raise build_call_error(
                self.name, str(error), may_have_run=error.may_have_run
            ) from error

    async def _own(self) -> None:
        """Connect, serve, and try again with growing pauses, until the server is closed."""
        while not self._closing:
            self._wake.clear()
            await self._attempt()
            self._fail_waiting()
            self._settled.set()
            if self._closing:
                return
            pauses, seconds = self._around.pauses, None
            if self.state is ServerState.FAILED:
                seconds = pauses[min(self._failures, len(pauses)) - 1]
            with suppress(TimeoutError):
                async with asyncio.timeout(seconds):
                    await self._wake.wait()
            self._failures += 0 if self.state is ServerState.CONNECTED else 1

    async def _attempt(self) -> None:
        """Make one connection and serve it until its end; sets state and reason."""
        try:
            self.is_enclosed = await asyncio.to_thread(self._needs_sandbox)
            if not await asyncio.to_thread(self._around.acceptance.may_start, self.settings):
                self.state, self.reason = ServerState.NOT_ACCEPTED, "is not accepted"
                return
            self.state, self.reason = ServerState.PENDING, ""
            await self._connect(await asyncio.to_thread(load_client))
            self.state, self.reason = ServerState.FAILED, "ended"
        except ServerConnectionError as error:
            is_refused = error.needs_login and bool(self.settings.oauth)
            needs_login = error.needs_login and not is_refused
            self.state = ServerState.NEEDS_LOGIN if needs_login else ServerState.FAILED
            self.reason = f"refused the login of `oauth` ({error})" if is_refused else str(error)
        except (YourtoolError, OSError) as error:
            self.state, self.reason = ServerState.FAILED, f"cannot be started: {error}"
        if self.state is ServerState.FAILED and self._runs_in_sandbox:
            self.reason += _REACHES_HOSTS if self.settings.source == "project" else _IN_SANDBOX
        self._failures = max(self._failures, 1)
        if not self._closing:
            _log.warning("MCP server %s: %s", self.name, self.reason)

    async def _connect(self, client: Client) -> None:
        seconds = self._around.connect_seconds
        owner = Owner(self._take_tools, self._take_offers, self.name, self._requests, seconds)
        settings, environ = self.settings, self._around.environ
        if settings.transport == "http":
            address = build_address(settings, environ)
            await client.serve_http(address, owner, self._around.logins)
            return
        command = await asyncio.to_thread(self._build_command)
        async with AsyncExitStack() as stack:
            if (sandbox := self._around.sandbox) is not None and self.is_enclosed:
                enclosing = sandbox.enclose(command, hosts=settings.hosts)
                command = (await stack.enter_async_context(enclosing)).command
            await client.serve_stdio(command, owner)

    @property
    def _runs_in_sandbox(self) -> bool:
        return self.is_enclosed and bool(self._around.sandbox and self._around.sandbox.is_active)

    def _needs_sandbox(self) -> bool:
        """Whether it is a program of a project, or one of the user that models can change."""
        settings, around = self.settings, self._around
        if settings.transport != "stdio" or around.sandbox is None:
            return False
        if settings.sandbox is not None:
            return settings.sandbox
        line, root = shlex.join((settings.command, *settings.args)), real_path(around.workspace)
        return settings.source == "project" or uses_workspace(line, root, around.environ)

    def _build_command(self) -> ShellCommand:
        """Return the command of the server with its variables replaced.

        Raises:
            McpSettingsError: the program does not exist, or a variable is not set.
        """
        settings, around = self.settings, self._around
        environment = (
            around.environments.build_for_model(around.environ)
            if settings.source == "project" or self.is_enclosed
            else around.environments.build_for_own_program(around.environ, around.workspace)
        )
        name = settings.expand(settings.command, around.environ)
        own = {key: settings.expand(text, around.environ) for key, text in settings.env.items()}
        path = own.get("PATH") or environment["PATH"]
        named = str(around.workspace / name) if "/" in name else name
        if (program := shutil.which(named, path=path)) is None:
            raise McpSettingsError(
                f"there is no program `{name}`; install it, or correct `command` in"
                f" {settings.place}"
            )
        arguments = (settings.expand(each, around.environ) for each in settings.args)
        environment |= own
        return ShellCommand((program, *arguments), around.workspace, environment, is_lasting=True)

    async def _take_tools(self, listed: ToolList) -> None:
        """Use the tools of the server if they are the accepted ones, or the first ones."""
        tools = _drop_repeated(listed.tools)
        texts = {each.name: each.text for each in tools}
        acceptance, settings = self._around.acceptance, self.settings
        accepted = (await asyncio.to_thread(acceptance.find, settings)).tools
        if accepted is None:
            await asyncio.to_thread(acceptance.accept_tools, settings, texts)
            accepted = texts
        is_known = all(accepted.get(name) == text for name, text in texts.items())
        self.difference = "" if is_known else describe_difference(accepted, texts)
        self._listed, self.instructions, self._dropped = tools, listed.instructions, listed.dropped
        self.tools = await asyncio.to_thread(project_tools, settings, self.part, tools)
        self.state, self.reason, self._failures = ServerState.CONNECTED, "", 0
        self._settled.set()

    def _take_offers(self, offers: Offers) -> None:
        self._offers = offers

    def _fail_waiting(self) -> None:
        """End the calls that were not sent."""
        while not self._requests.empty():
            if (request := self._requests.get_nowait()) is not None:
                request.fail("ended before the call", may_have_run=False)


def _drop_repeated(tools: Sequence[ForeignTool]) -> tuple[ForeignTool, ...]:
    """Return the first tool with each name: a second one would be accepted in its place."""
    found = dict[str, ForeignTool]()
    for each in tools:
        found.setdefault(each.name, each)
    return tuple(found.values())


def build_address(settings: ServerSettings, environ: Mapping[str, str]) -> Address:
    """Return the address of a server with its variables replaced.

    Raises:
        McpSettingsError: a variable is not set.
    """

    def expand(texts: Mapping[str, str]) -> dict[str, str]:
        return {name: settings.expand(each, environ) for name, each in texts.items()}

    url = settings.expand(settings.url, environ)
    return Address(url, expand(settings.headers), expand(settings.oauth))
