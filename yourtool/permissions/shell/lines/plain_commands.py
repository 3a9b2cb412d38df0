"""Commands of an understood line."""

import re
import shlex
from collections.abc import Mapping, Sequence
from typing import TypeAlias

from msgspec import Struct
from msgspec.structs import replace

from yourtool.permissions.shell.lines.syntax import Node, Word, text_of, word_of

_GLOB = re.compile(r"[A-Za-z0-9_@%+=:,./^*?\[\]-]*")
_OPTION_WITH_PATTERN = re.compile(r"--[a-z-]+=[\w.*?\[\]-]*")
"""Such as `--include=*.py`: the pattern is meant for the program."""
_LINE_END = "\n"
_UNQUOTED = re.compile(r"[\w./@%+:,-]+")
"""A value that the shell does not split or expand."""
PLAIN_VARIABLE = re.compile(r"(?!npm_config|.*proxy)[a-z][a-z0-9_]*")
"""The name of a variable that means nothing to the shell and to programs."""
MOVES = ("cd", "pushd", "popd")
_RUNNERS = ("builtin", "command", "eval")
"""Commands of the shell that run others in it."""
Scope: TypeAlias = "Mapping[str, Word | None]"
"""The value of each variable of a loop; None: any text."""
NO_VARIABLES: Scope = {}


class Redirection(Struct, frozen=True):
    """A redirection to or from a file, or one that reads and writes none, such as `2>&1`."""

    operator: str
    """With its descriptor, such as `2>>`; all of the text if there is no file."""
    path: str = ""
    """Without quotes; empty if it reads and writes no file."""
    text: str | None = None
    """The document that the command reads, which ends with a line end."""

    @property
    def is_input(self) -> bool:
        """Whether it reads a file."""
        return self.operator.endswith("<")

    def __str__(self) -> str:
        if self.text is not None:  # `<<<` adds the line end
            return f"<<< {shlex.quote(self.text.removesuffix(_LINE_END))}"
        return f"{self.operator} {shlex.quote(self.path)}" if self.path else self.operator


class PlainCommand(Struct, frozen=True):
    """One simple command."""

    words: tuple[Word, ...]
    variables: tuple[tuple[str, str], ...] = ()
    redirections: tuple[Redirection, ...] = ()
    operator: str = ""
    """What joins it with the next command; empty for the last one."""
    timing: tuple[str, ...] = ()
    """`time`, or `time -p`, if the shell measures the pipeline that it starts."""
    before: tuple[str, ...] = ()
    """Quoted words of the shell before the command, such as `if` or `(`."""
    after: tuple[str, ...] = ()
    """Those behind it, such as `fi`."""
    is_repeated: bool = False
    """Whether it is checked only, because a loop repeats another command with its words."""

    @property
    def texts(self) -> tuple[str, ...]:
        """The words without quotes."""
        return tuple(word.text for word in self.words)

    def with_values(self) -> "PlainCommand":
        """Return the command with the values of the variables in its words."""
        return replace(self, words=tuple(replace(word, source="") for word in self.words))

    @property
    def files(self) -> tuple[Redirection, ...]:
        """The redirections to and from files."""
        return tuple(each for each in self.redirections if each.path)

    @property
    def reads_document(self) -> bool:
        """Whether the line contains the standard input of the command."""
        return any(each.text is not None for each in self.redirections)


class NotPlainError(Exception):
    """A part of a line is not completely understood."""


def may_move(words: Sequence[str]) -> bool:
    """Whether a command may enter a directory, also as `builtin cd`."""
    is_run = words[0] in _RUNNERS and not set(MOVES).isdisjoint(" ".join(words).split())
    return words[0] in MOVES or is_run


def quote_plain(words: Sequence[Word]) -> str:
    """Return words as the shell reads them; globs stay globs."""
    return " ".join(
        word.source or (word.text if word.is_glob else shlex.quote(word.text)) for word in words
    )


def read_word(node: Node, scope: Scope, *, is_text: bool = False) -> Word:
    """Return a word, with the values of variables of loops.

    `is_text`: any text can be here.
    """
    word = word_of(node)
    if word is None:
        return _fill_variables(node, scope, is_text=is_text)
    if _is_literal_or_local(word, node):
        return word
    if _OPTION_WITH_PATTERN.fullmatch(text_of(node)):
        return Word(word.text)
    raise NotPlainError


def _is_one_word(value: Word, source: str, name: str) -> bool:
    """Whether the shell makes one word of a value in this place."""
    if value.is_glob:
        return source == f'"${name}"'
    return source.startswith('"') or _UNQUOTED.fullmatch(value.text) is not None


def _fill_variables(node: Node, scope: Scope, *, is_text: bool) -> Word:
    source = text_of(node)
    parts: list[str] = []
    pieces = node.children if node.type == "string" else [node]
    for piece in pieces:
        if piece.type != "simple_expansion":
            parts.append(text_of(piece))
            continue
        name = text_of(piece)[1:]
        if name not in scope:
            raise NotPlainError
        value = scope[name]
        if (value is None or value.is_glob) and is_text and node.type == "string":
            parts.append("x")
        elif value is None or not _is_one_word(value, source, name):
            raise NotPlainError
        elif value.is_glob:
            return replace(value, source=source)
        else:
            parts.append(value.text)
    is_whole = "".join(map(text_of, pieces)) == source  # the grammar omits line ends in quotes
    if "\\" in source or node.type not in ("string", "simple_expansion") or not is_whole:
        raise NotPlainError
    return Word("".join(parts).removeprefix('"').removesuffix('"'), source=source)


def _is_literal_or_local(word: Word, node: Node) -> bool:
    """Whether a glob starts with a letter, so that no file name becomes an option.

    A glob has no quoted part, so that its text is its source.
    """
    is_local = word.text[:1].isalnum() and ".." not in word.text
    return not word.is_glob or (is_local and _GLOB.fullmatch(text_of(node)) is not None)
