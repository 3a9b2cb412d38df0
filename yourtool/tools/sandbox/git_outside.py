"""Exclusion between outside git and sandboxed commands.

A command could change what git runs after the settings of git were looked at.
"""

import asyncio
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager

from yourtool.errors import ToolError

_WAIT_SECONDS = 30.0
_OTHERS = "it was not run, because {}: call it again when that has ended"
_INSIDE = "commands in the sandbox still run, which can change what git runs"
_OUTSIDE = "git still runs outside the sandbox, and commands in it can change what git runs"


class GitOutside:
    """Lets git outside wait for commands in the sandbox, and these for git."""

    def __init__(self) -> None:
        self.inside = 0
        """Everything that runs in the sandbox."""
        self._short = 0
        """Of these, what a call waits for."""
        self._outside = 0
        self._changed = asyncio.Event()

    @asynccontextmanager
    async def running_inside(self, *, is_lasting: bool) -> AsyncGenerator[None, None]:
        """Count what runs in the sandbox; `is_lasting`: nothing waits for its end.

        Raises:
            ToolError: git still runs outside.
        """
        await self.wait_for_git()
        self.inside += 1
        self._short += not is_lasting
        try:
            yield
        finally:
            self.inside -= 1
            self._short -= not is_lasting
            self._changed.set()

    @asynccontextmanager
    async def running_outside(self, *, is_asked: bool) -> AsyncGenerator[None, None]:
        """Let nothing start in the sandbox meanwhile.

        `is_asked`: the user approved it, perhaps while something runs in the background.

        Raises:
            ToolError: something still runs in the sandbox.
        """
        self._outside += 1
        try:
            await self._wait(lambda: not (self._short if is_asked else self.inside), _INSIDE)
            yield
        finally:
            self._outside -= 1
            self._changed.set()

    async def wait_for_git(self) -> None:
        """Wait until no git runs outside.

        Raises:
            ToolError: it still runs.
        """
        await self._wait(lambda: not self._outside, _OUTSIDE)

    async def _wait(self, is_free: Callable[[], bool], problem: str) -> None:
        try:
            async with asyncio.timeout(_WAIT_SECONDS):
                while not is_free():
                    self._changed.clear()
                    await self._changed.wait()
        except TimeoutError:
            raise ToolError(_OTHERS.format(problem)) from None
