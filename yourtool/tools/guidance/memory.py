"""Memory and its tool.

Memory is two short Markdown files of the user, which every request contains. `USER.md` is about the
user, `MEMORY.md` about one workspace. They are in the program's own directory, so no file of a
project becomes memory. Sizes are in bytes of UTF-8.
"""

import hashlib
import os
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Literal

from msgspec import Meta, Struct
from msgspec.structs import replace

from yourtool.effects import Preview, SideEffects
from yourtool.errors import ToolError
from yourtool.events.guidance import MemoryUpdated
from yourtool.foundation.files import lock_directory, replace_file
from yourtool.foundation.line_diff import format_unified
from yourtool.foundation.text import storable
from yourtool.messages.blocks import TextBlock
from yourtool.tools.base import Args, StructTool, ToolContext, ToolOutput, tool

REMEMBER = "remember"


class MemoryFile(Struct, frozen=True):
    """One file with its limits."""

    path: Path
    title: str
    soft: int
    """Above this size, a write succeeds and asks the model to shorten the file."""
    hard: int
    """Above this size, a write is refused."""

    def read(self) -> str:
        """Return the content; empty if the file does not exist or is too large; blocks."""
        try:
            with self.path.open("rb") as file:
                return storable(file.read(self.hard).decode("utf-8", "ignore"))
        except OSError:
            return ""

    def load(self) -> str:
        """Return the whole content; blocks.

        Raises:
            ToolError: the file was made too large, or is not readable.
        """
        try:
            with self.path.open("rb") as file:
                data = file.read(self.hard + 1)
        except FileNotFoundError:
            return ""
        except OSError as error:
            raise ToolError(f"`{self.path.name}` cannot be read: {error.strerror}") from error
        if len(data) > self.hard:
            limit = f"{self.hard:,} bytes"
            raise ToolError(f"`{self.path}` has more than {limit}; the user has to shorten it")
        return storable(data.decode("utf-8", "replace"))

    @contextmanager
    def locked(self) -> Generator[None, None, None]:
        """Exclude other processes that write to the directory.

        Raises:
            ToolError: it cannot be written.
        """
        try:
            lock = lock_directory(self.path.parent)
        except OSError as error:
            raise ToolError(f"`{self.path.name}` cannot be written: {error.strerror}") from error
        try:
            yield
        finally:
            os.close(lock)

    def write(self, text: str) -> str:
        """Replace the content atomically and return the size for the model; blocks.

        Raises:
            ToolError: it is above the hard limit, and the file is unchanged, or not writable.
        """
        data = text.encode()
        self.check(data)
        try:
            replace_file(self.path, data)
        except OSError as error:
            raise ToolError(f"`{self.path.name}` cannot be written: {error.strerror}") from error
        size = f"`{self.path.name}` has {len(data):,} of {self.hard:,} bytes."
        return f"{size} Shorten it with `all` soon." if len(data) > self.soft else size

    def check(self, data: bytes) -> None:
        """Check the hard limit.

        Raises:
            ToolError: the content is above it.
        """
        if len(data) > self.hard:
            raise ToolError(
                f"`{self.path.name}` would have {len(data):,} bytes, more than {self.hard:,}, and"
                " is unchanged; shorten it with `all` first"
            )


class Remember(Args, frozen=True):
    """A change of a memory file."""

    file: Literal["MEMORY.md", "USER.md"]
    text: str
    old: Annotated[str, Meta(description="Text to replace; empty: add a line.")] = ""
    all: Annotated[bool, Meta(description="Replace the whole file.")] = False


def apply_memory(before: str, args: Remember) -> str:
    """Return the content after a change.

    Raises:
        ToolError: there is nothing to add, or `old` is not there exactly once.
    """
    text = storable(args.text)
    if args.all:
        return text.strip() + "\n" if text.strip() else ""
    if args.old:
        if (count := before.count(args.old)) != 1:
            raise ToolError(f"`old` occurs {count} times in `{args.file}`; it must occur once")
        return before.replace(args.old, text)
    if not (line := " ".join(text.split())):
        raise ToolError("`text` is empty, so there is nothing to remember")
    first = before if not before or before.endswith("\n") else f"{before}\n"
    return f"{first}{line}\n"


def change_memory(
    file: MemoryFile, args: Remember, guard: str | None = None
) -> tuple[str, MemoryUpdated]:
    """Change a file and return its size for the model, and the change; blocks.

    `guard`: that of the approved preview.

    Raises:
        ToolError: the file is unchanged.
    """
    with file.locked():
        if guard is not None and preview_memory(file, args).guard != guard:
            raise ToolError(f"`{args.file}` has changed since the approval; call it again")
        before = file.load()
        after = apply_memory(before, args)
        return file.write(after), _build_update(args, before.encode(), after.encode())


def _build_update(args: Remember, before: bytes, after: bytes) -> MemoryUpdated:
    return MemoryUpdated(
        file=args.file,
        operation="consolidate" if args.all else "replace" if args.old else "add",
        before_hash=hashlib.sha256(before).hexdigest(),
        after_hash=hashlib.sha256(after).hexdigest(),
        before_size_bytes=len(before),
        after_size_bytes=len(after),
    )


def preview_memory(file: MemoryFile, args: Remember) -> Preview:
    """Return what a change would do; blocks.

    Raises:
        ToolError: it is not possible.
    """
    before = file.load()
    after = apply_memory(before, args)
    file.check(after.encode())
    names = args.file, args.file
    body = "\n".join(format_unified(names, before.splitlines(), after.splitlines()))
    guard = hashlib.sha256(f"{before}\0{after}".encode()).hexdigest()
    return Preview(kind="diff", body=body, paths=(str(file.path),), protected=True, guard=guard)


def build_remember(files: Mapping[str, MemoryFile]) -> StructTool:
    """Return the tool for these files, by name."""

    def mask(args: Remember, context: ToolContext) -> Remember:
        return replace(args, text=context.mask.text(args.text))

    async def preview(args: Remember, context: ToolContext) -> Preview:
        return await context.run_in_thread(preview_memory, files[args.file], mask(args, context))

    @tool(SideEffects.WRITE, preview=preview)
    async def remember(args: Remember, context: ToolContext) -> ToolOutput:
        """Keep a fact for later sessions: about this workspace (MEMORY.md) or the user."""
        guard = context.approved.guard if context.approved is not None else None
        text, updated = await context.run_in_thread(
            change_memory, files[args.file], mask(args, context), guard
        )
        return ToolOutput((TextBlock(text),), facts=(updated,))

    return remember
