"""Images, audio and documents for a request.

A `file_ref` is a stored attachment or a path in the workspace. A path is opened one component at a
time without following symbolic links, so it cannot leave the workspace, even if files are renamed
meanwhile.
"""

import base64
import binascii
import os
import stat
from collections.abc import Collection
from pathlib import Path, PurePosixPath
from typing import NamedTuple

from msgspec import Struct

from yourtool.errors import BlobError
from yourtool.messages.blobs import is_blob, read_blob
from yourtool.messages.blocks import AudioBlock, DocumentBlock, ImageBlock, ImageSource, MediaBlock
from yourtool.messages.message import Message
from yourtool.models import AdapterCapabilities
from yourtool.providers.base import FileRoots, Request
from yourtool.providers.media_types import (
    AUDIO_TYPES,
    DOCUMENT_TYPES,
    IMAGE_TYPES,
    PLAIN,
    dimensions,
    sniff,
)
from yourtool.providers.urls import is_http_url

_MIN_IMAGE_SIZE = 24
"""Bytes; smaller than any valid image of an accepted type."""
_TYPES_WITH_LEADING_SIZE = ("image/png", "image/gif")
"""Types with their dimensions at the start of the file."""


class MediaRefusedError(Exception):
    """An attachment cannot be sent; the message is a reason for the log."""


class MediaSupport(NamedTuple):
    """The types and sizes that a model accepts for one kind of attachment."""

    kind: str
    """The name of the kind in messages, in the plural."""
    types: frozenset[str]
    """Accepted media types; empty if the kind is not supported."""
    limit: int
    """Largest size of one attachment, in bytes before base64."""


class Media(Struct, frozen=True):
    """An attachment ready to send: a URL, or base64 data with the detected media type."""

    media_type: str
    data: str
    url: str | None = None

    @property
    def data_url(self) -> str:
        """The URL, or a data URL with the content."""
        return self.url or f"data:{self.media_type};base64,{self.data}"

    @property
    def text(self) -> str:
        """The content of a plain text document."""
        return base64.b64decode(self.data).decode("utf-8", "replace")


def media_support(block: MediaBlock, can: AdapterCapabilities) -> MediaSupport:
    """Return what the model accepts for the kind of `block`."""
    match block:
        case ImageBlock():
            types = set(IMAGE_TYPES) & set(can.accepted_image_media_types or IMAGE_TYPES)
            taken = types if can.supports_images else ()
            return MediaSupport("images", frozenset(taken), can.max_image_bytes)
        case AudioBlock():
            types = AUDIO_TYPES if can.supports_audio else ()
            return MediaSupport("audio", frozenset(types), can.max_file_bytes)
        case DocumentBlock():
            types = DOCUMENT_TYPES if can.supports_documents else ()
            return MediaSupport("documents", frozenset(types), can.max_file_bytes)


def format_mib(size: int) -> str:
    """Format a number of bytes as MiB."""
    return f"{size / 2**20:.3g} MiB"


def prepare_media(
    block: MediaBlock, message: Message, request: Request, only: Collection[str] = ()
) -> Media | None:
    """Return the content of a block of `message`; None, with a warning, if it cannot be sent.

    `only`: the media types that the dialect supports; empty for all.
    """
    try:
        media = _load_media(block, request)
        if only and media.url is None and media.media_type not in only:
            raise MediaRefusedError(f"this dialect does not support {media.media_type}")
    except MediaRefusedError as error:
        request.drop_log.drop(block, message, request.model, str(error))
        return None
    return media


def format_document(document: DocumentBlock, media: Media) -> str:
    """Format a plain text document as text, for a dialect without documents."""
    return f"The file {document.name or 'attached'}:\n\n{media.text}"


def _load_media(block: MediaBlock, request: Request) -> Media:
    """Return the content of `block`.

    Raises:
        MediaRefusedError: it is missing, changed, too large, of an unsupported type, or outside the
            workspace.
    """
    kind, types, limit = media_support(block, request.model.capabilities)
    if not types:
        raise MediaRefusedError(f"the model does not support {kind}")
    source = block.source
    if source.kind == "url":
        if not is_http_url(source.data):
            raise MediaRefusedError("its address is not an HTTP URL with a host")
        return Media(block.media_type, "", source.data)
    content = _load_content(source, request.file_roots, limit)
    media_type = _detect_type(content)
    if block.media_type == PLAIN and media_type not in types:
        media_type = PLAIN  # plain text has no signature
    if media_type is None:
        raise MediaRefusedError(f"its content is not one of the accepted types of {kind}")
    if media_type not in types:
        raise MediaRefusedError(f"{kind} of type {media_type} are not accepted")
    encoded = source.data if source.kind == "base64" else base64.b64encode(content).decode("ascii")
    return Media(media_type, encoded)


def _detect_type(content: bytes) -> str | None:
    """Detect the media type from the first bytes; None for an image without its dimensions."""
    kind = sniff(content)
    if kind not in IMAGE_TYPES:
        return kind
    has_size = kind not in _TYPES_WITH_LEADING_SIZE or all(dimensions(content) or (0,))
    return kind if has_size and len(content) >= _MIN_IMAGE_SIZE else None


def _load_content(source: ImageSource, places: FileRoots | None, limit: int) -> bytes:
    if source.kind == "base64":
        content = _decode(source.data, limit)
    elif places is None:
        raise MediaRefusedError("it is a file, and this request has no access to files")
    elif is_blob(source):
        try:
            content = read_blob(places.blobs, source.data, limit)
        except BlobError as error:
            raise MediaRefusedError(str(error)) from error
    else:
        content = _read_file(places.workspace, source.data, limit)
    if len(content) > limit:
        raise MediaRefusedError(f"it is larger than {format_mib(limit)}")
    if not content:
        raise MediaRefusedError("it is empty")
    return content


def _decode(data: str, limit: int) -> bytes:
    if len(data) > limit * 4 // 3 + 4:
        raise MediaRefusedError(f"it is larger than {format_mib(limit)}")
    try:
        return base64.b64decode(data, validate=True)
    except (binascii.Error, ValueError):
        raise MediaRefusedError("its data is not base64") from None


def _read_file(workspace: Path, reference: str, limit: int) -> bytes:
    parts = PurePosixPath(reference).parts
    if not parts or reference.startswith("/") or ".." in parts:
        raise MediaRefusedError("it is not a path inside the workspace")
    try:
        return _read_inside(workspace, parts, limit)
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or "its name is not a path"
        raise MediaRefusedError(f"the file cannot be read: {reason}") from error


def _read_inside(workspace: Path, parts: tuple[str, ...], limit: int) -> bytes:
    directory = os.open(workspace, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        for part in parts[:-1]:
            inner = os.open(
                part, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=directory
            )
            os.close(directory)
            directory = inner
        flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
        descriptor = os.open(parts[-1], flags, dir_fd=directory)
    finally:
        os.close(directory)
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise MediaRefusedError("it is not a regular file")
    with os.fdopen(descriptor, "rb") as file:
        return file.read(limit + 1)
