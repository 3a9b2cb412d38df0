"""Pictures on their way to a model: what they are, how large, and where their bytes come from.

A `file_ref` is opened one path component at a time without following a link, so it cannot lead out
of the workspace, whatever is renamed meanwhile.
"""

import base64
import binascii
import os
import stat
import struct
from pathlib import PurePosixPath
from typing import NamedTuple

from yourtool.messages import ImageBlock, Message
from yourtool.providers.base import Request
from yourtool.providers.loss import dropped

IMAGE_LIMIT = 5 * 1024 * 1024
"""Bytes in one image; the smallest limit among the large providers."""
NOT_SHOWN = "(an image that could not be shown to you)"
"""Stands for the images of a message that has nothing else."""
MEDIA_TYPES = ("image/png", "image/jpeg", "image/gif", "image/webp")


class ImageRefusedError(Exception):
    """Why a picture cannot be sent; a reason for the log."""


class Picture(NamedTuple):
    """An image ready for the wire: either a URL, or base64 text and what it really is."""

    media_type: str
    data: str
    url: str | None = None


def sendable(image: ImageBlock, message: Message, request: Request) -> Picture | None:
    """Return what to send for an image of `message`; None, with a warning, if it cannot be sent."""
    model = request.model
    try:
        if not model.capabilities.supports_images:
            raise ImageRefusedError("the model takes no images")
        accepted = model.capabilities.accepted_image_media_types
        return picture(image, request.workspace_path, accepted)
    except ImageRefusedError as error:
        dropped(image, message, model.provider, str(error))
        return None


def picture(image: ImageBlock, workspace_path: str, accepted: tuple[str, ...]) -> Picture:
    """Return what to send for `image`; `accepted` empty: what every provider takes.

    Raises:
        ImageRefusedError: it is missing, too large, of a type not accepted, or outside.
    """
    source = image.source
    if source.kind == "url":
        if not source.data.startswith(("https://", "http://")):
            raise ImageRefusedError("its address is not an http address")
        return Picture(image.media_type, "", source.data)
    if source.kind == "file_ref":
        content = _read(workspace_path, source.data)
        encoded = base64.b64encode(content).decode("ascii")
    else:
        encoded = source.data
        content = _decode(encoded)
    if len(content) > IMAGE_LIMIT:
        raise ImageRefusedError(f"it is larger than {IMAGE_LIMIT // 2**20} MiB")
    media_type = sniff(content) or image.media_type
    if media_type not in (accepted or MEDIA_TYPES) or media_type not in MEDIA_TYPES:
        raise ImageRefusedError(f"images of type {media_type} are not accepted")
    return Picture(media_type, encoded)


def sniff(content: bytes) -> str | None:
    """Return the media type that the first bytes tell, which providers check too."""
    if content.startswith(b"\x89PNG\r\n\x1a\n"):
        return "image/png"
    if content.startswith(b"\xff\xd8\xff"):
        return "image/jpeg"
    if content.startswith((b"GIF87a", b"GIF89a")):
        return "image/gif"
    if content[:4] == b"RIFF" and content[8:12] == b"WEBP":
        return "image/webp"
    return None


def dimensions(content: bytes) -> tuple[int, int] | None:
    """Return width and height in pixels of a PNG or a GIF, or of a JPEG whose frame comes early."""
    kind = sniff(content)
    if kind == "image/png" and len(content) >= 24:
        return struct.unpack(">II", content[16:24])
    if kind == "image/gif" and len(content) >= 10:
        return struct.unpack("<HH", content[6:10])
    at = 2
    while kind == "image/jpeg" and at + 9 <= len(content) and content[at] == 0xFF:
        marker, size = content[at + 1], int.from_bytes(content[at + 2 : at + 4], "big")
        if 0xC0 <= marker <= 0xCF and marker not in (0xC4, 0xC8, 0xCC):
            height, width = struct.unpack(">HH", content[at + 5 : at + 9])
            return width, height
        at += 2 + max(size, 2)
    return None


def _decode(data: str) -> bytes:
    if len(data) > IMAGE_LIMIT * 4 // 3 + 4:
        raise ImageRefusedError(f"it is larger than {IMAGE_LIMIT // 2**20} MiB")
    try:
        content = base64.b64decode(data, validate=True)
    except (binascii.Error, ValueError):
        raise ImageRefusedError("its data is not base64") from None
    if not content:
        raise ImageRefusedError("it is empty")
    return content


def _read(workspace_path: str, reference: str) -> bytes:
    parts = PurePosixPath(reference).parts
    if not workspace_path or not parts or reference.startswith("/") or ".." in parts:
        raise ImageRefusedError("it is not a path inside the workspace")
    try:
        return _read_inside(workspace_path, parts)
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or "its name is not a path"
        raise ImageRefusedError(f"the file cannot be read: {reason}") from error


def _read_inside(workspace_path: str, parts: tuple[str, ...]) -> bytes:
    directory = os.open(workspace_path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
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
        raise ImageRefusedError("it is not a regular file")
    with os.fdopen(descriptor, "rb") as file:
        content = file.read(IMAGE_LIMIT + 1)
    if not content:
        raise ImageRefusedError("it is empty")
    return content
