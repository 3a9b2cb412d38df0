"""Syntax of command lines."""

import functools
import re
from collections.abc import Iterator, Sequence
from importlib import import_module
from itertools import pairwise
from typing import Any, Protocol

from msgspec import Struct

RESERVED = frozenset(
    {
        "!", "[[", "]]", "case", "coproc", "do", "done", "elif", "else", "esac", "fi", "for",
        "function", "if", "in", "select", "then", "time", "until", "while", "{", "}",
    }
)  # fmt: skip
"""https://www.gnu.org/software/bash/manual/html_node/Reserved-Words.html"""
_NO_NAMES = RESERVED - {"coproc", "function", "time", "}"}
"""Reserved words that are no command. The others start one, or end one after `time {`."""
LITERAL = re.compile(r"[A-Za-z0-9_@%+=:,./^~#!{}\]-]*+(?:\\[ -~][A-Za-z0-9_@%+=:,./^~#!{}\]-]*+)*+")
"""Unquoted text that bash does not expand at this place; `word_of` checks `~`, `{` and `#`."""
_GLOB = re.compile(r"[*?\[]")
_QUOTES = re.compile(r"\\\n|[\\'\"]")
_ESCAPED = re.compile(r"\\(.)", re.DOTALL)
_ESCAPED_IN_DOUBLE_QUOTES = re.compile(r"\\(?:([$`\"\\])|\n)")
_ANSI_ESCAPE = re.compile(
    r"\\(?:x(?P<hex>[0-9a-fA-F]{1,2})|u(?P<short>[0-9a-fA-F]{1,4})|U(?P<long>[0-9a-fA-F]{1,8})"
    r"|(?P<octal>[0-7]{1,3})|(?P<letter>.))",
    re.DOTALL,
)
_ANSI_LETTERS = {
    "a": "\a", "b": "\b", "e": "\x1b", "E": "\x1b", "f": "\f", "n": "\n", "r": "\r", "t": "\t",
    "v": "\v",
}  # fmt: skip
"""https://www.gnu.org/software/bash/manual/html_node/ANSI_002dC-Quoting.html"""

_BEFORE_DIGIT_TEST = re.compile(r"((?:\{|\.\.)[-+0-9]*)([^\x00-\x7f])")
"""Where the grammar looks for a range such as `{1..9}` with `isdigit` of C, which reads beyond its
table for other characters, and crashes the program for those above U+FFFF."""


class Node(Protocol):
    """A node of the syntax tree, of the library `tree_sitter`."""

    id: int
    type: str
    text: bytes | None
    children: "Sequence[Node]"
    parent: "Node | None"
    prev_sibling: "Node | None"
    next_sibling: "Node | None"
    start_byte: int
    end_byte: int
    child_count: int
    has_error: bool
    is_missing: bool
    is_named: bool


MAX_LENGTH = 4_096
"""Characters of a line that is parsed. The parser needs more than linear time for some input, and
0.15 s for the worst line of this size."""


class Word(Struct, frozen=True):
    """One word of a command after quotes are removed."""

    text: str
    is_glob: bool = False
    """Whether the shell replaces it with the names of files."""
    source: str = ""
    """What runs in its place, if it has a variable or is a sign of the shell."""


def may_name(program: str, line: str) -> bool:
    """Whether a line may name a program, also with quotes in the name or expanded from `$`."""
    return program in _QUOTES.sub("", line) or "$" in line


def parse(line: str, *, may_be_misread: bool = False) -> Node | None:
    """Return the syntax tree of a command line; None if it is too long or would be misread.

    The text of its nodes differs from the line if the line `confuses_grammar`.
    """
    if len(line) > MAX_LENGTH:
        return None
    safe = _BEFORE_DIGIT_TEST.sub(_to_ascii, line)
    root = _parser().parse(safe.encode("utf-8", "surrogatepass")).root_node
    return root if may_be_misread or not is_misread(root, line) else None


def is_misread(root: Node, line: str) -> bool:
    r"""Return whether bash reads a line in another way than its tree.

    The grammar reads `A=1 >file\n{ make; }` as the command `{` with the argument `make`, `! ! make`
    as the command `!`, and `{make,test} \n }` as the command `make,test}` in braces.
    """
    source = line.encode("utf-8", "surrogatepass")
    return any(_is_misread(node, source) for node in iter_nodes(root))


def _is_misread(node: Node, source: bytes) -> bool:
    match node.type:
        case "command" | "redirected_statement":
            ends = ((left.end_byte, right.start_byte) for left, right in pairwise(node.children))
            return any(b"\n" in source[start:end].replace(b"\\\n", b"") for start, end in ends)
        case "command_name":
            return text_of(node) in _NO_NAMES
        case "{" if node.parent is not None and node.parent.type == "compound_statement":
            return source[node.end_byte : node.end_byte + 1] not in (b" ", b"\t", b"\n")
        case _:
            return False


def confuses_grammar(line: str) -> bool:
    """Whether the grammar would crash on a character of the line."""
    return _BEFORE_DIGIT_TEST.search(line) is not None


def _to_ascii(match: re.Match[str]) -> str:
    """Replace a character with as many letters as it has bytes."""
    return match[1] + "x" * len(match[2].encode("utf-8", "surrogatepass"))


def iter_nodes(root: Node) -> Iterator[Node]:
    """Yield the nodes of a tree, parents first, however deep it is."""
    waiting = [root]
    while waiting:
        node = waiting.pop()
        yield node
        waiting.extend(reversed(node.children))


def is_gapless(root: Node, line: str) -> bool:
    """Return whether all of a line but blanks belongs to the leaves of its tree."""
    source = line.encode("utf-8", "surrogatepass")
    ends = [(0, 0), *_iter_leaves(root), (len(source), len(source))]
    gaps = (source[left:right] for (_, left), (right, _) in pairwise(ends))
    return not any(gap.replace(b"\\\n", b"").strip(b" \t\r\n") for gap in gaps)


def _iter_leaves(root: Node) -> Iterator[tuple[int, int]]:
    waiting = [root]
    while waiting:
        node = waiting.pop()
        if node.child_count and node.type != "heredoc_body":  # its children are its expansions
            waiting.extend(reversed(node.children))
        else:
            yield node.start_byte, node.end_byte


def text_of(node: Node) -> str:
    """Return the source of a node."""
    return (node.text or b"").decode("utf-8", "surrogatepass")


def word_of(node: Node) -> Word | None:
    """Return the word of a node; None if the shell expands more of it than a glob."""
    is_glob = False
    parts: list[str] = []
    for piece in node.children if node.type in ("concatenation", "command_name") else [node]:
        if (part := _part_of(piece, is_first=not parts)) is None:
            return None
        parts.append(part.text)
        is_glob = is_glob or part.is_glob
    text = text_of(node)
    if "{" in text and any(_is_bare_brace(piece) for piece in node.children):
        return None
    return Word("".join(parts), is_glob)


def _part_of(node: Node, *, is_first: bool) -> Word | None:
    text = text_of(node)
    match node.type:
        case "word" | "number" | "]" | "[":
            return _bare(text, is_first=is_first)
        case "raw_string":
            return Word(text[1:-1])
        case "ansi_c_string":
            value = _ANSI_ESCAPE.sub(_unescape, text[2:-1])
            is_simple = "\0" not in value and r"\x{" not in text and r"\c" not in text
            return Word(value) if is_simple else None
        case "string" if all(each.type in ('"', "string_content") for each in node.children):
            return Word(_ESCAPED_IN_DOUBLE_QUOTES.sub(r"\1", text[1:-1]))
        case "concatenation":
            return word_of(node)
        case _:
            return None


def _bare(text: str, *, is_first: bool) -> Word | None:
    """Return unquoted text; None if the shell expands it."""
    literal = _GLOB.sub("", text)
    if LITERAL.fullmatch(literal) is None or (is_first and text[:1] in ("~", "#")):
        return None
    if re.search(r"(?<!\\)\{", text) and ("," in text or ".." in text):
        return None
    is_glob = _GLOB.search(_ESCAPED.sub("", text)) is not None
    return Word(_ESCAPED.sub(r"\1", text), is_glob)


def _is_bare_brace(node: Node) -> bool:
    return node.type == "word" and "{" in text_of(node)


def _unescape(escape: re.Match[str]) -> str:
    if escape["octal"]:
        return chr(int(escape["octal"], 8) % 256)
    if (code := escape["hex"] or escape["short"] or escape["long"]) is not None:
        return chr(min(int(code, 16), 0x10FFFF))
    return _ANSI_LETTERS.get(escape["letter"], escape["letter"])


@functools.cache
def _parser() -> Any:
    library = import_module("tree_sitter")  # only a session that runs commands needs it
    return library.Parser(library.Language(import_module("tree_sitter_bash").language()))
