"""Attachments of a prompt.

Images, audio and PDFs are sent as files, text documents as text. Files are read, checked and scaled
here, once; requests send exactly these bytes. A URL is passed on to the provider and never fetched.
"""

import base64
import binascii
import re
from contextlib import suppress
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

from yourtool.agent.input.images import convert_to_png, fit_image, is_large, unsupported_format
from yourtool.errors import UsageError
from yourtool.foundation.extras import build_install_command
from yourtool.foundation.files import path_exists
from yourtool.foundation.similar_names import describe_meant, find_meant
from yourtool.foundation.text import printable, storable
from yourtool.messages.blocks import (
    AudioBlock,
    ContentBlock,
    DocumentBlock,
    ImageBlock,
    ImageSource,
    build_file_block,
)
from yourtool.providers.media_types import (
    AUDIO_TYPES,
    IMAGE_TYPES,
    PDF,
    dimensions,
    orientation,
    sniff,
)
from yourtool.tools.workspace.encoding import detect_encoding

MAX_TEXT_BYTES = 2**18
"""Largest text document, in bytes; tools can read larger ones in pieces."""
MAX_FILE_BYTES = 64 * 2**20
"""Largest file of any other type, in bytes; models have limits below this one."""
_MAX_NAME_LENGTH = 200
_URL = re.compile(r"https?://\S+")
_DATA_URL = re.compile(r"data:[\w/+.-]*;base64,(.*)", re.DOTALL)
_MEDIA_TYPES = {
    ".png": "image/png",
    ".jpg": "image/jpeg",
    ".jpeg": "image/jpeg",
    ".gif": "image/gif",
    ".webp": "image/webp",
    ".wav": "audio/wav",
    ".mp3": "audio/mpeg",
    ".ogg": "audio/ogg",
    ".flac": "audio/flac",
    ".pdf": PDF,
}


class Attachment(Struct, frozen=True):
    """A block of a user message, its name, and a notice for the user."""

    block: ContentBlock
    name: str
    notice: str = ""


def read_attachment(source: str | Path, base: Path = Path()) -> Attachment:
    """Return the attachment for a path, an `http` URL or a `data:` URL; blocks on the file system.

    `base`: the directory that relative paths start from.

    Raises:
        UsageError: the file cannot be read, is too large, or has an unsupported type.
    """
    text = str(source)
    if isinstance(source, str):
        if _URL.fullmatch(text):
            return _build_url_attachment(text)
        if data_url := _DATA_URL.fullmatch(text):
            return attachment_from_bytes(_decode_data_url(data_url[1]), "data")
    try:
        path = _find_file(base / Path(source).expanduser())
        with path.open("rb") as file:
            content = file.read(MAX_FILE_BYTES + 1)
    except (OSError, ValueError, RuntimeError) as error:
        reason = getattr(error, "strerror", None) or "its name is not a path"
        raise UsageError(f"`{printable(text)}` cannot be attached: {reason}") from error
    found = attachment_from_bytes(content, path.name)
    if path.name == Path(source).name:
        return found
    return replace(found, notice=f"{describe_meant(text, path.name)} {found.notice}".rstrip())


def _find_file(path: Path) -> Path:
    """Return the path, or that of the one file in its directory whose name looks the same."""
    if path.name in ("", "..") or path_exists(path):
        return path
    with suppress(OSError):
        names = [each.name for each in path.parent.iterdir()]
        if (meant := find_meant(path.name, names)) is not None:
            return path.with_name(meant)
    return path


def attachment_from_bytes(content: bytes, name: str) -> Attachment:
    """Return `content` as an attachment; its type is detected from its first bytes.

    Raises:
        UsageError: it is empty, too large, or has an unsupported type.
    """
    name = printable(storable(name))[:_MAX_NAME_LENGTH]
    if not content:
        raise UsageError(f"`{name}` is empty")
    kind = sniff(content)
    _check_size(name, content, MAX_FILE_BYTES)
    if kind in IMAGE_TYPES or unsupported_format(content):
        return _build_image_attachment(content, name)
    if kind is None:
        return Attachment(build_file_block(name, _decode_text(content, name)), name)
    source = _build_base64_source(content)
    if kind in AUDIO_TYPES:
        return Attachment(AudioBlock(source, kind), name, _type_mismatch_notice(name, kind))
    return Attachment(DocumentBlock(source, kind, name), name, _type_mismatch_notice(name, kind))


def _build_image_attachment(content: bytes, name: str) -> Attachment:
    notice = _type_mismatch_notice(name, sniff(content))
    if (kind := unsupported_format(content)) is not None:
        content = convert_to_png(content, name, kind)
        notice = f"`{name}` was converted from {kind} to {_format_name(content)}."
    elif (fit := fit_image(content, name)) != content:
        change = (
            "scaled down to the limits of models"
            if orientation(content) == 1
            else "rotated upright"
        )
        content, notice = fit, f"`{name}` was {change}."
    elif is_large(content):
        way = build_install_command("images")
        notice = f"`{name}` is too large for many models; run `{way}` to have it scaled."
    elif orientation(content) != 1:
        way = build_install_command("images")
        notice = f"`{name}` is rotated; run `{way}` to have it rotated upright."
    media_type = sniff(content)
    assert media_type in IMAGE_TYPES, "images are converted to a supported type"
    return Attachment(
        ImageBlock(_build_base64_source(content), media_type, dimensions(content)), name, notice
    )


def _build_url_attachment(url: str) -> Attachment:
    media_type = _MEDIA_TYPES.get(Path(url.partition("?")[0]).suffix.lower(), "image/jpeg")
    source = ImageSource("url", url)
    name = printable(url)[:_MAX_NAME_LENGTH]
    if media_type == PDF:
        return Attachment(DocumentBlock(source, media_type), name)
    if media_type in AUDIO_TYPES:
        raise UsageError(
            f"`{name}` is audio, which cannot be sent as a URL; download it and attach the file"
        )
    return Attachment(ImageBlock(source, media_type), name)


def _decode_data_url(text: str) -> bytes:
    try:
        return base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError) as error:
        raise UsageError("The `data:` URL does not contain valid base64") from error


def _build_base64_source(content: bytes) -> ImageSource:
    return ImageSource("base64", base64.b64encode(content).decode("ascii"))


def _decode_text(content: bytes, name: str) -> str:
    if (encoding := detect_encoding(content[:MAX_TEXT_BYTES])) is None:
        raise UsageError(
            f"`{name}` cannot be attached. Supported are images (PNG, JPEG, GIF, WebP), audio (WAV,"
            " MP3, Ogg, FLAC), PDFs and text documents"
        )
    _check_size(name, content, MAX_TEXT_BYTES)
    return storable(encoding.show(content))


def _type_mismatch_notice(name: str, kind: str | None) -> str:
    """Return a notice if the type of a file does not match its name."""
    expected = _MEDIA_TYPES.get(Path(name).suffix.lower())
    if expected in (None, kind):
        return ""
    return f"`{name}` is really {kind}, and is sent as that."


def _format_name(content: bytes) -> str:
    return (sniff(content) or "").removeprefix("image/").upper()


def _check_size(name: str, content: bytes, limit: int) -> None:
    if len(content) > limit:
        size = f"{limit // 2**20} MiB" if limit >= 2**20 else f"{limit // 2**10} KiB"
        raise UsageError(f"`{name}` is larger than {size}; make it smaller")
