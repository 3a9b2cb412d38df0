"""Looking at files: `read_file` and `list_dir`."""

import base64
import threading
from collections.abc import Iterator
from typing import Annotated, BinaryIO

from msgspec import Meta, Struct

from yourtool.effects import SideEffects
from yourtool.errors import ToolError
from yourtool.masking import Mask
from yourtool.messages import ImageBlock, ImageSource, TextBlock
from yourtool.providers.media_types import IMAGE_TYPES, dimensions, sniff
from yourtool.providers.requests.media import format_mib
from yourtool.tools.base import Args, ToolContext, ToolOutput, tool
from yourtool.tools.edit import LARGEST_EDITABLE
from yourtool.tools.encoding import recognise
from yourtool.tools.walk import one_line
from yourtool.tools.workspace import DirectoryEntry, digest

MOST_LINES = 2_000
MOST_BYTES = 50_000
"""Of text in one answer."""

_LONGEST_LINE = 2_000
_MOST_ENTRIES = 1_000
_SNIFFED = 8_192


class ReadFile(Args, frozen=True):
    """A part of a file."""

    path: Annotated[str, Meta(description="Path of the file, relative to the workspace.")]
    offset: Annotated[int, Meta(ge=1, description="First line to read; 1 is the first.")] = 1
    limit: Annotated[int, Meta(ge=1, le=MOST_LINES, description="Most lines to read.")] = MOST_LINES


class ListDir(Args, frozen=True):
    """A directory."""

    path: Annotated[str, Meta(description="Path of the directory; `.` is the workspace.")] = "."


class _Text(Struct, frozen=True):
    """Lines from the first one asked for, and what is known of the rest."""

    lines: Iterator[str]
    total: int | None
    """None: the file is too large to count."""
    notes: tuple[str, ...] = ()


@tool(SideEffects.READ)
async def read_file(args: ReadFile, context: ToolContext) -> str | ToolOutput:
    """Read a text file, with a number and a tab before each line, or look at an image.

    At most 2,000 lines or 50,000 bytes at a time; the answer says how to go on. Only regular files
    of the workspace can be read.
    """
    return await context.blocking(_read, args, context)


@tool(SideEffects.READ)
async def list_dir(args: ListDir, context: ToolContext) -> str:
    """List what one directory holds: directories with a slash, files with their size in bytes."""
    entries = await context.blocking(context.workspace.entries, args.path)
    if not entries:
        return f"`{args.path}` is an empty directory."
    ordered = sorted(entries, key=lambda entry: (entry.kind != "directory", entry.name))
    lines = [_listed(entry) for entry in ordered[:_MOST_ENTRIES]]
    if len(ordered) > _MOST_ENTRIES:
        lines.append(
            f"[{len(ordered):,} entries, of which {_MOST_ENTRIES:,} are shown; use `glob` for more]"
        )
    return "\n".join(lines)


def _listed(entry: DirectoryEntry) -> str:
    name = one_line(entry.name)
    match entry.kind:
        case "directory":
            return f"{name}/"
        case "file":
            return f"{name}\t{entry.size:,}"
        case "link":
            return f"{name} -> {entry.target}"
        case kind:
            return f"{name}\t({kind})"


def _read(args: ReadFile, context: ToolContext) -> str | ToolOutput:
    with context.workspace.open(args.path) as file:
        start = file.read(_SNIFFED)
        if (media_type := sniff(start)) in IMAGE_TYPES:
            return _image(args.path, start + file.read(context.image_limit), media_type, context)
        rest = file.read(LARGEST_EDITABLE + 1 - len(start))
        data = start + rest
        if len(data) <= LARGEST_EDITABLE:
            context.reads.record(context.workspace.locate(args.path), digest(data))
            return _shown(args, _whole(args, data), context.mask)
        file.seek(0)
        return _shown(args, _part(args, file, context), context.mask)


def _whole(args: ReadFile, data: bytes) -> _Text:
    notes: list[str] = []
    if (encoding := recognise(data)) is None:
        if b"\0" in data[:_SNIFFED]:
            raise _binary(args.path, len(data))
        text = data.decode("utf-8", "replace")
        notes.append("not valid UTF-8: what cannot be decoded is shown as \ufffd")
    else:
        text = encoding.decode(data)
        if encoding.codec != "utf-8":
            notes.append(f"stored as {encoding.codec.upper()}")
        if encoding.newline == "\r\n":
            notes.append("with CRLF line endings")
    lines = text.split("\n")
    if lines[-1] == "":
        lines.pop()
    elif lines:
        notes.append("no newline at the end")
    chosen = (line.removesuffix("\r") for line in lines[args.offset - 1 :])
    return _Text(chosen, len(lines), tuple(notes))


def _part(args: ReadFile, file: BinaryIO, context: ToolContext) -> _Text:
    """Read from a file that is too large to hold."""
    start = file.read(_SNIFFED)
    if b"\0" in start:
        raise _binary(args.path, None)
    file.seek(0)
    pieces = _pieces(file, context.mask, context.cancelled)
    number = 1
    while number < args.offset:
        if (piece := next(pieces, None)) is None:
            return _Text(iter(()), number - 1)
        number += piece.endswith(b"\n")
    lines = (piece.decode("utf-8", "replace").rstrip("\r\n") for piece in pieces)
    return _Text(lines, None, ("too large to be edited with `edit_file`",))


def _pieces(file: BinaryIO, mask: Mask, cancelled: threading.Event) -> Iterator[bytes]:
    """Yield lines, in pieces where one is too long to hold; no piece ends within a key."""
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


def _shown(args: ReadFile, text: _Text, mask: Mask) -> str:
    if text.total == 0:
        return f"`{args.path}` is empty."
    shown: list[str] = []
    size = 0
    cut = False
    for line in text.lines:
        fitted = line if len(line) <= _LONGEST_LINE else _shortened(line, mask)
        size += len(fitted.encode("utf-8", "replace")) + 8
        if len(shown) == args.limit or (size > MOST_BYTES and shown):
            cut = True
            break
        shown.append(f"{args.offset + len(shown):>6}\t{fitted}")
    if not shown:
        count = "fewer" if text.total is None else f"{text.total:,}"
        return f"`{args.path}` has {count} lines; there is nothing at offset {args.offset}."
    last = args.offset + len(shown) - 1
    of = "" if text.total is None else f" of {text.total:,}"
    header = "; ".join((f"`{args.path}`, lines {args.offset}–{last}{of}", *text.notes))
    footer = [f"[there is more: go on with `offset` {last + 1}]"] if cut else []
    return "\n".join((header, *shown, *footer))


def _shortened(line: str, mask: Mask) -> str:
    start = mask.slice(line, 0, _LONGEST_LINE)
    return f"{start}… [{len(line) - _LONGEST_LINE:,} more characters in this line]"


def _binary(path: str, size: int | None) -> ToolError:
    amount = f"{size:,} bytes" if size is not None else f"over {LARGEST_EDITABLE:,} bytes"
    return ToolError(
        f"`{path}` is a binary file ({amount}), which cannot be read as text;"
        " examine it with `shell`, for example with `file` or `xxd`"
    )


def _image(path: str, data: bytes, media_type: str, context: ToolContext) -> ToolOutput:
    if not context.image_limit:
        raise ToolError(
            f"`{path}` is an image ({media_type}), and this model takes no images;"
            " ask the user to choose one that does"
        )
    if len(data) > context.image_limit:
        raise ToolError(
            f"`{path}` is an image of more than {format_mib(context.image_limit)}, which is the"
            " most that this model takes; make a smaller copy with `shell` and read that"
        )
    encoded = base64.b64encode(data).decode()
    return ToolOutput(
        (
            TextBlock(f"`{path}` is this image ({media_type}, {len(data):,} bytes):"),
            ImageBlock(ImageSource("base64", encoded), media_type, dimensions(data)),
        )
    )
