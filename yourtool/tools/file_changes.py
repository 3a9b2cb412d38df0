"""The changes of files by the writing tools, which write exactly what was approved.

A tool computes the complete new content first. The preview shows it as a diff and binds the
approval to it. The run computes it again under the file's lock and fails if anything differs.
"""

import difflib
import hashlib
from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import PurePath
from typing import Any

from msgspec import Struct

from yourtool.effects import Editable, Preview
from yourtool.errors import ToolError
from yourtool.file_images import ABSENT_FILE, FileState
from yourtool.permissions.protected_places import is_protected
from yourtool.tools.base import ToolContext
from yourtool.tools.encoding import Encoding, detect_encoding
from yourtool.tools.file_states import file_state
from yourtool.tools.path_resolution import printable_name
from yourtool.tools.replacing import ABSENT, Replacement, digest
from yourtool.tools.text_edits import to_lf

MAX_EDITABLE_BYTES = 16 * 2**20
"""Larger files must be changed with `shell`."""
_MAX_EDITOR_BYTES = 1_000_000
"""Larger files are not opened in an editor."""


class FileChange(Struct, frozen=True):
    """The new content of one file."""

    path: str
    """The path as the model wrote it."""
    real: str
    before: bytes | None
    after: bytes
    remarks: tuple[str, ...] = ()
    """How the old texts of edits differ from the file, for the model."""

    @property
    def expected(self) -> str:
        """The digest of the content that it replaces."""
        return _digest(self.before)

    @property
    def guard(self) -> str:
        """A hash of the path, the old and the new content."""
        parts = (self.real, self.expected, digest(self.after))
        return hashlib.sha256("\0".join(parts).encode("utf-8", "surrogateescape")).hexdigest()

    def diff(self) -> str:
        """Return a unified diff."""
        name = printable_name(self.real)
        names = "/dev/null" if self.before is None else f"a/{name}", f"b/{name}"
        old, new = _diff_lines(self.before or b""), _diff_lines(self.after)
        lines = list(difflib.unified_diff(old, new, *names, lineterm=""))
        return "\n".join(lines) or f"--- {names[0]}\n+++ {names[1]}\n"

    def preview(self, build_input: Callable[[str], dict[str, Any]] | None) -> Preview:
        """Return the diff for an approval; `build_input` is that of `Editable`."""
        return Preview(
            kind="diff",
            body=self.diff(),
            paths=(self.real,),
            protected=is_protected(self.real) or is_protected(self.path),
            guard=self.guard,
            editable=self._build_editable(build_input),
        )

    def _build_editable(
        self, build_input: Callable[[str], dict[str, Any]] | None
    ) -> Editable | None:
        """Return the new content for an editor; None if it is large or not plain text."""
        encoding = detect_encoding(self.after)
        if build_input is None or encoding is None or len(self.after) > _MAX_EDITOR_BYTES:
            return None
        text = encoding.decode(self.after)
        if text.count("\r\n") not in (0, text.count("\n")):
            return None  # an editor would change the line ends that the call does not touch
        suffix = PurePath(self.path).suffix
        return Editable(text=to_lf(text), suffix=suffix, build_input=build_input)


async def apply_change(
    compute: Callable[[], FileChange], path: str, context: ToolContext
) -> FileChange:
    """Compute a change under the lock of its file and write it.

    Raises:
        ToolError: the change cannot be made, or is not the approved one; nothing was written.
    """
    real = await context.run_in_thread(context.workspace.locate, path)
    async with context.workspace.lock(real):
        return await context.run_in_thread(_apply, compute, context)


def _apply(compute: Callable[[], FileChange], context: ToolContext) -> FileChange:
    change = compute()
    if context.approved is not None and context.approved.guard != change.guard:
        raise ToolError(
            f"`{change.path}` changed after the user approved this edit, so nothing was written;"
            " read it again with `read_file` and repeat the call"
        )

    def announce(found: Replacement) -> AbstractContextManager[object]:
        before = FileState(ABSENT_FILE)
        if change.before is not None:
            before = file_state(change.before, found.before_mode or 0)
        after = file_state(change.after, found.after_mode)
        return context.journal.changing(change.real, before, after, found.directories)

    context.workspace.write(change.path, change.after, expected=change.expected, announce=announce)
    context.reads.record(change.real, digest(change.after))
    return change


def require_read(path: str, context: ToolContext) -> None:
    """Refuse to edit unread credential files: error messages would reveal their content."""
    workspace = context.workspace
    if (
        workspace.is_credential_file(path)
        and context.reads.last_digest(workspace.locate(path)) is None
    ):
        raise ToolError(
            f"`{path}` may contain credentials, so read it before editing: call `read_file`, which"
            " needs the user's approval"
        )


def build_change(path: str, before: bytes | None, after: bytes, context: ToolContext) -> FileChange:
    """Return the change of a file by its path as the model wrote it."""
    return FileChange(path, context.workspace.locate(path), before, after)


def read_current(path: str, context: ToolContext) -> bytes | None:
    """Return the content, or None if the file is missing; it must be the content last read."""
    workspace = context.workspace
    workspace.check(path, writing=True)
    exists = workspace.kind(path) is not None
    data = workspace.read(path, limit=MAX_EDITABLE_BYTES) if exists else None
    last = context.reads.last_digest(workspace.locate(path))
    if last not in (None, _digest(data)):
        raise ToolError(
            f"`{path}` changed since you last read it, so nothing was written; read it again with"
            " `read_file` and repeat the call for its current content"
        )
    return data


def _digest(data: bytes | None) -> str:
    return ABSENT if data is None else digest(data)


def encode(path: str, encoding: Encoding, text: str) -> bytes:
    """Return the bytes of a text.

    Raises:
        ToolError: it contains unpaired surrogates.
    """
    try:
        return encoding.encode(text)
    except UnicodeEncodeError as error:
        raise ToolError(
            f"the new text for `{path}` contains an unpaired surrogate at offset {error.start};"
            " repeat the call with complete characters"
        ) from error


def _diff_lines(data: bytes) -> list[str]:
    encoding = detect_encoding(data)
    text = encoding.decode(data) if encoding else data.decode("utf-8", "replace")
    lines = text.replace("\r\n", "\n").split("\n")
    if lines[-1] == "":
        return lines[:-1]
    return [*lines[:-1], lines[-1] + "\n\\ No newline at end of file"]
