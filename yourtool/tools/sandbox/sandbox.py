"""Sandbox of a session.

It chooses the level that works here, and encloses commands in it. Every session with a sandbox
imports this module, and its first command the others.
"""

import asyncio
import sys
from collections.abc import AsyncGenerator, Callable, Collection, Sequence
from contextlib import ExitStack, asynccontextmanager, closing
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import Struct
from msgspec.structs import replace

from yourtool.effects import NetworkOffer
from yourtool.errors import ToolError
from yourtool.foundation.files import (
    expand_home,
    is_directory,
    is_read_only,
    path_exists,
    real_path,
)
from yourtool.git.repositories import find_repository
from yourtool.permissions.hosts import allows_host
from yourtool.permissions.shell.lines import syntax
from yourtool.settings.sandbox_config import SandboxConfig, SandboxLevel
from yourtool.tools.processes.process import ShellCommand
from yourtool.tools.sandbox import confinement, enclosure, host_needs, layout
from yourtool.tools.sandbox.exceptions import Exceptions
from yourtool.tools.sandbox.git_outside import GitOutside
from yourtool.tools.sandbox.guarded_places import GuardedPlaces
from yourtool.tools.sandbox.home import caches
from yourtool.tools.sandbox.level import LevelMeter, Measurement, describe_level
from yourtool.tools.sandbox.network import downloads, enclosed_network, ports
from yourtool.tools.sandbox.network.refusals import Refusal, Refusals
from yourtool.tools.sandbox.single_commands import SingleCommands

if TYPE_CHECKING:
    from yourtool.tools.sandbox.enclosure import Enclosure
    from yourtool.tools.sandbox.layout import Layout
    from yourtool.tools.sandbox.network.enclosed_network import EnclosedNetwork
    from yourtool.tools.sandbox.network.ports import Servers

_ATTEMPTS = 2
_ENCLOSED = (SandboxLevel.FULL, SandboxLevel.PARTIAL)


class SandboxError(ToolError):
    """A command was not run, because its sandbox could not be made."""

    def __init__(self, cause: str) -> None:
        self.cause = cause
        super().__init__(f"it was not run, because there is no sandbox: {cause}")


class Enclosed(Struct, frozen=True):
    """A command as it runs in the sandbox."""

    command: ShellCommand
    level: SandboxLevel = SandboxLevel.NONE
    find_refused: Callable[[], Sequence[Refusal]] = tuple
    """Returns what it could not reach until now."""
    servers: "Servers | None" = None
    """What it serves in its network; None: it is in no separate one."""


class Sandbox:
    """Encloses the commands of one workspace; `close` ends what it made."""

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
        self._readable = dict[Path, None]()
        self.show(readable)
        self.exceptions = Exceptions(config, workspace)
        """Commands that run outside, and hosts that commands reach."""
        self._measured: Measurement | None = None
        self._measuring = asyncio.Lock()
        self._enclosure: Enclosure | None = None
        self._layout: Layout | None = None
        self.declined = set[str]()
        """Refused hosts that the user was asked about once."""
        self._places = GuardedPlaces(workspace)
        self.git_outside = GitOutside()
        """Keeps commands in it apart from git outside of it."""
        self._refusals = Refusals()
        self._network: EnclosedNetwork | None = None
        self._singles = SingleCommands(meter, self._own)

    def show(self, readable: Sequence[Path]) -> None:
        """Let commands read further directories, from the next time on when nothing runs."""
        self._readable |= dict.fromkeys(path for path in readable if is_directory(path))

    @property
    def level(self) -> SandboxLevel | None:
        """The level that commands have; None before the first command."""
        return None if self._measured is None else self._measured.level

    @property
    def is_active(self) -> bool:
        return self.level not in (None, SandboxLevel.NONE)

    @property
    def shown_level(self) -> str:
        """The level for the status line; empty before the first command."""
        return "" if self.level is None else self.level.value

    @property
    def unavailable(self) -> str | None:
        """Why commands cannot be enclosed although the settings ask for it; None if they can.

        Before the first command, this is what the machine lacks; looks at a few files.
        """
        if not self._config.is_used:
            return None
        if (measured := self._measured) is None:
            missing = self._meter.find_missing(SandboxLevel.FULL)
            return None if self._config.uses_landlock else missing
        if measured.level is not SandboxLevel.NONE:
            return None
        return "; ".join(measured.reasons) or "it does not work here"

    async def measure(self) -> Measurement:
        """Return the present level; makes the enclosure if it is missing.

        A failure is repeated at once, and again at the next command.
        """
        async with self._measuring:
            measured = self._measured
            if measured is None or not measured.is_final or await self._is_outdated():
                self._measured = measured = await self._find_level()
            return measured

    async def _is_outdated(self) -> bool:
        """Whether the enclosure has ended, or does not protect what exists now."""
        if self.level not in _ENCLOSED or sys.platform != "linux":
            return False
        if (used := self._enclosure) is None or not used.is_open:
            return True
        # While something untrusted runs, nothing is looked up again.
        if self.git_outside.inside:
            return False
        shows_all = self._layout is not None and set(self._readable) <= set(self._layout.readable)
        return not shows_all or not await asyncio.to_thread(used.has_all, self._workspace)

    async def _find_level(self) -> Measurement:
        if not self._config.is_used:
            reason = "it is switched off: `[sandbox] enabled`"
            return Measurement(SandboxLevel.NONE, (reason,))
        reasons, is_final = list[str](), True
        if sys.platform == "linux":
            means = await asyncio.to_thread(self._meter.find_means)
            missing = confinement.find_missing(SandboxLevel.FULL, means)
            if missing is None and means.bubblewrap is not None:
                if (problem := await self._open(means.bubblewrap)) is None:
                    is_open = self._layout is not None and self._layout.is_home_open
                    return Measurement(SandboxLevel.PARTIAL if is_open else SandboxLevel.FULL)
                missing, is_final = f"the sandbox could not start: {problem}", False
            reasons.append(missing or "")
        weaker = await asyncio.to_thread(self._meter.measure)
        is_final = is_final and weaker.is_final
        return Measurement(weaker.level, (*reasons, *weaker.reasons), is_final)

    async def _open(self, program: str) -> str | None:
        """Make the enclosure; return why it cannot be made, after a second attempt."""
        problem = ""
        for _ in range(_ATTEMPTS):
            await self._end()
            try:
                built = await asyncio.to_thread(self._build_layout)
                self._enclosure = await asyncio.to_thread(enclosure.open_enclosure, program, built)
                self._layout = built
                self._network = enclosed_network.EnclosedNetwork(
                    self._enclosure, self._refusals, self._config.ports
                )
                await self._network.serve()
            except enclosure.SlowEnclosureError as error:
                return str(error)
            except (enclosure.EnclosureError, OSError) as error:
                problem = str(error)
                continue
            return None
        return problem

    @property
    def places(self) -> GuardedPlaces:
        """What commands changed at protected places."""
        return self._places

    @property
    def hosts(self) -> tuple[str, ...]:
        return self.exceptions.get_hosts()

    @property
    def reached(self) -> tuple[str, ...]:
        """The hosts, and the ports of this machine, that commands can reach."""
        return (*self.hosts, *self._config.services)

    def allows_host(self, name: str) -> bool:
        return any(allows_host(spec, name) for spec in self.hosts)

    @property
    def has_repository(self) -> bool:
        """Whether the workspace is in a git repository; blocks."""
        return find_repository(self._workspace) is not None

    @property
    def has_read_only_workspace(self) -> bool:
        return is_read_only(self._workspace)

    def hides(self, path: Path) -> bool:
        """Whether a path exists that commands do not see, because its directory is replaced."""
        return self._layout is not None and path_exists(path) and self._layout.hides(path)

    @property
    def is_required(self) -> bool:
        """Whether `[sandbox] require` names a level, so that every command outside of it asks."""
        return SandboxLevel(self._config.require) is not SandboxLevel.NONE

    @property
    def is_below_requirement(self) -> bool:
        """Whether `[sandbox] require` needs a stronger level, so that every command asks."""
        level = self.level or SandboxLevel.NONE
        return level.rank < SandboxLevel(self._config.require).rank

    def excepts(self, line: str, *, needs_network: bool = False) -> bool:
        """Whether the user excepts each command of a line from the sandbox; blocks.

        `needs_network`: parts of it that only read are excepted with the others. Git is not while
        other commands run, which can change what it runs after this has looked.
        """
        if self.git_outside.inside and syntax.may_name("git", line):
            return False
        return self.is_active and self.exceptions.covers(line, with_filters=needs_network)

    def find_need(self, line: str) -> NetworkOffer | None:
        """Return what of a line needs a network that the sandbox does not have; blocks."""
        if self._enclosure is None:
            return None
        network = downloads.Network(self.hosts, self._refusals.get_hosts)
        return downloads.find_need(line, self._workspace, network)

    def find_host_need(self, line: str) -> str:
        """Return why a line cannot work in the sandbox; empty if nothing is known. Blocks."""
        if (layout := self._layout) is None:
            return ""
        return host_needs.find_host_need(line, self._workspace, layout.sealed, layout.writable)

    @property
    def has_own_network(self) -> bool:
        """Whether a server that a command starts can be reached by other commands only."""
        return self._enclosure is not None

    @property
    def contains_fully(self) -> bool:
        """Whether commands are in a full sandbox without a network."""
        return self.level is SandboxLevel.FULL and not self.reached

    @property
    def allows_commands(self) -> bool:
        """Whether commands run unasked: `[sandbox] auto_allow`, a full sandbox, no network."""
        return self._config.auto_allow and self.contains_fully

    @property
    def private_directories(self) -> tuple[str, ...]:
        """Temporary directories of a full sandbox in which nothing of the machine is visible."""
        return self._layout.own_temporary if self._layout and self.contains_fully else ()

    def describe(self) -> str:
        """Return what encloses a command, for approval prompts; empty if it is switched off."""
        if self._measured is None or not self._config.is_used:
            return ""
        level = describe_level(self._measured.level, self.reached)
        return level or f"no sandbox: {self.unavailable}"

    @asynccontextmanager
    async def enclose(
        self,
        command: ShellCommand,
        named: Collection[str] = (),
        *,
        hosts: Collection[str] = (),
        is_needed: bool = True,
        may_change_git: bool = False,
        has_network: bool = False,
    ) -> AsyncGenerator[Enclosed, None]:
        """Yield the command as it runs in the sandbox; unchanged if it is switched off.

        What it changes at protected places is taken back at the end; `places` has it. `named`: the
        words of its line, of which an address can be added to the settings of git. `is_needed`:
        False if the user allowed it to run without a sandbox. `may_change_git`: the user allowed it
        to change settings of git. `hosts`: those that commands can reach from now on, too.
        `has_network`: it alone reaches every public host.

        Raises:
            SandboxError: the sandbox could not be made.
            ToolError: git runs outside of it.
        """
        await self.git_outside.wait_for_git()
        measured = await self.measure()
        enclosed, network = self._enclosure, self._network
        if enclosed is not None and network is not None and measured.level in _ENCLOSED:
            await self._use_hosts(network, hosts, has_network=has_network)
            async with (
                self.git_outside.running_inside(is_lasting=command.is_lasting),
                self._places.watching(named, may_change_git=may_change_git),
            ):
                network.look()  # what was refused before is not of this command
                with (
                    self._refusals.watching(named) as refused,
                    closing(ports.Servers(enclosed)) as servers,
                    network.serving_all(has_network=has_network) as password,
                ):
                    prepared = self._prepare(command, enclosed, network, password)
                    prepared = replace(prepared, starter=servers)
                    find_refused = partial(network.list_refused, refused)
                    yield Enclosed(prepared, measured.level, find_refused, servers)
            return
        if measured.level is SandboxLevel.NONE:
            if is_needed and (problem := self.unavailable) is not None:
                raise SandboxError(problem)
            yield Enclosed(command)
            return
        with ExitStack() as stack:
            try:
                build = self._build_layout
                confined = await self._singles.confine(command, measured.level, build, stack)
            except OSError as error:
                raise SandboxError(str(error)) from error
            yield Enclosed(confined, measured.level)

    async def _use_hosts(
        self, network: "EnclosedNetwork", added: Collection[str], *, has_network: bool
    ) -> None:
        try:
            async with self._measuring:
                self.exceptions.hosts_of_servers += tuple(added)
                await network.use_hosts(self.exceptions.get_hosts, has_network=has_network)
        except OSError as error:
            raise SandboxError(str(error)) from error

    def _prepare(
        self,
        command: ShellCommand,
        enclosed: "Enclosure",
        network: "EnclosedNetwork",
        password: str,
    ) -> ShellCommand:
        """Return a command with the environment that it has in the enclosure."""
        environment = network.replace_variables(command.environment, password)
        environment |= caches.build_variables(enclosed.read_only_caches, str(layout.TEMPORARY[0]))
        # Each bind mount is another file system to git, which would search no repository above it.
        environment["GIT_DISCOVERY_ACROSS_FILESYSTEM"] = "1"
        environment["TMPDIR"] = str(layout.TEMPORARY[0])
        environment["YOURTOOL_SANDBOX"] = self.shown_level
        return replace(command, environment=environment)

    def _build_layout(self) -> "Layout":
        places = (real_path(expand_home(Path(each))) for each in self._config.writable)
        around = layout.Surroundings(
            own=self._own,
            readable=(*self._readable, *confinement.find_interpreter()),
            writable=tuple(path for path in places if path_exists(path)),
            seen_in_home=tuple(expand_home(Path(each)) for each in self._config.readable),
            hidden_in_home=tuple(expand_home(Path(each)) for each in self._config.hidden),
        )
        return layout.build_layout(real_path(self._workspace), around)

    async def _end(self) -> None:
        if self._network is not None:
            await self._network.close()
        self._network = None
        if (ended := self._enclosure) is not None:
            self._enclosure = None
            await asyncio.to_thread(ended.close)

    async def close(self) -> None:
        """End all commands that still run in it; idempotent."""
        async with self._measuring:
            self._measured = None
            await self._end()
