"""File changes of the writing tools.

A tool computes the complete new content first. The preview shows it as a diff and binds the
approval to it. The run computes it again under the file's lock and fails if anything differs.
"""

import hashlib
import itertools
from collections.abc import Callable, Iterable, Sequence
from contextlib import AbstractContextManager, AsyncExitStack
from pathlib import Path, PurePath
from typing import Annotated, Any

from msgspec import Meta, Struct
from msgspec.structs import replace

from yourtool.effects import Editable, Preview
from yourtool.errors import ToolError
from yourtool.foundation.file_images import ABSENT_FILE, FileState, find_hunks
from yourtool.foundation.line_diff import format_unified
from yourtool.permissions import configured_places
from yourtool.tools.base import ToolContext
from yourtool.tools.workspace.encoding import Encoding, detect_encoding, to_lf
from yourtool.tools.workspace.file_states import file_state
from yourtool.tools.workspace.path_resolution import printable_name
from yourtool.tools.workspace.replacing import ABSENT, Replacement, digest

MAX_EDITABLE_BYTES = 16 * 2**20
"""Larger files must be changed with `shell`."""
_MAX_EDITOR_BYTES = 1_000_000
"""Larger files are not opened in an editor."""
_UNKNOWN = "\ufffd"
"""The character that programs show for bytes that they cannot decode."""
_MAX_RANGES = 10
"""Changed ranges of one file that a result names."""
_MAX_SHORT_DIFF_LINES, _MAX_SHORT_DIFF_CHARACTERS = 40, 3_000
"""Size of a diff in a result; the model gets no longer one."""


class Edit(Struct, frozen=True, forbid_unknown_fields=True):
    """One replacement in a file."""

    old: Annotated[
        str,
        Meta(min_length=1, description="Exact text of the file."),
    ]
    new: str
    replace_all: bool = False


class FileChange(Struct, frozen=True):
    """The new content of one file."""

    path: str
    """The path as the model wrote it."""
    real: str
    before: bytes | None
    after: bytes | None
    """None: the file is deleted."""
    remarks: tuple[str, ...] = ()
    """How the old texts of edits differ from the file, for the model."""
    encoding: Encoding | None = None
    """That of the old content; None: it is new, or not text."""
    mode: int | None = None
    """Permission bits of a new file; None: as the umask allows."""
    links: str = ""
    """A sentence about the hard links of the file, after it is written."""
    origin: "FileChange | None" = None
    """For a moved file, how the file at its old path is deleted."""

    @property
    def expected(self) -> str:
        """The digest of the content that it replaces."""
        return _digest(self.before)

    @property
    def guard(self) -> str:
        """A hash of the path, the old and the new content."""
        parts = (self.real, self.expected, _digest(self.after))
        return hashlib.sha256("\0".join(parts).encode("utf-8", "surrogateescape")).hexdigest()

    @property
    def _original(self) -> bytes | None:
        return self.before if self.origin is None else self.origin.before

    def describe(self) -> str:
        """Return what happened to the file, for the model.

        It has the lines as they were written where they differ from what the model sent.
        """
        if self.after is None:
            return f"Deleted `{self.real}`."
        if (before := self._original) is None:
            return f"Created `{self.real}` ({len(self.after):,} bytes)."
        if self.origin is None and before == self.after:
            return f"`{self.real}` is unchanged: it had this content."
        moved = f"Moved `{self.origin.real}` to " if self.origin is not None else "Edited "
        ranges = _format_ranges(before, self.after)
        text = f"{moved}`{self.real}`{ranges}{self._describe_encoding()}."
        diff = self._short_diff() if self.remarks else ""
        return " ".join(filter(None, (text, self.links, *self.remarks))) + diff

    def _describe_encoding(self) -> str:
        """Return the encoding of a file that is not UTF-8, or was not text."""
        if self.encoding is None:
            is_new = not self.before or self.origin is not None
            return "" if is_new else "; it was not text, and is UTF-8 now"
        return f"; it is still {self.encoding.name}" if self.encoding.name else ""

    def _short_diff(self) -> str:
        """Return the diff without its header, after a line break; empty if it is long."""
        body = self._diff_body(around=0)
        text = "\n".join(("", *body))
        is_short = len(body) <= _MAX_SHORT_DIFF_LINES and len(text) <= _MAX_SHORT_DIFF_CHARACTERS
        return text if is_short else ""

    def diff(self) -> str:
        """Return a unified diff; that of a moved file has the names of both paths."""
        before = self._original
        source = self.real if self.origin is None else self.origin.real
        names = (
            "/dev/null" if before is None else f"a/{printable_name(source)}",
            "/dev/null" if self.after is None else f"b/{printable_name(self.real)}",
        )
        header = (f"--- {names[0]}", f"+++ {names[1]}")
        return "\n".join((*header, *(self._diff_body() or ("",))))

    def _diff_body(self, around: int = 3) -> list[str]:
        """Return the hunks of the diff, with some lines around each."""
        encoding = self.encoding or detect_encoding(self._original or b"") or Encoding()
        old, new = (_diff_lines(each or b"", encoding) for each in (self._original, self.after))
        return format_unified(("", ""), old, new, around)[2:]

    def preview(self, build_input: Callable[[str], dict[str, Any]] | None, root: Path) -> Preview:
        """Return the diff for an approval; `build_input` is that of `Editable`; blocking."""
        preview = build_preview((self,), root)
        return replace(preview, editable=self._build_editable(build_input))

    def _build_editable(
        self, build_input: Callable[[str], dict[str, Any]] | None
    ) -> Editable | None:
        """Return the new content for an editor; None if it is large, deleted or not plain text."""
        if build_input is None or self.after is None or len(self.after) > _MAX_EDITOR_BYTES:
            return None
        encoding = Encoding() if self.before is None else self.encoding
        if encoding is None or encoding.errors != "strict":
            return None
        text = encoding.decode(self.after)
        if text.count("\r\n") not in (0, text.count("\n")):
            return None  # an editor would change the line ends that the call does not touch
        suffix = PurePath(self.path).suffix
        return Editable(text=to_lf(text), suffix=suffix, build_input=build_input)


def _format_ranges(before: bytes, after: bytes) -> str:
    """Return which lines of the new content are changed, or how large it is."""
    if before.lstrip().startswith(b"{") and b'"nbformat"' in before:
        return ""  # the lines of a notebook that a model reads are others
    if not (hunks := find_hunks(before, after)):
        return f" ({len(after):,} bytes)"
    shown = ", ".join(
        f"{each.new_start}–{each.new_start + each.new_count - 1}"
        if each.new_count > 1
        else str(each.new_start)
        for each in hunks[:_MAX_RANGES]
    )
    word = "line" if len(hunks) == 1 and hunks[0].new_count < 2 else "lines"
    return f", {word} {shown}{', …' if len(hunks) > _MAX_RANGES else ''}"


def build_preview(changes: Sequence[FileChange], root: Path) -> Preview:
    """Return one diff of several changes in the workspace `root` for an approval; blocking."""
    reason = _find_protection(changes, root)
    return Preview(
        kind="diff",
        body=build_diff(changes),
        paths=tuple(change.real for change in changes),
        protected=reason is not None,
        protection=reason or "",
        guard=_build_guard(changes),
    )


def _find_protection(changes: Sequence[FileChange], root: Path) -> str | None:
    places = configured_places.Protection(root)
    paths = [path for change in changes for path in (change.real, change.path)]
    for path in paths:
        places.expect(path)
    found = filter(None, map(places.find, paths))
    hooks = (
        "protected place (it has commands of a hook manager)"
        for each in changes
        if configured_places.changes_hooks(each.real, each.before, each.after)
    )
    return next(itertools.chain(found, hooks), None)


def build_diff(changes: Sequence[FileChange]) -> str:
    """Return one unified diff."""
    return "\n".join(change.diff() for change in without_origins(changes))


def without_origins(changes: Sequence[FileChange]) -> Sequence[FileChange]:
    """Return the changes without the deletions that are part of a move."""
    origins = {change.origin.real for change in changes if change.origin is not None}
    return [change for change in changes if change.real not in origins]


def _build_guard(changes: Sequence[FileChange]) -> str:
    guards = [change.guard for change in changes]
    return guards[0] if len(guards) == 1 else digest("".join(guards).encode())


async def apply_change(
    compute: Callable[[], FileChange], path: str, context: ToolContext
) -> FileChange:
    """Compute a change under the lock of its file and write it.

    Raises:
        ToolError: the change cannot be made, or is not the approved one; nothing was written.
    """
    (change,) = await apply_changes(lambda: (compute(),), (path,), context)
    return change


async def apply_changes(
    compute: Callable[[], Sequence[FileChange]], paths: Iterable[str], context: ToolContext
) -> Sequence[FileChange]:
    """Compute changes under the locks of their files, and write them when all are computed.

    Raises:
        ToolError: the changes cannot be made, or are not the approved ones; nothing was written.
            Or writing failed: the message lists the files that were written.
    """
    located = await context.run_in_thread(lambda: set(map(context.workspace.locate, paths)))
    async with AsyncExitStack() as locked:
        for real in sorted(located):
            await locked.enter_async_context(context.workspace.lock(real))
        return await context.run_in_thread(_apply, compute, context)


def _apply(
    compute: Callable[[], Sequence[FileChange]], context: ToolContext
) -> Sequence[FileChange]:
    changes = list(compute())
    if context.approved is not None and context.approved.guard != _build_guard(changes):
        raise ToolError(
            f"{_join_paths(changes)} changed after this edit was approved, so nothing was"
            " written; read again with `read_file` and repeat the call"
        )
    for number, change in enumerate(changes):
        try:
            changes[number] = replace(change, links=_write(change, context))
        except ToolError as error:
            if len(changes) == 1:
                raise
            written = _join_paths(changes[:number]) or "none"
            raise ToolError(
                f"The files could not all be changed: {error}. Changed: {written}. Not changed:"
                f" {_join_paths(changes[number:])}.",
                error.failure,
            ) from error
    return changes


def _write(change: FileChange, context: ToolContext) -> str:
    """Journal a change and make it; content that is there already is not written again.

    Returns a sentence about the hard links of the file.
    """
    after = change.after
    if after is not None and change.before == after and change.origin is None:
        context.reads.record(change.real, _digest(after))
        return ""

    def announce(found: Replacement) -> AbstractContextManager[object]:
        old = new = FileState(ABSENT_FILE)
        if change.before is not None:
            old = file_state(change.before, found.before_mode or 0)
        if after is not None:
            new = file_state(after, found.after_mode)
        return context.journal.changing(change.real, old, new, found.directories)

    workspace, path, expected, links = context.workspace, change.path, change.expected, ""
    if after is None:
        workspace.delete(path, expected=expected, announce=announce)
    else:
        links = workspace.write(path, after, expected=expected, announce=announce, mode=change.mode)
    context.reads.record(change.real, _digest(after))
    return links


def _join_paths(changes: Sequence[FileChange]) -> str:
    return ", ".join(f"`{change.path}`" for change in changes)


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


def build_change(
    path: str,
    before: bytes | None,
    after: bytes,
    encoding: Encoding | None,
    context: ToolContext,
) -> FileChange:
    """Return the change of a file by its path as the model wrote it."""
    return FileChange(path, context.workspace.locate(path), before, after, encoding=encoding)


def read_current(path: str, context: ToolContext) -> bytes | None:
    """Return the content, or None if the file is missing; it must be the content last read."""
    workspace = context.workspace
    workspace.check(path, writing=True)
    if path.endswith("/"):
        raise ToolError(f"`{path}` is the path of a directory; add the name of the file")
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


def decode(path: str, data: bytes) -> tuple[Encoding, str]:
    """Return the encoding and the text of a file.

    Raises:
        ToolError: it is not text.
    """
    if (encoding := detect_encoding(data)) is None:
        raise ToolError(
            f"`{path}` is not text, so editing would damage it;"
            " use `shell`, or replace the whole file with `write_file`"
        )
    return encoding, encoding.decode(data)


def encode(path: str, encoding: Encoding, text: str, before: str = "") -> bytes:
    """Return the bytes of a text that replaces another one.

    Raises:
        ToolError: it has a character that cannot be written, or U+FFFD in place of one.
    """
    is_less = encoding.errors != "strict" or _count_foreign(text) < _count_foreign(before)
    if is_less and text.count(_UNKNOWN) > before.count(_UNKNOWN):
        raise ToolError(
            f"the new text for `{path}` has U+FFFD in place of characters of the file, so nothing"
            " was written; read it with `read_file`, and change the other text with small edits"
        )
    try:
        if encoding.errors != "strict" and _count_strays(text) > _count_strays(before):
            text.encode()  # raises the error for a character of the model
        return encoding.encode(text)
    except UnicodeEncodeError as error:
        character = text[error.start]
        if "\ud800" <= character <= "\udfff":
            raise ToolError(
                f"the new text for `{path}` contains an unpaired surrogate at offset {error.start};"
                " repeat the call with complete characters"
            ) from error
        raise ToolError(
            f"`{path}` is {encoding.name}, which has no `{character}` (U+{ord(character):04X}), so"
            " nothing was written; use a character that it has, or convert the file to UTF-8 first"
            " if the user agrees, with `iconv`"
        ) from error


def _count_foreign(text: str) -> int:
    """Return the number of characters that are neither ASCII nor U+FFFD."""
    return len(text) - len(text.encode("ascii", "ignore")) - text.count(_UNKNOWN)


def _count_strays(text: str) -> int:
    return len(text) - len(text.encode("utf-8", "ignore").decode())


def _diff_lines(data: bytes, encoding: Encoding) -> list[str]:
    lines = encoding.show(data).replace("\r\n", "\n").split("\n")
    if lines[-1] == "":
        return lines[:-1]
    return [*lines[:-1], lines[-1] + "\n\\ No newline at end of file"]
