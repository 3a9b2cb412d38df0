"""Attachments, each kept once in a file that is named by its SHA-256.

What a message refers to is on the disk before the message is. A file is never changed; one whose
content does not have its name any more is as good as missing.
"""

import base64
import binascii
import hashlib
import os
import re
from collections.abc import Iterable
from pathlib import Path
from typing import TypeVar

from msgspec.structs import replace

from yourtool.errors import BlobError
from yourtool.files import replace_file
from yourtool.messages import (
    AudioBlock,
    ContentBlock,
    DocumentBlock,
    ImageBlock,
    ImageSource,
    MediaBlock,
    ToolResultBlock,
    each_block,
)

_REFERENCE = re.compile(r"sha256:([0-9a-f]{64})")

Block = TypeVar("Block", bound=ContentBlock)


def is_blob(source: ImageSource) -> bool:
    """Whether the bytes are kept here, rather than in the workspace or the message."""
    return source.kind == "file_ref" and source.data.startswith("sha256:")


def reference_of(content: bytes) -> str:
    """Return `sha256:<hex>`, under which `content` is kept."""
    return f"sha256:{hashlib.sha256(content).hexdigest()}"


def keep(directory: Path, content: bytes) -> str:
    """Store `content`, unless it is there already, and return `sha256:<hex>`.

    Blocks on the file system, until the bytes would survive a loss of power.

    Raises:
        BlobError: it cannot be written.
    """
    reference = reference_of(content)
    try:
        if not directory.is_dir():
            directory.mkdir(0o700, parents=True, exist_ok=True)
            _sync(directory.parent)
        if not _is_kept(directory, reference):
            replace_file(_path(directory, reference), content)
        # Also where it is kept: another process may have written it this very moment.
        _sync(directory)
    except OSError as error:
        raise BlobError(
            f"The attachment cannot be kept in `{directory}`: {error.strerror}"
        ) from error
    return reference


def fetch(directory: Path, reference: str, limit: int | None = None) -> bytes:
    """Return what was kept as `reference`; blocks on the file system.

    Raises:
        BlobError: it is missing, was changed, is larger than `limit`, or was never a reference.
    """
    try:
        with _path(directory, reference).open("rb") as file:
            content = file.read(-1 if limit is None else limit + 1)
    except OSError as error:
        raise BlobError(f"the kept attachment cannot be read: {error.strerror}") from error
    if limit is not None and len(content) > limit:
        raise BlobError(f"it is larger than {limit / 2**20:.3g} MiB")
    if reference != reference_of(content):
        raise BlobError("the kept attachment was changed since it was stored")
    return content


def kept_size(directory: Path, reference: str) -> int:
    """Return how many bytes are kept as `reference`; blocks on the file system for a moment.

    Raises:
        BlobError: it was never a reference.
        OSError: it is missing.
    """
    return _path(directory, reference).stat().st_size


def by_hash(directory: Path, content: Iterable[Block]) -> tuple[Block, ...]:
    """Return `content` with base64 replaced by references, its bytes kept before.

    What is not base64 at all stays as it is. Blocks on the file system.

    Raises:
        BlobError: something cannot be written.
    """
    return tuple(_by_hash(directory, block) for block in content)


def has_bytes(content: Iterable[ContentBlock]) -> bool:
    """Whether `by_hash` has anything to do."""
    return any(
        isinstance(block, MediaBlock) and block.source.kind == "base64"
        for block in each_block(content)
    )


def _by_hash(directory: Path, block: Block) -> Block:
    match block:
        case ToolResultBlock(content=content):
            return replace(block, content=by_hash(directory, content))
        case ImageBlock() | AudioBlock() | DocumentBlock() if block.source.kind == "base64":
            try:
                content = base64.b64decode(block.source.data, validate=True)
            except (binascii.Error, ValueError):
                return block
            reference = keep(directory, content)
            return replace(block, source=ImageSource("file_ref", reference))
        case _:
            return block


def _path(directory: Path, reference: str) -> Path:
    if (found := _REFERENCE.fullmatch(reference)) is None:
        raise BlobError("its reference is not `sha256:` and 64 hexadecimal digits")
    return directory / found[1]


def _is_kept(directory: Path, reference: str) -> bool:
    try:
        fetch(directory, reference)
    except BlobError:
        return False
    return True


def _sync(directory: Path) -> None:
    """Make the names in a directory survive a loss of power."""
    handle = os.open(directory, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
