"""What may happen unasked: `shell(git status*)`, `edit_file(src/**)`, `read_file`.

Deny beats allow, and allow beats asking; how specific a rule is makes no difference. An allow rule
covers a shell command only if the command consists of plain literal words, so nothing that a shell
would expand, join or redirect is ever covered. A deny rule looks further: into lists, subshells,
substitutions and behind the likes of `env` and `timeout`.
"""

import itertools
import re
from collections.abc import Iterator
from enum import StrEnum
from typing import TypeAlias

from msgspec import Struct

from yourtool.errors import UsageError
from yourtool.permissions.globs import matches_glob
from yourtool.permissions.hosts import covers_host, forbids_host, is_host_spec

LONGEST_COMMAND = 2**16
"""Characters of a command that are read."""

_RULE = re.compile(r"([a-z][a-z0-9_]*)(?:\((.+)\))?", re.DOTALL)

_PIECE = re.compile(
    r"""(?P<gap>\ +)|(?P<bare>[A-Za-z0-9_@%+=:,./^-]+)
    |'(?P<single>[ -&(-~]*)'|"(?P<double>[ #%-\[\]-_a-~]*)\"""",
    re.VERBOSE,
)
"""A gap, or a part of a word: what no shell expands, bare or in quotes."""
_KEYWORDS = frozenset(
    {
        "case", "coproc", "do", "done", "elif", "else", "esac", "fi", "for", "function", "if", "in",
        "select", "then", "time", "until", "while",
    }
)  # fmt: skip
_SEPARATORS = re.compile(r"\$\(|[<>]\(|[;&|()`\n{}]")
_BEFORE_PROGRAM = re.compile(r"[A-Za-z_]\w*=|[!<>\d]|(?:if|then|elif|else|while|until|do|coproc)\Z")
"""A word behind which the program of a command may still come."""
_TOKEN = re.compile(
    r"""(?P<redirection>(?:\d+|\{\w+\})?(?:&>>?|<<<|<<-?|<[>&]?|>[>&|]?)[ \t]*+
        (?:WORD)?)
    |(?P<word>WORD)|(?P<gap>[ \t]+|\\\n)|(?P<end>.)""".replace(
        "WORD", r"""(?:[^\s;&|()<>"'`\\]|\\[^\n]|"(?:[^"\\]|\\.)*+"|'[^']*+')++"""
    ),
    re.VERBOSE | re.DOTALL,
)
"""https://pubs.opengroup.org/onlinepubs/9799919799/utilities/V3_chap02.html#tag_19_03, and the
redirections of bash. What is neither a word nor a redirection ends a command."""
_QUOTED = re.compile(
    r"""\$?'(?P<single>[^']*+)'|\$?"(?P<double>(?:[^"\\]|\\.)*+)"|\\(?P<escaped>.)""", re.DOTALL
)
_ESCAPE = re.compile(r"""\\([$`"\\])|\\\n""")
"""Inside double quotes, other backslashes stay."""
_LEADING = re.compile(
    r"[A-Za-z_]\w*(?:\[[^\]]*\])?\+?=|(?:[!{]|if|then|elif|else|while|until|do|coproc)\Z"
)
"""An assignment or a keyword, as it is written: the program of the command comes behind it."""
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
    """What the rules say about a call."""

    ALLOW = "allow"
    DENY = "deny"
    TOO_LONG = "too long"
    """Denied, since the deny rules cannot be compared with so long a command."""
    ASK = "ask"


Subject: TypeAlias = str | None
"""What a call is about: a command line, a host name, or the real path of a file."""


class Rule(Struct, frozen=True):
    """One line of the permissions: a tool, and what of it."""

    tool: str
    spec: str | None = None
    """A command, a host or a path glob; None: every call."""

    @classmethod
    def parse(cls, text: str) -> "Rule":
        """Read `tool` or `tool(spec)`.

        Raises:
            UsageError: it is neither, or the command could never be covered.
        """
        if (match := _RULE.fullmatch(text.strip())) is None:
            raise UsageError(
                f"`{text}` is not a rule; write `tool` or `tool(what)`, for example"
                " `shell(make test*)` or `edit_file(src/**)`"
            )
        rule = cls(match[1], match[2])
        if rule.tool == "shell" and rule.spec is not None and not _prefix(rule.spec).words:
            raise UsageError(
                f"`{text}` can cover nothing: a shell rule is made of plain words, with `*` only at"
                " the end, for example `shell(git log*)`"
            )
        if rule.tool == "fetch_url" and rule.spec is not None and not is_host_spec(rule.spec):
            raise UsageError(
                f"`{text}` can cover nothing: a rule for `fetch_url` names a host in ASCII, for"
                " example `fetch_url(docs.python.org)`, `fetch_url(*.example.org)` or"
                " `fetch_url(example.org:8443)`"
            )
        return rule

    def __str__(self) -> str:
        return self.tool if self.spec is None else f"{self.tool}({self.spec})"

    def allows(self, tool: str, subject: Subject) -> bool:
        """Tell whether the rule, read as a permission, covers the call."""
        if self.tool != tool:
            return False
        if self.spec is None:
            return True
        if subject is None:
            return False
        if tool == "shell":
            return _prefix(self.spec).covers(plain_words(subject))
        if tool == "fetch_url":
            return covers_host(self.spec, subject)
        return matches_glob(self.spec, subject)

    def denies(self, tool: str, subject: Subject) -> bool:
        """Tell whether the rule, read as a prohibition, covers the call: rather too much.

        `RuleSet.verdict` reads shell commands, once for all rules.
        """
        if self.spec is None or subject is None or tool == "shell":
            return self.allows(tool, subject)
        if tool == "fetch_url":
            return self.tool == tool and forbids_host(self.spec, subject)
        folded = Rule(self.tool, self.spec.casefold())
        return folded.allows(tool, subject.casefold())


class RuleSet(Struct, frozen=True):
    """All rules in force."""

    allow: tuple[Rule, ...] = ()
    deny: tuple[Rule, ...] = ()

    def __or__(self, other: "RuleSet") -> "RuleSet":
        return RuleSet(self.allow + other.allow, self.deny + other.deny)

    def verdict(self, tool: str, subject: Subject) -> RuleEffect:
        """Say whether a call may run, must not run, or is to be asked about."""
        if tool == "shell" and subject is not None:
            return self._of_command(subject)
        if any(rule.denies(tool, subject) for rule in self.deny):
            return RuleEffect.DENY
        if any(rule.allows(tool, subject) for rule in self.allow):
            return RuleEffect.ALLOW
        return RuleEffect.ASK

    def _of_command(self, line: str) -> RuleEffect:
        """Rule on a shell command, which is read once for all rules.

        One that is too long to be read does not run where a rule denies some command.
        """
        denied = [rule.spec for rule in self.deny if rule.tool == "shell"]
        allowed = [rule.spec for rule in self.allow if rule.tool == "shell"]
        is_readable = len(line) <= LONGEST_COMMAND
        if None in denied:
            return RuleEffect.DENY
        if denied and not is_readable:
            return RuleEffect.TOO_LONG
        forbidden: dict[str, list[_Prefix]] = {}
        for prefix in (_prefix(spec) for spec in denied if spec is not None):
            forbidden.setdefault(_program(prefix.words[0]), []).append(prefix)
        for words, start in _commands(line) if forbidden else ():
            for prefix in forbidden.get(_program(words[start]), ()):
                if prefix.denies(words, start):
                    return RuleEffect.DENY
        if None in allowed:
            return RuleEffect.ALLOW
        words = plain_words(line) if allowed and is_readable else ()
        if any(_prefix(spec).covers(words) for spec in allowed if spec is not None):
            return RuleEffect.ALLOW
        return RuleEffect.ASK


def propose(tool: str, subject: Subject) -> Rule | None:
    """Return the narrowest rule that would cover this call again; None: it is always asked.

    No rule is offered for a program that runs whatever it is told to (interpreters, wrappers,
    package runners, and `git`, which runs what a repository's configuration names). The caller
    asks for none where the place is protected.
    """
    if not subject:
        return None
    if tool == "shell":
        words = plain_words(subject) if len(subject) <= LONGEST_COMMAND else ()
        if not words or _program(words[0]) in _WRAPPERS | _INTERPRETERS | _RUNNERS:
            return None
        return None if subject.endswith("*") else Rule(tool, subject.strip())
    offered = Rule(tool, subject)
    return offered if not set(subject) & set("*?") and offered.allows(tool, subject) else None


def plain_words(command: str) -> tuple[str, ...]:
    """Return the words of one simple command without any expansion; empty if it is anything else.

    Only ASCII; quotes may hold what the shell leaves alone inside them.
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
    """The words that a shell rule begins with."""

    words: tuple[str, ...]
    is_open: bool
    """Whether arguments may follow."""

    def covers(self, words: tuple[str, ...]) -> bool:
        size = len(self.words)
        return size > 0 and words[:size] == self.words and (self.is_open or len(words) == size)

    def denies(self, words: tuple[str, ...], start: int) -> bool:
        """Whether `words[start:]` is such a command, wherever its program lies.

        A path in the rule counts by its last part: a command can reach the file by another path.
        """
        end = start + len(self.words)
        return (
            bool(self.words)
            and _program(words[start]) == _program(self.words[0])
            and words[start + 1 : end] == self.words[1:]
            and (self.is_open or end == len(words))
        )


def _prefix(spec: str) -> _Prefix:
    return _Prefix(plain_words(spec.removesuffix("*")), is_open=spec.endswith("*"))


def _program(word: str) -> str:
    return word.rpartition("/")[2]


def _commands(line: str) -> Iterator[tuple[tuple[str, ...], int]]:
    """Yield words and where in them a command may begin, by a reading that errs towards more."""
    if words := plain_words(line):
        yield from _unwrapped(words)
        return
    for segment in _SEPARATORS.split(line):
        joined = _REDIRECTION.sub(r"\1", segment)
        for reading in {joined, _QUOTED_VALUE.sub("", joined)}:
            bare = reading.translate(_QUOTES).split()
            if words := tuple(itertools.dropwhile(_BEFORE_PROGRAM.match, bare)):
                yield from _unwrapped(words)
    for command in _simple_commands(line):
        yield from _unwrapped(command)


def _simple_commands(line: str) -> Iterator[tuple[str, ...]]:
    """Yield the words of each command without quotes, redirections and assignments before it."""
    words: list[str] = []
    for token in _TOKEN.finditer(f"{line}\n"):
        match token.lastgroup:
            case "word" if words or not _LEADING.match(token[0]):
                words.append(_QUOTED.sub(_unquoted, token[0]))
            case "end" if words:
                yield tuple(words)
                words = []
            case _:
                pass


def _unquoted(part: re.Match[str]) -> str:
    if part["double"] is not None:
        return _ESCAPE.sub(lambda escape: escape[1] or "", part["double"])
    return part["escaped"] or part["single"] or ""


def _unwrapped(words: tuple[str, ...]) -> Iterator[tuple[tuple[str, ...], int]]:
    yield words, 0
    program = _program(words[0])
    if program in _WRAPPERS:
        for start in range(1, len(words)):
            yield words, start
    if program in _WRAPPERS | _INTERPRETERS:
        for word in words[1:]:
            if len(word.split(maxsplit=1)) > 1:
                yield from _commands(word)
