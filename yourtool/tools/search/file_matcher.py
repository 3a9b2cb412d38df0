"""Content search with RE2.

It finds the files whose lines match a regular expression. The time of RE2 is linear in the text,
and other threads run meanwhile, so a search needs no process that can be killed: it stops between
pieces of a file.
"""

import codecs
import os
import stat
import threading
from collections.abc import Generator, Iterator, Sequence
from contextlib import contextmanager
from itertools import islice

from msgspec import Struct

from yourtool.errors import ToolError
from yourtool.foundation.masking import Mask
from yourtool.foundation.patterns import LinePattern, compile_line_pattern
from yourtool.tools.workspace.directory_walk import Folder
from yourtool.tools.workspace.encoding import Encoding, detect_encoding

SNIPPET = 300
"""Maximum characters of a quoted line."""
MAX_FILE_BYTES = 5 * 2**20
"""Larger files are skipped."""
_SNIFF_BYTES = 8_192
_CHUNK_BYTES = 65_536
_PIECE_BYTES = 2**18
"""What is searched before the next look whether the search was stopped; about 0.3 s at worst."""
_FILE = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC
_FOLDER = getattr(os, "O_PATH", os.O_RDONLY) | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC


class SearchPattern(Struct, frozen=True):
    """The pattern of a search and its limits."""

    text: str
    ignore_case: bool = False
    is_literal: bool = False
    max_matches: int = 100
    """Maximum number of quoted matches per block."""
    around: int = 0
    """Number of lines quoted before and after each match."""


class SearchRoot(Struct, frozen=True):
    """The start directory of a search and the files to exclude."""

    descriptor: int
    excluded: frozenset[tuple[int, int]] = frozenset()
    """Files and directories of the program itself and linked credentials, by device and inode."""


class FoundLine(Struct, frozen=True):
    """A quoted line."""

    number: int
    text: str
    is_match: bool = True
    """False: it is near a match."""


class SearchAnswer(Struct):
    """The matches in a block of files."""

    found: list[tuple[int, int, list[FoundLine]]]
    """Index of a file in the block, its number of matches, and the first ones."""
    skipped: int = 0
    """Binary or large files."""
    unread: int = 0


class SearchStoppedError(Exception):
    """The search was stopped."""


class FileMatcher:
    """Searches blocks of files; its methods can be called from several threads."""

    def __init__(self, pattern: SearchPattern, start: SearchRoot, mask: Mask) -> None:
        """Compile the pattern.

        Raises:
            ToolError: it is not a regular expression of RE2.
        """
        self._pattern = pattern
        self._start = start
        self._mask = mask
        self._compiled = _compile(pattern)
        self.stopped = threading.Event()
        """Set it to stop the search."""

    def search(self, block: Sequence[Folder]) -> SearchAnswer:
        """Search files; blocking.

        Raises:
            SearchStoppedError: it was stopped.
        """
        answer, room, index = SearchAnswer([]), self._pattern.max_matches, 0
        for folder in block:
            with self._enter(folder.path) as descriptor:
                for name in folder.names:
                    count, lines = self._search_file(descriptor, name, room, answer)
                    if count:
                        answer.found.append((index, count, lines))
                        room -= min(room, count)
                    index += 1
        return answer

    def _search_file(
        self, folder: int, name: str, room: int, answer: SearchAnswer
    ) -> tuple[int, list[FoundLine]]:
        if self.stopped.is_set():
            raise SearchStoppedError
        try:
            data = self._read(folder, name)
        except OSError:
            answer.unread += 1
            return 0, []
        if data is None:
            answer.skipped += 1
            return 0, []
        matches = self._iter_matches(data)
        starts = list(islice(matches, room + self._pattern.around + 1))  # millions would be slow
        quoted = self._quote(data, starts, room) if starts and room else []
        return len(starts) + sum(1 for _ in matches), quoted

    def _iter_matches(self, data: bytes) -> Iterator[tuple[int, int]]:
        """Yield the place of the first match in each line that has one, in bytes."""
        search, begin = self._compiled.search, 0
        while begin < len(data):
            end = data.find(b"\n", begin + _PIECE_BYTES) + 1 or len(data)
            piece, at = data[begin:end], 0
            while (
                at < len(piece)
                and not self.stopped.is_set()
                and (match := search(piece, at)) is not None
            ):
                found = match.start()
                yield begin + piece.rfind(b"\n", 0, found) + 1, begin + found
                at = piece.find(b"\n", found) + 1 or len(piece)
            begin = end
            if self.stopped.is_set():
                raise SearchStoppedError

    def _quote(self, data: bytes, starts: Sequence[tuple[int, int]], room: int) -> list[FoundLine]:
        """Return the first matches with the lines around them, which can match as well."""
        around, found, number, counted, reach = self._pattern.around, dict[int, int](), 0, 0, -1
        for count, (start, match) in enumerate(starts):
            number += data.count(b"\n", counted, start)
            counted = start
            if count < room:
                reach = number + around
            elif number > reach:
                break
            found[number] = len(data[start:match].decode())
        shown = list(found)[:room]
        quoted = {near for at in shown for near in range(max(0, at - around), at + around + 1)}
        lines = data.removesuffix(b"\n").split(b"\n", reach + 1)
        return [
            self._quote_line(at, lines[at].decode(), found.get(at))
            for at in sorted(quoted)
            if at < len(lines)
        ]

    def _quote_line(self, at: int, line: str, found: int | None) -> FoundLine:
        first = max(0, (found or 0) - SNIPPET // 3) if len(line) > SNIPPET else 0
        last, above = min(len(line), first + SNIPPET), max(0, first - self._mask.reach)
        shown = line[above : last + self._mask.reach]  # keys can extend over the edges
        text = self._mask.slice(shown, first - above, last - above)
        return FoundLine(
            at + 1, f"{'…' * (first > 0)}{text}{'…' * (last < len(line))}", found is not None
        )

    @contextmanager
    def _enter(self, path: str) -> Generator[int, None, None]:
        """Open a directory, component by component from the start, or `os.devnull`."""
        descriptor = os.dup(self._start.descriptor)
        try:
            for name in filter(None, path.split("/")):
                below = self._open_folder(descriptor, name)
                os.close(descriptor)
                descriptor = below
            yield descriptor
        finally:
            os.close(descriptor)

    def _open_folder(self, above: int, name: str) -> int:
        try:
            below = os.open(name, _FOLDER, dir_fd=above)
        except OSError:
            return os.open(os.devnull, _FILE)
        if self._is_excluded(os.fstat(below)):
            os.close(below)
            return os.open(os.devnull, _FILE)
        return below

    def _read(self, folder: int, name: str) -> bytes | None:
        """Return the text of a file in UTF-8, with LF line endings; None: it is skipped.

        Raises:
            OSError: it cannot be read or is not a regular file.
        """
        descriptor = os.open(name, _FILE, dir_fd=folder)
        try:
            status = os.fstat(descriptor)
            if not stat.S_ISREG(status.st_mode) or self._is_excluded(status):
                raise OSError
            data = None if status.st_size > MAX_FILE_BYTES else _read_text(descriptor)
        finally:
            os.close(descriptor)
        return _to_plain_lines(data) if data else data

    def _is_excluded(self, status: os.stat_result) -> bool:
        return (status.st_dev, status.st_ino) in self._start.excluded


def _compile(pattern: SearchPattern) -> LinePattern:
    try:
        return compile_line_pattern(
            pattern.text, ignore_case=pattern.ignore_case, is_literal=pattern.is_literal
        )
    except ValueError as error:
        raise ToolError(
            f"`{pattern.text}` is not a valid regular expression: {error}; put a backslash before"
            " special characters that are meant literally. The syntax is that of RE2, which has no"
            " back-references and no `(?=`, `(?!`, `(?<=` or `(?<!`"
        ) from error


def _read_text(descriptor: int) -> bytes | None:
    """Return the content of a file; None if it is binary or has become too large."""
    data = os.read(descriptor, _CHUNK_BYTES)
    head = data[:_SNIFF_BYTES]
    if b"\0" in head and detect_encoding(head) is None:
        return None
    if len(data) < _CHUNK_BYTES:
        return data
    parts, size = [data], len(data)
    while data and size <= MAX_FILE_BYTES:
        data = os.read(descriptor, 2**20)
        parts.append(data)
        size += len(data)
    return b"".join(parts) if size <= MAX_FILE_BYTES else None


def _to_plain_lines(data: bytes) -> bytes:
    """Return bytes that are valid UTF-8, with LF line endings."""
    if not data.isascii() or b"\0" in data[:_SNIFF_BYTES]:
        try:
            data.decode()
            is_utf8 = b"\0" not in data[:_SNIFF_BYTES]
        except UnicodeDecodeError:
            is_utf8 = False
        if not is_utf8:
            data = (detect_encoding(data) or Encoding()).show(data).encode()
        data = data.removeprefix(codecs.BOM_UTF8)
    if b"\r" not in data:
        return data
    return data.replace(b"\r\n", b"\n") if b"\n" in data else data.replace(b"\r", b"\n")
