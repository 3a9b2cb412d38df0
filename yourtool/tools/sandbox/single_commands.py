"""Commands at the levels without an enclosure."""

import asyncio
import os
import shutil
import tempfile
import threading
import weakref
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec.structs import replace

from yourtool.process.guardian import build_prefix
from yourtool.settings.sandbox_config import SandboxLevel
from yourtool.tools.processes.process import ShellCommand
from yourtool.tools.sandbox import confinement, layout
from yourtool.tools.sandbox.level import LevelMeter

if TYPE_CHECKING:
    from yourtool.tools.sandbox.layout import Layout


class SingleCommands:
    """Confines the commands of one session; they share a temporary directory."""

    def __init__(self, meter: LevelMeter, own: Sequence[Path]) -> None:
        """`own`: the program's directories."""
        self._meter = meter
        self._own = own
        self._temporary: Path | None = None
        self._lock = threading.Lock()

    async def confine(
        self,
        command: ShellCommand,
        level: SandboxLevel,
        build_layout: "Callable[[], Layout]",
        stack: ExitStack,
    ) -> ShellCommand:
        """Return the command as it runs at a level; `stack` closes what it is given.

        Raises:
            OSError: it cannot be confined.
        """

        def look_around() -> ShellCommand:
            # Nothing is replaced at these levels, so what is hidden is a list.
            hidden = layout.find_hidden(self._own)
            built = replace(build_layout(), private=(), hidden=hidden)
            means = self._meter.find_means()
            return confinement.confine(command, built, self._make_temporary(), level, means, stack)

        return await asyncio.to_thread(look_around)

    def _make_temporary(self) -> Path:
        with self._lock:
            if self._temporary is None or not self._temporary.is_dir():
                self._temporary = Path(
                    os.path.realpath(tempfile.mkdtemp(prefix=build_prefix(os.getpid())))
                )
                weakref.finalize(self, shutil.rmtree, self._temporary, True)
            return self._temporary
