"""Files that go with a prompt: pictures as they are, text documents as words."""

import base64
from pathlib import Path

from yourtool.errors import UsageError
from yourtool.messages import ContentBlock, ImageBlock, ImageSource, TextBlock
from yourtool.providers.images import IMAGE_LIMIT, MEDIA_TYPES, sniff
from yourtool.text import storable

TEXT_LIMIT = 2**18
"""Bytes of a text document; the tools read larger ones piece by piece."""


def attachment(path: Path) -> ContentBlock:
    """Read a file as a block of a user message; blocks on the file system.

    Raises:
        UsageError: it cannot be read, is too large, or is neither a picture nor text.
    """
    try:
        with path.open("rb") as file:
            content = file.read(IMAGE_LIMIT + 1)
    except OSError as error:
        raise UsageError(f"`{path}` cannot be attached: {error.strerror}") from error
    if (media_type := sniff(content)) in MEDIA_TYPES:
        _fit(path, content, IMAGE_LIMIT)
        data = base64.b64encode(content).decode("ascii")
        return ImageBlock(ImageSource("base64", data), media_type)
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError:
        text = "\0"
    if "\0" in text:
        kinds = ", ".join(kind.removeprefix("image/") for kind in MEDIA_TYPES)
        raise UsageError(
            f"`{path}` is neither an image ({kinds}) nor a text document; those can be attached"
        )
    _fit(path, content, TEXT_LIMIT)
    return TextBlock(storable(f"The file {path.name}:\n\n{text}"))


def _fit(path: Path, content: bytes, limit: int) -> None:
    if len(content) > limit:
        size = f"{limit // 2**20} MiB" if limit >= 2**20 else f"{limit // 2**10} KiB"
        raise UsageError(f"`{path}` is larger than {size}; make it smaller")
