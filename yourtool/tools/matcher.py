"""A process of its own that searches files for a regular expression, so that it can be killed.

No pattern can be trusted to finish, and nothing can interrupt one. This file is run by path, with
an isolated interpreter, and needs nothing but the standard library. Its arguments are an inherited
descriptor of the directory where the search begins, the largest size of a file in bytes, the most
lines that an answer quotes and how many characters around each quote are sent as well.

It reads frames, each a decimal length, a newline and that many bytes. The first is a list of
`[device, inode]` that may not be read. The second is the pattern with its flags in front (`i` or
`-`), answered by `{"error": …}` or `{"has_literals": …, "wider": …}`. Each of the others lists
paths, separated by NUL: a directory, which ends in a slash, and then names in it. The answer is
`{"found": [[index, count, [quote, …]], …], "read": …, "skipped": …, "unread": …}`, where a quote is
`[line, text, start, stop, is cut before, is cut after]`: what is to be shown is `text[start:stop]`,
and the rest of the text is for finding keys that reach over its edges. An index
counts the names, `read` those whose lines were tried, and `skipped` those that are binary or
too large. Every answer is a line.
"""

import json
import os
import re
import stat
import sys
import warnings
from typing import Any, BinaryIO

internals: Any = re
ops: Any = getattr(internals, "_constants", None)
parse: Any = getattr(getattr(internals, "_parser", None), "parse", None)
"""The one parser that reads a pattern as `re` does; nothing public tells what a pattern holds.

A Python without it, or with another one, searches every line, and without ripgrep.
"""
SNIPPET = 300
"""Most characters of a line that are sent back."""
_SNIFFED = 8_192
_CHUNK = 65_536
_MOST_LITERALS = 16
_RARE = 3
"""Characters of a text that few files hold."""
_MOST_REPEATS = 50
_ANY, _NOT_ASCII, _NOTHING_ELSE = r"[^\n]", r"[\x80-\xff]{1,4}", r"[^\n]*"
"""In an expression of bytes: a character is up to four, or what stands for broken ones."""
_FOLDED_OTHERWISE = frozenset("iksIKS")
"""ASCII letters that match other characters than the two cases, where case is ignored."""
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
"""Flags within a pattern that may ignore case."""
_FILE = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC
_FOLDER = getattr(os, "O_PATH", os.O_RDONLY) | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC

_Quote = tuple[int, str, int, int, bool, bool]


def serve(
    source: BinaryIO, sink: BinaryIO, start: int, largest: int, limit: int, around: int
) -> None:
    """Answer frames until there are no more."""
    warnings.simplefilter("ignore")
    closed = {tuple(each) for each in json.loads(_frame(source) or b"[]")}
    head = _frame(source) or b"-"
    flags = re.IGNORECASE if head[:1] == b"i" else re.NOFLAG
    text = head[1:].decode("utf-8", "surrogatepass")
    try:
        pattern = re.compile(text, flags)
    except (re.error, OverflowError, RecursionError) as error:
        _answer(sink, {"error": str(error).encode("utf-8", "replace").decode()})
        return
    literals, folds, wider = shortcuts(text, flags)
    has_literals = min(map(len, literals), default=0) >= _RARE
    _answer(sink, {"has_literals": has_literals, "wider": wider})
    search = _Search(pattern, literals, folds, _Files(start, closed, largest), (limit, around))
    while (frame := _frame(source)) is not None:
        _answer(sink, search.answer(frame))


class _Search:
    def __init__(
        self,
        pattern: re.Pattern[str],
        literals: list[str],
        folds: bool,
        files: "_Files",
        quoted: tuple[int, int],
    ) -> None:
        self._pattern = pattern
        self._literals = [literal.encode() for literal in literals]
        self._folds = folds
        self._files = files
        self._limit, self._around = quoted
        self._tried = 0

    def answer(self, frame: bytes) -> dict[str, Any]:
        found: list[Any] = []
        skipped = unread = index = 0
        room = self._limit
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
                elif matches := self._matches(data):
                    found.append((index, len(matches), matches[:room]))
                    room -= min(room, len(matches))
            index += 1
        return {"found": found, "read": self._tried, "skipped": skipped, "unread": unread}

    def _matches(self, data: bytes) -> list[_Quote]:
        if self._literals:
            folded = data.lower() if self._folds else data
            if not any(literal in folded for literal in self._literals):
                return []
        self._tried += 1
        search = self._pattern.search
        lines = data.decode("utf-8", "replace").split("\n")
        if not lines[-1]:
            lines.pop()  # what follows the last line feed is no line
        return [
            _quote(number, line, match.start(), self._around)
            for number, line in enumerate(lines, 1)
            if (match := search(line.removesuffix("\r")))
        ]


class _Files:
    """The files of one directory at a time, opened so that no link is followed."""

    def __init__(self, start: int, closed: set[tuple[int, ...]], largest: int) -> None:
        self._start = start
        self._closed = closed
        self._largest = largest
        self._folder = os.dup(start)

    def enter(self, path: bytes) -> None:
        """Go to a directory, name by name from the start."""
        os.close(self._folder)
        self._folder = os.dup(self._start)
        for name in filter(None, path.split(b"/")):
            below = self._open(name)
            os.close(self._folder)
            self._folder = below

    def read(self, name: bytes) -> bytes | None:
        """Return a file's bytes; None: it is binary or too large.

        Raises:
            OSError: it cannot be read, or is no regular file.
        """
        descriptor = os.open(name, _FILE, dir_fd=self._folder)
        try:
            status = os.fstat(descriptor)
            if not stat.S_ISREG(status.st_mode) or self._is_closed(status):
                raise OSError
            return None if status.st_size > self._largest else _content(descriptor, self._largest)
        finally:
            os.close(descriptor)

    def _open(self, name: bytes) -> int:
        """Open a directory, or an empty stand-in for one that cannot be entered."""
        try:
            below = os.open(name, _FOLDER, dir_fd=self._folder)
        except OSError:
            return os.open(os.devnull, _FILE)
        if self._is_closed(os.fstat(below)):
            os.close(below)
            return os.open(os.devnull, _FILE)
        return below

    def _is_closed(self, status: os.stat_result) -> bool:
        return (status.st_dev, status.st_ino) in self._closed


def _content(descriptor: int, largest: int) -> bytes | None:
    data = os.read(descriptor, _CHUNK)
    if b"\0" in data[:_SNIFFED]:
        return None
    if len(data) < _CHUNK:
        return data
    parts, size = [data], len(data)
    while data and size <= largest:
        data = os.read(descriptor, 2**20)
        parts.append(data)
        size += len(data)
    return b"".join(parts) if size <= largest else None


def _quote(number: int, line: str, found: int, around: int) -> _Quote:
    first = max(0, found - SNIPPET // 3) if len(line) > SNIPPET else 0
    above = max(0, first - around)
    last = min(len(line), first + SNIPPET)
    text = line[above : last + around]
    return number, text, first - above, last - above, first > 0, last < len(line)


def shortcuts(pattern: str, flags: int) -> tuple[list[str], bool, str]:
    """Return `required_literals` and `wider_expression`; nothing where the parser is not as known.

    Every line is tried then: it takes longer, and finds the same.
    """
    try:
        literals, folds = required_literals(pattern, flags)
        return literals, folds, wider_expression(pattern, flags)
    except (AttributeError, LookupError, TypeError, ValueError, RecursionError):
        return [], False, ""


def required_literals(pattern: str, flags: int) -> tuple[list[str], bool]:
    """Return texts of which every line that matches holds at least one; empty: none are known.

    Also whether case is ignored: then they are in lower case, and hold ASCII only.
    """
    folds = bool(flags & re.IGNORECASE) or _FOLDS.search(pattern) is not None
    return sorted(_literals(list(parse(pattern, flags)), folds) or ()), folds


def _literals(tree: list[Any], folds: bool) -> set[str] | None:
    """Return the alternatives whose shortest is the longest that can be found in a sequence."""
    best: set[str] | None = None
    run = ""
    end: tuple[Any, Any] = (None, None)
    for op, argument in [*tree, end]:
        if op is ops.LITERAL and _is_plain(char := chr(argument), folds):
            run += char.lower() if folds else char
            continue
        found: set[str] | None = {run} if run else None
        best, run = _better(best, found), ""
        if op is ops.SUBPATTERN:
            best = _better(best, _literals(list(argument[3]), folds))
        elif op is ops.ATOMIC_GROUP:
            best = _better(best, _literals(list(argument), folds))
        elif op in (ops.MAX_REPEAT, ops.MIN_REPEAT, ops.POSSESSIVE_REPEAT) and argument[0]:
            best = _better(best, _literals(list(argument[2]), folds))
        elif op is ops.BRANCH:
            branches = [_literals(list(branch), folds) for branch in argument[1]]
            known = [each for each in branches if each]
            if len(known) == len(branches):
                best = _better(best, {literal for each in known for literal in each})
    return best


def _better(one: set[str] | None, other: set[str] | None) -> set[str] | None:
    known = [each for each in (one, other) if each and len(each) <= _MOST_LITERALS]
    return max(known, key=lambda each: min(map(len, each)), default=None)


def _is_plain(char: str, folds: bool) -> bool:
    """Whether the character stands for itself alone, or for the two cases of an ASCII letter."""
    if folds:
        return char.isascii() and char not in _FOLDED_OTHERWISE and char not in "\n\r\0"
    return char not in "\n\r\0\ufffd" and not "\ud800" <= char <= "\udfff"


def wider_expression(pattern: str, flags: int) -> str:
    """Return an expression for ripgrep that matches every line that the pattern matches, and more.

    It is about bytes, in which all text other than ASCII is alike.
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
        low, high = min(int(argument[0]), _MOST_REPEATS), int(argument[1])
        body = _wider(list(argument[2]), folds)
        unlimited = high > _MOST_REPEATS
        if body == _ANY + "{1,4}":
            return f"{_ANY}{{{low},{'' if unlimited else 4 * high}}}"
        return f"(?:{body}){{{low},{'' if unlimited else high}}}"
    if op is ops.BRANCH:
        return f"(?:{'|'.join(_wider(list(branch), folds) for branch in argument[1])})"
    if op in (ops.SUBPATTERN, ops.ATOMIC_GROUP):
        return f"(?:{_wider(list(argument[3] if op is ops.SUBPATTERN else argument), folds)})"
    return "" if op in (ops.ASSERT, ops.ASSERT_NOT, ops.FAILURE) else _NOTHING_ELSE


def _wider_set(items: list[Any], folds: bool, exact: str = "") -> str:
    """Return an expression for one character of a set, or for the one that `exact` is."""
    if exact > "\x7f" and not folds and _is_plain(exact, folds):
        return "".join(rf"\x{byte:02x}" for byte in exact.encode())
    if items[0][0] is ops.NEGATE:
        return _ANY + "{1,4}"
    members = {code for code in range(128) if any(_holds(item, code) for item in items)}
    beyond = any(_holds_more(item) for item in items)
    if folds:
        odd = set(map(ord, _FOLDED_OTHERWISE))
        members |= {ord(chr(code).swapcase()) for code in members} | (odd if beyond else set())
        beyond = beyond or bool(members & odd)
    members.discard(ord("\n"))
    ascii_set = "".join(rf"\x{code:02x}" for code in sorted(members))
    either = [f"[{ascii_set}]"] * bool(members) + [_NOT_ASCII] * beyond
    return f"(?:{'|'.join(either or [_ANY])})"


def _holds(item: Any, code: int) -> bool:
    op, argument = item
    if op is ops.LITERAL:
        return argument == code
    if op is ops.RANGE:
        return argument[0] <= code <= argument[1]
    return re.fullmatch(_CATEGORIES.get(argument, "."), chr(code), re.DOTALL) is not None


def _holds_more(item: Any) -> bool:
    """Whether a member of a set may be beyond ASCII."""
    op, argument = item
    if op is ops.LITERAL:
        return argument > 127
    return argument[1] > 127 if op is ops.RANGE else True


def _answer(sink: BinaryIO, answer: dict[str, Any]) -> None:
    sink.write(json.dumps(answer).encode() + b"\n")
    sink.flush()


def _frame(source: BinaryIO) -> bytes | None:
    length = source.readline()
    return source.read(int(length)) if length else None


if __name__ == "__main__":
    serve(sys.stdin.buffer, sys.stdout.buffer, *map(int, sys.argv[1:5]))
