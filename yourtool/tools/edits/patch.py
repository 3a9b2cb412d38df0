"""The `apply_patch` tool.

A model is offered it in place of `edit_file` if its row in the catalogue has it as `edit_tool`.
"""

from collections.abc import Iterable, Sequence
from functools import partial
from typing import Annotated, Any

from msgspec import Meta
from msgspec.structs import replace

from yourtool.effects import Preview, SideEffects
from yourtool.errors import ToolError
from yourtool.messages.blocks import TextBlock
from yourtool.tools.base import Args, ToolContext, ToolOutput, tool
from yourtool.tools.edits import notebooks, patch_format, patch_hunks, text_edits
from yourtool.tools.edits.file_changes import (
    MAX_EDITABLE_BYTES,
    FileChange,
    apply_changes,
    build_diff,
    build_preview,
    decode,
    encode,
    read_current,
    require_read,
    without_origins,
)
from yourtool.tools.workspace.encoding import Encoding, to_lf

MAX_TOTAL_BYTES = 4 * MAX_EDITABLE_BYTES
"""Of all files that a patch changes, which are in memory until it is applied."""


class ApplyPatch(Args, frozen=True):
    """Arguments of `apply_patch`."""

    patch: Annotated[str, Meta(min_length=1)]

    def workspace_paths(self) -> Iterable[str]:
        """Return the old and the new paths of all files.

        Raises:
            ToolError: the text is not a patch.
        """
        return patch_format.parse_patch(self.patch).paths


async def _preview(args: ApplyPatch, context: ToolContext) -> Preview:
    def build() -> Preview:
        changes, root = _compute(args, context), context.workspace.root
        if len(changes) > 1:
            return build_preview(changes, root)
        return changes[0].preview(partial(_build_input, changes[0]), root)

    return await context.run_in_thread(build)


def _build_input(change: FileChange, text: str) -> dict[str, Any]:
    """Return the arguments of a call that gives a file another content."""
    lines = [f"+{line}" for line in _split(text)]
    if change.before is None:
        lines.insert(0, f"*** Add File: {change.path}")
    else:
        _, old = decode(change.path, change.before)
        removed = [f"-{line}" for line in _split(to_lf(old))]
        lines = [f"*** Update File: {change.path}", "@@", *removed, *lines]
    return {"patch": "\n".join(("*** Begin Patch", *lines, "*** End Patch"))}


def _split(text: str) -> list[str]:
    """Return the lines of a text without their ends."""
    return text.removesuffix("\n").split("\n") if text else []


@tool(SideEffects.WRITE, preview=_preview, records_changes=True)
async def apply_patch(args: ApplyPatch, context: ToolContext) -> ToolOutput:
    """Change files with a patch; either all of it is applied or nothing.

    ```
    *** Begin Patch
    *** Update File: src/app.py
    @@ def greet(name):
     unchanged line
    -removed line
    +added line
    *** Add File: src/new.py
    +each line
    *** Delete File: src/old.py
    *** End Patch
    ```

    `*** Move to: PATH` below `*** Update File` renames the file. Give three unchanged lines around
    each change; if they are not unique, name their function or class with `@@`. Read the files
    first, and omit the line numbers that `read_file` adds.
    """
    paths = args.workspace_paths()
    changes = await apply_changes(lambda: _compute(args, context), paths, context)
    return await context.run_in_thread(_build_output, changes)


def _build_output(changes: Sequence[FileChange]) -> ToolOutput:
    return ToolOutput(
        (TextBlock("\n".join(change.describe() for change in without_origins(changes))),),
        details={"diff": build_diff(changes)},
        files_modified=tuple(change.real for change in changes),
    )


apply_patch.definition = replace(apply_patch.definition, subject_kind="path")


def _compute(args: ApplyPatch, context: ToolContext) -> Sequence[FileChange]:
    """Return the changes of a patch: deletions last, so that no content is lost in between.

    Raises:
        ToolError: the patch cannot be applied.
    """
    patched = _PatchedFiles(context)
    for each in patch_format.parse_patch(args.patch).files:
        match each:
            case patch_format.AddedFile():
                patched.add(each)
            case patch_format.DeletedFile():
                patched.delete(each)
            case patch_format.UpdatedFile():
                patched.update(each)
    changes = patched.get_changes()
    if not changes:
        raise ToolError("The patch does not change any file: make the new lines differ.")
    return changes


class _PatchedFiles:
    """The files as the patch has left them so far."""

    def __init__(self, context: ToolContext) -> None:
        self._context = context
        self._changes: dict[str, FileChange] = {}
        """By real path, in the order of the patch."""
        self._size = 0
        """Bytes of the files that were read."""
        self._moved: set[str] = set()
        """The old and the new real paths of moved files."""

    def get_changes(self) -> Sequence[FileChange]:
        """Return the files that differ, deleted ones last."""
        changes = [each for each in self._changes.values() if each.before != each.after]
        return sorted(changes, key=lambda each: each.after is None)

    def add(self, added: "patch_format.AddedFile") -> None:
        """Create a file."""
        change = self._open(added.path, added.line)
        if change.after is not None:
            raise ToolError(
                f"`{added.path}` exists, so nothing was changed; use `*** Update File` (line"
                f" {added.line} of the patch)"
            )
        content = encode(added.path, Encoding(), added.content)
        self._changes[change.real] = replace(change, after=content, encoding=Encoding())

    def delete(self, deleted: "patch_format.DeletedFile") -> None:
        """Delete a file."""
        change = self._open_existing(deleted.path, deleted.line)
        self._require_no_link(deleted.path)
        self._changes[change.real] = replace(change, after=None)

    def update(self, updated: "patch_format.UpdatedFile") -> None:
        """Change the lines of a file, or its path."""
        change = self._open_existing(updated.path, updated.line)
        path, before = updated.path, change.after or b""
        after, remarks, encoding = before, change.remarks, change.encoding
        if updated.hunks:
            encoding, text = decode(path, before)
            hunks, mask = updated.hunks, self._context.mask

            def apply(text: str, encoding: Encoding) -> text_edits.EditedText:
                return patch_hunks.apply_hunks(path, text, hunks, encoding, mask)

            edited = notebooks.edit_text(path, text, encoding, apply)
            after = encode(path, encoding, edited.text, text)
            remarks = (*remarks, *edited.remarks)
        change = replace(change, encoding=encoding)
        if updated.target:
            self._move(change, after, remarks, updated)
        elif after == before:
            raise ToolError(
                f"The patch does not change `{path}` (line {updated.line} of the patch), so nothing"
                " was changed: make the added lines differ from the removed ones"
            )
        else:
            self._changes[change.real] = replace(change, after=after, remarks=remarks)

    def _move(
        self,
        change: FileChange,
        after: bytes,
        remarks: tuple[str, ...],
        updated: "patch_format.UpdatedFile",
    ) -> None:
        self._require_no_link(updated.path)
        target = self._open(updated.target, updated.line)
        if target.after is not None or change.before is None or change.real in self._changes:
            raise ToolError(
                f"`{updated.path}` cannot be moved to `{updated.target}` (line {updated.line} of"
                " the patch), so nothing was changed: the old path has to exist and the new one"
                " not, and one section has all changes of a moved file"
            )
        origin = replace(change, after=None)
        mode = self._context.workspace.permissions(updated.path)
        self._changes[target.real] = replace(
            target,
            after=after,
            remarks=remarks,
            encoding=change.encoding,
            mode=mode,
            origin=origin,
        )
        self._changes[origin.real] = origin
        self._moved |= {target.real, origin.real}

    def _open_existing(self, path: str, line: int) -> FileChange:
        change = self._open(path, line)
        if change.after is None:
            if change.before is not None:
                raise ToolError(f"`{path}` is deleted before line {line} of the patch")
            with self._context.workspace.open(path):  # raises an error that describes the path
                raise ToolError(f"`{path}` was just created; read it with `read_file` first")
        require_read(path, self._context)
        return change

    def _open(self, path: str, line: int) -> FileChange:
        """Return the change of a file so far; a new one has no effect."""
        real = self._context.workspace.locate(path)
        if real in self._moved:
            raise ToolError(
                f"`{path}` is moved before line {line} of the patch, so nothing was changed; put"
                " all changes of a moved file into one section"
            )
        if (change := self._changes.get(real)) is not None:
            return change
        before = read_current(path, self._context)
        self._size += len(before or b"")
        if self._size > MAX_TOTAL_BYTES:
            raise ToolError(
                f"The files of the patch have more than {MAX_TOTAL_BYTES:,} bytes up to `{path}`,"
                " so nothing was changed; send several smaller patches"
            )
        return FileChange(path, real, before, before)

    def _require_no_link(self, path: str) -> None:
        if self._context.workspace.is_link(path):
            raise ToolError(
                f"`{path}` is a symbolic link, so nothing was changed; use `shell` to delete or"
                " rename it"
            )
