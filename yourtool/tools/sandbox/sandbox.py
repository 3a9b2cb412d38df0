"""The sandbox of a session: chooses the level that works here, and encloses commands in it.

Every session with a sandbox imports this module, and its first command the others.
"""

import asyncio
import os
import shutil
import sys
import tempfile
import threading
import weakref
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import AbstractContextManager, AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import Struct
from msgspec.structs import replace

from yourtool.effects import Subject
from yourtool.errors import ToolError
from yourtool.permissions.rules import Rule, RuleSet, RuleVerdict
from yourtool.sandbox_config import SandboxConfig, SandboxLevel
from yourtool.tools.process import ShellCommand
from yourtool.tools.sandbox import confinement, layout, proxy
from yourtool.tools.sandbox.level import LevelMeter, Measurement

if TYPE_CHECKING:
    from yourtool.tools.sandbox.confinement import Means
    from yourtool.tools.sandbox.layout import Layout

_BRIDGE = Path(__file__).with_name("bridge_script.py")
_TOOL = "shell"
_BRIDGE_PORT = 8118
"""Of the sandbox's own loopback address, which no other program uses."""


class SandboxError(ToolError):
    """A command was not run, because its sandbox could not be built."""

    def __init__(self, cause: str) -> None:
        self.cause = f"the sandbox could not be built: {cause}"
        super().__init__(f"the command was not run, because {self.cause}; ask the user to help")


class Enclosed(Struct, frozen=True):
    """A command as it runs in the sandbox."""

    command: ShellCommand
    refused_hosts: Sequence[str] = ()
    """Filled while the command runs."""


class Sandbox:
    """Encloses the commands of one session."""

    def __init__(
        self,
        config: SandboxConfig,
        workspace: Path,
        meter: LevelMeter,
        *,
        own: Sequence[Path] = (),
        readable: Sequence[Path] = (),
    ) -> None:
        """`own`: the program's directories; `readable`: what is visible although it is in them."""
        self._config = config
        self._workspace = workspace
        self._meter = meter
        self._own = tuple(own)
        self._readable = tuple(path for path in readable if path.is_dir())
        # What rules for a tool mean is what these commands mean.
        rules = (Rule(_TOOL, command) for command in config.outside)
        self._outside = RuleSet(allow=tuple(rules))
        self._temporary: Path | None = None
        self._lock = threading.Lock()

    @property
    def level(self) -> SandboxLevel | None:
        """The measured level; None before the first command."""
        measured = self._meter.measured
        return None if measured is None else measured.level

    @property
    def is_active(self) -> bool:
        """Whether commands are enclosed, as measured."""
        return self.level not in (None, SandboxLevel.NONE)

    @property
    def shown_level(self) -> str:
        """The measured level for the status line; empty before the first command."""
        return "" if self.level is None else self.level.value

    async def measure(self) -> Measurement:
        """Return the measured level."""
        return self._meter.measured or await asyncio.to_thread(self._meter.measure)

    @property
    def is_required(self) -> bool:
        """Whether `[sandbox] require` names a level, so that every command outside of it asks."""
        return SandboxLevel(self._config.require) is not SandboxLevel.NONE

    @property
    def is_below_requirement(self) -> bool:
        """Whether `[sandbox] require` needs a stronger level, so that every command asks."""
        level = self.level or SandboxLevel.NONE
        return level.rank < SandboxLevel(self._config.require).rank

    def excepts(self, line: str) -> bool:
        """Whether `[sandbox] outside` covers each command of a line; blocks on the file system."""
        if not (self._outside.allow and self.is_active):
            return False
        subject = Subject("command", line, os.path.realpath(self._workspace))
        return self._outside.verdict(_TOOL, subject) is RuleVerdict.ALLOW

    @property
    def has_own_network(self) -> bool:
        """Whether a server that a command starts can be reached by that command only."""
        return self.level is SandboxLevel.FULL

    @property
    def allows_commands(self) -> bool:
        """Whether commands run unasked: `[sandbox] auto_allow`, a full sandbox, no network."""
        is_closed = self.level is SandboxLevel.FULL and not self._config.hosts
        return self._config.auto_allow and is_closed

    def describe(self) -> str:
        """Return what encloses a command, for approval prompts; empty if it is switched off."""
        measured = self._meter.measured
        if measured is None or not self._config.is_used:
            return ""
        match measured.level:
            case SandboxLevel.FULL if self._config.hosts:
                return f"full sandbox; network: {', '.join(self._config.hosts)}"
            case SandboxLevel.FULL:
                return "full sandbox; no network"
            case SandboxLevel.LANDLOCK:
                return "Landlock sandbox; no network"
            case _:
                reason = measured.reasons[0] if measured.reasons else "it does not work here"
                return f"no sandbox ({reason})"

    @asynccontextmanager
    async def enclose(self, command: ShellCommand) -> AsyncGenerator[Enclosed, None]:
        """Yield the command as it runs in the sandbox; unchanged if there is none.

        Raises:
            SandboxError: the workspace cannot be protected, or a mount point cannot be created.
        """
        level = (await self.measure()).level
        if level is SandboxLevel.NONE:
            yield Enclosed(command)
            return
        async with AsyncExitStack() as stack:
            try:
                around, means = await asyncio.to_thread(self._look_around)
                refused: Sequence[str] = ()
                if level is SandboxLevel.FULL and self._config.hosts and means.bubblewrap:
                    bridged = proxy.Proxy(self._config.hosts)
                    name = f"proxy-{os.urandom(6).hex()}"
                    await stack.enter_async_context(bridged.listen(around.temporary / name))
                    stack.callback((around.temporary / name).unlink, missing_ok=True)
                    refused = bridged.refused
                    command = _bridged(command, f"{confinement.TEMPORARY_INSIDE}/{name}")
                confined = confinement.confine(command, around, level, means)
                enclosed = await stack.enter_async_context(_in_thread(confined))
            except (OSError, layout.LayoutError) as error:
                raise SandboxError(str(error)) from error
            yield Enclosed(enclosed, refused)

    def _look_around(self) -> "tuple[Layout, Means]":
        return self._build_layout(), confinement.find_means()

    def _build_layout(self) -> "Layout":
        repositories, protected = layout.find_protected(self._workspace)
        temporary = self._make_temporary()
        places = (Path(os.path.realpath(Path(each).expanduser())) for each in self._config.writable)
        writable = tuple(path for path in places if path.exists())
        # /tmp and /run are replaced, so the sockets in them need no mask.
        sockets = layout.find_sockets((Path("/tmp"), Path("/run"), self._workspace, temporary))  # noqa: S108
        return layout.Layout(
            workspace=self._workspace,
            temporary=temporary,
            writable=writable,
            readable=(*self._readable, *confinement.find_interpreter()),
            hidden=(*layout.find_hidden(self._own), *sockets),
            repositories=repositories,
            protected=protected,
        )

    def _make_temporary(self) -> Path:
        """Return the temporary directory of the session, which is removed with it."""
        with self._lock:
            if self._temporary is None or not self._temporary.is_dir():
                self._temporary = Path(os.path.realpath(tempfile.mkdtemp(prefix="yourtool-")))
                weakref.finalize(self, shutil.rmtree, self._temporary, True)
            return self._temporary


class Sandboxes:
    """Builds the sandboxes of the sessions of a process, which share one measurement."""

    def __init__(self, config: SandboxConfig, own: Sequence[Path] = ()) -> None:
        self._config = config
        self._own = tuple(own)
        self._meter = LevelMeter(config, own)

    def build(self, workspace: Path, readable: Sequence[Path] = ()) -> Sandbox:
        """Return the sandbox of a session; `readable`: its further directories."""
        return Sandbox(self._config, workspace, self._meter, own=self._own, readable=readable)


def _bridged(command: ShellCommand, socket_inside: str) -> ShellCommand:
    """Return a command whose network is the proxy behind a Unix socket."""
    bridge = (sys.executable, "-I", "-S", str(_BRIDGE), socket_inside, str(_BRIDGE_PORT))
    url = f"http://127.0.0.1:{_BRIDGE_PORT}"
    names = ("HTTP_PROXY", "HTTPS_PROXY", "http_proxy", "https_proxy", "ALL_PROXY", "all_proxy")
    local: Mapping[str, str] = dict.fromkeys(("NO_PROXY", "no_proxy"), "localhost,127.0.0.1,::1")
    return replace(
        command,
        arguments=(*bridge, *command.arguments),
        environment={**command.environment, **dict.fromkeys(names, url), **local},
    )


@asynccontextmanager
async def _in_thread(
    context: AbstractContextManager[ShellCommand],
) -> AsyncGenerator[ShellCommand, None]:
    """Enter and leave a blocking context in threads."""
    command = await asyncio.to_thread(context.__enter__)
    try:
        yield command
    finally:
        await asyncio.shield(asyncio.to_thread(context.__exit__, None, None, None))
