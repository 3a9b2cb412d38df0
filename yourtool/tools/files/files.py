"""The tools `read_file` and `list_dir`."""

import base64
import threading
from collections.abc import Iterable, Iterator, Sequence
from typing import Annotated, BinaryIO

from msgspec import Meta, Struct

from yourtool.effects import SideEffects
from yourtool.errors import ToolError
from yourtool.foundation.amounts import format_count
from yourtool.foundation.masking import Mask
from yourtool.messages.blocks import ImageBlock, ImageSource, TextBlock
from yourtool.providers.media_types import IMAGE_TYPES, dimensions, sniff
from yourtool.providers.requests.media_parts import format_mib
from yourtool.tools.base import Args, ToolContext, ToolOutput, build_reading, tool
from yourtool.tools.edits import notebooks
from yourtool.tools.edits.file_changes import MAX_EDITABLE_BYTES
from yourtool.tools.files import line_ranges
from yourtool.tools.workspace.encoding import Encoding, detect_encoding, to_lf
from yourtool.tools.workspace.path_resolution import printable_name
from yourtool.tools.workspace.replacing import digest
from yourtool.tools.workspace.workspace import DirectoryEntry

MAX_LINES = 2_000
MAX_RESULT_BYTES = 50_000
"""Maximum size of the text in one result."""

_MAX_LINE_LENGTH = 2_000
_SMALL_STEP = 100
"""Lines; a model that continues in such steps gets the advice to read more at once."""
_MAX_ENTRIES = 1_000
_SNIFF_BYTES = 8_192


class ReadFile(Args, frozen=True):
    """Arguments of `read_file`."""

    path: Annotated[str, Meta(description="Relative to the workspace.")]
    offset: Annotated[int, Meta(ge=1, description="First line, from 1.")] = 1
    limit: Annotated[int, Meta(ge=1, le=MAX_LINES)] = MAX_LINES
    ranges: Annotated[str, Meta(description="Parts, such as `1-40,200-260`.")] = ""


class ListDir(Args, frozen=True):
    """Arguments of `list_dir`."""

    path: str = "."


class _FileText(Struct, frozen=True):
    """All lines with their numbers, and facts about the file."""

    lines: Iterable[tuple[int, str]]
    total: int | None
    """Number of lines; None if the file is too large to count them."""
    notes: tuple[str, ...] = ()


@tool(SideEffects.READ)
async def read_file(args: ReadFile, context: ToolContext) -> ToolOutput:
    """Read a text file with numbered lines (number, tab, text), or view an image.

    Of a long file you get a part, and how to continue.
    """
    unsaved = None
    if context.unsaved is not None:
        path = await context.run_in_thread(context.workspace.locate, args.path)
        unsaved = await context.unsaved(context.workspace.root / path)
    return await context.run_in_thread(_read, args, context, unsaved)


@tool(SideEffects.READ)
async def list_dir(args: ListDir, context: ToolContext) -> ToolOutput:
    """List a directory: directories with a trailing slash, files with their size in bytes."""
    entries = await context.run_in_thread(context.workspace.entries, args.path)
    if not entries:
        return build_reading(f"`{args.path}` is an empty directory.", "empty")
    ordered = sorted(entries, key=lambda entry: (entry.kind != "directory", entry.name))
    lines = [_format_entry(entry) for entry in ordered[:_MAX_ENTRIES]]
    if len(ordered) > _MAX_ENTRIES:
        lines.append(
            f"[{len(ordered):,} entries; the first {_MAX_ENTRIES:,} are shown; use `glob` to find"
            " more]"
        )
    amount = format_count(len(ordered), "entry", "entries")
    return build_reading("\n".join(lines), amount, len(ordered) > _MAX_ENTRIES)


def _format_entry(entry: DirectoryEntry) -> str:
    name = printable_name(entry.name)
    match entry.kind:
        case "directory":
            return f"{name}/"
        case "file":
            return f"{name}\t{entry.size:,}"
        case "link":
            return f"{name} -> {entry.target}"
        case kind:
            return f"{name}\t({kind})"


def _read(args: ReadFile, context: ToolContext, unsaved: str | None) -> ToolOutput:
    wanted = (
        line_ranges.parse_ranges(args.ranges)
        if args.ranges
        else (line_ranges.LineRange(args.offset, line_ranges.END),)
    )
    with context.workspace.open_located(args.path) as (file, path):
        start = file.read(_SNIFF_BYTES)
        if (media_type := sniff(start)) in IMAGE_TYPES:
            return _image_output(
                args.path, start + file.read(context.image_limit), media_type, context
            )
        rest = file.read(MAX_EDITABLE_BYTES + 1 - len(start))
        data = start + rest
        if len(data) <= MAX_EDITABLE_BYTES:
            context.reads.record(path, digest(data))
            text = _read_whole(args.path, data, unsaved)
        else:
            file.seek(0)
            text = _read_part(args.path, file, context)
        return _format_text(args, text, wanted, context.mask)


def _read_whole(path: str, data: bytes, unsaved: str | None) -> _FileText:
    """Return the text of a file, or the one that an editor shows if it differs."""
    notes: list[str] = []
    if (encoding := detect_encoding(data)) is None:
        if b"\0" in data[:_SNIFF_BYTES]:
            raise _binary_file_error(path, len(data))
        text = data.decode("utf-8", "replace")
        notes.append("not valid UTF-8: invalid bytes are shown as \ufffd")
    else:
        text = encoding.show(data)
        if encoding.name:
            notes.append(f"{'read' if encoding.guess else 'encoded'} as {encoding.name}")
        if encoding.errors != "strict":
            notes.append("not valid UTF-8: invalid bytes are shown as \ufffd, and edits keep them")
        if encoding.newline != "\n":
            ending = "CR" if encoding.newline == "\r" else "CRLF"
            notes.append(f"with {ending} line endings")
        is_notebook = path.endswith(".ipynb")
        if is_notebook and (notebook := notebooks.open_notebook(path, text)) is not None:
            text = notebook.text
            notes.append(notebook.note)
        if unsaved is not None and to_lf(unsaved) != to_lf(text):
            text = unsaved
            notes.append(
                "with changes that are not saved in the editor; edits change the saved file"
            )
    lines = text.split("\n")
    if lines[-1] == "":
        lines.pop()
    elif lines:
        notes.append("no newline at the end")
    numbered = ((number, line.removesuffix("\r")) for number, line in enumerate(lines, 1))
    return _FileText(numbered, len(lines), tuple(notes))


def _read_part(path: str, file: BinaryIO, context: ToolContext) -> _FileText:
    """Read lines from a file that is too large for memory."""
    start = file.read(_SNIFF_BYTES)
    if b"\0" in start:
        raise _binary_file_error(path, None)
    encoding = detect_encoding(start[: start.rfind(b"\n") + 1]) or Encoding()
    file.seek(0)
    pieces = _iter_pieces(file, context.mask, context.cancelled)
    notes = (f"read as {encoding.name}",) if encoding.name else ()
    large = _LargeText(pieces, encoding.codec)
    return _FileText(large, None, ("too large for `edit_file`", *notes))


class _LargeText:
    """The numbered lines of a file that is too large for memory."""

    def __init__(self, pieces: Iterator[bytes], codec: str) -> None:
        self._pieces = pieces
        self._codec = codec
        self.total = 0
        """Number of lines that were read to their end."""

    def __iter__(self) -> Iterator[tuple[int, str]]:
        """Yield pieces of lines; each piece of a very long line has its number."""
        for piece in self._pieces:
            yield self.total + 1, piece.decode(self._codec, "replace").rstrip("\r\n")
            self.total += piece.endswith(b"\n")


def _iter_pieces(file: BinaryIO, mask: Mask, cancelled: threading.Event) -> Iterator[bytes]:
    """Yield lines, split into pieces if very long; no piece ends within an API key."""
    masking = None
    while not cancelled.is_set() and (piece := file.readline(2**20)):
        is_end = piece.endswith(b"\n")
        if masking is not None or not is_end:
            masking = masking or mask.stream()
            piece = masking.feed(piece) + (masking.close() if is_end else b"")
        if is_end:
            masking = None
        yield piece
    if masking is not None and (rest := masking.close()):
        yield rest


def _format_text(
    args: ReadFile, text: _FileText, wanted: "Sequence[line_ranges.LineRange]", mask: Mask
) -> ToolOutput:
    if text.total == 0:
        return build_reading(f"`{args.path}` is empty.", "empty")
    most = MAX_LINES if args.ranges else args.limit
    shown, runs, size, footer = list[str](), list[line_ranges.LineRange](), 0, ""
    for count, (number, line) in enumerate(line_ranges.select_lines(text.lines, wanted)):
        shown_line = line if len(line) <= _MAX_LINE_LENGTH else _truncate_line(line, mask)
        size += len(shown_line.encode("utf-8", "replace")) + 8
        if count == most or (size > MAX_RESULT_BYTES and shown):
            footer = _build_footer(args, wanted, number)
            break
        if runs and number <= runs[-1].last + 1:
            runs[-1] = line_ranges.LineRange(runs[-1].first, number)
        else:
            shown += ["…"] * bool(runs)
            runs.append(line_ranges.LineRange(number, number))
        shown.append(f"{number:>6}\t{shown_line}")
    if not shown:
        total = text.lines.total if isinstance(text.lines, _LargeText) else text.total
        problem = f"`{args.path}` has {total:,} lines; use an `offset` below {wanted[0].first}."
        return build_reading(problem, "0 lines")
    of = "" if text.total is None else f" of {text.total:,}"
    lines = ", ".join(f"{run.first}–{run.last}" for run in runs)
    header = "; ".join((f"`{args.path}`, lines {lines}{of}", *text.notes))
    is_whole = runs == [line_ranges.LineRange(1, text.total or 0)]
    return build_reading(
        "\n".join((header, *shown, *([footer] if footer else []))),
        format_count(runs[0].last, "line") if is_whole else f"lines {lines}{of}",
        bool(footer),
    )


def _build_footer(args: ReadFile, wanted: "Sequence[line_ranges.LineRange]", number: int) -> str:
    """Return how to continue from a line, also in larger steps if the model reads small ones."""
    if args.ranges:
        rest = ",".join(map(str, line_ranges.without_lines_before(wanted, number)))
        return f"[more lines follow; continue with `ranges` {rest}]"
    is_small = args.offset > 1 and args.limit <= _SMALL_STEP
    advice = f"; one call reads up to {MAX_LINES:,} lines" if is_small else ""
    return f"[more lines follow; continue with `offset` {number}{advice}]"


def _truncate_line(line: str, mask: Mask) -> str:
    start = mask.slice(line, 0, _MAX_LINE_LENGTH)
    return f"{start}… [{len(line) - _MAX_LINE_LENGTH:,} more characters in this line]"


def _binary_file_error(path: str, size: int | None) -> ToolError:
    amount = f"{size:,} bytes" if size is not None else f"over {MAX_EDITABLE_BYTES:,} bytes"
    return ToolError(
        f"`{path}` is a binary file ({amount}), which cannot be read as text;"
        " examine it with `shell`, for example with `file` or `xxd`"
    )


def _image_output(path: str, data: bytes, media_type: str, context: ToolContext) -> ToolOutput:
    if not context.image_limit:
        raise ToolError(
            f"`{path}` is an image ({media_type}), and this model does not accept images;"
            " ask the user to switch to a model that does"
        )
    if len(data) > context.image_limit:
        raise ToolError(
            f"`{path}` is an image of more than {format_mib(context.image_limit)}, the limit of"
            " this model; make a smaller copy with `shell` and read that"
        )
    encoded = base64.b64encode(data).decode()
    return ToolOutput(
        (
            TextBlock(f"Image `{path}` ({media_type}, {len(data):,} bytes):"),
            ImageBlock(ImageSource("base64", encoded), media_type, dimensions(data)),
        )
    )
