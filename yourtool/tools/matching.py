"""Searching files in processes that can be killed: ours, and ripgrep where it is faster.

Most patterns hold a fixed text. Ours looks for that first (`docs/performance.md` compares it with
ripgrep). For the others ripgrep, which opens files by their paths, finds those that are worth
reading; what is shown was always read and matched by `tools.matcher`, so the answer is the same
with it and without it.
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
from yourtool.tools import matcher
from yourtool.tools.killable import Processes
from yourtool.tools.ripgrep import Ripgrep, Start
from yourtool.tools.tree import Folder

_LIBRARIES = ("LD_LIBRARY_PATH", "DYLD_LIBRARY_PATH")
"""What the interpreter may need of our environment, which holds keys."""


_ENOUGH = 100
"""Files that must have been read in vain before ripgrep is asked."""


class Pattern(Struct, frozen=True):
    """What is searched for."""

    text: str
    ignore_case: bool
    limit: int
    """Most lines that an answer quotes."""
    largest: int
    """Bytes of the largest file that is searched."""


class SearchAnswer(Struct, frozen=True):
    """What a block of files holds."""

    found: list[tuple[int, int, list[tuple[int, str]]]] = []
    """Index of a file in the block, its number of matches, and the first of these: line, text."""
    read: int = 0
    """Files whose lines were tried."""
    skipped: int = 0
    """Binary or large files."""
    unread: int = 0


class _Quote(Struct, frozen=True, array_like=True):
    """A line, as `tools.matcher` sends it."""

    line: int
    text: str
    start: int
    stop: int
    is_cut_before: bool
    is_cut_after: bool

    def shown(self, mask: Mask) -> tuple[int, str]:
        text = mask.slice(self.text, self.start, self.stop).strip("\r")
        return self.line, "…" * self.is_cut_before + text + "…" * self.is_cut_after


class _Quotes(Struct, frozen=True):
    """An `Answer` with what is around the lines."""

    found: list[tuple[int, int, list[_Quote]]]
    read: int
    skipped: int
    unread: int


class _Opened(Struct, frozen=True):
    error: str = ""
    has_literals: bool = True
    wider: str = ""
    """An expression that matches all lines that the pattern matches, for ripgrep."""


class Matching:
    """Searches blocks of files, as many at once as there are threads that ask."""

    def __init__(
        self, pattern: Pattern, start: Start, mask: Mask, ripgrep: Ripgrep | None = None
    ) -> None:
        self._pattern = pattern
        self._mask = mask
        self._start = start
        self._ripgrep = ripgrep
        self._idle: list[subprocess.Popen[bytes]] = []
        self._wider = ""
        self.narrows = False
        """Whether ripgrep is asked first, if it is there."""
        self.processes = Processes()

    def open(self) -> None:
        """Compile the pattern; blocking.

        Raises:
            ToolError: it is no regular expression.
        """
        process, opened = self._started()
        self._idle.append(process)
        if opened.error:
            raise ToolError(
                f"`{self._pattern.text}` is not a regular expression: {opened.error};"
                " put a backslash before a character that is meant literally"
            )
        self._wider, self.narrows = opened.wider, not opened.has_literals
        if not self._wider:
            self._ripgrep = None  # nothing is known of the pattern that it could be asked

    def search(self, block: Sequence[Folder]) -> SearchAnswer:
        """Search files; blocking.

        Raises:
            OSError: the processes were killed.
        """
        ripgrep = self._ripgrep
        if ripgrep is None or not self.narrows:
            answer = self._matched(block)
            # The fixed text may be a frequent one, which does not tell which files match.
            self.narrows = answer.read > max(_ENOUGH, 4 * len(answer.found))
            return answer
        chosen = ripgrep.narrowed(block, self._wider, self.processes)
        if chosen is None or 2 * len(chosen.indexes) > chosen.count:
            self._ripgrep = None  # nearly every file is to be read anyway
        if chosen is None:
            return self._matched(block)
        answer = self._matched(chosen.folders)
        found = [(chosen.indexes[index], count, lines) for index, count, lines in answer.found]
        return msgspec.structs.replace(answer, found=found)

    def _matched(self, block: Sequence[Folder]) -> SearchAnswer:
        if not block:
            return SearchAnswer()
        frame = b"\0".join(
            part
            for each in block
            for part in (_encoded(each.path or "/"), *map(_encoded, each.names))
        )
        try:
            process = self._idle.pop()
        except IndexError:
            process, _ = self._started()
        answer = msgspec.json.decode(_asked(process, frame), type=_Quotes)
        self._idle.append(process)
        found = [
            (index, count, [quote.shown(self._mask) for quote in quotes])
            for index, count, quotes in answer.found
        ]
        return SearchAnswer(found, answer.read, answer.skipped, answer.unread)

    def _started(self) -> tuple[subprocess.Popen[bytes], _Opened]:
        pattern = self._pattern
        process = self.processes.start(
            [
                *(sys.executable, "-I", "-S", str(Path(matcher.__file__))),
                *map(str, (self._start.descriptor, pattern.largest, pattern.limit)),
                str(self._mask.reach),
            ],
            stdin=subprocess.PIPE,
            pass_fds=(self._start.descriptor,),
            env={name: os.environ[name] for name in _LIBRARIES if name in os.environ},
        )
        head = ("i" if pattern.ignore_case else "-") + pattern.text
        _send(process, msgspec.json.encode(sorted(self._start.closed)))
        opened = _asked(process, head.encode("utf-8", "surrogatepass"))
        return process, msgspec.json.decode(opened, type=_Opened)


def _encoded(name: str) -> bytes:
    return os.fsencode(name)


def _send(process: subprocess.Popen[bytes], frame: bytes) -> None:
    assert process.stdin is not None
    process.stdin.write(b"%d\n%b" % (len(frame), frame))
    process.stdin.flush()


def _asked(process: subprocess.Popen[bytes], frame: bytes) -> bytes:
    assert process.stdout is not None
    _send(process, frame)
    if not (answer := process.stdout.readline()):
        raise BrokenPipeError
    return answer
