"""`.gitignore` patterns as regular expressions.

The semantics are those of `wildmatch.c` and `dir.c` in https://github.com/git/git. The first match
of the part after a `*` is as good as any later one, up to the next slash; the same holds for
directories after a `**`. Each of these parts is an atomic group, so that no position is tried
twice.
"""

import re
import string
from collections.abc import Iterable, Iterator, Sequence

from msgspec import Struct

_STAR, _SLASH, _REST = "*", "/", "**"
_DIRECTORIES, _SOME_DIRECTORIES = "**/", r"**\/"
_MAX_PATTERN_LENGTH = 4_096
"""Maximum characters of a pattern; no valid path is longer."""
_MAX_NAME_WORK, _MAX_PATH_WORK = 2_000, 500
"""Limits of `Wildcard.work` per expression, since matching blocks all other threads."""
_SPECIAL = re.compile(r"[*?\[\\]")
_CLASSES = {
    "alnum": string.ascii_letters + string.digits,
    "alpha": string.ascii_letters,
    "blank": " \t",
    "cntrl": "".join(map(chr, (*range(32), 127))),
    "digit": string.digits,
    "graph": string.ascii_letters + string.digits + string.punctuation,
    "lower": string.ascii_lowercase,
    "print": " " + string.ascii_letters + string.digits + string.punctuation,
    "punct": string.punctuation,
    "space": " \t\n\r",
    "upper": string.ascii_uppercase,
    "xdigit": string.hexdigits,
}


class _InvalidPattern(Exception):  # noqa: N818 - not an error: such a pattern matches no path
    """A malformed pattern, which matches nothing in git."""


class Wildcard(Struct, frozen=True):
    """One parsed pattern."""

    regex: str
    """Source of a regular expression without groups, for `re.match`."""
    matches_name: bool
    """Whether it matches the last component of a path instead of the whole path."""
    only_directories: bool = False
    negated: bool = False
    work: int = 1
    """Upper bound of the matching steps per character of a path."""


class Wildcards:
    """A list of patterns; the last one that matches a path decides."""

    def __init__(self, patterns: Iterable[Wildcard]) -> None:
        last_first = list(patterns)[::-1]
        self._verdicts = [not pattern.negated for pattern in last_first]
        self._expressions = {
            (of_name, is_directory): _compile_alternatives(last_first, of_name, is_directory)
            for of_name in (True, False)
            for is_directory in (True, False)
        }

    def verdict(self, path: str, name: str, *, is_directory: bool) -> bool | None:
        """Whether the path is matched (True) or excluded (False); None if no pattern matches."""
        first = None
        for of_name, subject in ((True, name), (False, path)):
            for expression, numbers in self._expressions[of_name, is_directory]:
                if (match := expression.match(subject)) is not None:
                    number = numbers[(match.lastindex or 1) - 1]
                    first = number if first is None else min(first, number)
                    break
        return None if first is None else self._verdicts[first]


def parse_ignore_file(text: str) -> Iterator[Wildcard]:
    """Parse a `.gitignore`; `text` can be decoded as Latin-1, if paths are as well.

    Patterns that are longer than any path are skipped.
    """
    for raw in text.split("\n"):
        line = raw.removesuffix("\r").partition("\0")[0]
        if not line or line.startswith("#") or len(line) > _MAX_PATTERN_LENGTH:
            continue
        if pattern := parse_wildcard(_strip_trailing_spaces(line)):
            yield pattern


def parse_wildcard(line: str) -> Wildcard | None:
    """Translate one pattern; None if it cannot match anything."""
    negated = line.startswith("!")
    pattern = line[negated:]
    only_directories = pattern.endswith("/")
    pattern = pattern.removesuffix("/")
    of_name = "/" not in pattern
    if not pattern:
        return None
    try:
        regex = _name_regex(pattern) if of_name else _path_regex(pattern.removeprefix("/"))
    except _InvalidPattern:
        return None
    # The part before the first `*` is tried at one position only.
    after_star = pattern.partition("*")[2]
    return Wildcard(regex, of_name, only_directories, negated, 1 + len(after_star))


def _compile_alternatives(
    patterns: Sequence[Wildcard], of_name: bool, is_directory: bool
) -> list[tuple[re.Pattern[str], list[int]]]:
    numbers = [
        number
        for number, pattern in enumerate(patterns)
        if pattern.matches_name is of_name and (is_directory or not pattern.only_directories)
    ]
    most = _MAX_NAME_WORK if of_name else _MAX_PATH_WORK
    groups, work = list[list[int]](), most
    for number in numbers:
        work += patterns[number].work
        if work > most:
            groups.append([])
            work = patterns[number].work
        groups[-1].append(number)
    sources = ("|".join(f"({patterns[number].regex})" for number in group) for group in groups)
    return [
        (re.compile(source, re.DOTALL), group)
        for source, group in zip(sources, groups, strict=True)
    ]


def _strip_trailing_spaces(line: str) -> str:
    """Remove trailing spaces that are not escaped with a backslash."""
    bare = line.rstrip(" ")
    backslashes = len(bare) - len(bare.rstrip("\\"))
    return bare + " " if backslashes % 2 and bare != line else bare


def _name_regex(pattern: str) -> str:
    return _segment_regex(_tokens(pattern, whole_path=False)) + r"\Z"


def _path_regex(pattern: str) -> str:
    """Translate a pattern for complete paths.

    Git compares the part before the first wildcard separately; a `**` right after it is treated as
    at the start of the pattern.
    """
    special = _SPECIAL.search(pattern)
    literal = pattern[: special.start()] if special else pattern
    regex = re.escape(literal)
    tokens = _tokens(pattern[len(literal) :], whole_path=True)
    skip = ""
    unit: list[str] = []
    for token in tokens:
        if token not in (_DIRECTORIES, _SOME_DIRECTORIES):
            unit.append(token)
            continue
        if unit or skip.endswith("+?"):
            regex += _skip_directories(skip, _segment_regex(unit))
            unit = []
        skip = "(?:[^/]*/)+?" if token == _SOME_DIRECTORIES else "(?:[^/]*/)*?"
    return regex + _skip_directories(skip, _segment_regex(unit) + r"\Z")


def _skip_directories(skip: str, unit: str) -> str:
    return f"(?>{skip}{unit})" if skip else unit


def _segment_regex(tokens: Sequence[str]) -> str:
    """Translate tokens without `**`, except at the end."""
    regex, piece, after_star = "", "", False
    for token in (*tokens, ""):
        if token not in (_STAR, _SLASH, _REST, ""):
            piece += token
            continue
        if after_star and token == _STAR:
            regex += f"(?>[^/]*?{piece})"
        elif after_star and not piece:
            regex += "[^/]*"
        elif after_star:
            regex += rf"(?>[^/]*?{piece}(?=/|\Z))"
        else:
            regex += piece
        regex += {_SLASH: "/", _REST: ".*"}.get(token, "")
        piece, after_star = "", token == _STAR
    return regex


def _tokens(pattern: str, *, whole_path: bool) -> list[str]:
    """Split a pattern into wildcards, slashes and expressions for single characters.

    Raises:
        _InvalidPattern: it ends within a set or after a backslash.
    """
    tokens = list[str]()
    at = 0
    while at < len(pattern):
        char = pattern[at]
        if char == "*":
            end = at + len(pattern[at:]) - len(pattern[at:].lstrip("*"))
            token, at = _star_token(pattern, at, end) if whole_path else (_STAR, end)
        elif char == "?":
            token, at = "[^/]", at + 1
        elif char == "[":
            token, at = _parse_set(pattern, at + 1)
        else:
            at += char == "\\"
            token, at = _SLASH if _char_at(pattern, at) == "/" else re.escape(pattern[at]), at + 1
        if token != _STAR or tokens[-1:] != [_STAR]:
            tokens.append(token)
    return tokens


def _star_token(pattern: str, start: int, end: int) -> tuple[str, int]:
    if end - start < 2 or (start and pattern[start - 1] != "/"):
        return _STAR, end
    if end == len(pattern):
        return _REST, end
    if pattern[end] == "/":
        return _DIRECTORIES, end + 1
    return (_SOME_DIRECTORIES, end + 2) if pattern[end : end + 2] == r"\/" else (_STAR, end)


def _parse_set(pattern: str, at: int) -> tuple[str, int]:
    """Translate a set whose `[` precedes `at`; return the expression and the next position."""
    negated = _char_at(pattern, at) in "!^"
    at += negated
    items, before = "", ""
    while True:
        char = _char_at(pattern, at)
        if char == "-" and before and _char_at(pattern, at + 1) != "]":
            at += 1 + (pattern[at + 1] == "\\")
            if before <= (high := _char_at(pattern, at)):
                items += f"{_escape_in_set(before)}-{_escape_in_set(high)}"
            before = ""
        elif pattern.startswith("[:", at) and (named := _parse_class(pattern, at + 2)) is not None:
            items += "".join(map(_escape_in_set, _CLASSES[named]))
            at += len(f"[:{named}:")
            before = ""
        else:
            at += char == "\\"
            before = _char_at(pattern, at)
            items += _escape_in_set(before)
        at += 1
        if _char_at(pattern, at) == "]":
            return f"(?!/)[{'^' if negated else ''}{items}]", at + 1


def _parse_class(pattern: str, start: int) -> str | None:
    """Return the name of a class such as `[:digit:]`; None if the bracket is a literal."""
    if (end := pattern.find("]", start)) < 0:
        raise _InvalidPattern
    if end == start or pattern[end - 1] != ":":
        return None
    if (name := pattern[start : end - 1]) not in _CLASSES:
        raise _InvalidPattern
    return name


def _escape_in_set(char: str) -> str:
    return f"\\{char}" if char in "\\]^-[&~|" else char


def _char_at(pattern: str, at: int) -> str:
    if at >= len(pattern):
        raise _InvalidPattern
    return pattern[at]
