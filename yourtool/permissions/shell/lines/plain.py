"""Command lines that are completely understood.

Only they can run without an approval. They are simple commands of literal words, joined by `&&`,
`||`, `;` and `|`, with redirections to and from files that the line names, also in `( )`, `if`,
`for` over listed words and `while read`. Each byte of the line belongs to a known part of the
syntax tree. A document with a quoted delimiter, as after `<<'EOF'`, is text and not part of that
tree. Neither are comments, and line ends are what they mean: `;`, or nothing.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import pairwise

from msgspec.structs import replace

from yourtool.permissions.shell.lines.documents import split_documents
from yourtool.permissions.shell.lines.joined_lines import join_lines
from yourtool.permissions.shell.lines.plain_commands import (
    NO_VARIABLES,
    PLAIN_VARIABLE,
    NotPlainError,
    PlainCommand,
    Redirection,
    Scope,
    may_move,
    quote_plain,
    read_word,
)
from yourtool.permissions.shell.lines.syntax import (
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
        "&>>", ">&", "subshell", "(", ")", "if_statement", "if", "then", "elif_clause", "elif",
        "else_clause", "else", "fi", "for_statement", "for", "in", "while_statement", "while",
        "do_group", "do", "done", "simple_expansion", "$", "test_command", "[", "]", "[[", "]]",
        "unary_expression", "binary_expression", "test_operator", "==", "!=",
    }
)  # fmt: skip
_NO_FILE = re.compile(r"(?:[12]?>>?|&>>?|<) ?/dev/null|2?>&[12]|1>&2")
_OPERATOR = re.compile(r"[12]?>>?|&>>?|0?<")
_BARE = re.compile(r"[A-Za-z0-9_@%+=:,./^~#*?\[\]\\;() -]*")

_SETTERS = frozenset({".", "eval", "getopts", "let", "mapfile", "read", "readarray", "source"})
"""Commands that can change the variable of a loop."""
_PRINTERS = {"echo": 1, "printf": 2}
"""Commands whose arguments from here on, or one later after `--`, can be any text."""
_SIGNS = frozenset({"[", "[[", "]", "]]", "==", "!=", "test_operator"})
_MAX_REPEATED = 50
"""Commands that are checked for one loop."""
_COMPOUND = frozenset({"for_statement", "if_statement", "subshell", "while_statement"})


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
    except NotPlainError:
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
        words = [replace(word, text=texts.get(word.text, word.text)) for word in command.words]
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


def _is_plain(node: Node) -> bool:
    if node.parent is not None and node.parent.type == "string":
        return node.type in ('"', "string_content", "simple_expansion")
    if node.type == "word" and not _BARE.fullmatch(text_of(node)):
        return False
    return node.type in _STRUCTURE and not node.is_missing


def _iter_commands(
    node: Node, operator: str = "", scope: Scope = NO_VARIABLES
) -> Iterator[PlainCommand]:
    """Yield the commands below a node; `operator` follows the last one."""
    match node.type:
        case "program" | "list" | "pipeline":
            yield from _iter_sequence(node.children, operator, scope, node.type)
        case "redirected_statement":
            yield from _iter_redirected(node, operator, scope)
        case "command" | "test_command":
            yield _build_command(node, operator, scope)
        case "subshell":
            inner = _iter_sequence(node.children[1:-1], "", scope)
            yield from _enclose(inner, ("(",), (")",), operator)
        case "if_statement":
            yield from _enclose(_iter_branches(node, scope), (), ("fi",), operator)
        case "for_statement" | "while_statement":
            yield from _iter_loop(node, operator, scope)
        case _:
            raise NotPlainError


def _iter_sequence(
    nodes: Sequence[Node], operator: str, scope: Scope, kind: str = ""
) -> Iterator[PlainCommand]:
    """Yield the commands of a list, or of a pipeline."""
    for at, child in enumerate(nodes):
        if child.type in ("&&", "||", "|", ";"):
            continue
        following = nodes[at + 1].type if at + 1 < len(nodes) else operator
        is_last = at + 2 >= len(nodes)  # a `;` may follow
        after = operator or (following if kind == "" else "") if is_last else following
        for command in _iter_commands(child, after, scope):
            if command.timing and at and kind == "pipeline":
                raise NotPlainError  # there, it is a program
            yield command


def _iter_redirected(node: Node, operator: str, scope: Scope) -> Iterator[PlainCommand]:
    body, *children = node.children
    redirections = tuple(map(_build_redirection, children))
    *before, last = _iter_commands(body, operator, scope)
    if body.type not in _COMPOUND:
        if last.after or last.is_repeated:
            raise NotPlainError
        yield from before  # in `a | b > c`, the redirection belongs to the last command
        yield replace(last, redirections=(*last.redirections, *redirections))
        return
    commands = [*before, last]
    at = _find_end(commands)
    end = commands[at]
    commands[at] = replace(end, after=(*end.after, *map(str, redirections)))
    yield from commands
    for each in redirections:
        if each.path and not each.is_input:
            raise NotPlainError
        if each.path:
            yield PlainCommand((Word("cat"),), (), (each,), end.operator, is_repeated=True)


def _find_end(commands: Sequence[PlainCommand]) -> int:
    """Return the index of the last command that runs itself."""
    return max(at for at, each in enumerate(commands) if not each.is_repeated)


def _enclose(
    commands: Iterable[PlainCommand],
    before: tuple[str, ...],
    after: tuple[str, ...],
    operator: str,
) -> Iterator[PlainCommand]:
    """Yield commands between words of the shell; `operator` follows these."""
    first, *others = commands
    inner = [replace(first, before=(*before, *first.before)), *others]
    at = _find_end(inner)
    last = inner[at]
    end = (";", *after) if after != (")",) else after
    inner[at] = replace(last, after=(*last.after, *end), operator=operator)
    yield from inner


def _iter_branches(node: Node, scope: Scope) -> Iterator[PlainCommand]:
    """Yield the commands of an `if` without its end."""
    words: list[str] = []
    part: list[Node] = []
    waiting = [*node.children]
    while waiting:
        child = waiting.pop(0)
        if child.type in ("elif_clause", "else_clause"):
            waiting = [*child.children, *waiting]
        elif child.type in ("if", "then", "elif", "else", "fi"):
            yield from _start_part(part, tuple(words), scope)
            words, part = [child.type], []
        else:
            part.append(child)


def _start_part(
    nodes: Sequence[Node], words: tuple[str, ...], scope: Scope
) -> Iterator[PlainCommand]:
    """Yield the commands of a part of a statement, which start with words of the shell."""
    if not words:
        return
    first, *others = _stay(_iter_sequence(nodes, ";", scope))
    yield replace(first, before=(*words, *first.before))
    yield from others


def _stay(commands: Iterable[PlainCommand]) -> Iterator[PlainCommand]:
    """Yield commands that leave the directory of the shell as it is."""
    depth = 0
    for command in commands:
        depth += command.before.count("(")
        if not depth and may_move(command.texts):
            raise NotPlainError
        depth -= command.after.count(")")
        yield command


def _read_condition(node: Node) -> PlainCommand:
    """Return the command `read NAME` of a loop, perhaps with `-r` and after `IFS=`."""
    command, *others = _iter_commands(node, ";")
    is_split = command.variables == (("IFS", ""),)
    is_known = command.texts[:-1] in (("read",), ("read", "-r")) and not command.redirections
    if others or not is_known or not (is_split or not command.variables):
        raise NotPlainError
    return replace(command, variables=(), before=("while", *(("IFS=",) if is_split else ())))


def _is_condition(command: PlainCommand) -> bool:
    return command.before[-1:] == ("while",) or command.before[-2:] == ("while", "IFS=")


def _iter_loop(node: Node, operator: str, scope: Scope) -> Iterator[PlainCommand]:
    """Yield the commands of a loop, once for each word that its variable has."""
    *head, group = (each for each in node.children if each.type != ";")
    if group.type != "do_group":
        raise NotPlainError
    values: Sequence[Word | None]
    start: list[PlainCommand] = []
    if node.type == "for_statement":
        name = text_of(head[1])
        words = [read_word(each, scope) for each in head[3:]]
        opening = ("for", name, "in", quote_plain(words), ";", "do")
        values = words
    else:
        condition = _read_condition(head[1])
        start = [condition]
        name, opening, values = condition.texts[-1], ("do",), [None]
    if PLAIN_VARIABLE.fullmatch(name) is None or name in scope or not values:
        raise NotPlainError
    body: list[PlainCommand] = []
    for value in values:
        inner = {**scope, name: value}
        found = [*_stay(_iter_sequence(group.children[1:-1], "", inner))]
        if any(each.texts[0] in _SETTERS and not _is_condition(each) for each in found):
            raise NotPlainError
        body += (replace(each, is_repeated=True) for each in found) if body else found
        if len(body) > _MAX_REPEATED:
            raise NotPlainError
    yield from start
    yield from _enclose(body, opening, ("done",), operator)


def _build_redirection(node: Node) -> Redirection:
    text = re.sub(r"\s+", " ", text_of(node))
    if _NO_FILE.fullmatch(text):
        return Redirection(text)
    *operators, target = node.children
    operator = "".join(map(text_of, operators))
    word = word_of(target)
    if not _OPERATOR.fullmatch(operator) or word is None or word.is_glob or not word.text:
        raise NotPlainError
    return Redirection(operator, word.text)


def _build_command(node: Node, operator: str, scope: Scope) -> PlainCommand:
    words: list[Word] = []
    variables: list[tuple[str, str]] = []
    children = tuple(_iter_arguments(node))
    if any(first.end_byte == second.start_byte for first, second in pairwise(children)):
        raise NotPlainError  # the grammar splits `]\:`, which is one word of the shell
    timing = _find_timing(node)
    for child in children[len(timing) :]:
        if child.type == "variable_assignment":
            name, _, *value = child.children
            word = word_of(value[0]) if len(value) == 1 else Word("") if not value else None
            if word is None or word.is_glob:
                raise NotPlainError
            variables.append((text_of(name), word.text))
        elif child.type in _SIGNS:
            words.append(Word(text_of(child), source=text_of(child)))
        elif words and words[0].text in _PRINTERS:
            is_first = len(words) <= _PRINTERS[words[0].text] and words[-1].text == "--"
            is_text = len(words) >= _PRINTERS[words[0].text] and not is_first
            words.append(read_word(child, scope, is_text=is_text))
        else:
            words.append(read_word(child, scope))
    first = words[0].text if words else ""
    if not words or words[0].is_glob or words[0].source not in ("", "[", "[["):
        raise NotPlainError
    if not (_is_program_name(first) or node.type == "test_command"):
        raise NotPlainError
    if timing and first.startswith("-"):
        raise NotPlainError  # `time --` has another form
    return PlainCommand(tuple(words), tuple(variables), (), operator, timing)


def _iter_arguments(node: Node) -> Iterator[Node]:
    """Yield the parts of a command; those of a test without its tree."""
    for child in node.children:
        if child.type in ("unary_expression", "binary_expression"):
            yield from _iter_arguments(child)
        else:
            yield child


def _find_timing(node: Node) -> tuple[str, ...]:
    """Return the reserved word `time` at the start of a command, with its option."""
    words = tuple(map(text_of, node.children[:2]))
    if words[:1] != ("time",):
        return ()
    return words if words[1:] == ("-p",) else words[:1]


def _is_program_name(name: str) -> bool:
    """Whether a first word means the same without its quotes."""
    return name.isascii() and "=" not in name and name not in RESERVED
