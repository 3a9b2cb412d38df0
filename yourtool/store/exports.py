"""Export and import of sessions.

The first line names the format, `{"type": "yourtool.session", "version": 1, …}`. The other lines
are the stored facts with their messages, as written by `--output-format stream-json`. Each
attachment precedes the first fact that refers to it: `{"type": "yourtool.blob", "data": …}`, in
base64.
"""

import base64
import hashlib
import math
import os
import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any, BinaryIO, Literal, TypeAlias, cast

import msgspec
from msgspec import Struct

from yourtool.errors import UsageError
from yourtool.events.catalog import AnyFact
from yourtool.events.codec import from_stored, to_stored
from yourtool.events.facts import Fact
from yourtool.messages.blobs import reference_of, store_blob
from yourtool.messages.blocks import canonical_json
from yourtool.store.export_lines import (
    ExportedBlob,
    decode_line,
    import_warnings,
    without_lost_calls,
)
from yourtool.store.forks import require_complete
from yourtool.store.html_page import to_html
from yourtool.store.lost_results import add_lost_results
from yourtool.store.markdown import to_markdown
from yourtool.store.pi_export import to_pi
from yourtool.store.texts import TextTransform, get_attachments, mask_texts, read_shared

EXPORT_VERSION = 1
ExportFormat: TypeAlias = Literal["markdown", "html", "jsonl", "pi"]
_FORMATS_BY_SUFFIX: Mapping[str, ExportFormat] = {
    ".jsonl": "jsonl",
    ".html": "html",
    ".htm": "html",
}
_MAX_LINE_BYTES = 2**26
"""Maximum bytes of a line; the largest attachment needs a third of it."""
_EARLIEST, _LATEST = datetime(1970, 1, 1, tzinfo=UTC), datetime(9000, 1, 1, tzinfo=UTC)
"""Times between these can be converted to every time zone."""


class ExportHeader(Struct, frozen=True, kw_only=True, tag_field="type", tag="yourtool.session"):
    """The first line of an export."""

    version: int
    session_id: str


def export_format_of(file: Path) -> ExportFormat:
    """Return the export format for the suffix of a file name."""
    return _FORMATS_BY_SUFFIX.get(file.suffix.lower(), "markdown")


def export_lines(
    facts: Sequence[AnyFact], export_format: ExportFormat, mask: TextTransform, blobs: Path
) -> Iterator[bytes]:
    """Yield the lines of an export; `mask` removes API keys from a string."""
    match export_format:
        case "jsonl":
            return to_jsonl(facts, mask, blobs)
        case "pi":
            return to_pi(facts, mask, blobs)
        case "html":
            return to_html(facts, mask, blobs)
        case "markdown":
            return to_markdown(facts, mask)


def to_jsonl(
    facts: Sequence[AnyFact], mask: TextTransform, blobs: Path | None = None
) -> Iterator[bytes]:
    """Yield the lines of an export with their line feeds; blocks on the file system.

    `blobs`: the directory of attachments; None: without them.

    An attachment that is missing or has a secret is omitted; its message still has the media type.
    """
    yield _encode_line(ExportHeader(version=EXPORT_VERSION, session_id=facts[0].session_id))
    written = set[str]()
    for fact in facts:
        for reference in get_attachments(fact):
            if blobs is None or reference in written:
                continue
            written.add(reference)
            if content := read_shared(blobs, reference, mask):
                data = base64.b64encode(content).decode("ascii")
                yield _encode_line(ExportedBlob(data=data))
        yield _encode_line(to_stored(mask_texts(fact, mask)))


def is_export(start: bytes) -> bool:
    """Return whether the first bytes of a file are those of an export."""
    return b'"yourtool.session"' in start[:200]


def read_lines(file: BinaryIO) -> Iterator[bytes]:
    """Yield the lines of a file, each read only until it exceeds the maximum length."""
    while line := file.readline(_MAX_LINE_BYTES + 1):
        yield line


def read_export(file: BinaryIO, blobs: Path) -> tuple[tuple[AnyFact, ...], str]:
    """Return the facts of an export, as `from_jsonl` does, and the SHA-256 of the file."""
    digest = hashlib.sha256()

    def hashed_lines() -> Iterator[bytes]:
        for line in read_lines(file):
            digest.update(line)
            yield line

    facts = from_jsonl(hashed_lines(), blobs)
    return facts, digest.hexdigest()


def from_jsonl(lines: Iterable[bytes], blobs: Path) -> tuple[AnyFact, ...]:
    """Read an export and store the attachments that it refers to; blocks on the file system.

    Raises:
        UsageError: it is not a complete export, or a line cannot be read; the message names the
            line. Nothing was stored.
        BlobError: an attachment cannot be stored.
    """
    facts, attachments, header = list[AnyFact](), dict[str, bytes](), False
    for number, line in enumerate(lines, 1):
        try:
            if len(line) > _MAX_LINE_BYTES:
                raise ValueError(f"it is longer than {_MAX_LINE_BYTES / 2**20:.0f} MiB")
            if not header:
                header = _check_header(line)
            elif line.strip():
                read = decode_line(line)
                if isinstance(read, ExportedBlob):
                    content = base64.b64decode(read.data, validate=True)
                    attachments[reference_of(content)] = content
                else:
                    _validate_values(read)
                    facts.append(from_stored(read))
        except (msgspec.MsgspecError, ValueError, OverflowError, RecursionError) as error:
            raise UsageError(
                f"line {number} is not a line of an exported session: {error}"
            ) from error
    require_complete(facts)
    if import_warnings(facts):  # what is unknown can be a call or a result
        facts = [*add_lost_results(without_lost_calls(facts))]
    for reference in dict.fromkeys(each for fact in facts for each in get_attachments(fact)):
        if (content := attachments.get(reference)) is not None:
            store_blob(blobs, content)
    return tuple(facts)


def write_export(path: Path, lines: Iterable[bytes], *, overwrite: bool = False) -> None:
    """Write a file atomically with mode 0600; blocks on the file system.

    Raises:
        UsageError: the file exists and `overwrite` is not set, or it cannot be written.
    """
    try:
        handle, name = tempfile.mkstemp(prefix=".export-", dir=path.parent)  # mode 0600
        part = Path(name)
        try:
            with os.fdopen(handle, "wb") as file:
                file.writelines(lines)
            if not overwrite:
                # Created exclusively first, so that only one of two writers gets the name.
                os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600))
            part.replace(path)
        finally:
            part.unlink(missing_ok=True)
    except FileExistsError as error:
        raise UsageError(f"`{path}` exists; name another file, or use `--force`.") from error
    except OSError as error:
        raise UsageError(f"`{path}` cannot be written: {error.strerror or error}") from error


def _check_header(line: bytes) -> bool:
    header = msgspec.json.decode(line, type=ExportHeader)
    if header.version > EXPORT_VERSION:
        raise ValueError(f"version {header.version} was written by a newer yourtool; update yours")
    return True


def _validate_values(fact: Fact) -> None:
    """Check that all times and numbers of a fact can be displayed, compared and added.

    Raises:
        ValueError: a time or a number is invalid.
        OverflowError: an integer is too large for a double.
    """
    for value in _leaves(msgspec.to_builtins(fact, builtin_types=(datetime, Decimal))):
        match value:
            case datetime():
                if value.tzinfo is None:
                    raise ValueError("it contains a time without a time zone")
                if not _EARLIEST <= value < _LATEST:
                    raise ValueError(f"it contains a time outside 1970 to {_LATEST.year}")
            case int() | float() | Decimal():
                if not math.isfinite(value):
                    raise ValueError("it contains a number that is too large for a double")
            case _:
                pass


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


def _encode_line(value: Any) -> bytes:
    return canonical_json(value) + b"\n"
