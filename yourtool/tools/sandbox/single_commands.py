"""Commands at the levels without an enclosure, which are confined one by one."""

import asyncio
import os
import shutil
import tempfile
import threading
import weakref
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import AbstractContextManager, asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec.structs import replace

from yourtool.guardian import build_prefix
from yourtool.sandbox_config import SandboxLevel
from yourtool.tools.process import ShellCommand
from yourtool.tools.sandbox import confinement, layout
from yourtool.tools.sandbox.level import LevelMeter

if TYPE_CHECKING:
    from yourtool.tools.sandbox.confinement import Means
    from yourtool.tools.sandbox.layout import Layout


class SingleCommands:
    """Confines the commands of one session; they share a temporary directory."""

    def __init__(self, meter: LevelMeter, own: Sequence[Path]) -> None:
        """`own`: the program's directories."""
        self._meter = meter
        self._own = own
        self._temporary: Path | None = None
        self._lock = threading.Lock()

    @asynccontextmanager
    async def confining(
        self,
        command: ShellCommand,
        level: SandboxLevel,
        build_layout: "Callable[[], Layout]",
    ) -> AsyncGenerator[ShellCommand, None]:
        """Yield the command as it runs at a level.

        Raises:
            OSError: it cannot be confined.
        """

        def look_around() -> "tuple[Layout, Means]":
            # Nothing is replaced at these levels, so what is hidden is a list.
            hidden = layout.find_hidden(self._own)
            return replace(build_layout(), private=(), hidden=hidden), self._meter.find_means()

        built, means = await asyncio.to_thread(look_around)
        confined = confinement.confine(command, built, self._make_temporary(), level, means)
        async with _in_thread(confined) as enclosed:
            yield enclosed

    def _make_temporary(self) -> Path:
        with self._lock:
            if self._temporary is None or not self._temporary.is_dir():
                self._temporary = Path(
                    os.path.realpath(tempfile.mkdtemp(prefix=build_prefix(os.getpid())))
                )
                weakref.finalize(self, shutil.rmtree, self._temporary, True)
            return self._temporary


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
