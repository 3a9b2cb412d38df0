"""The tools `write_file` and `edit_file`, which write exactly what was approved.

Both compute the complete new content first. The preview shows it as a diff and binds the approval
to it. The run computes it again under the file's lock and fails if anything differs.
"""

import difflib
import hashlib
import re
from bisect import bisect_left
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from pathlib import PurePath
from typing import Annotated, Any

from msgspec import Meta, Struct

from yourtool.effects import Editable, Preview, SideEffects
from yourtool.errors import ToolError
from yourtool.file_images import ABSENT_FILE, FileState
from yourtool.masking import Mask
from yourtool.messages.blocks import TextBlock
from yourtool.permissions.protected_places import is_protected
from yourtool.tools.base import Args, ToolContext, ToolOutput, tool
from yourtool.tools.encoding import Encoding, detect_encoding
from yourtool.tools.file_states import file_state
from yourtool.tools.path_resolution import printable_name
from yourtool.tools.replacing import ABSENT, Replacement, digest

MAX_EDITABLE_BYTES = 16 * 2**20
"""Larger files must be changed with `shell`."""

_MAX_COMPARED_LINES = 5_000
_MAX_COMPARED_CHARACTERS = 200
_MAX_SHOWN_CHARACTERS = 2_000
"""Characters of a line that an error message shows."""
_MAX_EDITOR_BYTES = 1_000_000
"""Larger files are not opened in an editor."""
_MAX_COUNTED = 100
"""Maximum occurrences of an ambiguous text that are counted."""


class WriteFile(Args, frozen=True):
    """Arguments of `write_file`."""

    path: Annotated[str, Meta(description="Path of the file, relative to the workspace.")]
    content: Annotated[str, Meta(description="The complete new content.")]


class Edit(Struct, frozen=True, forbid_unknown_fields=True):
    """One replacement in a file."""

    old: Annotated[
        str,
        Meta(min_length=1, description="Exact text to replace; must occur once in the file."),
    ]
    new: Annotated[str, Meta(description="Replacement text.")]
    replace_all: Annotated[bool, Meta(description="Replace every occurrence.")] = False


class EditFile(Args, frozen=True):
    """Arguments of `edit_file`."""

    path: Annotated[str, Meta(description="Path of the file, relative to the workspace.")]
    edits: Annotated[
        tuple[Edit, ...],
        Meta(min_length=1, description="Applied in order, each to the result of the previous one."),
    ]


class _Change(Struct, frozen=True):
    path: str
    """The path as the model wrote it."""
    real: str
    before: bytes | None
    after: bytes

    @property
    def expected(self) -> str:
        return _digest(self.before)

    @property
    def guard(self) -> str:
        """A hash of the path, the old and the new content."""
        parts = (self.real, self.expected, digest(self.after))
        return hashlib.sha256("\0".join(parts).encode("utf-8", "surrogateescape")).hexdigest()

    def diff(self) -> str:
        name = printable_name(self.real)
        names = "/dev/null" if self.before is None else f"a/{name}", f"b/{name}"
        old, new = _diff_lines(self.before or b""), _diff_lines(self.after)
        lines = list(difflib.unified_diff(old, new, *names, lineterm=""))
        return "\n".join(lines) or f"--- {names[0]}\n+++ {names[1]}\n"

    def preview(self, build_input: Callable[[str], dict[str, Any]] | None) -> Preview:
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
        return Editable(text=_plain(text), suffix=suffix, build_input=build_input)


async def _preview_write(args: WriteFile, context: ToolContext) -> Preview:
    def build_input(text: str) -> dict[str, Any]:
        return {"path": args.path, "content": text}

    return await context.run_in_thread(lambda: _compute_write(args, context).preview(build_input))


async def _preview_edit(args: EditFile, context: ToolContext) -> Preview:
    return await context.run_in_thread(_preview_change, args, context)


def _preview_change(args: EditFile, context: ToolContext) -> Preview:
    change = _compute_edit(args, context)
    encoding = detect_encoding(change.before or b"")
    if encoding is None or not change.before:
        return change.preview(None)
    old = _plain(encoding.decode(change.before))

    def build_input(text: str) -> dict[str, Any]:
        return {"path": args.path, "edits": [{"old": old, "new": text}]}

    return change.preview(build_input)


def _plain(text: str) -> str:
    return text.replace("\r\n", "\n")


@tool(SideEffects.WRITE, preview=_preview_write, records_changes=True)
async def write_file(args: WriteFile, context: ToolContext) -> ToolOutput:
    """Create a file or replace all of its content; missing parent directories are created.

    An existing file keeps its mode, byte order mark, encoding, line endings and final newline. To
    change part of a file, use `edit_file`.
    """
    change = await _apply_change(lambda: _compute_write(args, context), args.path, context)
    verb = "Created" if change.before is None else "Replaced"
    return _build_output(f"{verb} `{change.real}` ({len(change.after):,} bytes).", change)


@tool(SideEffects.WRITE, preview=_preview_edit, records_changes=True)
async def edit_file(args: EditFile, context: ToolContext) -> ToolOutput:
    """Replace exact text in one file; either all edits are applied or none.

    Each `old` must occur exactly once, so include enough surrounding lines, unless `replace_all` is
    set. Put all edits of one file into one call. Line endings, encoding and all other text do not
    change. Read the file first, and omit the line numbers that `read_file` adds.
    """
    change = await _apply_change(lambda: _compute_edit(args, context), args.path, context)
    count = len(args.edits)
    return _build_output(f"Edited `{change.real}` ({count} edit{'s' * (count > 1)}).", change)


async def _apply_change(compute: Callable[[], _Change], path: str, context: ToolContext) -> _Change:
    real = await context.run_in_thread(context.workspace.locate, path)
    async with context.workspace.lock(real):
        return await context.run_in_thread(_apply, compute, context)


def _apply(compute: Callable[[], _Change], context: ToolContext) -> _Change:
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


def _build_output(text: str, change: _Change) -> ToolOutput:
    return ToolOutput(
        (TextBlock(text),),
        details={"path": change.real, "diff": change.diff(), "created": change.before is None},
        files_modified=(change.real,),
    )


def _compute_write(args: WriteFile, context: ToolContext) -> _Change:
    before, encoding, text = _read_current(args.path, context), Encoding(), args.content
    if before and (found := detect_encoding(before)):
        encoding, text = found, found.with_line_endings(text)
        if found.decode(before).endswith("\n") and text and not text.endswith("\n"):
            text += found.newline
    return _build_change(args.path, before, _encode(args.path, encoding, text), context)


def _compute_edit(args: EditFile, context: ToolContext) -> _Change:
    before = _read_current(args.path, context)
    if before is None:
        with context.workspace.open(args.path):  # raises an error that describes the path
            raise ToolError(f"`{args.path}` was just created; read it with `read_file` first")
    _require_read(args.path, context)
    if (encoding := detect_encoding(before)) is None:
        raise ToolError(
            f"`{args.path}` is not UTF-8 or UTF-16 text, so editing would damage it;"
            " use `shell`, or replace the whole file with `write_file`"
        )
    text = encoding.decode(before)
    for number, edit in enumerate(args.edits, 1):
        name = f"edit {number} of {len(args.edits)}" if len(args.edits) > 1 else "the edit"
        text = _apply_edit(args.path, name, text, edit, encoding, context.mask)
    after = _encode(args.path, encoding, text)
    if after == before:
        raise ToolError(f"the edits do not change `{args.path}`: make `new` differ from `old`")
    return _build_change(args.path, before, after, context)


def _require_read(path: str, context: ToolContext) -> None:
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


def _build_change(path: str, before: bytes | None, after: bytes, context: ToolContext) -> _Change:
    return _Change(path, context.workspace.locate(path), before, after)


def _read_current(path: str, context: ToolContext) -> bytes | None:
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


def _encode(path: str, encoding: Encoding, text: str) -> bytes:
    try:
        return encoding.encode(text)
    except UnicodeEncodeError as error:
        raise ToolError(
            f"the new text for `{path}` contains an unpaired surrogate at offset {error.start};"
            " repeat the call with complete characters"
        ) from error


def _apply_edit(path: str, name: str, text: str, edit: Edit, encoding: Encoding, mask: Mask) -> str:
    old = edit.old.replace("\r\n", "\n")
    plain = text.replace("\r\n", "\n")
    starts = _find_starts(plain, old)
    if not starts:
        raise ToolError(_not_found_message(path, name, text, old, mask))
    if len(starts) > 1 and not edit.replace_all:
        times = f"at least {_MAX_COUNTED:,}" if len(starts) == _MAX_COUNTED else len(starts)
        shown = ", ".join(str(plain.count("\n", 0, start) + 1) for start in starts[:5])
        more = ", …" if len(starts) > 5 else ""
        raise ToolError(
            f"`old` of {name} occurs {times} times in `{path}` (lines {shown}{more}), so"
            " nothing was changed; add surrounding lines until it is unique, or set `replace_all`"
        )

    places = _iter_starts(plain, old) if edit.replace_all else starts
    line_ends = [match.start() for match in re.finditer(r"\r\n", text)]
    # Positions in `plain` are shifted by one for each preceding CRLF in `text`.
    shorter = [end - number for number, end in enumerate(line_ends)]
    parts, done = list[str](), 0
    for place in places:
        first = place + bisect_left(shorter, place)
        end = place + len(old)
        last = end + bisect_left(shorter, end)
        parts += (text[done:first], encoding.with_line_endings(edit.new, like=text[first:last]))
        done = last
    return "".join((*parts, text[done:]))


def _find_starts(text: str, old: str) -> list[int]:
    """Return up to `_MAX_COUNTED` positions of `old`, overlapping ones included."""
    starts, at = list[int](), text.find(old)
    while at >= 0 and len(starts) < _MAX_COUNTED:
        starts.append(at)
        at = text.find(old, at + 1)
    return starts


def _iter_starts(text: str, old: str) -> Iterator[int]:
    """Yield the positions of `old` that do not overlap."""
    at = 0
    for part in text.split(old)[:-1]:
        at += len(part)
        yield at
        at += len(old)


def _not_found_message(path: str, name: str, text: str, old: str, mask: Mask) -> str:
    problem = f"`old` of {name} does not occur in `{path}`, so nothing was changed"
    lines = text.splitlines(keepends=True)[:_MAX_COMPARED_LINES]
    first = next((line.strip() for line in old.split("\n") if line.strip()), "")
    first = first[:_MAX_COMPARED_CHARACTERS]
    stripped = [line.strip()[:_MAX_COMPARED_CHARACTERS] for line in lines]
    similar = difflib.get_close_matches(first, dict.fromkeys(stripped), n=3, cutoff=0.6)
    if not similar:
        return f"{problem}; read the file again with `read_file` and copy the exact text"
    shown = "\n".join(
        f"{at + 1:>6}\t{_format_line(text, lines, at, mask)}"
        for at in sorted(map(stripped.index, similar))
    )
    return f"{problem}. Copy the exact text with its indentation. The most similar lines:\n{shown}"


def _format_line(text: str, lines: list[str], at: int, mask: Mask) -> str:
    """Return a masked line; an API key can extend over its start or end, for example in base64."""
    start = sum(map(len, lines[:at]))
    length = len(lines[at].splitlines()[0])
    more = (
        f"… [{length - _MAX_SHOWN_CHARACTERS:,} more characters]"
        if length > _MAX_SHOWN_CHARACTERS
        else ""
    )
    return mask.slice(text, start, start + min(length, _MAX_SHOWN_CHARACTERS)) + more


def _diff_lines(data: bytes) -> list[str]:
    encoding = detect_encoding(data)
    text = encoding.decode(data) if encoding else data.decode("utf-8", "replace")
    lines = text.replace("\r\n", "\n").split("\n")
    if lines[-1] == "":
        return lines[:-1]
    return [*lines[:-1], lines[-1] + "\n\\ No newline at end of file"]
