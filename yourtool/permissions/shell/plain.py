"""Command lines that are completely understood, the only ones that can run without an approval.

They are simple commands of literal words, joined by `&&`, `||`, `;` and `|`, with redirections to
and from files that the line names. Each byte of the line belongs to a known part of the syntax
tree. A document with a quoted delimiter, as after `<<'EOF'`, is text and not part of that tree.
Neither are comments, and line ends are what they mean: `;`, or nothing.
"""

import re
import shlex
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise

from msgspec import Struct
from msgspec.structs import replace

from yourtool.permissions.shell.documents import split_documents
from yourtool.permissions.shell.joined_lines import join_lines
from yourtool.permissions.shell.syntax import (
    RESERVED,
    Node,
    Word,
    confuses_grammar,
    is_gapless,
    iter_nodes,
    parse,
    text_of,
    word_of,
)

_STRUCTURE = frozenset(
    {
        "program", "list", "pipeline", "command", "command_name", "redirected_statement",
        "file_redirect", "file_descriptor", "variable_assignment", "variable_name", "concatenation",
        "word", "number", "string", "raw_string", "&&", "||", "|", ";", "=", ">", ">>", "<", "&>",
        "&>>", ">&",
    }
)  # fmt: skip
_NO_FILE = re.compile(r"(?:[12]?>>?|&>>?|<) ?/dev/null|2?>&[12]|1>&2")
_OPERATOR = re.compile(r"[12]?>>?|&>>?|0?<")
_GLOB = re.compile(r"[A-Za-z0-9_@%+=:,./^*?\[\]-]*")
_OPTION_WITH_PATTERN = re.compile(r"--[a-z-]+=[\w.*?\[\]-]*")
"""Such as `--include=*.py`: the pattern is meant for the program."""
_BARE = re.compile(r"[A-Za-z0-9_@%+=:,./^~#*?\[\]\\;() -]*")


_LINE_END = "\n"


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

    @property
    def texts(self) -> tuple[str, ...]:
        """The words without quotes."""
        return tuple(word.text for word in self.words)

    @property
    def files(self) -> tuple[Redirection, ...]:
        """The redirections to and from files."""
        return tuple(each for each in self.redirections if each.path)

    @property
    def reads_document(self) -> bool:
        """Whether the line contains the standard input of the command."""
        return any(each.text is not None for each in self.redirections)


def parse_plain(source: str) -> tuple[PlainCommand, ...]:
    """Return the commands of a line; empty if it is not completely understood."""
    if (split := split_documents(source.strip(" \n"))) is None:
        return ()
    marked, documents, texts = split
    if not marked.replace("\n", "").isprintable() or (line := join_lines(marked)) is None:
        return ()
    if confuses_grammar(line):
        return ()
    root = parse(line)
    if root is None or root.has_error or not all(_is_plain(node) for node in iter_nodes(root)):
        return ()
    if not is_gapless(root, line) or not _are_quoted(root, line):
        return ()
    try:
        commands = tuple(_iter_commands(root))
    except _NotPlainError:
        return ()
    return _fill_in(commands, documents, texts)


def _are_quoted(root: Node, line: str) -> bool:
    """Whether each line end is part of a quoted text, and separates no commands."""
    if "\n" not in line:
        return True
    quoted = (text_of(node) for node in iter_nodes(root) if node.type in ("string", "raw_string"))
    return line.count("\n") == sum(text.count("\n") for text in quoted)


def _fill_in(
    commands: Sequence[PlainCommand], documents: Mapping[str, str], texts: Mapping[str, str]
) -> tuple[PlainCommand, ...]:
    """Return commands with documents in place of their marks; empty if a mark is elsewhere."""
    used: list[str] = []
    filled: list[PlainCommand] = []
    for command in commands:
        if command.words[0].text in texts:
            return ()
        words = [Word(texts.get(word.text, word.text), word.is_glob) for word in command.words]
        redirections = tuple(
            Redirection("<<<", text=documents[each.path])
            if each.operator == "<" and each.path in documents
            else each
            for each in command.redirections
        )
        used += (word.text for word in command.words if word.text in texts)
        used += (each.path for each in command.redirections if each.path in documents)
        filled.append(replace(command, words=tuple(words), redirections=redirections))
    return tuple(filled) if sorted(used) == sorted((*documents, *texts)) else ()


def quote_plain(words: Sequence[Word]) -> str:
    """Return words as the shell reads them; globs stay globs."""
    return " ".join(word.text if word.is_glob else shlex.quote(word.text) for word in words)


class _NotPlainError(Exception):
    pass


def _is_plain(node: Node) -> bool:
    if node.parent is not None and node.parent.type == "string":
        return node.type in ('"', "string_content")
    if node.type == "word" and not _BARE.fullmatch(text_of(node)):
        return False
    return node.type in _STRUCTURE and not node.is_missing


def _iter_commands(node: Node, operator: str = "") -> Iterator[PlainCommand]:
    """Yield the commands below a node; `operator` follows the last one."""
    match node.type:
        case "program" | "list" | "pipeline":
            children = list(node.children)
            for at, child in enumerate(children):
                if child.type in ("&&", "||", "|", ";"):
                    continue
                is_last = at + 2 >= len(children)  # a `;` may follow
                after = operator if is_last else children[at + 1].type
                for command in _iter_commands(child, after):
                    if command.timing and at and node.type == "pipeline":
                        raise _NotPlainError  # there, it is a program
                    yield command
        case "redirected_statement":
            body, *children = node.children
            redirections = tuple(map(_build_redirection, children))
            *before, last = _iter_commands(body, operator)
            yield from before  # in `a | b > c`, the redirection belongs to the last command
            yield replace(last, redirections=(*last.redirections, *redirections))
        case "command":
            yield _build_command(node, operator)
        case _:
            raise _NotPlainError


def _build_redirection(node: Node) -> Redirection:
    text = re.sub(r"\s+", " ", text_of(node))
    if _NO_FILE.fullmatch(text):
        return Redirection(text)
    *operators, target = node.children
    operator = "".join(map(text_of, operators))
    word = word_of(target)
    if not _OPERATOR.fullmatch(operator) or word is None or word.is_glob or not word.text:
        raise _NotPlainError
    return Redirection(operator, word.text)


def _build_command(node: Node, operator: str) -> PlainCommand:
    words: list[Word] = []
    variables: list[tuple[str, str]] = []
    if any(first.end_byte == second.start_byte for first, second in pairwise(node.children)):
        raise _NotPlainError  # the grammar splits `]\:`, which is one word of the shell
    timing = _find_timing(node)
    for child in node.children[len(timing) :]:
        if child.type == "variable_assignment":
            name, _, *value = child.children
            word = word_of(value[0]) if len(value) == 1 else Word("") if not value else None
            if word is None or word.is_glob:
                raise _NotPlainError
            variables.append((text_of(name), word.text))
        elif (word := word_of(child)) is not None and _is_literal_or_local(word, child):
            words.append(word)
        elif word is not None and _OPTION_WITH_PATTERN.fullmatch(text_of(child)):
            words.append(Word(word.text))
        else:
            raise _NotPlainError
    if not words or words[0].is_glob or not _is_program_name(words[0].text):
        raise _NotPlainError
    if timing and words[0].text.startswith("-"):
        raise _NotPlainError  # `time --` has another form
    return PlainCommand(tuple(words), tuple(variables), (), operator, timing)


def _find_timing(node: Node) -> tuple[str, ...]:
    """Return the reserved word `time` at the start of a command, with its option."""
    words = tuple(map(text_of, node.children[:2]))
    if words[:1] != ("time",):
        return ()
    return words if words[1:] == ("-p",) else words[:1]


def _is_program_name(name: str) -> bool:
    """Whether a first word means the same without its quotes."""
    return name.isascii() and "=" not in name and name not in RESERVED


def _is_literal_or_local(word: Word, node: Node) -> bool:
    """Whether a glob starts with a letter, so that no file name becomes an option.

    A glob has no quoted part, so that its text is its source.
    """
    is_local = word.text[:1].isalnum() and ".." not in word.text
    return not word.is_glob or (is_local and _GLOB.fullmatch(text_of(node)) is not None)
