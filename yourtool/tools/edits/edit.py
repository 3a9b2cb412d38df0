"""The tools `write_file` and `edit_file`."""

from typing import Annotated, Any

from msgspec import Meta
from msgspec.structs import replace

from yourtool.effects import Preview, SideEffects
from yourtool.errors import ToolError
from yourtool.messages.blocks import TextBlock
from yourtool.tools.base import Args, ToolContext, ToolOutput, tool
from yourtool.tools.edits import notebooks, text_edits
from yourtool.tools.edits.file_changes import (
    Edit,
    FileChange,
    apply_change,
    build_change,
    decode,
    encode,
    read_current,
    require_read,
)
from yourtool.tools.workspace.encoding import Encoding, detect_encoding, to_lf


class WriteFile(Args, frozen=True):
    """Arguments of `write_file`."""

    path: str
    content: Annotated[str, Meta(description="The complete new content.")]


class EditFile(Args, frozen=True):
    """Arguments of `edit_file`."""

    path: str
    edits: Annotated[
        tuple[Edit, ...],
        Meta(min_length=1, description="Applied in order."),
    ]


async def _preview_write(args: WriteFile, context: ToolContext) -> Preview:
    def build_input(text: str) -> dict[str, Any]:
        return {"path": args.path, "content": text}

    return await context.run_in_thread(
        lambda: _compute_write(args, context).preview(build_input, context.workspace.root)
    )


async def _preview_edit(args: EditFile, context: ToolContext) -> Preview:
    return await context.run_in_thread(_preview_change, args, context)


def _preview_change(args: EditFile, context: ToolContext) -> Preview:
    change = _compute_edit(args, context)
    if change.encoding is None or not change.before:
        return change.preview(None, context.workspace.root)
    old = to_lf(change.encoding.decode(change.before))

    def build_input(text: str) -> dict[str, Any]:
        return {"path": args.path, "edits": [{"old": old, "new": text}]}

    return change.preview(build_input, context.workspace.root)


@tool(SideEffects.WRITE, preview=_preview_write, records_changes=True)
async def write_file(args: WriteFile, context: ToolContext) -> ToolOutput:
    """Create a file, with its directories, or replace all of its content."""
    change = await apply_change(lambda: _compute_write(args, context), args.path, context)
    return await context.run_in_thread(_build_output, change)


@tool(SideEffects.WRITE, preview=_preview_edit, records_changes=True)
async def edit_file(args: EditFile, context: ToolContext) -> ToolOutput:
    """Replace exact text in one file; either all edits are applied or none.

    Each `old` must occur exactly once, so include enough surrounding lines, unless `replace_all` is
    set. Read the file first, and omit the line numbers that `read_file` adds.
    """
    change = await apply_change(lambda: _compute_edit(args, context), args.path, context)
    return await context.run_in_thread(_build_output, change)


def _build_output(change: FileChange) -> ToolOutput:
    return ToolOutput(
        (TextBlock(change.describe()),),
        details={"path": change.real, "diff": change.diff(), "created": change.before is None},
        files_modified=(change.real,),
    )


def _compute_write(args: WriteFile, context: ToolContext) -> FileChange:
    before, text = read_current(args.path, context), args.content
    encoding = detect_encoding(before or b"")
    if not before or encoding is None:
        after = encode(args.path, Encoding(), notebooks.build_notebook(args.path, text, ""))
        return build_change(args.path, before, after, encoding, context)
    old = encoding.decode(before)
    text = encoding.with_line_endings(notebooks.build_notebook(args.path, text, old))
    if old.endswith("\n") and text and not text.endswith("\n"):
        text += encoding.with_line_endings("\n")
    after = encode(args.path, encoding, text, old)
    return build_change(args.path, before, after, encoding, context)


def _compute_edit(args: EditFile, context: ToolContext) -> FileChange:
    before = read_current(args.path, context)
    if before is None:
        with context.workspace.open(args.path):  # raises an error that describes the path
            raise ToolError(f"`{args.path}` was just created; read it with `read_file` first")
    require_read(args.path, context)
    encoding, text = decode(args.path, before)

    def apply(text: str, encoding: Encoding) -> text_edits.EditedText:
        return text_edits.apply_edits(args.path, text, args.edits, encoding, context.mask)

    edited = notebooks.edit_text(args.path, text, encoding, apply)
    after = encode(args.path, encoding, edited.text, text)
    if after == before:
        raise ToolError(f"the edits do not change `{args.path}`: make `new` differ from `old`")
    change = build_change(args.path, before, after, encoding, context)
    return replace(change, remarks=edited.remarks)
