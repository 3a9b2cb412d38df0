"""Interface for the record of file changes."""

from contextlib import AbstractContextManager, nullcontext
from typing import Protocol

from yourtool.foundation.file_images import FileState
from yourtool.tools.changes.workspace_watch import CommandChanges


class ChangeJournal(Protocol):
    """Records the changes of files by a call, so that they can be taken back."""

    def changing(
        self,
        path: str,
        before: FileState,
        after: FileState,
        directories: tuple[str, ...] = (),
    ) -> AbstractContextManager[object]:
        """Return a context in which a file changes; entering it can block.

        `path`: real path relative to the workspace; `directories`: those created for the file.

        Raises:
            ToolError: when the context is entered: the change must not happen.
        """
        ...

    async def add(self, found: CommandChanges) -> None:
        """Record changes that were found afterwards, as those of a command are."""
        ...


class NoJournal:
    """Records nothing."""

    def changing(
        self,
        path: str,
        before: FileState,
        after: FileState,
        directories: tuple[str, ...] = (),
    ) -> AbstractContextManager[object]:
        """Return a context without an effect."""
        del path, before, after, directories
        return nullcontext()

    async def add(self, found: CommandChanges) -> None:
        """Record nothing."""
