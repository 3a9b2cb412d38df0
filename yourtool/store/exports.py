"""Sessions as files: JSON lines, which can be read back, and Markdown, for people.

The first of the JSON lines names the format, `{"type": "yourtool.session", "version": 1, …}`. The
others are the stored facts with their messages, as `--output-format stream-json` writes them, and
before the fact that needs it each attachment, `{"type": "yourtool.blob", "data": …}` in base64.
"""

import base64
import math
import os
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any, BinaryIO, Literal, TypeAlias, cast

import msgspec
from msgspec import Struct

from yourtool.blobs import fetch, is_blob, keep, reference_of
from yourtool.errors import BlobError, UsageError
from yourtool.events import AnyFact, message_of
from yourtool.messages import MediaBlock, MessageMetadata, canonical_json, each_block
from yourtool.store.forks import require_whole
from yourtool.store.markdown import to_markdown
from yourtool.store.row_codec import Rewrite, rewritten

VERSION = 1
Form: TypeAlias = Literal["markdown", "jsonl"]
_LONGEST_LINE = 2**26
"""Bytes; the largest attachment takes a third of it."""
_EARLIEST, _LATEST = datetime(1970, 1, 1, tzinfo=UTC), datetime(9000, 1, 1, tzinfo=UTC)
"""Between these a time can be told in every zone."""


class Header(Struct, frozen=True, kw_only=True, tag_field="type", tag="yourtool.session"):
    """The first line."""

    version: int
    session_id: str


class Blob(Struct, frozen=True, kw_only=True, tag_field="type", tag="yourtool.blob"):
    """The bytes of an attachment."""

    data: str


def form_of(file: Path) -> Form:
    """Return the form that the name of a file asks for."""
    return "jsonl" if file.suffix == ".jsonl" else "markdown"


def export_lines(
    facts: Sequence[AnyFact], form: Form, mask: Rewrite, blobs: Path
) -> Iterator[bytes]:
    """Yield a session in one of its forms; `mask` takes every key out of a text."""
    return to_jsonl(facts, mask, blobs) if form == "jsonl" else to_markdown(facts, mask)


def to_jsonl(facts: Sequence[AnyFact], mask: Rewrite, blobs: Path) -> Iterator[bytes]:
    """Yield the lines of an export, with their line feeds; blocks on the file system.

    An attachment that is missing is left out; its message says what it was.
    """
    yield _line(Header(version=VERSION, session_id=facts[0].session_id))
    written = set[str]()
    for fact in facts:
        for reference in _references(fact):
            if reference not in written:
                written.add(reference)
                yield from _attachment(blobs, reference)
        yield _line(rewritten(fact, mask))


def lines_of(file: BinaryIO) -> Iterator[bytes]:
    """Yield the lines of a file, of each no more than tells that it is too long."""
    while line := file.readline(_LONGEST_LINE + 1):
        yield line


def from_jsonl(lines: Iterable[bytes], blobs: Path) -> tuple[AnyFact, ...]:
    """Read an export, then keep the attachments that it refers to; blocks on the file system.

    Raises:
        UsageError: it is none, or not whole, or a line of it cannot be read; the text names the
            line. Nothing was kept.
        BlobError: an attachment cannot be kept.
    """
    facts, attachments, header = list[AnyFact](), dict[str, bytes](), False
    for number, line in enumerate(lines, 1):
        try:
            if len(line) > _LONGEST_LINE:
                raise ValueError(f"it is longer than {_LONGEST_LINE / 2**20:.0f} MiB")
            if not header:
                header = _is_header(line)
            elif line.strip():
                read = _read_line(line)
                if isinstance(read, Blob):
                    content = base64.b64decode(read.data, validate=True)
                    attachments[reference_of(content)] = content
                else:
                    facts.append(_checked(read))
        except (msgspec.MsgspecError, ValueError, OverflowError, RecursionError) as error:
            raise UsageError(
                f"line {number} is not that of an exported session: {error}"
            ) from error
    require_whole(facts)
    for reference in dict.fromkeys(each for fact in facts for each in _references(fact)):
        if (content := attachments.get(reference)) is not None:
            keep(blobs, content)
    return tuple(facts)


def write_export(path: Path, lines: Iterable[bytes], *, overwrite: bool = False) -> None:
    """Write a private file, whole or not at all; blocks on the file system.

    Raises:
        UsageError: there is a file already and `overwrite` is not given, or it cannot be written.
    """
    try:
        handle, name = tempfile.mkstemp(prefix=".export-", dir=path.parent)  # mode 0600
        part = Path(name)
        try:
            with os.fdopen(handle, "wb") as file:
                file.writelines(lines)
            if not overwrite:
                # Made first and alone, so that of two writers only one can have the name.
                os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600))
            part.replace(path)
        finally:
            part.unlink(missing_ok=True)
    except FileExistsError as error:
        raise UsageError(f"`{path}` exists; name another file, or say `--force`.") from error
    except OSError as error:
        raise UsageError(f"`{path}` cannot be written: {error.strerror or error}") from error


_LINE = msgspec.json.Decoder(AnyFact | Blob)
_OBJECT = msgspec.json.Decoder(dict[str, Any])
_FIELDS = frozenset(MessageMetadata.__struct_encode_fields__)


def _read_line(line: bytes) -> AnyFact | Blob:
    """Decode a line; metadata of its message that has no field here goes to `import.extra`."""
    raw = _OBJECT.decode(line)
    metadata = _mapping(_mapping(raw.get("message")).get("metadata"))
    extra = {name: metadata.pop(name) for name in metadata.keys() - _FIELDS}
    if not extra:
        return _LINE.decode(line)
    source = _mapping(metadata.setdefault("import", {"system": "yourtool", "format": "jsonl"}))
    source["extra"] = extra | _mapping(source.get("extra"))
    return msgspec.convert(raw, AnyFact | Blob)


def _mapping(value: Any) -> dict[str, Any]:
    return cast("dict[str, Any]", value) if isinstance(value, dict) else {}  # JSON keys are text


def _is_header(line: bytes) -> bool:
    header = msgspec.json.decode(line, type=Header)
    if header.version > VERSION:
        raise ValueError(f"it has version {header.version}, which a newer yourtool writes")
    return True


def _checked(fact: AnyFact) -> AnyFact:
    """Return a fact whose times and numbers can be shown, compared and added.

    Raises:
        ValueError: one of them cannot.
        OverflowError: it is an integer beyond what a double holds.
    """
    for value in _leaves(msgspec.to_builtins(fact, builtin_types=(datetime, Decimal))):
        match value:
            case datetime():
                if value.tzinfo is None:
                    raise ValueError("a time in it has no zone")
                if not _EARLIEST <= value < _LATEST:
                    raise ValueError(f"a time in it is not of the years 1970 to {_LATEST.year}")
            case int() | float() | Decimal():
                if not math.isfinite(value):
                    raise ValueError("a number in it is beyond what a double holds")
            case _:
                pass
    return fact


def _leaves(value: object) -> Iterator[object]:
    match value:
        case dict():
            for each in cast("dict[object, object]", value).values():  # builtins only
                yield from _leaves(each)
        case list() | tuple():
            for each in cast("list[object]", value):
                yield from _leaves(each)
        case _:
            yield value


def _attachment(blobs: Path, reference: str) -> Iterator[bytes]:
    try:
        content = fetch(blobs, reference)
    except BlobError:
        return
    yield _line(Blob(data=base64.b64encode(content).decode("ascii")))


def _references(fact: AnyFact) -> Iterator[str]:
    message = message_of(fact)
    for block in each_block(message.content) if message is not None else ():
        if isinstance(block, MediaBlock) and is_blob(block.source):
            yield block.source.data


def _line(value: Any) -> bytes:
    return canonical_json(value) + b"\n"
