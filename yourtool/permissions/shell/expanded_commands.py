"""Commands of a line with expanded words."""

import re
from collections.abc import Iterator, Mapping, Sequence

from msgspec import Struct

from yourtool.permissions.shell.entered import is_subshell
from yourtool.permissions.shell.lines.expansion import (
    Variables,
    expand_word,
    has_wildcard,
    unquote,
)
from yourtool.permissions.shell.lines.plain_commands import MOVES
from yourtool.permissions.shell.lines.syntax import MAX_LENGTH, Node, iter_nodes, parse, text_of
from yourtool.permissions.shell.programs.table import can_run

_MAX_DEPTH = 4
"""Lines in arguments of lines, as in `bash -c "bash -c …"`."""
_MAX_LINES = 500
_CONDITIONAL = (
    "if_statement", "while_statement", "for_statement", "c_style_for_statement", "case_statement",
    "function_definition",
)  # fmt: skip
_NO_WORDS = ("variable_assignment", "file_redirect", "herestring_redirect", "heredoc_redirect")


class Operand(Struct, frozen=True):
    """An argument that names files."""

    text: str
    """As it is written in the line."""
    patterns: tuple[str, ...] | None
    """The patterns after expansion; None: not known before the command runs."""

    @property
    def plain(self) -> str | None:
        """The text of a word without wildcards; None for every other expansion."""
        if self.patterns is None or len(self.patterns) != 1 or has_wildcard(self.patterns[0]):
            return None
        return unquote(self.patterns[0])


class ExpandedCommand(Struct, frozen=True):
    """One command of a line."""

    words: tuple[Operand, ...]
    directory: str | None = ""
    """Where it runs, relative to the directory of the line; None: not known before it runs."""


def iter_expanded(line: str, environment: Mapping[str, str]) -> Iterator[ExpandedCommand]:
    """Yield the commands of a line, also of those in arguments of shells.

    `environment`: that of the shell which runs the line.
    """
    if len(line) <= MAX_LENGTH:
        yield from _iter_line(line, environment, "", 0)
        return
    for each in line.splitlines()[:_MAX_LINES]:  # too long to be parsed as a whole
        yield from _iter_line(each, environment, "", 0)


def _iter_line(
    line: str,
    environment: Mapping[str, str | None] | None,
    directory: str | None,
    depth: int,
) -> Iterator[ExpandedCommand]:
    if depth > _MAX_DEPTH or (root := parse(line)) is None:
        return
    variables = Variables(environment, root)
    waiting: list[Node | str | None] = [root]
    while waiting:
        node = waiting.pop()
        if node is None or isinstance(node, str):
            directory = node  # the end of a scope
            continue
        if is_subshell(node):
            waiting.append(directory)
        elif _may_move(node):
            waiting.append(None)
            if node.type == "list" and "||" in text_of(node):
                directory = None  # nor is it certain for the rest of the list
        waiting += reversed(node.children)
        words = tuple(
            Operand(text_of(each), expand_word(each, variables))
            for each in (node.children if node.type == "command" else ())
            if each.type not in _NO_WORDS and each.is_named
        )
        if not words:
            continue
        if words[0].plain in MOVES:
            directory = _enter(directory, words)
        yield ExpandedCommand(words, directory)
        name = get_name(words[0])
        is_direct = name == "eval" or can_run(name, "shell")  # others can change the environment
        inner = variables.get_inner() if is_direct else None
        for code in _iter_code(words):
            yield from _iter_line(code, inner, directory, depth + 1)


def _may_move(node: Node) -> bool:
    """Whether a part of a line enters a directory under a condition."""
    start = node.start_byte
    if node.type == "list" and (node.parent is None or node.parent.type != "list"):
        first = node
        while first.type == "list":
            first = first.children[0]
        start = first.end_byte
    elif node.type not in _CONDITIONAL:
        return False
    names = (each for each in iter_nodes(node) if each.type == "command_name")
    return any(text_of(each) in MOVES for each in names if each.start_byte >= start)


def _enter(directory: str | None, words: Sequence[Operand]) -> str | None:
    """Return the directory after `cd`."""
    if words[0].plain == "popd" or len(words) > 2 or directory is None:
        return None
    name = words[1].plain if len(words) == 2 else "~"
    if name is None or name.startswith(("-", "~")):
        return None
    return f"{name}/" if name.startswith("/") else f"{directory}{name}/"


def _iter_code(words: Sequence[Operand]) -> Iterator[str]:
    """Yield the arguments that are command lines for a shell."""
    names = map(get_name, words)
    if get_name(words[0]) == "eval" or any(can_run(each, "shell") for each in names):
        yield from (word.plain for word in words[1:] if word.plain and re.search(r"\s", word.plain))


def get_name(word: Operand) -> str:
    """Return the name of the program that a word names; empty if it is not known."""
    return (word.plain or "").rpartition("/")[2]
