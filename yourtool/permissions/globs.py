"""Path globs of permission rules.

Matching simulates the NFA without backtracking, so its cost is at most the length of the path times
the length of the pattern (https://swtch.com/~rsc/regexp/regexp1.html).
"""

import re
from collections.abc import Iterable, Iterator

_WILDCARDS = re.compile(r"(\*\*/|\*\*|\*|\?)")
_DIRECTORIES = "**/"
"""Any number of directories: an optional `**/`, whose parts follow as separate tokens."""
_END = ""


def matches_glob(glob: str, path: str) -> bool:
    """Whether the glob matches the complete path."""
    tokens = [*_tokens(glob.removeprefix("./")), _END]
    states = _closure(tokens, [0])
    for char in path:
        states = _closure(tokens, _step(tokens, states, char))
    return len(tokens) - 1 in states


def _tokens(glob: str) -> Iterator[str]:
    for part in _WILDCARDS.split(glob):
        if part == _DIRECTORIES:
            yield from (_DIRECTORIES, "**", "/")
        elif part in ("*", "**"):
            yield part
        else:
            yield from part


def _closure(tokens: list[str], states: Iterable[int]) -> set[int]:
    """Return the states and all states reachable without reading a character."""
    reached = set[int]()
    pending = list(states)
    while pending:
        if (at := pending.pop()) in reached:
            continue
        reached.add(at)
        if tokens[at] in ("*", "**"):
            pending.append(at + 1)
        elif tokens[at] == _DIRECTORIES:
            pending += (at + 1, at + 3)
    return reached


def _step(tokens: list[str], states: set[int], char: str) -> Iterator[int]:
    within = char != "/"
    for at in states:
        match tokens[at]:
            case "**":
                yield at
            case "*" if within:
                yield at
            case "?" if within:
                yield at + 1
            case literal if literal == char:
                yield at + 1
            case _:
                pass
