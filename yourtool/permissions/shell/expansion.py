"""What the words of a command become before it runs: variables, braces and `~`.

The result is a pattern in which a backslash makes the next character plain, as in the shell, so
that only names of files remain to be filled in.
"""

import itertools
import re
from collections.abc import Iterator, Mapping, Sequence

from yourtool.permissions.shell.syntax import Node, iter_nodes, text_of, word_of

_PLAIN = re.compile(r"[\w/.@%+=:,-]")
_ESCAPED_IN_DOUBLE_QUOTES = re.compile(r"\\(?:([$`\"\\])|\n)")
_VARIABLE = re.compile(r"(?<!\s)\s*\$(?:\{([A-Za-z_]\w*)\}|([A-Za-z_]\w*))")
_SET_BY_SHELL = re.compile(
    r"BASH\w*|COMP\w*|DIRSTACK|EPOCH\w*|EUID|FUNCNAME|GROUPS|HISTCMD|HOSTNAME|HOSTTYPE|IFS|LINENO"
    r"|MACHTYPE|MAPFILE|OLDPWD|OPT\w+|OSTYPE|PIPESTATUS|PPID|PS\d|PWD|RANDOM|REPLY|SECONDS|SHELL"
    r"|SHELLOPTS|SHLVL|SRANDOM|UID|_"
)
_SETTERS = frozenset({".", "eval", "getopts", "mapfile", "printf", "read", "readarray", "source"})
"""Commands that set variables to what only running them shows."""
_MAX_WORDS = 200
"""Words that braces become; more are not listed."""


class Variables:
    """The variables that a line can use, as far as they are known before it runs."""

    def __init__(self, environment: Mapping[str, str], root: Node) -> None:
        """`environment`: all variables with which the shell starts."""
        self._environment = environment
        self._own: dict[str, str | None] = {}
        self._are_known = True
        for node in iter_nodes(root):
            self._learn(node)

    def get(self, name: str) -> str | None:
        """Return the value of a variable, empty if it is unset; None if it is unknown."""
        if name in self._own:
            return self._own[name]
        if not self._are_known or _SET_BY_SHELL.fullmatch(name):
            return None
        return self._environment.get(name, "")

    def _learn(self, node: Node) -> None:
        match node.type:
            case "variable_assignment":
                name = text_of(node.children[0])
                is_new = name not in self._own and _is_unconditional(node)
                word = word_of(node.children[-1]) if is_new and len(node.children) == 3 else None
                is_plain = word is not None and text_of(node.children[1]) == "="
                self._own[name] = word.text if word is not None and is_plain else None
            case "for_statement" | "c_style_for_statement":
                for each in iter_nodes(node):
                    if each.type == "variable_name":
                        self._own[text_of(each)] = None
            case "command_name" if text_of(node) in _SETTERS:
                self._are_known = False
            case _:
                pass


def _is_unconditional(assignment: Node) -> bool:
    """Whether an assignment happens before all that follows it in the line."""
    parent = assignment.parent
    while parent is not None and parent.type == "list":
        parent = parent.parent
    return parent is None or parent.type in ("program", "declaration_command")


def expand_word(node: Node, variables: Variables) -> tuple[str, ...] | None:
    """Return the patterns after the expansion of a word; None if they depend on the shell."""
    if (pattern := _read(node, variables)) is None:
        return None
    is_nothing = not pattern and node.type in ("simple_expansion", "expansion")
    if is_nothing:
        return ()
    patterns = list[str]()
    for word in _expand_braces(pattern):
        if (expanded := _expand_tilde(word, variables)) is None or len(patterns) == _MAX_WORDS:
            return None
        patterns.append(expanded)
    return tuple(patterns)


def quote(text: str) -> str:
    """Return a pattern that matches only this text."""
    return "".join(each if _PLAIN.fullmatch(each) else f"\\{each}" for each in text)


def unquote(pattern: str) -> str:
    """Return the text of a pattern without wildcards."""
    return re.sub(r"\\(.)", r"\1", pattern, flags=re.DOTALL)


def has_wildcard(pattern: str) -> bool:
    """Whether the shell replaces a pattern by names of files."""
    unescaped = re.sub(r"\\.", "", pattern, flags=re.DOTALL)
    return any(each in unescaped for each in "*?[")


def _read(node: Node, variables: Variables) -> str | None:
    match node.type:
        case "word" | "number" | "[" | "]":
            text = text_of(node)
            return None if "`" in text else text.replace("\\\n", "")
        case "raw_string" | "ansi_c_string":
            word = word_of(node)
            return None if word is None else quote(word.text)
        case "simple_expansion" | "expansion":
            value = _read_variable(node, variables)
            if value is None or re.search(r"\s", value):
                return None  # the shell splits it into words
            return re.sub(r"[\\{}~]", r"\\\g<0>", value)
        case "string":
            return _read_string(node, variables)
        case "concatenation" | "command_name":
            parts = [_read(each, variables) for each in node.children]
            known = [part for part in parts if part is not None]
            return "".join(known) if len(known) == len(parts) else None
        case _:
            return None


def _read_variable(node: Node, variables: Variables) -> str | None:
    found = _VARIABLE.fullmatch(text_of(node))
    return None if found is None else variables.get(found[1] or found[2])


def _read_string(node: Node, variables: Variables) -> str | None:
    """Return a text in double quotes; the grammar omits some blanks of it."""
    source, begin, parts, at = node.text or b"", node.start_byte, list[str](), 1
    for child in node.children:
        if child.type == '"':
            continue
        parts.append(quote(_decode(source[at : child.start_byte - begin])))
        at = child.end_byte - begin
        text = text_of(child)
        if child.type == "string_content":
            parts.append(quote(_ESCAPED_IN_DOUBLE_QUOTES.sub(r"\1", text)))
        elif (value := _read_variable(child, variables)) is not None:
            parts.append(quote(text[: len(text) - len(text.lstrip())] + value))
        else:
            return None
    return "".join((*parts, quote(_decode(source[at:-1]))))


def _decode(source: bytes) -> str:
    return source.decode("utf-8", "surrogatepass")


def _expand_tilde(pattern: str, variables: Variables) -> str | None:
    if not pattern.startswith("~"):
        return pattern
    home = variables.get("HOME")
    rest = pattern[1:]
    return quote(home) + rest if home and rest[:1] in ("", "/") else None


def _expand_braces(pattern: str) -> Iterator[str]:
    """Yield the words of a pattern with lists in braces, at most a few more than the limit."""
    waiting, count = [pattern], 0
    while waiting and count <= _MAX_WORDS:
        word = waiting.pop()
        if (parts := _split_braces(word)) is None:
            count += 1
            yield word
        else:
            waiting += reversed(parts)


def _split_braces(pattern: str) -> Sequence[str] | None:
    """Return a word for each alternative of the first list in braces; None without a list."""
    opened = list[tuple[int, list[int]]]()
    at = 0
    while at < len(pattern):
        match pattern[at]:
            case "\\":
                at += 1
            case "{":
                opened.append((at, [at]))
            case "," if opened:
                opened[-1][1].append(at)
            case "}" if opened:
                start, cuts = opened.pop()
                if len(cuts) > 1:
                    cuts.append(at)
                    ends = itertools.pairwise(cuts)
                    head, tail = pattern[:start], pattern[at + 1 :]
                    return [f"{head}{pattern[left + 1 : right]}{tail}" for left, right in ends]
            case _:
                pass
        at += 1
    return None
