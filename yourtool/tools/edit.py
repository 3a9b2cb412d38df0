"""Changing files, byte for byte as agreed: `write_file` and `edit_file`.

Both compute the whole new content first. The preview shows it as a diff and binds the user's answer
to it; the run computes it again under the file's lock and refuses if anything differs.
"""

import difflib
import hashlib
import re
from bisect import bisect_left
from collections.abc import Callable, Iterator
from typing import Annotated

from msgspec import Meta, Struct

from yourtool.effects import Preview, SideEffects
from yourtool.errors import ToolError
from yourtool.masking import Mask
from yourtool.messages import TextBlock
from yourtool.permissions.protected import is_protected
from yourtool.tools.base import Args, ToolContext, ToolOutput, tool
from yourtool.tools.encoding import Encoding, recognise
from yourtool.tools.walk import one_line
from yourtool.tools.workspace import ABSENT, digest

LARGEST_EDITABLE = 16 * 2**20
"""Bytes; a larger file is for `shell`."""

_NEAR_LINES = 5_000
_NEAR_CHARACTERS = 200
_LONGEST_SHOWN = 2_000
"""Characters of a line in an error."""
_MOST_PLACES = 100
"""Places of a text that is not unique that are counted."""


class WriteFile(Args, frozen=True):
    """A whole file."""

    path: Annotated[str, Meta(description="Path of the file, relative to the workspace.")]
    content: Annotated[str, Meta(description="The whole new content.")]


class Edit(Struct, frozen=True, forbid_unknown_fields=True):
    """One replacement."""

    old: Annotated[
        str,
        Meta(min_length=1, description="Exact text to replace; must occur once in the file."),
    ]
    new: Annotated[str, Meta(description="Text to put in its place.")]
    replace_all: Annotated[bool, Meta(description="Replace every occurrence instead.")] = False


class EditFile(Args, frozen=True):
    """Replacements in one file."""

    path: Annotated[str, Meta(description="Path of the file, relative to the workspace.")]
    edits: Annotated[
        tuple[Edit, ...],
        Meta(min_length=1, description="Made in order, each on the result of the one before."),
    ]


class _Change(Struct, frozen=True):
    path: str
    """As the model wrote it."""
    real: str
    before: bytes | None
    after: bytes

    @property
    def expected(self) -> str:
        return _digest(self.before)

    @property
    def guard(self) -> str:
        """Binds where, what was, and what will be."""
        parts = (self.real, self.expected, digest(self.after))
        return hashlib.sha256("\0".join(parts).encode("utf-8", "surrogateescape")).hexdigest()

    def diff(self) -> str:
        name = one_line(self.real)
        lines = list(
            difflib.unified_diff(
                _lines(self.before or b""),
                _lines(self.after),
                "/dev/null" if self.before is None else f"a/{name}",
                f"b/{name}",
                lineterm="",
            )
        )
        return "\n".join(lines) or f"--- a/{name}\n+++ b/{name}\n"

    def preview(self) -> Preview:
        return Preview(
            kind="diff",
            body=self.diff(),
            paths=(self.real,),
            protected=is_protected(self.real) or is_protected(self.path),
            guard=self.guard,
        )


async def _preview_write(args: WriteFile, context: ToolContext) -> Preview:
    return await context.blocking(lambda: _written(args, context).preview())


async def _preview_edit(args: EditFile, context: ToolContext) -> Preview:
    return await context.blocking(lambda: _edited(args, context).preview())


@tool(SideEffects.WRITE, preview=_preview_write)
async def write_file(args: WriteFile, context: ToolContext) -> ToolOutput:
    """Create a file, or replace the whole of one; directories above it are made as needed.

    An existing file keeps its mode, byte order mark, encoding, kind of line endings and final
    newline. For a change of a part, use `edit_file`.
    """
    change = await _make(lambda: _written(args, context), args.path, context)
    verb = "Created" if change.before is None else "Replaced"
    return _report(f"{verb} `{change.real}` ({len(change.after):,} bytes).", change)


@tool(SideEffects.WRITE, preview=_preview_edit)
async def edit_file(args: EditFile, context: ToolContext) -> ToolOutput:
    """Replace exact pieces of text in one file: all of the edits, or none.

    Each `old` must occur exactly once, so give enough lines around it, unless `replace_all` is set.
    Put all edits of one file into one call. Line endings, encoding and everything outside the
    replaced text stay as they are. Read the file first, and leave out the line numbers that
    `read_file` puts before each line.
    """
    change = await _make(lambda: _edited(args, context), args.path, context)
    count = len(args.edits)
    return _report(f"Edited `{change.real}` ({count} edit{'s' * (count > 1)}).", change)


async def _make(compute: Callable[[], _Change], path: str, context: ToolContext) -> _Change:
    real = await context.blocking(context.workspace.locate, path)
    async with context.workspace.lock(real):
        return await context.blocking(_apply, compute, context)


def _apply(compute: Callable[[], _Change], context: ToolContext) -> _Change:
    change = compute()
    if context.approved is not None and context.approved.guard != change.guard:
        raise ToolError(
            f"`{change.path}` is no longer what it was when the user agreed to this change, so"
            " nothing was written; read it again with `read_file` and repeat the call"
        )
    context.workspace.write(change.path, change.after, expected=change.expected)
    context.reads.record(change.real, digest(change.after))
    return change


def _report(text: str, change: _Change) -> ToolOutput:
    return ToolOutput(
        (TextBlock(text),),
        details={"path": change.real, "diff": change.diff(), "created": change.before is None},
        files_modified=(change.real,),
    )


def _written(args: WriteFile, context: ToolContext) -> _Change:
    before, encoding, text = _current(args.path, context), Encoding(), args.content
    if before and (found := recognise(before)):
        encoding, text = found, found.in_style(text)
        if found.decode(before).endswith("\n") and text and not text.endswith("\n"):
            text += found.newline
    return _change(args.path, before, _encoded(args.path, encoding, text), context)


def _edited(args: EditFile, context: ToolContext) -> _Change:
    before = _current(args.path, context)
    if before is None:
        with context.workspace.open(args.path):  # says what is there instead
            raise ToolError(f"`{args.path}` appeared just now; read it with `read_file` first")
    _demand_known(args.path, context)
    if (encoding := recognise(before)) is None:
        raise ToolError(
            f"`{args.path}` is not text in UTF-8 or UTF-16, so it cannot be edited without damage;"
            " use `shell`, or replace it whole with `write_file`"
        )
    text = encoding.decode(before)
    for number, edit in enumerate(args.edits, 1):
        name = f"edit {number} of {len(args.edits)}" if len(args.edits) > 1 else "the edit"
        text = _replaced(args.path, name, text, edit, encoding, context.mask)
    after = _encoded(args.path, encoding, text)
    if after == before:
        raise ToolError(f"the edits would leave `{args.path}` as it is; `old` and `new` are equal")
    return _change(args.path, before, after, context)


def _demand_known(path: str, context: ToolContext) -> None:
    """Refuse to edit credentials that were not read: errors would tell what the file holds."""
    workspace = context.workspace
    if workspace.is_credential_file(path) and context.reads.last(workspace.locate(path)) is None:
        raise ToolError(
            f"`{path}` may hold credentials, so it can be edited only after it was read; read it"
            " with `read_file`, which asks the user"
        )


def _change(path: str, before: bytes | None, after: bytes, context: ToolContext) -> _Change:
    return _Change(path, context.workspace.locate(path), before, after)


def _current(path: str, context: ToolContext) -> bytes | None:
    """Return what the file holds, None if there is none, provided it is what the model knows."""
    workspace = context.workspace
    workspace.check(path, writing=True)
    exists = workspace.kind(path) is not None
    data = workspace.read(path, limit=LARGEST_EDITABLE) if exists else None
    last = context.reads.last(workspace.locate(path))
    if last not in (None, _digest(data)):
        raise ToolError(
            f"`{path}` changed since you last read it, so nothing was written; read it again with"
            " `read_file` and repeat the call with what it holds now"
        )
    return data


def _digest(data: bytes | None) -> str:
    return ABSENT if data is None else digest(data)


def _encoded(path: str, encoding: Encoding, text: str) -> bytes:
    try:
        return encoding.encode(text)
    except UnicodeEncodeError as error:
        raise ToolError(
            f"the new text for `{path}` holds half a character at offset {error.start}; repeat the"
            " call with whole characters"
        ) from error


def _replaced(path: str, name: str, text: str, edit: Edit, encoding: Encoding, mask: Mask) -> str:
    wanted = edit.old.replace("\r\n", "\n")
    plain = text.replace("\r\n", "\n")
    starts = _starts(plain, wanted)
    if not starts:
        raise ToolError(_not_found(path, name, text, wanted, mask))
    if len(starts) > 1 and not edit.replace_all:
        times = f"at least {_MOST_PLACES:,}" if len(starts) == _MOST_PLACES else len(starts)
        shown = ", ".join(str(plain.count("\n", 0, start) + 1) for start in starts[:5])
        more = ", …" if len(starts) > 5 else ""
        raise ToolError(
            f"`old` of {name} occurs {times} times in `{path}` (lines {shown}{more}), so"
            " nothing was changed; add lines around it until it is unique, or set `replace_all`"
        )

    places = _replaceable(plain, wanted) if edit.replace_all else starts
    line_ends = [match.start() for match in re.finditer(r"\r\n", text)]
    # In `plain`, as many characters are missing before a place as there are longer line endings.
    shorter = [end - number for number, end in enumerate(line_ends)]
    parts, done = list[str](), 0
    for place in places:
        first = place + bisect_left(shorter, place)
        end = place + len(wanted)
        last = end + bisect_left(shorter, end)
        parts += (text[done:first], encoding.in_style(edit.new, like=text[first:last]))
        done = last
    return "".join((*parts, text[done:]))


def _starts(text: str, wanted: str) -> list[int]:
    """Return where `wanted` begins, overlapping places included, up to `_MOST_PLACES`."""
    starts, at = list[int](), text.find(wanted)
    while at >= 0 and len(starts) < _MOST_PLACES:
        starts.append(at)
        at = text.find(wanted, at + 1)
    return starts


def _replaceable(text: str, wanted: str) -> Iterator[int]:
    """Yield the places of `wanted` that do not overlap."""
    at = 0
    for part in text.split(wanted)[:-1]:
        at += len(part)
        yield at
        at += len(wanted)


def _not_found(path: str, name: str, text: str, wanted: str, mask: Mask) -> str:
    said = f"`old` of {name} does not occur in `{path}`, so nothing was changed"
    lines = text.splitlines(keepends=True)[:_NEAR_LINES]
    first = next((line.strip() for line in wanted.split("\n") if line.strip()), "")
    first = first[:_NEAR_CHARACTERS]
    stripped = [line.strip()[:_NEAR_CHARACTERS] for line in lines]
    near = difflib.get_close_matches(first, dict.fromkeys(stripped), n=3, cutoff=0.6)
    if not near:
        return f"{said}; read the file again with `read_file` and copy the text from there"
    shown = "\n".join(
        f"{at + 1:>6}\t{_shown_line(text, lines, at, mask)}"
        for at in sorted(map(stripped.index, near))
    )
    return f"{said}. Copy the text exactly, with its indentation. The nearest lines are:\n{shown}"


def _shown_line(text: str, lines: list[str], at: int, mask: Mask) -> str:
    """Return a line of the text; a key may begin before it or end behind it, as in base64."""
    start = sum(map(len, lines[:at]))
    length = len(lines[at].splitlines()[0])
    more = f"… [{length - _LONGEST_SHOWN:,} more characters]" if length > _LONGEST_SHOWN else ""
    return mask.slice(text, start, start + min(length, _LONGEST_SHOWN)) + more


def _lines(data: bytes) -> list[str]:
    encoding = recognise(data)
    text = encoding.decode(data) if encoding else data.decode("utf-8", "replace")
    lines = text.replace("\r\n", "\n").split("\n")
    if lines[-1] == "":
        return lines[:-1]
    return [*lines[:-1], lines[-1] + "\n\\ No newline at end of file"]
