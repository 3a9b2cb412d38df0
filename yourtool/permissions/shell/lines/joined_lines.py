"""Several lines joined like in bash.

https://www.gnu.org/software/bash/manual/html_node/Shell-Syntax.html
"""

import re

_TOKEN = re.compile(
    r"""(?P<joint>\\\n)|(?P<end>\n)|(?P<blank>[ ])|(?P<operator>[;&|])|(?P<hash>\#)
    |(?P<other>[()<>])|(?P<text>'[^']*'|"(?:[^"\\$`]|\\.|\$[A-Za-z_])*"|\\.|\$[A-Za-z_]\w*
    |[^ '"\\$`\n;&|()<>#]+)""",
    re.DOTALL | re.VERBOSE,
)
"""Without backquotes and `$`, after which bash reads quotes in another way, but with `$name`."""
_OPENING = frozenset({"do", "else", "then"})
"""Words that start a part of a statement where a command is expected, so that none ended there."""


def join_lines(line: str) -> str | None:
    """Return a line whose line ends are all quoted; None if one of its parts is not certain.

    `;` is in place of a line end after a command.
    """
    parts: list[str] = []
    at, is_after_command, begins_word = 0, False, True
    while at < len(line):
        if (token := _TOKEN.match(line, at)) is None:
            return None
        text, at = token[0], token.end()
        match token.lastgroup:
            case "joint":
                continue
            case "hash" if begins_word:
                end = line.find("\n", at)  # a backslash does not continue a comment
                at = len(line) if end < 0 else end
                continue
            case "end":
                text = "; " if is_after_command else " "
                is_after_command = False
            case "operator":
                is_after_command = False
            case "blank":
                pass
            case _:
                is_after_command = is_after_command or text not in _OPENING
        begins_word = token.lastgroup in ("end", "operator", "blank")
        parts.append(text)
    return "".join(parts)
