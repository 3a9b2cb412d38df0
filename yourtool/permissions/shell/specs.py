"""Commands in rules: `make test` is one command, `git log*` all with these first words."""

import functools
from collections.abc import Sequence

from msgspec import Struct

from yourtool.permissions.shell.plain import parse_plain

_RUNS_OTHERS = frozenset(
    {
        "ash", "awk", "bash", "builtin", "bun", "bunx", "chroot", "command", "dash", "deno", "doas",
        "env", "eval", "exec", "find", "fish", "flock", "function", "gawk", "git", "ionice", "ksh",
        "lua", "mawk", "nice", "node", "nohup", "npx", "parallel", "perl", "php", "pipx", "pnpx",
        "python", "python3", "ruby", "sed", "setsid", "sh", "source", "ssh", "stdbuf", "strace",
        "sudo", "tclsh", "time", "timeout", "trap", "uvx", "watch", "xargs", "zsh",
    }
)  # fmt: skip
"""Interpreters, wrappers, package runners, and git, which a repository can make run programs."""


class CommandSpec(Struct, frozen=True):
    """The first words of the commands that a rule is about."""

    words: tuple[str, ...]
    """Without quotes; at least one."""
    is_open: bool
    """Whether further arguments can follow."""

    def matches(self, words: Sequence[str]) -> bool:
        """Return whether these are the first words of a command, or all of them."""
        first = tuple(words[: len(self.words)])
        return first == self.words and (self.is_open or len(words) == len(self.words))


@functools.lru_cache(maxsize=1_000)
def parse_spec(spec: str) -> CommandSpec | None:
    """Return the parsed spec; None if it is not a command of plain words."""
    commands = parse_plain(spec.removesuffix("*"))
    if len(commands) != 1 or commands[0].variables or commands[0].redirections:
        return None
    if any(word.is_glob for word in commands[0].words):
        return None
    return CommandSpec(commands[0].texts, is_open=spec.endswith("*"))


def runs_others(program: str) -> bool:
    """Whether a program runs others or code that its arguments name, so that no rule is offered."""
    return program.rpartition("/")[2] in _RUNS_OTHERS
