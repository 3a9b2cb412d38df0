"""Files and images mentioned in a prompt.

The same rules apply as to the tool `read_file`: a file that needs an approval, or that a rule or
the program closes, is only mentioned, and the model has to read it with the tool.
"""

import asyncio
import re
import threading
from collections.abc import Callable, Iterator
from contextlib import suppress
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import Struct

from yourtool.agent.input import file_paths
from yourtool.agent.input.attachments import MAX_FILE_BYTES, attachment_from_bytes, read_attachment
from yourtool.effects import Subject
from yourtool.errors import ToolError, UsageError
from yourtool.foundation.amounts import format_size
from yourtool.foundation.files import path_exists
from yourtool.foundation.masking import Mask
from yourtool.foundation.text import printable
from yourtool.messages.blocks import (
    AudioBlock,
    ContentBlock,
    DocumentBlock,
    ImageBlock,
    ImageSource,
    MediaBlock,
    TextBlock,
)
from yourtool.permissions.gate import Gate
from yourtool.permissions.judging import CallSubjects
from yourtool.providers.media_types import AUDIO_TYPES, IMAGE_TYPES, sniff
from yourtool.tools.files.files import MAX_LINES, MAX_RESULT_BYTES, read_file
from yourtool.tools.workspace import directory_walk
from yourtool.tools.workspace.encoding import detect_encoding
from yourtool.tools.workspace.file_reads import FileReads
from yourtool.tools.workspace.meant_paths import find_meant_path
from yourtool.tools.workspace.replacing import digest
from yourtool.tools.workspace.workspace import Workspace

if TYPE_CHECKING:
    from yourtool.tools.servers.server import ToolServer
    from yourtool.tools.servers.servers import ToolServers

MAX_FILES = 20
"""Files of a prompt whose content is sent."""
_MENTION = re.compile(r"(?<!\S)[(\[{]?@([^\s@]+)")
_PUNCTUATION = ".,;:!?)]}'\""
_MAX_SEARCHED_CHARACTERS = 20_000
_MAX_NAME_CHARACTERS = 1_000
_SNIFFED_BYTES = 8_192


class FileMention(Struct, frozen=True):
    """A file or a directory that a prompt mentions."""

    name: str
    """The path as it is written."""
    size: int = 0
    reason: str = ""
    """Why the content is not sent; empty if it is."""
    path: Path | None = None
    """The path of an image outside the workspace."""

    @property
    def label(self) -> str:
        """The name with the size, or with the reason why the content is not sent."""
        return f"{printable(self.name)}, {self.reason or format_size(self.size)}"


class MentionedFiles(Struct, frozen=True):
    """Finds and reads the files that a prompt mentions; all but `attach` block."""

    workspace: Workspace
    gate: Gate
    reads: FileReads
    mask: Callable[[], Mask]
    find_rejection: Callable[[MediaBlock], str | None]
    """Returns why the model of the next turn does not accept a block."""
    attaches: bool
    """Whether content is sent, not only the name."""
    servers: "ToolServers | None" = None
    """Those whose resources a prompt can mention."""

    def find(self, text: str) -> tuple[FileMention, ...]:
        """Return the existing files that a text mentions, in order, each once."""
        text = text[:_MAX_SEARCHED_CHARACTERS]
        found = dict[str, FileMention]()
        for name in _iter_names(text):
            if name not in found and (mention := self._find_file(name)) is not None:
                found[name] = mention
        if self.attaches:
            for image in file_paths.find_media_paths(text):
                path = image.path
                found[image.source] = FileMention(path.name, path.stat().st_size, path=path)
        for name, _, _ in self._iter_resources(text):
            kind = "a resource" if self.attaches else "only mentioned: as the settings say"
            found[name] = FileMention(name, reason=kind)
        return tuple(
            mention
            if number < MAX_FILES or mention.reason
            else FileMention(mention.name, reason=f"only mentioned: one of more than {MAX_FILES}")
            for number, mention in enumerate(found.values())
        )

    def read(self, mentions: tuple[FileMention, ...]) -> tuple[ContentBlock, ...]:
        """Return a block for each file whose content is sent, with known keys masked.

        Raises:
            UsageError: a file can no longer be read.
        """
        mask = self.mask() if mentions else None
        blocks = list[ContentBlock]()
        for mention in mentions:
            if not mention.reason:
                block = self._read_block(mention)
                if isinstance(block, TextBlock) and mask is not None:
                    block = TextBlock(mask.text(block.text))
                blocks.append(block)
        return tuple(blocks)

    async def attach(self, text: str) -> tuple[ContentBlock, ...]:
        """Return a block for each file and resource that a text mentions and that is sent.

        Raises:
            UsageError: one cannot be read.
        """
        blocks = list(await asyncio.to_thread(lambda: self.read(self.find(text))))
        for name, server, uri in self._iter_resources(text) if self.attaches else ():
            try:
                found = await server.read_resource(uri)
            except ToolError as error:
                raise UsageError(f"`@{printable(name)}` cannot be attached: {error}") from error
            mask = await asyncio.to_thread(self.mask)
            blocks += (TextBlock(_shorten(mask.text(each))) for each in found)
        return tuple(blocks)

    def _iter_resources(self, text: str) -> Iterator[tuple[str, "ToolServer", str]]:
        """Yield the resources that a text mentions, each once: the name, the server, the URI."""
        names = (match[1].rstrip(_PUNCTUATION) for match in _MENTION.finditer(text))
        for name in dict.fromkeys(names) if self.servers is not None else ():
            if self.servers and (found := self.servers.find_resource(name)) is not None:
                yield name, *found

    def _read_block(self, mention: FileMention) -> ContentBlock:
        if mention.path is not None:
            return read_attachment(mention.path).block
        try:
            content = self.workspace.read(mention.name, limit=MAX_FILE_BYTES)
            self.reads.record(self.workspace.locate(mention.name), digest(content))
        except ToolError as error:
            name = printable(mention.name)
            raise UsageError(f"`@{name}` cannot be attached: {error}") from error
        return attachment_from_bytes(content, mention.name).block

    def _find_file(self, name: str) -> FileMention | None:
        """Return the mention of a file or directory; None if there is none of that name."""
        name = find_meant_path(name, self.workspace, may_create=True) or name
        try:
            kind = self.workspace.kind(name)
            if kind is None:
                return None
            if kind != "file":
                return FileMention(name, reason=f"only mentioned: a {kind}")
            if reason := self._find_obstacle(name):
                return FileMention(name, reason=f"only mentioned: {reason}")
            with self.workspace.open(name) as file:
                content = file.read(_SNIFFED_BYTES)
                if sniff(content) is None:
                    content += file.read(MAX_RESULT_BYTES)
                size = file.seek(0, 2)
        except (ToolError, OSError, ValueError):
            return self._find_closed_file(name)
        reason = self._find_unsuitable(content, size) if self.attaches else "as the settings say"
        return FileMention(name, size, f"only mentioned: {reason}" if reason else "")

    def _find_obstacle(self, name: str) -> str:
        """Return why `read_file` would not read a file without a question, or an empty string."""
        credential = (name,) if self.workspace.is_credential_file(name) else ()
        subjects = CallSubjects((Subject("path", self.workspace.locate(name)),), credential)
        match self.gate.decide(read_file.definition, subjects, None).verdict:
            case "allow":
                return ""
            case "ask":
                return "it may contain credentials, and reading it needs your approval"
            case "deny":
                return "a rule forbids reading it"

    def _find_closed_file(self, name: str) -> FileMention | None:
        """Return the mention of a file that the tools cannot read; None if it does not exist."""
        try:
            if not path_exists(self.workspace.root / name):
                return None
        except (OSError, ValueError):
            return None
        return FileMention(name, reason="only mentioned: tools cannot read it")

    def _find_unsuitable(self, content: bytes, size: int) -> str:
        """Return why content of this beginning and size is not sent, or an empty string."""
        kind = sniff(content)
        if kind is not None:
            if size > MAX_FILE_BYTES:
                return f"it has {format_size(size)}"
            return self.find_rejection(_build_media_block(kind)) or ""
        if not size:
            return "it is empty"
        if detect_encoding(content) is None:
            return f"a binary file of {format_size(size)}"
        if size > MAX_RESULT_BYTES or content.count(b"\n") > MAX_LINES:
            return f"it has {format_size(size)}, which the model reads in parts"
        return ""


def _build_media_block(kind: str) -> MediaBlock:
    """Return a block of a media type without content, to ask whether a model accepts it."""
    source = ImageSource("file_ref", "")
    if kind in IMAGE_TYPES:
        return ImageBlock(source, kind)
    return AudioBlock(source, kind) if kind in AUDIO_TYPES else DocumentBlock(source, kind)


def _shorten(text: str) -> str:
    if len(text) <= MAX_RESULT_BYTES:
        return text
    return f"{text[:MAX_RESULT_BYTES]}\n… {len(text) - MAX_RESULT_BYTES:,} more characters"


def _iter_names(text: str) -> Iterator[str]:
    for match in _MENTION.finditer(text):
        name = match[1]
        if len(name) <= _MAX_NAME_CHARACTERS:
            yield name
            if (stripped := name.rstrip(_PUNCTUATION)) not in (name, ""):
                yield stripped


def list_mentionable_files(workspace: Workspace, limit: int) -> list[str]:
    """Return at most `limit` files of a workspace without those that git ignores; blocks."""
    found = directory_walk.iter_files(workspace, ".", threading.Event())
    with suppress(ToolError):  # the workspace is a directory of this program
        names = (name for name in found if name.isprintable() and " " not in name)
        return list(islice(names, limit))
    return []
