"""Commands in all parts of a line."""

import re
from collections import defaultdict
from collections.abc import Iterator, Sequence
from itertools import chain, dropwhile
from typing import TypeAlias

from msgspec import Struct

from yourtool.permissions.shell.lines.syntax import Node, iter_nodes, text_of, word_of

Words: TypeAlias = Sequence[str | None]
"""The words of a command; None is a word that the shell expands."""

_COMMANDS = ("command", "declaration_command", "unset_command", "test_command")
_WORDS = frozenset(
    {
        "ansi_c_string", "command_substitution", "concatenation", "expansion", "number",
        "process_substitution", "raw_string", "simple_expansion", "string", "translated_string",
        "word",
    }
)  # fmt: skip
"""Nodes that are one argument of a command."""


class Glob(str):
    """A word that the shell replaces with names of files."""

    __slots__ = ()


class Command(Struct, frozen=True):
    """One command."""

    words: Words
    """Without assignments and redirections."""
    inputs: Sequence[str] = ()
    """Texts of the line that the command reads."""


def iter_commands(root: Node, line: str) -> Iterator[Command | None]:
    """Yield all commands of a tree, and None for a part that cannot be read.

    Words after a redirection belong to the command, but the grammar makes them parts of the
    redirection.
    """
    attached: defaultdict[int, list[Node]] = defaultdict(list)
    for node in iter_nodes(root):
        if node.type == "redirected_statement":
            command = _find_last_command(node)
            if command is not None:
                attached[command.id] += node.children[1:]
            elif words := list(dropwhile(_is_assignment, _read_misplaced(node.children))):
                yield Command(words)
        elif node.type in _COMMANDS:
            yield _build_command(node, attached[node.id])
        elif _is_misread(node, line):
            yield None


def _is_misread(node: Node, line: str) -> bool:
    """Whether the grammar may read a part of the line in another way than bash."""
    match node.type:
        case "heredoc_end":
            return re.search(r"[^\w.-]", text_of(node)) is not None
        case "comment":
            before = line.encode("utf-8", "surrogatepass")[: node.start_byte]
            return before != b"" and before[-1:] not in b" \t\n;&|()"
        case "variable_name":
            return text_of(node).startswith(("BASH_", "ENV", "PS4", "PROMPT_COMMAND"))
        case "word":
            return "`" in text_of(node)
        case "simple_expansion" | "expansion":
            return re.match(r"\$\{?[\s|]", text_of(node)) is not None
        case "$" if node.parent is not None:
            return node.parent.type not in ("simple_expansion", "expansion")
        case "raw_string" | "ansi_c_string" | "`" | "$(":
            return False
        case _:
            is_leaf = not node.child_count or node.type == "heredoc_body"
            return is_leaf and re.search(r"(?<!\\)(?:`|\$\()", text_of(node)) is not None


def iter_quoted_code(root: Node) -> Iterator[str]:
    """Yield quoted texts with substitutions, which some commands evaluate."""
    for node in iter_nodes(root):
        if node.type in ("raw_string", "ansi_c_string", "string_content"):
            text = text_of(node)
            if "`" in text or "$(" in text:
                yield text


def _build_command(node: Node, redirections: Sequence[Node]) -> Command:
    words: list[str | None] = []
    for child in node.children:
        if child.type in ("variable_assignment", "file_redirect", "herestring_redirect"):
            if child.type == "variable_assignment" and node.type == "declaration_command":
                words.append(text_of(child))
        elif not child.is_named:
            words.append(child.type)
        else:
            words.append(_read_word(child))
    words += _read_misplaced(redirections)
    parts = chain.from_iterable([each, *each.children] for each in (*node.children, *redirections))
    return Command(words, tuple(filter(None, map(_read_input, parts))))


def _read_input(part: Node) -> str | None:
    match part.type:
        case "heredoc_body":
            return text_of(part)
        case "herestring_redirect":
            return text_of(part).removeprefix("<<<").strip(" '\"")
        case _:
            return None


def _read_misplaced(redirections: Sequence[Node]) -> Iterator[str | None]:
    for redirection in redirections:
        words = [each for each in redirection.children if each.type in _WORDS]
        if redirection.type == "file_redirect":
            yield from map(_read_word, words[1:])
        elif redirection.type == "heredoc_redirect":
            yield from map(_read_word, words)


def _find_last_command(statement: Node) -> Node | None:
    """Return the command that the redirections of a statement belong to, or None."""
    body = statement
    while body.type in ("redirected_statement", "negated_command", "list", "pipeline"):
        body = body.children[0 if body.type == "redirected_statement" else -1]
    if body.type in ("variable_assignment", "file_redirect", "herestring_redirect"):
        return None
    return body


def _is_assignment(word: str | None) -> bool:
    return word is not None and re.match(r"\w+=", word) is not None


def _read_word(node: Node) -> str | None:
    word = word_of(node)
    if word is None:
        return _read_last_component(node)
    return Glob(word.text) if word.is_glob else word.text


def _read_last_component(word: Node) -> str | None:
    """Return what follows the last `/` of a word whose start is expanded, as in `"$PWD"/run`."""
    text = text_of(word)
    name = text.rpartition("/")[2]
    is_quoted = text.startswith('"') and "/" in text
    return f"/{name}" if is_quoted and re.fullmatch(r"[\w.+-]+", name) else None
