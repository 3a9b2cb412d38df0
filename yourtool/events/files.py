"""Facts about file changes and undo."""

from typing import ClassVar, Literal, TypeAlias

from msgspec import UNSET, UnsetType

from yourtool.events.facts import Actor, Fact, Sensitivity
from yourtool.foundation.file_images import FileRestore, LeftFile, RecordedChange
from yourtool.messages.message import PromptMessage


class FilesChanged(Fact, frozen=True, kw_only=True, tag="files.changed"):
    """A call changes files.

    Stored before a file tool replaces the file, in one step: after a crash the file is as before or
    as after. Stored after a command has ended, because its changes are unknown before.
    """

    actor: ClassVar[Actor] = Actor.TOOL
    sensitivity: ClassVar[Sensitivity] = Sensitivity.PRIVATE

    tool_use_id: str
    changes: tuple[RecordedChange, ...]
    omitted: int = 0
    """Number of further files that changed and are not listed."""


class FileChangeFailed(Fact, frozen=True, kw_only=True, tag="files.change_failed"):
    """The file of a `files.changed` is as it was before, because replacing it failed."""

    actor: ClassVar[Actor] = Actor.TOOL

    tool_use_id: str
    changed_event_id: str


RestoreKind: TypeAlias = Literal["undo", "redo", "rewind"]


class FilesRestoring(Fact, frozen=True, kw_only=True, tag="files.restoring"):
    """Files are being restored; stored before the first one changes.

    Each file is replaced in one step. Without a `files.restored` the program died in the middle,
    and restoring can be finished.
    """

    actor: ClassVar[Actor] = Actor.USER
    sensitivity: ClassVar[Sensitivity] = Sensitivity.PRIVATE

    kind: RestoreKind
    turns: tuple[str, ...]
    """Ids of the turns whose changes are taken back or made again."""
    files: tuple[FileRestore, ...]
    left: tuple[LeftFile, ...] = ()
    """Files of these turns that will not be restored."""
    through: str | UnsetType = UNSET
    """Id of the fact after which the files were as they are to be; unset: only `turns` count."""


class FilesRestored(Fact, frozen=True, kw_only=True, tag="files.restored"):
    """The files of the `files.restoring` before were restored, except for those in `left`."""

    actor: ClassVar[Actor] = Actor.USER
    sensitivity: ClassVar[Sensitivity] = Sensitivity.PRIVATE

    kind: RestoreKind
    paths: tuple[str, ...]
    left: tuple[LeftFile, ...] = ()
    message: PromptMessage | None = None
    """Names the files for the model; None if no request contained the changes."""
