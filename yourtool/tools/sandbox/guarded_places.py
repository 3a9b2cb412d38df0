"""Protected places while commands run in an enclosure.

The settings and hooks of git are also looked at during a command, because the user's own git can
run what they name at any moment; the other places when it has ended.
"""

import asyncio
from collections.abc import AsyncGenerator, Collection, Sequence
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING

from yourtool.tools import protection

if TYPE_CHECKING:
    from yourtool.tools.protection.changes import Change
    from yourtool.tools.protection.protected import ProtectedPlaces

_POLL_SECONDS = 0.1
_MAX_POLL_SECONDS = 1.0
"""Of a command that has run for long, such as a server."""


class GuardedPlaces:
    """The protected places of one workspace, and what was taken back there."""

    def __init__(self, workspace: Path) -> None:
        self._workspace = workspace
        self._places: ProtectedPlaces | None = None
        self._changes = list["Change"]()
        self._facts = list[str]()

    @asynccontextmanager
    async def watching(
        self, named: Collection[str], *, may_change_git: bool = False
    ) -> AsyncGenerator[None, None]:
        """Compare the places before and after a command, and take back what is not right.

        `named`: addresses that may be added to the settings of git. `may_change_git`: the user
        allowed a change of them, which the command itself may need, so they are compared at its
        end only.
        """
        places = await asyncio.to_thread(self._begin)
        looking = asyncio.create_task(
            asyncio.sleep(0) if may_change_git else self._look(places, named)
        )
        try:
            yield
        finally:
            looking.cancel()
            await asyncio.wait({looking})
            ending = asyncio.to_thread(places.end, named)
            outcome = await asyncio.shield(asyncio.ensure_future(ending))
            self._changes += outcome.changes
            self._facts += outcome.facts

    def _begin(self) -> "ProtectedPlaces":
        places = self._places or protection.protected.ProtectedPlaces(self._workspace)
        places.begin()
        self._places = places
        return places

    async def _look(self, places: "ProtectedPlaces", named: Collection[str]) -> None:
        pause = _POLL_SECONDS
        with suppress(asyncio.CancelledError):
            while True:
                await asyncio.sleep(pause)
                look = asyncio.to_thread(places.check_running, named)
                looking = asyncio.ensure_future(look)
                try:
                    self._changes += await asyncio.shield(looking)
                except asyncio.CancelledError:
                    self._changes += await looking
                    raise
                pause = min(pause * 1.1, _MAX_POLL_SECONDS)

    def take(self) -> "tuple[Sequence[Change], Sequence[str]]":
        """Return the changes since the last time, and sentences about the places."""
        taken = (tuple(self._changes), tuple(dict.fromkeys(self._facts)))
        self._changes, self._facts = [], []
        return taken

    async def apply(self, changes: "Sequence[Change]") -> None:
        """Make changes that the user allowed.

        Raises:
            ToolError: a place changed meanwhile, or cannot be written.
        """
        if self._places is not None:
            await asyncio.to_thread(self._places.apply, changes)

    async def accept(self, paths: Sequence[str]) -> None:
        """Take what is at paths of the workspace for right, after a tool of ours wrote it."""
        if self._places is not None:
            await asyncio.to_thread(self._places.accept, paths)
