"""Expansion of variables, braces and `~`.

The result is a pattern in which a backslash makes the next character plain, as in the shell, so
that only names of files remain to be filled in.
"""

import itertools
import re
from collections.abc import Iterator, Mapping, Sequence

from yourtool.permissions.shell.lines.syntax import Node, iter_nodes, text_of, word_of

_PLAIN = re.compile(r"[\w/.@%+=:,-]")
_ESCAPED_IN_DOUBLE_QUOTES = re.compile(r"\\(?:([$`\"\\])|\n)")
_VARIABLE = re.compile(r"(?<!\s)\s*\$(?:\{([A-Za-z_]\w*)\}|([A-Za-z_]\w*))")
_SET_BY_SHELL = re.compile(
    r"BASH\w*|COMP\w*|DIRSTACK|EPOCH\w*|EUID|FUNCNAME|GROUPS|HISTCMD|HOSTNAME|HOSTTYPE|IFS|LINENO"
    r"|MACHTYPE|MAPFILE|OLDPWD|OPT\w+|OSTYPE|PIPESTATUS|PPID|PS\d|PWD|RANDOM|REPLY|SECONDS|SHELL"
    r"|SHELLOPTS|SHLVL|SRANDOM|UID|_"
)
_SETTERS = frozenset(
    {
        ".", "builtin", "command", "coproc", "eval", "exec", "getopts", "let", "mapfile", "printf",
        "read", "readarray", "source", "trap", "wait",
    }
)  # fmt: skip
"""Commands that can set variables to what only running them shows."""
_MAX_WORDS = 200
"""Words that braces become; more are not listed."""


class Variables:
    """The variables that a line can use, as far as they are known before it runs."""

    def __init__(self, environment: Mapping[str, str | None] | None, root: Node) -> None:
        """`environment`: the variables with which the shell starts; None: unknown."""
        self._environment = environment
        self._own: dict[str, str | None] = {}
        self._used = set[str]()
        self._are_known = True
        for node in iter_nodes(root):
            self._learn(node)

    def get(self, name: str) -> str | None:
        """Return the value of a variable, empty if it is unset; None if it is unknown."""
        if not self._are_known or _SET_BY_SHELL.fullmatch(name):
            return None
        if name in self._own:
            return self._own[name]
        return None if self._environment is None else self._environment.get(name, "")

    def get_inner(self) -> Mapping[str, str | None] | None:
        """Return the variables of code that the line runs, without values that the line sets."""
        if self._environment is None or not self._are_known:
            return None
        return {**self._environment, **dict.fromkeys(self._own)}

    def _learn(self, node: Node) -> None:
        match node.type:
            case "variable_assignment":
                name = text_of(node.children[0])
                is_first = name not in self._own and name not in self._used
                is_plain = len(node.children) == 3 and text_of(node.children[1]) == "="
                is_certain = is_first and is_plain and _is_unconditional(node)
                word = word_of(node.children[2]) if is_certain else None
                self._own[name] = None if word is None else word.text
            case "variable_name" if node.parent is not None:
                self._learn_name(text_of(node), node.parent)
            case "command_name" if text_of(node) in _SETTERS:
                self._are_known = False
            case "unset_command":
                self._are_known = False
            case "declaration_command":
                kinds = {each.type for each in node.children if each.is_named}
                self._are_known &= kinds <= {"variable_assignment", "variable_name"}
            case _:
                pass

    def _learn_name(self, name: str, parent: Node) -> None:
        match parent.type:
            case "variable_assignment":
                pass
            case "simple_expansion":
                self._used.add(name)
            case "expansion" if "=" not in text_of(parent):
                self._used.add(name)
            case _:  # such as a loop, or an expression that can assign
                self._own[name] = None


def _is_unconditional(assignment: Node) -> bool:
    """Whether an assignment happens in this shell, before all that follows it in the line."""
    node = assignment
    while (parent := node.parent) is not None:
        is_first = node.prev_sibling is None
        if parent.type not in ("program", "declaration_command") and not (
            parent.type == "list" and is_first
        ):
            return False
        if is_in_background(node):
            return False
        node = parent
    return True


def is_in_background(node: Node) -> bool:
    """Whether a subshell runs this part of a line, because `&` follows it."""
    return node.next_sibling is not None and node.next_sibling.type == "&"


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
