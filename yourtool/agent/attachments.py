"""What goes with a prompt: pictures, recordings and PDFs as they are, text documents as words.

Everything is read, checked and made to fit here, once; what is sent later are these very bytes. An
address is never fetched: it goes to the provider as it is.
"""

import base64
import binascii
import re
from pathlib import Path
from typing import NamedTuple

from yourtool.agent.images import convert_to_png, fit_image, foreign, is_large
from yourtool.errors import UsageError
from yourtool.messages import (
    AudioBlock,
    ContentBlock,
    DocumentBlock,
    ImageBlock,
    ImageSource,
    TextBlock,
)
from yourtool.providers.media_types import (
    AUDIO_TYPES,
    IMAGE_TYPES,
    PDF,
    dimensions,
    orientation,
    sniff,
)
from yourtool.text import printable, storable

TEXT_LIMIT = 2**18
"""Bytes of a text document; the tools read larger ones piece by piece."""
READ_LIMIT = 64 * 2**20
"""Bytes of anything else; how much of that a request may hold is the model's to say."""
_LONGEST_NAME = 200
_ADDRESS = re.compile(r"https?://\S+")
_INLINE = re.compile(r"data:[\w/+.-]*;base64,(.*)", re.DOTALL)
_TYPES = {
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


class Attachment(NamedTuple):
    """A block of a user message, what to call it, and what the user should know of it."""

    block: ContentBlock
    name: str
    remark: str = ""


def read_attachment(what: str | Path, base: Path = Path()) -> Attachment:
    """Read a file, or take an `http` address or a `data:` URL; blocks on the file system.

    `base`: where a relative path begins.

    Raises:
        UsageError: it cannot be read, is larger than any model takes, or nothing that one takes.
    """
    text = str(what)
    if isinstance(what, str):
        if _ADDRESS.fullmatch(text):
            return _linked(text)
        if inline := _INLINE.fullmatch(text):
            return from_bytes(_decoded(inline[1]), "data")
    try:
        path = base / Path(what).expanduser()
        with path.open("rb") as file:
            content = file.read(READ_LIMIT + 1)
    except (OSError, ValueError, RuntimeError) as error:
        reason = getattr(error, "strerror", None) or "its name is not a path"
        raise UsageError(f"`{printable(text)}` cannot be attached: {reason}") from error
    return from_bytes(content, path.name)


def from_bytes(content: bytes, name: str) -> Attachment:
    """Return `content` as a block; what it is, its first bytes tell, whatever it is called.

    Raises:
        UsageError: it is empty, too large, or nothing that a model takes.
    """
    name = printable(storable(name))[:_LONGEST_NAME]
    if not content:
        raise UsageError(f"`{name}` is empty")
    kind = sniff(content)
    _limit(name, content, READ_LIMIT)
    if kind in IMAGE_TYPES or foreign(content):
        return _picture(content, name)
    if kind is None:
        return Attachment(TextBlock(_words(content, name)), name)
    source = _inline(content)
    if kind in AUDIO_TYPES:
        return Attachment(AudioBlock(source, kind), name, _mismatch(name, kind))
    return Attachment(DocumentBlock(source, kind, name), name, _mismatch(name, kind))


def _picture(content: bytes, name: str) -> Attachment:
    remark = _mismatch(name, sniff(content))
    if (kind := foreign(content)) is not None:
        content = convert_to_png(content, name, kind)
        remark = f"`{name}` is a {kind} picture and was made a {_called(content)}."
    elif (fit := fit_image(content, name)) != content:
        done = (
            "made smaller, to what models take" if orientation(content) == 1 else "turned upright"
        )
        content, remark = fit, f"`{name}` was {done}."
    elif is_large(content):
        remark = f"`{name}` is large for many models; `pip install 'yourtool[images]'` scales it."
    elif orientation(content) != 1:
        remark = f"`{name}` lies on its side; `pip install 'yourtool[images]'` has it turned."
    media_type = sniff(content)
    assert media_type in IMAGE_TYPES, "pictures are made into what models take"
    return Attachment(ImageBlock(_inline(content), media_type, dimensions(content)), name, remark)


def _linked(address: str) -> Attachment:
    media_type = _TYPES.get(Path(address.partition("?")[0]).suffix.lower(), "image/jpeg")
    source = ImageSource("url", address)
    name = printable(address)[:_LONGEST_NAME]
    if media_type == PDF:
        return Attachment(DocumentBlock(source, media_type), name)
    if media_type in AUDIO_TYPES:
        raise UsageError(f"`{name}` is a recording; fetch it and attach the file")
    return Attachment(ImageBlock(source, media_type), name)


def _decoded(text: str) -> bytes:
    try:
        return base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError) as error:
        raise UsageError("The `data:` URL does not hold base64") from error


def _inline(content: bytes) -> ImageSource:
    return ImageSource("base64", base64.b64encode(content).decode("ascii"))


def _words(content: bytes, name: str) -> str:
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError:
        text = "\0"
    if "\0" in text:
        raise UsageError(
            f"`{name}` cannot be attached; pictures (PNG, JPEG, GIF, WebP), recordings (WAV, MP3,"
            " Ogg, FLAC), PDFs and text documents can"
        )
    _limit(name, content, TEXT_LIMIT)
    return storable(f"The file {name}:\n\n{text}")


def _mismatch(name: str, kind: str | None) -> str:
    """Say so if a file is not what its name says."""
    said = _TYPES.get(Path(name).suffix.lower())
    return f"`{name}` is really {kind}, and is sent as that." if said not in (None, kind) else ""


def _called(content: bytes) -> str:
    return (sniff(content) or "").removeprefix("image/").upper()


def _limit(name: str, content: bytes, limit: int) -> None:
    if len(content) > limit:
        size = f"{limit // 2**20} MiB" if limit >= 2**20 else f"{limit // 2**10} KiB"
        raise UsageError(f"`{name}` is larger than {size}; make it smaller")
