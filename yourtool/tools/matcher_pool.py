"""File search in processes that can be killed: `matcher_script`, and ripgrep where it is faster.

Most patterns contain a literal, which `matcher_script` searches for first (`docs/performance.md`
compares it with ripgrep). For other patterns, ripgrep opens files by path and preselects
candidates. The lines in the result are always read and matched by `matcher_script`, so the result
is the same with and without ripgrep.
"""

import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import msgspec
from msgspec import Struct

from yourtool.errors import ToolError
from yourtool.masking import Mask
from yourtool.tools import matcher_script
from yourtool.tools.directory_walk import Folder
from yourtool.tools.process_group import Processes
from yourtool.tools.ripgrep import Ripgrep, SearchRoot

_LIBRARIES = ("LD_LIBRARY_PATH", "DYLD_LIBRARY_PATH")
"""Variables that the interpreter may need; the rest of the environment can contain API keys."""

_MIN_FILES_READ = 100
"""Files that must be read without enough matches before ripgrep is used."""


class SearchPattern(Struct, frozen=True):
    """The pattern of a search and its limits."""

    text: str
    ignore_case: bool
    max_matches: int
    """Maximum number of quoted matches per block."""
    max_file_bytes: int
    """Larger files are skipped."""
    around: int = 0
    """Number of lines quoted before and after each match."""


class FoundLine(Struct, frozen=True):
    """A quoted line."""

    number: int
    text: str
    is_match: bool = True
    """False: it is near a match."""


class SearchAnswer(Struct, frozen=True):
    """The matches in a block of files."""

    found: list[tuple[int, int, list[FoundLine]]] = []
    """Index of a file in the block, its number of matches, and the first ones."""
    read: int = 0
    """Files whose lines were matched one by one."""
    skipped: int = 0
    """Binary or large files."""
    unread: int = 0


class _Quote(Struct, frozen=True, array_like=True):
    """A line as sent by `matcher_script`."""

    line: int
    text: str
    start: int
    stop: int
    is_cut_before: bool
    is_cut_after: bool
    is_match: bool

    def to_masked_line(self, mask: Mask) -> FoundLine:
        text = mask.slice(self.text, self.start, self.stop).strip("\r")
        shown = "…" * self.is_cut_before + text + "…" * self.is_cut_after
        return FoundLine(self.line, shown, self.is_match)


class _Quotes(Struct, frozen=True):
    """A `SearchAnswer` whose lines still have their surrounding text, for masking."""

    found: list[tuple[int, int, list[_Quote]]]
    read: int
    skipped: int
    unread: int


class _PatternInfo(Struct, frozen=True):
    error: str = ""
    has_literals: bool = True
    wider: str = ""
    """A ripgrep expression that matches at least every line that the pattern matches."""


class MatcherPool:
    """Searches blocks of files, with one process per calling thread."""

    def __init__(
        self, pattern: SearchPattern, start: SearchRoot, mask: Mask, ripgrep: Ripgrep | None = None
    ) -> None:
        self._pattern = pattern
        self._mask = mask
        self._start = start
        self._ripgrep = ripgrep
        self._idle: list[subprocess.Popen[bytes]] = []
        self._wide_expression = ""
        self.uses_ripgrep = False
        """Whether ripgrep preselects files, if it is installed."""
        self.processes = Processes()

    def open(self) -> None:
        """Compile the pattern; blocking.

        Raises:
            ToolError: it is not a valid regular expression.
        """
        process, opened = self._start_process()
        self._idle.append(process)
        if opened.error:
            raise ToolError(
                f"`{self._pattern.text}` is not a valid regular expression: {opened.error};"
                " put a backslash before special characters that are meant literally"
            )
        self._wide_expression, self.uses_ripgrep = opened.wider, not opened.has_literals
        if not self._wide_expression:
            self._ripgrep = None  # the pattern has no expression for ripgrep

    def search(self, block: Sequence[Folder]) -> SearchAnswer:
        """Search files; blocking.

        Raises:
            OSError: the processes were killed.
        """
        ripgrep = self._ripgrep
        if ripgrep is None or not self.uses_ripgrep:
            answer = self._match_block(block)
            # A frequent literal does not narrow down the files, so ripgrep takes over.
            self.uses_ripgrep = answer.read > max(_MIN_FILES_READ, 4 * len(answer.found))
            return answer
        chosen = ripgrep.find_candidates(block, self._wide_expression, self.processes)
        if chosen is None or 2 * len(chosen.indexes) > chosen.count:
            self._ripgrep = None  # nearly every file has to be read anyway
        if chosen is None:
            return self._match_block(block)
        answer = self._match_block(chosen.folders)
        found = [(chosen.indexes[index], count, lines) for index, count, lines in answer.found]
        return msgspec.structs.replace(answer, found=found)

    def _match_block(self, block: Sequence[Folder]) -> SearchAnswer:
        if not block:
            return SearchAnswer()
        frame = b"\0".join(
            part
            for each in block
            for part in (_encode(each.path or "/"), *map(_encode, each.names))
        )
        try:
            process = self._idle.pop()
        except IndexError:
            process, _ = self._start_process()
        answer = msgspec.json.decode(_request(process, frame), type=_Quotes)
        self._idle.append(process)
        found = [
            (index, count, [quote.to_masked_line(self._mask) for quote in quotes])
            for index, count, quotes in answer.found
        ]
        return SearchAnswer(found, answer.read, answer.skipped, answer.unread)

    def _start_process(self) -> tuple[subprocess.Popen[bytes], _PatternInfo]:
        pattern = self._pattern
        process = self.processes.start(
            [
                *(sys.executable, "-I", "-S", str(Path(matcher_script.__file__))),
                *map(str, (self._start.descriptor, pattern.max_file_bytes, pattern.max_matches)),
                *map(str, (pattern.around, self._mask.reach)),
            ],
            stdin=subprocess.PIPE,
            pass_fds=(self._start.descriptor,),
            env={name: os.environ[name] for name in _LIBRARIES if name in os.environ},
        )
        head = ("i" if pattern.ignore_case else "-") + pattern.text
        _send(process, msgspec.json.encode(sorted(self._start.excluded)))
        opened = _request(process, head.encode("utf-8", "surrogatepass"))
        return process, msgspec.json.decode(opened, type=_PatternInfo)


def _encode(name: str) -> bytes:
    return os.fsencode(name)


def _send(process: subprocess.Popen[bytes], frame: bytes) -> None:
    assert process.stdin is not None
    process.stdin.write(b"%d\n%b" % (len(frame), frame))
    process.stdin.flush()


def _request(process: subprocess.Popen[bytes], frame: bytes) -> bytes:
    assert process.stdout is not None
    _send(process, frame)
    if not (answer := process.stdout.readline()):
        raise BrokenPipeError
    return answer
