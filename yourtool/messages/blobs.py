"""Attachment store.

An attachment is on the disk before the message that refers to it. A file never changes; if its
content no longer matches its name, it counts as missing.
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
from yourtool.foundation.files import is_directory, replace_file, sync_directory
from yourtool.messages.blocks import (
    AudioBlock,
    ContentBlock,
    DocumentBlock,
    ImageBlock,
    ImageSource,
    MediaBlock,
    ToolResultBlock,
    iter_blocks,
)

_REFERENCE = re.compile(r"sha256:([0-9a-f]{64})")

Block = TypeVar("Block", bound=ContentBlock)


def is_blob(source: ImageSource) -> bool:
    """Return whether the bytes are in this store, not in the workspace or the message."""
    return source.kind == "file_ref" and source.data.startswith("sha256:")


def reference_of(content: bytes) -> str:
    """Return `sha256:<hex>`, the reference of `content`."""
    return f"sha256:{hashlib.sha256(content).hexdigest()}"


def store_blob(directory: Path, content: bytes) -> str:
    """Store `content` unless it is already stored, and return its reference.

    Blocks until the bytes are synced to the disk.

    Raises:
        BlobError: it cannot be written.
    """
    reference = reference_of(content)
    try:
        if not is_directory(directory):
            directory.mkdir(0o700, parents=True, exist_ok=True)
            sync_directory(directory.parent)
        if _is_stored(directory, reference):
            os.utime(_path(directory, reference))  # old contents without a message are deleted
        else:
            replace_file(_path(directory, reference), content)
        # Also if it is stored: another process may have written it just now, unsynced.
        sync_directory(directory)
    except OSError as error:
        raise BlobError(
            f"The attachment cannot be stored in `{directory}`: {error.strerror}"
        ) from error
    return reference


def read_blob(directory: Path, reference: str, limit: int | None = None) -> bytes:
    """Return the content of `reference`; blocks on the file system.

    Raises:
        BlobError: it is missing, changed, larger than `limit`, or not a valid reference.
    """
    try:
        with _path(directory, reference).open("rb") as file:
            content = file.read(-1 if limit is None else limit + 1)
    except OSError as error:
        raise BlobError(f"the stored attachment cannot be read: {error.strerror}") from error
    if limit is not None and len(content) > limit:
        raise BlobError(f"it is larger than {limit / 2**20:.3g} MiB")
    if reference != reference_of(content):
        raise BlobError("the stored attachment has changed")
    return content


def get_blob_size(directory: Path, reference: str) -> int:
    """Return the size of `reference` in bytes; blocks on the file system briefly.

    Raises:
        BlobError: it is not a valid reference.
        OSError: it is missing.
    """
    return _path(directory, reference).stat().st_size


def store_media(directory: Path, content: Iterable[Block]) -> tuple[Block, ...]:
    """Store all base64 data of `content` and return `content` with references instead.

    Invalid base64 is left unchanged. Blocks on the file system.

    Raises:
        BlobError: an attachment cannot be written.
    """
    return tuple(_store_block(directory, block) for block in content)


def has_bytes(content: Iterable[ContentBlock]) -> bool:
    """Return whether any block contains base64 data."""
    return any(
        isinstance(block, MediaBlock) and block.source.kind == "base64"
        for block in iter_blocks(content)
    )


def _store_block(directory: Path, block: Block) -> Block:
    match block:
        case ToolResultBlock(content=content):
            return replace(block, content=store_media(directory, content))
        case ImageBlock() | AudioBlock() | DocumentBlock() if block.source.kind == "base64":
            try:
                content = base64.b64decode(block.source.data, validate=True)
            except (binascii.Error, ValueError):
                return block
            reference = store_blob(directory, content)
            return replace(block, source=ImageSource("file_ref", reference))
        case _:
            return block


def _path(directory: Path, reference: str) -> Path:
    if (found := _REFERENCE.fullmatch(reference)) is None:
        raise BlobError("its reference is not `sha256:` and 64 hexadecimal digits")
    return directory / found[1]


def _is_stored(directory: Path, reference: str) -> bool:
    try:
        read_blob(directory, reference)
    except BlobError:
        return False
    return True
