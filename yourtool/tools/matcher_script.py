"""A script that searches files for a regular expression in a process that can be killed.

A regular expression can run forever and cannot be interrupted. This file is run as a script with an
isolated interpreter and imports only the standard library. Its arguments are an inherited
descriptor of the start directory, the maximum file size in bytes, the maximum number of quoted
matches per answer, the number of lines quoted around each match, and the number of characters sent
around each quote.

It reads frames: a decimal length, a newline and that many bytes. The first frame is a list of
`[device, inode]` pairs to exclude. The second is a flag (`i` or `-`) and the pattern, answered with
`{"error": …}` or `{"has_literals": …, "wider": …}`. Every other frame is a list of NUL-separated
paths: a directory with a trailing slash, followed by names in it. The answer is
`{"found": [[index, count, [quote, …]], …], "read": …, "skipped": …, "unread": …}`. A quote is
`[line, text, start, stop, is cut before, is cut after, is match]`: `text[start:stop]` is displayed,
and the rest is used to detect API keys that extend over the edges. `index` counts the names, `read`
is the number of files whose lines were matched one by one, `skipped` that of binary and large
files. Every answer is one line.
"""

import json
import os
import re
import stat
import sys
import warnings
from typing import Any, BinaryIO, NamedTuple

internals: Any = re
ops: Any = getattr(internals, "_constants", None)
parse: Any = getattr(getattr(internals, "_parser", None), "parse", None)
"""The parser of `re`, which has no public interface.

If it is missing or different, every line is searched, without ripgrep.
"""
SNIPPET = 300
"""Maximum characters of a quoted line."""
_SNIFF_BYTES = 8_192
_CHUNK_BYTES = 65_536
_MAX_LITERALS = 16
_MIN_LITERAL_LENGTH = 3
"""Minimum length of a literal that is rare enough to preselect files."""
_MAX_REPEATS = 50
_ANY, _NOT_ASCII, _ANYTHING = r"[^\n]", r"[\x80-\xff]{1,4}", r"[^\n]*"
"""Parts of a byte expression, where a character is one to four bytes."""
_IRREGULAR_CASE = frozenset("iksIKS")
"""ASCII letters that also match non-ASCII characters when case is ignored."""
_CATEGORIES = {
    getattr(ops, f"CATEGORY_{name}", name): expression
    for name, expression in (
        ("DIGIT", r"\d"),
        ("NOT_DIGIT", r"\D"),
        ("SPACE", r"\s"),
        ("NOT_SPACE", r"\S"),
        ("WORD", r"\w"),
        ("NOT_WORD", r"\W"),
    )
}
_FOLDS = re.compile(r"\(\?[A-Za-z]*i")
"""Inline flags that can ignore case."""
_FILE = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC
_FOLDER = getattr(os, "O_PATH", os.O_RDONLY) | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC

_Quote = tuple[int, str, int, int, bool, bool, bool]


class Quoting(NamedTuple):
    """How much of the matches is quoted."""

    limit: int
    """Matches per answer."""
    around: int
    """Lines before and after each match."""
    margin: int
    """Characters beyond the edges of a quote."""


def serve(
    source: BinaryIO, sink: BinaryIO, start: int, max_file_bytes: int, quoting: Quoting
) -> None:
    """Answer frames until the end of input."""
    warnings.simplefilter("ignore")
    excluded = {tuple(each) for each in json.loads(_read_frame(source) or b"[]")}
    head = _read_frame(source) or b"-"
    flags = re.IGNORECASE if head[:1] == b"i" else re.NOFLAG
    text = head[1:].decode("utf-8", "surrogatepass")
    try:
        pattern = re.compile(text, flags)
    except (re.error, OverflowError, RecursionError) as error:
        _write_answer(sink, {"error": str(error).encode("utf-8", "replace").decode()})
        return
    literals, folds, wider = analyse_pattern(text, flags)
    has_literals = min(map(len, literals), default=0) >= _MIN_LITERAL_LENGTH
    _write_answer(sink, {"has_literals": has_literals, "wider": wider})
    search = _Search(pattern, literals, folds, _Files(start, excluded, max_file_bytes), quoting)
    while (frame := _read_frame(source)) is not None:
        _write_answer(sink, search.answer(frame))


class _Search:
    def __init__(
        self,
        pattern: re.Pattern[str],
        literals: list[str],
        folds: bool,
        files: "_Files",
        quoting: Quoting,
    ) -> None:
        self._pattern = pattern
        self._literals = [literal.encode() for literal in literals]
        self._folds = folds
        self._files = files
        self._quoting = quoting
        self._tried = 0

    def answer(self, frame: bytes) -> dict[str, Any]:
        found: list[Any] = []
        skipped = unread = index = 0
        room = self._quoting.limit
        self._tried = 0
        for path in frame.split(b"\0"):
            if path.endswith(b"/"):
                self._files.enter(path)
                continue
            try:
                data = self._files.read(path)
            except OSError:
                unread += 1
            else:
                if data is None:
                    skipped += 1
                else:
                    count, quotes = self._find(data, room)
                    if count:
                        found.append((index, count, quotes))
                        room -= min(room, count)
            index += 1
        return {"found": found, "read": self._tried, "skipped": skipped, "unread": unread}

    def _find(self, data: bytes, room: int) -> tuple[int, list[_Quote]]:
        """Return the number of matches, and the quotes of the first ones."""
        if self._literals:
            folded = data.lower() if self._folds else data
            if not any(literal in folded for literal in self._literals):
                return 0, []
        self._tried += 1
        search = self._pattern.search
        lines = data.decode("utf-8", "replace").split("\n")
        if not lines[-1]:
            lines.pop()  # no line follows the final line feed
        around, count, reach, starts = self._quoting.around, 0, -1, dict[int, int]()
        for at, line in enumerate(lines):
            if match := search(line.removesuffix("\r")):
                count += 1
                if count <= room:
                    reach = at + around
                if at <= reach:
                    starts[at] = match.start()
        quoted = {
            near
            for at in list(starts)[:room]
            for near in range(max(0, at - around), min(len(lines), at + around + 1))
        }
        return count, [self._quote(at, lines[at], starts.get(at)) for at in sorted(quoted)]

    def _quote(self, at: int, line: str, found: int | None) -> _Quote:
        margin = self._quoting.margin
        first = max(0, (found or 0) - SNIPPET // 3) if len(line) > SNIPPET else 0
        above = max(0, first - margin)
        last = min(len(line), first + SNIPPET)
        text, is_cut = line[above : last + margin], (first > 0, last < len(line))
        return at + 1, text, first - above, last - above, *is_cut, found is not None


class _Files:
    """Reads the files of one directory at a time, without following links."""

    def __init__(self, start: int, excluded: set[tuple[int, ...]], max_file_bytes: int) -> None:
        self._start = start
        self._excluded = excluded
        self._max_file_bytes = max_file_bytes
        self._folder = os.dup(start)

    def enter(self, path: bytes) -> None:
        """Enter a directory, component by component from the start."""
        os.close(self._folder)
        self._folder = os.dup(self._start)
        for name in filter(None, path.split(b"/")):
            below = self._open(name)
            os.close(self._folder)
            self._folder = below

    def read(self, name: bytes) -> bytes | None:
        """Return a file's bytes; None if it is binary or too large.

        Raises:
            OSError: it cannot be read or is not a regular file.
        """
        descriptor = os.open(name, _FILE, dir_fd=self._folder)
        try:
            status = os.fstat(descriptor)
            if not stat.S_ISREG(status.st_mode) or self._is_excluded(status):
                raise OSError
            return (
                None
                if status.st_size > self._max_file_bytes
                else _read_text(descriptor, self._max_file_bytes)
            )
        finally:
            os.close(descriptor)

    def _open(self, name: bytes) -> int:
        """Open a directory, or `os.devnull` if it cannot be entered."""
        try:
            below = os.open(name, _FOLDER, dir_fd=self._folder)
        except OSError:
            return os.open(os.devnull, _FILE)
        if self._is_excluded(os.fstat(below)):
            os.close(below)
            return os.open(os.devnull, _FILE)
        return below

    def _is_excluded(self, status: os.stat_result) -> bool:
        return (status.st_dev, status.st_ino) in self._excluded


def _read_text(descriptor: int, max_file_bytes: int) -> bytes | None:
    data = os.read(descriptor, _CHUNK_BYTES)
    if b"\0" in data[:_SNIFF_BYTES]:
        return None
    if len(data) < _CHUNK_BYTES:
        return data
    parts, size = [data], len(data)
    while data and size <= max_file_bytes:
        data = os.read(descriptor, 2**20)
        parts.append(data)
        size += len(data)
    return b"".join(parts) if size <= max_file_bytes else None


def analyse_pattern(pattern: str, flags: int) -> tuple[list[str], bool, str]:
    """Return `required_literals` and `wider_expression`; empty if the parser is unknown.

    In that case every line is searched, which is slower and finds the same matches.
    """
    try:
        literals, folds = required_literals(pattern, flags)
        return literals, folds, wider_expression(pattern, flags)
    except (AttributeError, LookupError, TypeError, ValueError, RecursionError):
        return [], False, ""


def required_literals(pattern: str, flags: int) -> tuple[list[str], bool]:
    """Return literals of which every matching line contains at least one, and whether case folds.

    The list is empty if there are no such literals. If case is ignored, they are lower-case ASCII.
    """
    folds = bool(flags & re.IGNORECASE) or _FOLDS.search(pattern) is not None
    return sorted(_literals(list(parse(pattern, flags)), folds) or ()), folds


def _literals(tree: list[Any], folds: bool) -> set[str] | None:
    """Return the most selective set of alternative literals required by a sequence."""
    best: set[str] | None = None
    run = ""
    end: tuple[Any, Any] = (None, None)
    for op, argument in [*tree, end]:
        if op is ops.LITERAL and _is_plain(char := chr(argument), folds):
            run += char.lower() if folds else char
            continue
        found: set[str] | None = {run} if run else None
        best, run = _more_selective(best, found), ""
        if op is ops.SUBPATTERN:
            best = _more_selective(best, _literals(list(argument[3]), folds))
        elif op is ops.ATOMIC_GROUP:
            best = _more_selective(best, _literals(list(argument), folds))
        elif op in (ops.MAX_REPEAT, ops.MIN_REPEAT, ops.POSSESSIVE_REPEAT) and argument[0]:
            best = _more_selective(best, _literals(list(argument[2]), folds))
        elif op is ops.BRANCH:
            branches = [_literals(list(branch), folds) for branch in argument[1]]
            known = [each for each in branches if each]
            if len(known) == len(branches):
                best = _more_selective(best, {literal for each in known for literal in each})
    return best


def _more_selective(one: set[str] | None, other: set[str] | None) -> set[str] | None:
    known = [each for each in (one, other) if each and len(each) <= _MAX_LITERALS]
    return max(known, key=lambda each: min(map(len, each)), default=None)


def _is_plain(char: str, folds: bool) -> bool:
    """Whether a character matches only itself, or only the two cases of an ASCII letter."""
    if folds:
        return char.isascii() and char not in _IRREGULAR_CASE and char not in "\n\r\0"
    return char not in "\n\r\0\ufffd" and not "\ud800" <= char <= "\udfff"


def wider_expression(pattern: str, flags: int) -> str:
    """Return a ripgrep expression that matches at least every line that the pattern matches.

    It matches bytes and treats all non-ASCII characters alike.
    """
    folds = bool(flags & re.IGNORECASE) or _FOLDS.search(pattern) is not None
    return "(?-u)" + _wider(list(parse(pattern, flags)), folds)


def _wider(tree: list[Any], folds: bool) -> str:
    return "".join(_wider_part(op, argument, folds) for op, argument in tree)


def _wider_part(op: Any, argument: Any, folds: bool) -> str:
    if op is ops.LITERAL:
        return _wider_set([(op, argument)], folds, exact=chr(argument))
    if op is ops.IN:
        return _wider_set(list(argument), folds)
    if op in (ops.ANY, ops.NOT_LITERAL):
        return _ANY + "{1,4}"
    if op is ops.AT:
        edges = {ops.AT_BEGINNING: "^", ops.AT_BEGINNING_STRING: "^"}
        ends = {ops.AT_END: r"(?:\r?$)", ops.AT_END_STRING: r"(?:\r?$)"}
        return (edges | ends).get(argument, "")
    if op in (ops.MAX_REPEAT, ops.MIN_REPEAT, ops.POSSESSIVE_REPEAT):
        low, high = min(int(argument[0]), _MAX_REPEATS), int(argument[1])
        body = _wider(list(argument[2]), folds)
        unlimited = high > _MAX_REPEATS
        if body == _ANY + "{1,4}":
            return f"{_ANY}{{{low},{'' if unlimited else 4 * high}}}"
        return f"(?:{body}){{{low},{'' if unlimited else high}}}"
    if op is ops.BRANCH:
        return f"(?:{'|'.join(_wider(list(branch), folds) for branch in argument[1])})"
    if op in (ops.SUBPATTERN, ops.ATOMIC_GROUP):
        return f"(?:{_wider(list(argument[3] if op is ops.SUBPATTERN else argument), folds)})"
    return "" if op in (ops.ASSERT, ops.ASSERT_NOT, ops.FAILURE) else _ANYTHING


def _wider_set(items: list[Any], folds: bool, exact: str = "") -> str:
    """Return an expression for one character of a set, or for the character `exact`."""
    if exact > "\x7f" and not folds and _is_plain(exact, folds):
        return "".join(rf"\x{byte:02x}" for byte in exact.encode())
    if items[0][0] is ops.NEGATE:
        return _ANY + "{1,4}"
    members = {code for code in range(128) if any(_matches_ascii(item, code) for item in items)}
    beyond = any(_matches_non_ascii(item) for item in items)
    if folds:
        odd = set(map(ord, _IRREGULAR_CASE))
        members |= {ord(chr(code).swapcase()) for code in members} | (odd if beyond else set())
        beyond = beyond or bool(members & odd)
    members.discard(ord("\n"))
    ascii_set = "".join(rf"\x{code:02x}" for code in sorted(members))
    either = [f"[{ascii_set}]"] * bool(members) + [_NOT_ASCII] * beyond
    return f"(?:{'|'.join(either or [_ANY])})"


def _matches_ascii(item: Any, code: int) -> bool:
    op, argument = item
    if op is ops.LITERAL:
        return argument == code
    if op is ops.RANGE:
        return argument[0] <= code <= argument[1]
    return re.fullmatch(_CATEGORIES.get(argument, "."), chr(code), re.DOTALL) is not None


def _matches_non_ascii(item: Any) -> bool:
    """Whether a set item can match a non-ASCII character."""
    op, argument = item
    if op is ops.LITERAL:
        return argument > 127
    return argument[1] > 127 if op is ops.RANGE else True


def _write_answer(sink: BinaryIO, answer: dict[str, Any]) -> None:
    sink.write(json.dumps(answer).encode() + b"\n")
    sink.flush()


def _read_frame(source: BinaryIO) -> bytes | None:
    length = source.readline()
    return source.read(int(length)) if length else None


if __name__ == "__main__":
    directory, file_bytes, *amounts = map(int, sys.argv[1:])
    serve(sys.stdin.buffer, sys.stdout.buffer, directory, file_bytes, Quoting(*amounts))
