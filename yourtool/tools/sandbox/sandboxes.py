"""Sandboxes of a process."""

import asyncio
from collections.abc import Sequence
from pathlib import Path
from weakref import WeakValueDictionary

from yourtool.settings.sandbox_config import SandboxConfig
from yourtool.tools.sandbox.level import LevelMeter
from yourtool.tools.sandbox.sandbox import Sandbox


class Sandboxes:
    """The sandboxes of a process: one for each workspace, which its sessions share.

    That of a copy lasts as long as its sessions, which close it.
    """

    def __init__(self, config: SandboxConfig, own: Sequence[Path] = ()) -> None:
        self._config = config
        self._own = tuple(own)
        self._meter = LevelMeter(config, own)
        self._built = dict[Path, Sandbox]()
        self._of_copies = WeakValueDictionary[Path, Sandbox]()

    def build(
        self, workspace: Path, readable: Sequence[Path] = (), *, is_copy: bool = False
    ) -> Sandbox:
        """Return the sandbox of a session; `readable`: its further directories."""
        built = self._of_copies if is_copy else self._built
        if (found := built.get(workspace)) is None:
            found = Sandbox(self._config, workspace, self._meter, own=self._own)
            built[workspace] = found
        found.show(readable)
        return found

    async def close(self) -> None:
        """End all that runs in them; idempotent."""
        built = (*self._built.values(), *self._of_copies.values())
        self._built, self._of_copies = {}, WeakValueDictionary[Path, Sandbox]()
        await asyncio.gather(*(each.close() for each in built))
