"""Permission rules, such as `shell(git status*)`, `edit_file(src/**)` or `read_file`.

Deny rules override allow rules, and calls without a rule need an approval; specificity does not
matter. An allow rule covers a shell command only if it consists of plain literal words, so a
command with expansions, operators or redirections is never covered. Deny rules also match inside
lists, subshells and substitutions, and after wrappers such as `env` and `timeout`.
"""

import itertools
import re
from collections.abc import Iterator
from enum import StrEnum
from typing import TypeAlias

from msgspec import Struct

from yourtool.errors import UsageError
from yourtool.permissions.globs import matches_glob
from yourtool.permissions.hosts import allows_host, denies_host, is_host_spec

MAX_COMMAND_LENGTH = 2**16
"""Maximum characters of a command that is parsed."""

_RULE = re.compile(r"([a-z][a-z0-9_]*)(?:\((.+)\))?", re.DOTALL)

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
        "builtin", "chroot", "command", "doas", "env", "eval", "exec", "find", "flock", "ionice",
        "nice", "nohup", "parallel", "setsid", "source", "stdbuf", "strace", "sudo", "time",
        "timeout", "trap", "watch", "xargs",
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


class RuleEffect(StrEnum):
    """The verdict of the rules on a call."""

    ALLOW = "allow"
    DENY = "deny"
    TOO_LONG = "too long"
    """Denied, because the command is too long to be checked against the deny rules."""
    ASK = "ask"


Subject: TypeAlias = str | None
"""The part of a call that rules match: a command line, a host, or the real path of a file."""


class Rule(Struct, frozen=True):
    """One rule: a tool, and optionally which of its calls."""

    tool: str
    spec: str | None = None
    """A command, a host or a path glob; None matches every call."""

    @classmethod
    def parse(cls, text: str) -> "Rule":
        """Parse `tool` or `tool(spec)`.

        Raises:
            UsageError: the syntax is invalid, or the spec can never match.
        """
        if (match := _RULE.fullmatch(text.strip())) is None:
            raise UsageError(
                f"`{text}` is not a valid rule; write `tool` or `tool(what)`, for example"
                " `shell(make test*)` or `edit_file(src/**)`"
            )
        rule = cls(match[1], match[2])
        if rule.tool == "shell" and rule.spec is not None and not _parse_prefix(rule.spec).words:
            raise UsageError(
                f"`{text}` can never match: a shell rule consists of plain words, with `*` only at"
                " the end, for example `shell(git log*)`"
            )
        if rule.tool == "fetch_url" and rule.spec is not None and not is_host_spec(rule.spec):
            raise UsageError(
                f"`{text}` can never match: a rule for `fetch_url` is a host in ASCII, for"
                " example `fetch_url(docs.python.org)`, `fetch_url(*.example.org)` or"
                " `fetch_url(example.org:8443)`"
            )
        return rule

    def __str__(self) -> str:
        return self.tool if self.spec is None else f"{self.tool}({self.spec})"

    def allows(self, tool: str, subject: Subject) -> bool:
        """Whether the rule, used as an allow rule, covers the call."""
        if self.tool != tool:
            return False
        if self.spec is None:
            return True
        if subject is None:
            return False
        if tool == "shell":
            return _parse_prefix(self.spec).covers(plain_words(subject))
        if tool == "fetch_url":
            return allows_host(self.spec, subject)
        return matches_glob(self.spec, subject)

    def denies(self, tool: str, subject: Subject) -> bool:
        """Whether the rule, used as a deny rule, covers the call; it matches more broadly.

        `RuleSet.verdict` handles shell commands, which are parsed once for all rules.
        """
        if self.spec is None or subject is None or tool == "shell":
            return self.allows(tool, subject)
        if tool == "fetch_url":
            return self.tool == tool and denies_host(self.spec, subject)
        folded = Rule(self.tool, self.spec.casefold())
        return folded.allows(tool, subject.casefold())


class RuleSet(Struct, frozen=True):
    """All active rules."""

    allow: tuple[Rule, ...] = ()
    deny: tuple[Rule, ...] = ()

    def __or__(self, other: "RuleSet") -> "RuleSet":
        return RuleSet(self.allow + other.allow, self.deny + other.deny)

    def verdict(self, tool: str, subject: Subject) -> RuleEffect:
        """Return whether a call is allowed, denied, or needs an approval."""
        if tool == "shell" and subject is not None:
            return self._command_verdict(subject)
        if any(rule.denies(tool, subject) for rule in self.deny):
            return RuleEffect.DENY
        if any(rule.allows(tool, subject) for rule in self.allow):
            return RuleEffect.ALLOW
        return RuleEffect.ASK

    def _command_verdict(self, line: str) -> RuleEffect:
        """Return the verdict on a shell command, which is parsed once for all rules.

        A command that is too long to parse is denied if there is any deny rule for commands.
        """
        denied = [rule.spec for rule in self.deny if rule.tool == "shell"]
        allowed = [rule.spec for rule in self.allow if rule.tool == "shell"]
        is_readable = len(line) <= MAX_COMMAND_LENGTH
        if None in denied:
            return RuleEffect.DENY
        if denied and not is_readable:
            return RuleEffect.TOO_LONG
        forbidden: dict[str, list[_Prefix]] = {}
        for prefix in (_parse_prefix(spec) for spec in denied if spec is not None):
            forbidden.setdefault(_program_name(prefix.words[0]), []).append(prefix)
        for words, start in _iter_commands(line) if forbidden else ():
            for prefix in forbidden.get(_program_name(words[start]), ()):
                if prefix.denies(words, start):
                    return RuleEffect.DENY
        if None in allowed:
            return RuleEffect.ALLOW
        words = plain_words(line) if allowed and is_readable else ()
        if any(_parse_prefix(spec).covers(words) for spec in allowed if spec is not None):
            return RuleEffect.ALLOW
        return RuleEffect.ASK


def propose_rule(tool: str, subject: Subject) -> Rule | None:
    """Return the narrowest rule that covers this call; None if it always needs an approval.

    Programs that run other programs get no rule: interpreters, wrappers, package runners, and
    `git`, which runs programs from a repository's configuration. The caller does not propose rules
    for protected places.
    """
    if not subject:
        return None
    if tool == "shell":
        words = plain_words(subject) if len(subject) <= MAX_COMMAND_LENGTH else ()
        if not words or _program_name(words[0]) in _WRAPPERS | _INTERPRETERS | _RUNNERS:
            return None
        return None if subject.endswith("*") else Rule(tool, subject.strip())
    rule = Rule(tool, subject)
    return rule if not set(subject) & set("*?") and rule.allows(tool, subject) else None


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
    """The parsed spec of a shell rule: the first words of a command."""

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
    for segment in _SEPARATORS.split(line):
        joined = _REDIRECTION.sub(r"\1", segment)
        for reading in {joined, _QUOTED_VALUE.sub("", joined)}:
            bare = reading.translate(_QUOTES).split()
            if words := tuple(itertools.dropwhile(_BEFORE_PROGRAM.match, bare)):
                yield from _unwrap(words)
    for command in _simple_commands(line):
        yield from _unwrap(command)


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
