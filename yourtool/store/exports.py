"""Sessions as files: JSON lines, which can be read back, and Markdown, for people.

The first of the JSON lines names the format, `{"type": "yourtool.session", "version": 1, …}`. The
others are the stored facts with their messages, as `--output-format stream-json` writes them, and
before the fact that needs it each attachment, `{"type": "yourtool.blob", "data": …}` in base64.
"""

import base64
import os
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, Literal, TypeAlias

import msgspec
from msgspec import Struct

from yourtool.blobs import fetch, is_blob, keep
from yourtool.errors import BlobError, UsageError
from yourtool.events import AnyFact, message_of
from yourtool.messages import MediaBlock, canonical_json, each_block
from yourtool.store.markdown import to_markdown
from yourtool.store.rows import Rewrite, rewritten

VERSION = 1
Form: TypeAlias = Literal["markdown", "jsonl"]


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


def from_jsonl(lines: Iterable[bytes], blobs: Path) -> tuple[AnyFact, ...]:
    """Read an export, keeping its attachments; blocks on the file system.

    Raises:
        UsageError: it is none, or a line of it cannot be read; the text names the line.
        BlobError: an attachment cannot be kept.
    """
    facts, header = list[AnyFact](), False
    for number, line in enumerate(lines, 1):
        try:
            if not header:
                header = _is_header(line)
            elif line.strip():
                read = _LINE.decode(line)
                if isinstance(read, Blob):
                    keep(blobs, base64.b64decode(read.data, validate=True))
                else:
                    facts.append(_checked(read))
        except (msgspec.MsgspecError, ValueError, RecursionError) as error:
            raise UsageError(
                f"line {number} is not that of an exported session: {error}"
            ) from error
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


def _is_header(line: bytes) -> bool:
    header = msgspec.json.decode(line, type=Header)
    if header.version > VERSION:
        raise ValueError(f"it has version {header.version}, which a newer yourtool writes")
    return True


def _checked(fact: AnyFact) -> AnyFact:
    message = message_of(fact)
    times = [fact.timestamp] if message is None else [fact.timestamp, message.created_at]
    if any(each.tzinfo is None for each in times):
        raise ValueError("a time in it has no zone")
    return fact


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
