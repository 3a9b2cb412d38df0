"""Commands of git in a line."""

from collections.abc import Sequence

from msgspec import Struct

from yourtool.permissions.shell.programs.arguments import get_valued, split_arguments
from yourtool.permissions.shell.programs.table import Program, load_programs

_MIN_ABBREVIATION = 4
"""Characters of an abbreviated option that counts."""


class GitCommand(Struct, frozen=True):
    """A command of git, such as `stash drop`, with its arguments."""

    settings: tuple[tuple[str, str], ...]
    """The options before it, and their values in the next words."""
    verb: str
    """Empty if there is no command."""
    words: tuple[str, ...]
    """All that follows the verb."""
    row: Program
    """That of the verb."""
    inner: Program
    """That of the verb with its first argument, if there is one, such as `stash drop`."""
    options: tuple[str, ...]
    names: tuple[str, ...]
    """The arguments before `--` that are no options."""
    after: tuple[str, ...]
    """Those behind it."""

    def find(self, *options: str) -> str:
        """Return the first given option that is one of these; empty if none is."""
        return next((word for word in self.options if _is_option(word, options)), "")


def read_git(arguments: Sequence[str]) -> GitCommand:
    """Return the command in the arguments of git."""
    rows, settings, at = load_programs(), list[tuple[str, str]](), 0
    while at < len(arguments) and arguments[at].startswith("-"):
        has_value = arguments[at] in rows["git"].values and at + 1 < len(arguments)
        settings.append((arguments[at], arguments[at + 1] if has_value else ""))
        at += 1 + has_value
    verb, words = "".join(arguments[at : at + 1]), tuple(arguments[at + 1 :])
    row = rows.get(f"git {verb}", Program())
    end = words.index("--") if "--" in words else len(words)
    options, operands = split_arguments(words[:end], get_valued(row))
    names = tuple(words[each] for each in operands)
    return GitCommand(
        settings=tuple(settings),
        verb=verb,
        words=words,
        row=row,
        inner=rows.get(" ".join(("git", verb, *names[:1])), row),
        options=tuple(words[each] for each in options),
        names=names,
        after=words[end + 1 :],
    )


def _is_option(word: str, options: Sequence[str]) -> bool:
    if not word.startswith("--"):
        return any(each[1] in word[1:] for each in options if len(each) == 2)
    name = word.partition("=")[0]
    return any(
        name == each or (each.startswith(name) and len(name) >= _MIN_ABBREVIATION)
        for each in options
        if each.startswith("--")
    )
