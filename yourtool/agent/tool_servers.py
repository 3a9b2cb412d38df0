"""The MCP servers of each workspace of a process, which its sessions share."""

import asyncio
from pathlib import Path
from typing import TYPE_CHECKING

from yourtool.agent.session.project_trust import ProjectTrust
from yourtool.config import RunOptions
from yourtool.paths import Paths
from yourtool.permissions.trust import MCP_SERVERS
from yourtool.tools.servers import acceptance, settings
from yourtool.tools.servers.logins import FILE_NAME as LOGINS_FILE
from yourtool.tools.servers.logins import Logins
from yourtool.tools.servers.server import Surroundings
from yourtool.tools.servers.servers import ToolServers
from yourtool.tools.servers.settings import LoadedSettings, SettingsFile
from yourtool.tools.toolset import JoinedToolset, Toolbox, Toolset

if TYPE_CHECKING:
    from yourtool.tools.sandbox.sandbox import Sandbox

_HEADLESS_SECONDS = 10.0
"""How long a run without a user waits for servers: its one turn would miss their tools."""


class ServerPool:
    """Starts the servers of a workspace for its first session, and ends those of all."""

    def __init__(self, paths: Paths, options: RunOptions) -> None:
        self._paths = paths
        self._options = options
        self._given = dict[Path, SettingsFile]()
        self._started = dict[tuple[Path, SettingsFile | None], ToolServers]()

    def give(self, workspace: Path, servers: SettingsFile | None) -> None:
        """Set further servers for the sessions of a workspace that open from now on."""
        if servers is None:
            self._given.pop(workspace, None)
        else:
            self._given[workspace] = servers

    async def join(self, own: Toolbox, workspace: Path, sandbox: "Sandbox | None") -> Toolset:
        """Return the built-in tools and those of the servers."""
        return JoinedToolset(own, await self.get(workspace, sandbox))

    async def get(self, workspace: Path, sandbox: "Sandbox | None") -> ToolServers:
        """Return the servers of a workspace, started.

        The interface does not wait for them: their tools join a later turn.

        Raises:
            McpSettingsError: a file of the user cannot be read.
        """
        if (found := self.find(workspace)) is None:
            given = self._given.get(workspace)
            loaded = await asyncio.to_thread(
                load_servers, workspace, self._paths, self._options.mcp_config, given
            )
            around = build_surroundings(workspace, self._paths, sandbox)
            found = self._started.setdefault((workspace, given), ToolServers(loaded, around))
            found.start()
        if not self._options.interactive:
            await found.settle(_HEADLESS_SECONDS)
        return found

    def find(self, workspace: Path) -> ToolServers | None:
        """Return the servers of a workspace, if a session has started them."""
        return self._started.get((workspace, self._given.get(workspace)))

    async def close(self) -> None:
        """End all servers; idempotent."""
        started, self._started = tuple(self._started.values()), {}
        await asyncio.gather(*(each.close() for each in started))


def build_surroundings(workspace: Path, paths: Paths, sandbox: "Sandbox | None") -> Surroundings:
    """Return where the servers of a workspace run."""
    store = acceptance.Acceptance(paths.home / acceptance.FILE_NAME)
    return Surroundings(workspace, store, Logins(paths.home / LOGINS_FILE), sandbox)


def load_servers(
    workspace: Path, paths: Paths, option: Path | None, given: SettingsFile | None = None
) -> LoadedSettings:
    """Return the configured servers of a workspace; blocks on the file system.

    `option`: the file of `--mcp-config`. `given`: servers from the front end. The file of a
    project counts only with the content that the user trusted.

    Raises:
        McpSettingsError: a file of the user cannot be read.
    """
    files = list[SettingsFile]() if given is None else [given]
    if option is not None:
        if (given := settings.read_file(option, "option")) is None:
            raise settings.McpSettingsError(f"`--mcp-config`: there is no file `{option}`")
        files.append(given)
    if (own := settings.read_file(paths.home / settings.FILE_NAME, "user")) is not None:
        files.append(own)
    for file in ProjectTrust(workspace, paths).examine().used_files:
        if file.kind is MCP_SERVERS:
            files.append(SettingsFile(str(file.path), file.text, "project"))
    return settings.load_settings(files)
