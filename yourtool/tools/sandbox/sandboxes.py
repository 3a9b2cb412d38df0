"""The sandboxes of a process, which the sessions of a workspace share."""

import asyncio
from collections.abc import Sequence
from pathlib import Path

from yourtool.sandbox_config import SandboxConfig
from yourtool.tools.sandbox.level import LevelMeter
from yourtool.tools.sandbox.sandbox import Sandbox


class Sandboxes:
    """The sandboxes of a process: one for each workspace, which its sessions share."""

    def __init__(self, config: SandboxConfig, own: Sequence[Path] = ()) -> None:
        self._config = config
        self._own = tuple(own)
        self._meter = LevelMeter(config, own)
        self._built = dict[Path, Sandbox]()

    def build(self, workspace: Path, readable: Sequence[Path] = ()) -> Sandbox:
        """Return the sandbox of a session; `readable`: its further directories."""
        if (found := self._built.get(workspace)) is None:
            found = Sandbox(self._config, workspace, self._meter, own=self._own)
            self._built[workspace] = found
        found.show(readable)
        return found

    async def close(self) -> None:
        """End all that runs in them; idempotent."""
        built, self._built = tuple(self._built.values()), {}
        await asyncio.gather(*(each.close() for each in built))
