"""Commands in rules: `shell(make test)`, `shell(git log*)`.

An allow rule covers a command only if it consists of plain literal words, so a command with
expansions, operators or redirections is never covered. Deny rules also match inside lists,
subshells and substitutions, and after wrappers such as `env` and `timeout`.
"""

import itertools
import re
from collections.abc import Iterator, Sequence

from msgspec import Struct

MAX_COMMAND_LENGTH = 2**16
"""Maximum characters of a command that is parsed."""

_PIECE = re.compile(
    r"""(?P<gap>\ +)|(?P<bare>[A-Za-z0-9_@%+=:,./^-]+)
    |'(?P<single>[ -&(-~]*)'|"(?P<double>[ #%-\[\]-_a-~]*)\"""",
    re.VERBOSE,
)
"""Spaces, or part of a word without shell expansions, bare or quoted."""
_KEYWORDS = frozenset(
    {
        "case", "coproc", "do", "done", "elif", "else", "esac", "fi", "for", "function", "if", "in",
        "select", "then", "time", "until", "while",
    }
)  # fmt: skip
_CONTINUATION = re.compile(r"(?<!\\)((?:\\\\)*+)\\\n")
"""A line continuation: a backslash that is not escaped, and a line end."""
_SEPARATORS = re.compile(r"\$\(|[<>]\(|[;&|()`\n{}]")
_BEFORE_PROGRAM = re.compile(r"[A-Za-z_]\w*=|[!<>\d]|(?:if|then|elif|else|while|until|do|coproc)\Z")
"""A word that can precede the program of a command."""
_TOKEN = re.compile(
    r"""(?P<redirection>(?:\d+|\{\w+\})?(?:&>>?|<<<|<<-?|<[>&]?|>[>&|]?)[ \t]*+
        (?:WORD)?)
    |(?P<word>WORD)|(?P<gap>[ \t]+|\\\n)|(?P<end>.)""".replace(
        "WORD", r"""(?:[^\s;&|()<>"'`\\]|\\[^\n]|"(?:[^"\\]|\\.)*+"|'[^']*+')++"""
    ),
    re.VERBOSE | re.DOTALL,
)
"""https://pubs.opengroup.org/onlinepubs/9799919799/utilities/V3_chap02.html#tag_19_03, and the
redirections of bash. Every token other than a word, a gap or a redirection ends a command."""
_QUOTED = re.compile(
    r"""\$?'(?P<single>[^']*+)'|\$?"(?P<double>(?:[^"\\]|\\.)*+)"|\\(?P<escaped>.)""", re.DOTALL
)
_ESCAPE = re.compile(r"""\\([$`"\\])|\\\n""")
"""Escapes in double quotes; other backslashes are literal there."""
_LEADING = re.compile(
    r"[A-Za-z_]\w*(?:\[[^\]]*\])?\+?=|(?:[!{]|if|then|elif|else|while|until|do|coproc)\Z"
)
"""An unquoted assignment or keyword, which precedes the program of a command."""
_QUOTES = str.maketrans("", "", "\"'\\")
_REDIRECTION = re.compile(r"([<>])\s+")
_QUOTED_VALUE = re.compile(r"(?<=\w=)(?:\"[^\"]*\"|'[^']*')")

_WRAPPERS = frozenset(
    {
        "builtin", "chroot", "command", "doas", "env", "eval", "exec", "find", "flock", "function",
        "ionice", "nice", "nohup", "parallel", "setsid", "source", "stdbuf", "strace", "sudo",
        "time", "timeout", "trap", "watch", "xargs",
    }
)  # fmt: skip
_INTERPRETERS = frozenset(
    {
        "ash", "awk", "bash", "bun", "dash", "deno", "fish", "gawk", "ksh", "lua", "mawk", "node",
        "perl", "php", "python", "python3", "ruby", "sed", "sh", "tclsh", "zsh",
    }
)  # fmt: skip
_RUNNERS = frozenset(
    {
        "bunx", "git", "npx", "pipx", "pnpx", "ssh", "uvx",
    }
)  # fmt: skip


def is_command_spec(spec: str) -> bool:
    """Whether `spec` is valid in a rule."""
    return bool(_parse_prefix(spec).words)


def allows_command(specs: Sequence[str], line: str) -> bool:
    """Whether an allow rule with one of `specs` covers the command line."""
    words = plain_words(line) if specs and len(line) <= MAX_COMMAND_LENGTH else ()
    return any(_parse_prefix(spec).covers(words) for spec in specs)


def denies_command(specs: Sequence[str], line: str) -> bool:
    """Whether a deny rule with one of `specs` covers a command in the line.

    The line, of at most `MAX_COMMAND_LENGTH` characters, is parsed once for all rules.
    """
    forbidden: dict[str, list[_Prefix]] = {}
    for prefix in map(_parse_prefix, specs):
        if prefix.words:
            forbidden.setdefault(_program_name(prefix.words[0]), []).append(prefix)
    return any(
        prefix.denies(words, start)
        for words, start in (_iter_commands(line) if forbidden else ())
        for prefix in forbidden.get(_program_name(words[start]), ())
    )


def propose_command_spec(line: str) -> str | None:
    """Return the spec that covers only this command; None if it always needs an approval.

    Programs that run other programs get no rule: interpreters, wrappers, package runners, and
    `git`, which runs programs from a repository's configuration.
    """
    words = plain_words(line) if len(line) <= MAX_COMMAND_LENGTH else ()
    if not words or _program_name(words[0]) in _WRAPPERS | _INTERPRETERS | _RUNNERS:
        return None
    return None if line.endswith("*") else line.strip()


def plain_words(command: str) -> tuple[str, ...]:
    """Return the words of one simple command without expansions; empty for any other command.

    Only ASCII is accepted; quotes can contain characters that the shell does not expand in them.
    """
    words: list[list[str]] = []
    at, in_word = 0, False
    while at < len(command):
        if (piece := _PIECE.match(command, at)) is None:
            return ()
        at = piece.end()
        if piece.lastgroup == "gap":
            in_word = False
            continue
        if not in_word:
            words.append([])
            in_word = True
        words[-1].append(piece[piece.lastgroup or 0])
    if not words:
        return ()
    first = command.split(maxsplit=1)[0]
    if "=" in first or first in _KEYWORDS:
        return ()
    return tuple(map("".join, words))


class _Prefix(Struct, frozen=True):
    """The parsed spec of a rule: the first words of a command."""

    words: tuple[str, ...]
    is_open: bool
    """Whether further arguments can follow."""

    def covers(self, words: tuple[str, ...]) -> bool:
        size = len(self.words)
        return size > 0 and words[:size] == self.words and (self.is_open or len(words) == size)

    def denies(self, words: tuple[str, ...], start: int) -> bool:
        """Whether `words[start:]` matches, ignoring the directory of the program.

        Only the last component of a program path is compared, since other paths can lead to it.
        """
        end = start + len(self.words)
        return (
            bool(self.words)
            and _program_name(words[start]) == _program_name(self.words[0])
            and words[start + 1 : end] == self.words[1:]
            and (self.is_open or end == len(words))
        )


def _parse_prefix(spec: str) -> _Prefix:
    return _Prefix(plain_words(spec.removesuffix("*")), is_open=spec.endswith("*"))


def _program_name(word: str) -> str:
    return word.rpartition("/")[2]


def _iter_commands(line: str) -> Iterator[tuple[tuple[str, ...], int]]:
    """Yield words and the index where a command can start; yields too many rather than too few."""
    if words := plain_words(line):
        yield from _unwrap(words)
        return
    # In single quotes and comments, line continuations have no effect.
    for reading in {line, _CONTINUATION.sub(r"\1", line)}:
        yield from _split_commands(reading)
        for command in _simple_commands(reading):
            yield from _unwrap(command)


def _split_commands(line: str) -> Iterator[tuple[tuple[str, ...], int]]:
    """Yield commands between separators, also those inside quotes."""
    for segment in _SEPARATORS.split(line):
        joined = _REDIRECTION.sub(r"\1", segment)
        for reading in {joined, _QUOTED_VALUE.sub("", joined)}:
            bare = reading.translate(_QUOTES).split()
            if words := tuple(itertools.dropwhile(_BEFORE_PROGRAM.match, bare)):
                yield from _unwrap(words)


def _simple_commands(line: str) -> Iterator[tuple[str, ...]]:
    """Yield the words of each command, unquoted, without redirections and leading assignments."""
    words: list[str] = []
    for token in _TOKEN.finditer(f"{line}\n"):
        match token.lastgroup:
            case "word" if words or not _LEADING.match(token[0]):
                words.append(_QUOTED.sub(_unquote, token[0]))
            case "end" if words:
                yield tuple(words)
                words = []
            case _:
                pass


def _unquote(part: re.Match[str]) -> str:
    if part["double"] is not None:
        return _ESCAPE.sub(lambda escape: escape[1] or "", part["double"])
    return part["escaped"] or part["single"] or ""


def _unwrap(words: tuple[str, ...]) -> Iterator[tuple[tuple[str, ...], int]]:
    yield words, 0
    program = _program_name(words[0])
    if program in _WRAPPERS:
        for start in range(1, len(words)):
            yield words, start
    if program in _WRAPPERS | _INTERPRETERS:
        for word in words[1:]:
            if len(word.split(maxsplit=1)) > 1:
                yield from _iter_commands(word)
