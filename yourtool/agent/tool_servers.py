"""MCP servers of each workspace."""

import asyncio
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING
from weakref import WeakValueDictionary

from yourtool.agent.session.project.project_trust import ProjectTrust
from yourtool.events.deltas import Notice
from yourtool.foundation.files import path_exists
from yourtool.paths import Paths
from yourtool.permissions.trust import MCP_SERVERS
from yourtool.providers.provider_specs import BUILT_IN, provider_specs
from yourtool.settings.config import Config, RunOptions
from yourtool.tools.processes.environments import Environments
from yourtool.tools.servers import acceptance, server, servers, settings
from yourtool.tools.servers.logins import FILE_NAME as LOGINS_FILE
from yourtool.tools.servers.logins import Logins
from yourtool.tools.toolset import JoinedToolset, Toolbox, Toolset

if TYPE_CHECKING:
    from yourtool.tools.sandbox.sandbox import Sandbox
    from yourtool.tools.servers.server import Surroundings, ToolServer
    from yourtool.tools.servers.servers import ToolServers
    from yourtool.tools.servers.settings import LoadedSettings, SettingsFile

_HEADLESS_SECONDS = 10.0
"""How long a run without a user waits for servers: its one turn would miss their tools."""
_ANSWER_SECONDS = 2.0
"""The longest wait for whether a server needs an answer, which takes the time to read a file."""


class WorkspaceTools:
    """The built-in tools, and those of the servers that a workspace has now."""

    def __init__(self, own: Toolbox, find: "Callable[[], ToolServers | None]") -> None:
        self._own = own
        self._find = find

    def current(self) -> Toolbox:
        """Return the present tools."""
        found = self._find()
        return self._own if found is None else JoinedToolset(self._own, found).current()


class ServerPool:
    """Starts the servers of a workspace for its first session, and ends those of all."""

    def __init__(self, paths: Paths, options: RunOptions, config: Config) -> None:
        self._paths = paths
        self._options = options
        self.environments = build_environments(config)
        """Builds the variables of all programs of the process."""
        self._given = dict[Path, "SettingsFile"]()
        self._started = dict[tuple[Path, "SettingsFile | None"], "ToolServers"]()
        self._joined = set[Path]()
        self._sandboxes = WeakValueDictionary[Path, "Sandbox"]()
        self.on_news: Callable[[Notice], object] | None = None
        """Called when a server that `renew` started has connected or failed."""
        self._reports = set[asyncio.Task[None]]()

    def give(self, workspace: Path, servers: "SettingsFile | None") -> None:
        """Set further servers for the sessions of a workspace that open from now on."""
        if servers is None:
            self._given.pop(workspace, None)
        else:
            self._given[workspace] = servers

    async def join(self, own: Toolbox, workspace: Path, sandbox: "Sandbox | None") -> Toolset:
        """Return the built-in tools and those of the servers, which are started.

        The interface does not wait for them: their tools join a later turn.

        Raises:
            McpSettingsError: a file of the user cannot be read.
        """
        self._joined.add(workspace)
        if sandbox is not None:
            self._sandboxes.setdefault(workspace, sandbox)
        if self.find(workspace) is None:
            await self._load(workspace)
        if (found := self.find(workspace)) is not None and not self._options.interactive:
            await found.settle(_HEADLESS_SECONDS)
        return WorkspaceTools(own, self.build_finder(workspace))

    async def renew(self, workspace: Path) -> tuple[Notice, ...]:
        """Start what is configured by now, end what no longer is; return what needs an answer.

        It does not wait for the servers that it starts: `on_news` gets what becomes of them.

        Raises:
            McpSettingsError: a file of the user cannot be read.
            ConfigError: the file of the answers is invalid.
        """
        added = await self._load(workspace) if workspace in self._joined else ()
        may_start = acceptance.Acceptance(self._paths.home / acceptance.FILE_NAME).may_start
        waiting = [each for each in added if not await asyncio.to_thread(may_start, each.settings)]
        if (found := self.find(workspace)) is None:
            return ()
        for each in added:
            if each not in waiting:
                task = asyncio.create_task(self._report(found, each))
                self._reports.add(task)
                task.add_done_callback(self._reports.discard)
        if waiting:
            await found.settle(_ANSWER_SECONDS, [each.name for each in waiting])
        problems = [each.report_problem() for each in waiting]
        return tuple(Notice(level="warning", text=each) for each in problems if each is not None)

    async def _report(self, found: "ToolServers", started: "ToolServer") -> None:
        outcome = await found.find_outcome(started)
        if outcome is not None and started in found.servers and self.on_news is not None:
            self.on_news(outcome)

    async def _load(self, workspace: Path) -> "Sequence[ToolServer]":
        """Read the files of servers and start what is new; return it."""
        key = workspace, self._given.get(workspace)
        place = (workspace, self._paths, self._options.mcp_config, key[1])
        loaded = await asyncio.to_thread(find_servers, *place)
        found, sandbox = self._started.get(key), self._sandboxes.get(workspace)
        if loaded is None and found is None:
            return ()
        around = build_surroundings(workspace, self._paths, sandbox, self.environments)
        opened = servers.ToolServers(loaded or settings.load_settings([]), around)
        if found is None:
            self._started[key] = opened
            opened.start()
            return opened.servers
        ended, added = _replace_servers(found, opened)
        if added:
            found.start(each.name for each in added)
        await asyncio.gather(*(each.close() for each in ended))
        return added

    def build_finder(self, workspace: Path) -> "Callable[[], ToolServers | None]":
        """Return what finds the servers of a workspace as they are given to it now."""
        return partial(self._started.get, (workspace, self._given.get(workspace)))

    def find(self, workspace: Path) -> "ToolServers | None":
        """Return the servers of a workspace, if a session has started them."""
        return self.build_finder(workspace)()

    async def close(self) -> None:
        """End all servers; idempotent."""
        started = tuple(self._started.values())
        self._started.clear()
        self.on_news = None
        await asyncio.gather(*(each.close() for each in started))


def _replace_servers(
    found: "ToolServers", opened: "ToolServers"
) -> "tuple[Sequence[ToolServer], Sequence[ToolServer]]":
    """Give `found` the servers of `opened`; return those that it lost and those that are new.

    A server that is configured as before stays as it is.
    """
    before = {(each.name, each.part): each for each in found.servers}
    now = list["ToolServer"]()
    for each in opened.servers:
        old = before.get((each.name, each.part))
        now.append(old if old is not None and old.settings == each.settings else each)
    ended = [each for each in found.servers if each not in now]
    added = [each for each in now if each not in found.servers]
    found.servers, found.problems = tuple(now), opened.problems
    return ended, added


def build_environments(config: Config) -> Environments:
    """Return what builds the variables of programs, without the keys of providers."""
    specs = (*BUILT_IN, *provider_specs(config, {}))
    keys = frozenset(name for each in specs for name in each.key_env)
    return Environments(config.shell.environment, keys)


def build_surroundings(
    workspace: Path, paths: Paths, sandbox: "Sandbox | None", environments: Environments
) -> "Surroundings":
    """Return where the servers of a workspace run."""
    store = acceptance.Acceptance(paths.home / acceptance.FILE_NAME)
    logins = Logins(paths.home / LOGINS_FILE)
    return server.Surroundings(workspace, store, logins, sandbox, environments)


def load_servers(
    workspace: Path, paths: Paths, option: Path | None, given: "SettingsFile | None" = None
) -> "LoadedSettings":
    """Return the configured servers of a workspace; blocks on the file system.

    `option`: the file of `--mcp-config`. `given`: servers from the front end. The file of a
    project counts only with the content that the user trusted.

    Raises:
        McpSettingsError: a file of the user cannot be read.
    """
    return find_servers(workspace, paths, option, given) or settings.load_settings([])


def find_servers(
    workspace: Path, paths: Paths, option: Path | None, given: "SettingsFile | None"
) -> "LoadedSettings | None":
    """Return what `load_servers` returns, or None if there is no file of servers."""
    project = [
        file
        for file in ProjectTrust(workspace, paths).examine().used_files
        if file.kind is MCP_SERVERS
    ]
    own = paths.mcp_servers
    if given is None and option is None and not project and not path_exists(own):
        return None
    files = list["SettingsFile"]() if given is None else [given]
    if option is not None:
        if (read := settings.read_file(option, "option")) is None:
            raise settings.McpSettingsError(f"`--mcp-config`: there is no file `{option}`")
        files.append(read)
    if (read := settings.read_file(own, "user")) is not None:
        files.append(read)
    files += (settings.SettingsFile(str(file.path), file.text, "project") for file in project)
    return settings.load_settings(files)
