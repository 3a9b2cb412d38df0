"""Variable values from the line itself.

Where a line assigns several, each of them counts everywhere.
"""

import re
from collections.abc import Iterator, Mapping, Sequence

from yourtool.permissions.shell.lines.syntax import Node, iter_nodes, text_of, word_of

_VARIABLE = re.compile(r"\$(?:\{(\w+)\}|(\w+))")
_MAX_VALUES = 20

Values = Mapping[str, Sequence[str]]
"""The values of each variable, without quotes."""


def read_values(root: Node) -> Values:
    """Return the values that are written in a line."""
    found: dict[str, list[str]] = {}
    for node in iter_nodes(root):
        match node.type, node.children:
            case "variable_assignment", [name, _, value]:
                _add(found, name, [value])
            case "for_statement", [_, name, _, *words]:
                _add(found, name, words)
            case _:
                pass
    return found


def _add(found: dict[str, list[str]], name: Node, nodes: Sequence[Node]) -> None:
    words = (word_of(each) for each in nodes if each.is_named and each.type != "do_group")
    texts = [word.text for word in words if word is not None and word.text]
    if texts:
        found.setdefault(text_of(name), []).extend(texts[:_MAX_VALUES])


def iter_filled(words: Sequence[str], values: Values) -> Iterator[Sequence[str]]:
    """Yield the words of a command with the values, so that each value is in one of them."""
    names = {name for word in words for pair in _VARIABLE.findall(word) for name in pair}
    lists = {name: values[name][:_MAX_VALUES] for name in names & values.keys()}

    def fill(found: re.Match[str], at: int) -> str:
        each = lists.get(found[1] or found[2])
        return found[0] if each is None else each[at % len(each)]

    for at in range(max(map(len, lists.values()), default=1)):
        yield [_VARIABLE.sub(lambda found, at=at: fill(found, at), word) for word in words]
