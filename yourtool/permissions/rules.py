"""What may happen unasked: `shell(git status*)`, `edit_file(src/**)`, `read_file`.

Deny beats allow, and allow beats asking; how specific a rule is makes no difference. An allow rule
covers a shell command only if the command consists of plain literal words, so nothing that a shell
would expand, join or redirect is ever covered. A deny rule looks further: into lists, subshells,
substitutions and behind the likes of `env` and `timeout`.
"""

import re
from collections.abc import Iterator
from enum import StrEnum
from typing import Literal, TypeAlias

from msgspec import Struct

from yourtool.errors import UsageError
from yourtool.permissions.hosts import covers_host, forbids_host, is_host_spec

_RULE = re.compile(r"([a-z][a-z0-9_]*)(?:\((.+)\))?", re.DOTALL)

_BARE = r"[A-Za-z0-9_@%+=:,./^-]+"
_QUOTED = r"""'[ -&(-~]*'|"[ #%-\[\]-_a-~]*\""""
_WORD = re.compile(rf"(?:{_BARE}|{_QUOTED})+")
_COMMAND = re.compile(rf" *(?:{_WORD.pattern})(?: +(?:{_WORD.pattern}))* *")
_PIECE = re.compile(rf"({_BARE})|'([^']*)'|\"([^\"]*)\"")
_KEYWORDS = frozenset(
    {
        "case", "coproc", "do", "done", "elif", "else", "esac", "fi", "for", "function", "if", "in",
        "select", "then", "time", "until", "while",
    }
)  # fmt: skip
_SEPARATORS = re.compile(r"\$\(|[<>]\(|[;&|()`\n{}]")

_WRAPPERS = frozenset(
    {
        "builtin", "chroot", "command", "doas", "env", "eval", "exec", "find", "flock", "ionice",
        "nice", "nohup", "parallel", "setsid", "source", "stdbuf", "strace", "sudo", "time",
        "timeout", "watch", "xargs",
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


class Ruling(StrEnum):
    """What the rules say about a call."""

    ALLOW = "allow"
    DENY = "deny"
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
        if rule.tool == "shell" and rule.spec is not None and not _prefix(rule.spec)[0]:
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
            return _covers(self.spec, plain_words(subject))
        if tool == "fetch_url":
            return covers_host(self.spec, subject)
        return _glob(self.spec).fullmatch(subject) is not None

    def denies(self, tool: str, subject: Subject) -> bool:
        """Tell whether the rule, read as a prohibition, covers the call: rather too much."""
        if self.tool == tool == "shell" and self.spec is not None and subject is not None:
            return any(_covers(self.spec, words) for words in _commands(subject))
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

    def verdict(self, tool: str, subject: Subject) -> Ruling:
        """Say whether a call may run, must not run, or is to be asked about."""
        if any(rule.denies(tool, subject) for rule in self.deny):
            return Ruling.DENY
        if any(rule.allows(tool, subject) for rule in self.allow):
            return Ruling.ALLOW
        return Ruling.ASK


def propose(tool: str, subject: Subject) -> Rule | None:
    """Return the narrowest rule that would cover this call again; None: it is always asked.

    No rule is offered for a program that runs whatever it is told to (interpreters, wrappers,
    package runners, and `git`, which runs what a repository's configuration names). The caller
    asks for none where the place is protected.
    """
    if not subject:
        return None
    if tool == "shell":
        words = plain_words(subject)
        if not words or _program(words) in _WRAPPERS | _INTERPRETERS | _RUNNERS:
            return None
        return None if subject.endswith("*") else Rule(tool, subject.strip())
    return None if set(subject) & set("*?") else Rule(tool, subject)


def plain_words(command: str) -> tuple[str, ...]:
    """Return the words of one simple command without any expansion; empty if it is anything else.

    Only ASCII; quotes may hold what the shell leaves alone inside them.
    """
    if not _COMMAND.fullmatch(command):
        return ()
    words = tuple(
        "".join("".join(piece) for piece in _PIECE.findall(match[0]))
        for match in _WORD.finditer(command)
    )
    first = command.split()[0]
    if "=" in first or first in _KEYWORDS:
        return ()
    return words


def _prefix(spec: str) -> tuple[tuple[str, ...], Literal["exact", "open"]]:
    if spec.endswith("*"):
        return plain_words(spec[:-1]), "open"
    return plain_words(spec), "exact"


def _covers(spec: str, words: tuple[str, ...]) -> bool:
    wanted, end = _prefix(spec)
    if not wanted or not words:
        return False
    return words[: len(wanted)] == wanted and (end == "open" or len(words) == len(wanted))


def _program(words: tuple[str, ...]) -> str:
    return words[0].rpartition("/")[2]


def _commands(line: str) -> Iterator[tuple[str, ...]]:
    """Yield whatever in a command line might be run, by a reading that errs towards more."""
    if words := plain_words(line):
        yield from _unwrapped(words)
        return
    for segment in _SEPARATORS.split(line):
        words = tuple(re.sub(r"[\"'\\]", "", segment).split())
        while words and re.match(r"[A-Za-z_]\w*=|[!<>\d]", words[0]):
            words = words[1:]
        if words:
            yield from _unwrapped(words)


def _unwrapped(words: tuple[str, ...]) -> Iterator[tuple[str, ...]]:
    program = _program(words)
    yield (program, *words[1:])
    if program in _WRAPPERS:
        for start in range(1, len(words)):
            yield (_program(words[start:]), *words[start + 1 :])
    elif program in _INTERPRETERS:
        for word in words[1:]:
            if " " in word:
                yield from _commands(word)


def _glob(spec: str) -> re.Pattern[str]:
    """Translate a path glob: `*` stays within a directory, `**` does not."""
    parts = re.split(r"(\*\*/|\*\*|\*|\?)", spec.removeprefix("./"))
    signs = {"**/": "(?:.*/)?", "**": ".*", "*": "[^/]*", "?": "[^/]"}
    return re.compile("".join(signs.get(part) or re.escape(part) for part in parts), re.DOTALL)
