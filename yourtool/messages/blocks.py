"""Content blocks of messages.

The blocks of the canonical format are compared by their JSON encoding. The content of a message is
an ordered tuple of typed blocks, never a bare string. The garbage collector does not follow what a
long session has thousands of (`gc=False`), which saves memory and time: frozen values have no
cycles.
"""

import re
from collections.abc import Iterable, Iterator
from typing import Any, Literal, TypeAlias

import msgspec
from msgspec import Struct


def canonical_json(value: Any) -> bytes:
    """Encode `value` with sorted keys, so that equal values have equal bytes.

    Raises:
        UnicodeEncodeError: a text has half a character, such as the name of an old file.
    """
    return msgspec.json.encode(value, order="deterministic")


Critical: TypeAlias = bool | msgspec.UnsetType
"""True: a request that cannot contain the block fails instead of dropping it."""


class TextBlock(Struct, frozen=True, gc=False, tag_field="type", tag="text"):
    """Text."""

    text: str
    critical: Critical = msgspec.UNSET


_FILE = re.compile(r"The file ([^\n]{1,1000}):\n\n")


def build_file_block(name: str, text: str) -> TextBlock:
    """Return the block of a text file that is attached to a prompt."""
    return TextBlock(f"The file {name}:\n\n{text}")


def parse_file_block(block: TextBlock) -> tuple[str, int] | None:
    """Return the name and the size in bytes of an attached text file; None for other text."""
    if (start := _FILE.match(block.text)) is None:
        return None
    return start[1], len(block.text[start.end() :].encode("utf-8", "replace"))


class ToolUseBlock(Struct, frozen=True, gc=False, tag_field="type", tag="tool_use"):
    """A tool call of the model."""

    id: str
    """`tu_<ulid>`, our id; the id map has the providers' ids."""
    name: str
    input: dict[str, Any]
    """Validated against the tool's schema on arrival and again at dispatch."""
    critical: Critical = msgspec.UNSET

    def __hash__(self) -> int:
        return hash((self.id, self.name))


class ImageSource(Struct, frozen=True):
    """The location of the bytes of an image, audio or a document."""

    kind: Literal["base64", "url", "file_ref"]
    data: str
    """Base64 text, a URL, `sha256:<hex>` of a stored attachment (`messages/blobs.py`), or a path
    relative to the workspace."""


class ImageBlock(Struct, frozen=True, tag_field="type", tag="image", omit_defaults=True):
    """An image."""

    source: ImageSource
    media_type: str
    pixels: tuple[int, int] | None = None
    """Width and height, if known; the token count depends on them."""
    critical: Critical = msgspec.UNSET

    @property
    def label(self) -> str:
        """What a terminal shows in its place: its type and its size in pixels."""
        size = f", {self.pixels[0]}x{self.pixels[1]} pixels" if self.pixels else ""
        return f"[{self.media_type} image{size}]"


class AudioBlock(Struct, frozen=True, tag_field="type", tag="audio"):
    """Audio."""

    source: ImageSource
    media_type: str
    critical: Critical = msgspec.UNSET


class DocumentBlock(Struct, frozen=True, tag_field="type", tag="document", omit_defaults=True):
    """A document, such as a PDF."""

    source: ImageSource
    media_type: str
    name: str = ""
    """The file name without directories, if known; external text."""
    critical: Critical = msgspec.UNSET


class ThinkingBlock(Struct, frozen=True, gc=False, tag_field="type", tag="thinking"):
    """Reasoning that the model shows."""

    text: str
    signature: str | None = None
    """Opaque; only the provider that issued it can read it."""
    critical: Critical = msgspec.UNSET


class RedactedThinkingBlock(
    Struct, frozen=True, gc=False, tag_field="type", tag="redacted_thinking"
):
    """Encrypted reasoning."""

    data: str
    critical: Critical = msgspec.UNSET


class ToolResultBlock(Struct, frozen=True, gc=False, tag_field="type", tag="tool_result"):
    """The result of a tool call."""

    tool_use_id: str
    content: tuple[TextBlock | ImageBlock, ...]
    is_error: bool = False
    critical: Critical = msgspec.UNSET


MediaBlock: TypeAlias = ImageBlock | AudioBlock | DocumentBlock
"""The blocks with an `ImageSource`."""

ContentBlock: TypeAlias = (
    TextBlock
    | ToolUseBlock
    | ToolResultBlock
    | ImageBlock
    | AudioBlock
    | DocumentBlock
    | ThinkingBlock
    | RedactedThinkingBlock
)


def iter_blocks(content: Iterable[ContentBlock]) -> Iterator[ContentBlock]:
    """Yield every block, and after each tool result the blocks in it."""
    for block in content:
        yield block
        if isinstance(block, ToolResultBlock):
            yield from block.content
