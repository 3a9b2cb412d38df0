"""YAML files without their secrets.

The module is separate because the parser takes time to import.
"""

import re
from collections.abc import Iterator
from typing import Any, cast

import yaml

from yourtool.tools.sandbox.home.secret_values import has_secret, is_secret_name, mentions_secret

_COMMENT = re.compile(r"(?:^|(?<=[ \t]))#[^\n]*", re.MULTILINE)
_HARMLESS = ("tag:yaml.org,2002:bool", "tag:yaml.org,2002:null")


def clean_yaml(text: str) -> str:
    """Return the content of a YAML file; secrets become empty strings."""
    try:
        scalars = dict(_iter_scalars(text))
        cleaned = _remove(text, scalars)
        list(_iter_scalars(cleaned))
    except (yaml.YAMLError, RecursionError):
        return ""
    return cleaned


def _iter_scalars(text: str) -> Iterator[tuple[tuple[int, int], bool]]:
    """Yield start and end of each scalar, and whether it is a secret."""
    documents: list[Any] = list(cast(Any, yaml).compose_all(text, yaml.SafeLoader))
    waiting = [(node, False) for node in documents if node is not None]
    visited = set[tuple[int, bool]]()  # an alias leads to a node again
    while waiting:
        node, is_secret = waiting.pop()
        if (id(node), is_secret) in visited:
            continue
        visited.add((id(node), is_secret))
        match node:
            case yaml.MappingNode():
                for name, value in node.value:
                    is_named = isinstance(name, yaml.ScalarNode) and is_secret_name(name.value)
                    waiting += [(name, False), (value, is_secret or is_named)]
            case yaml.SequenceNode():
                waiting += [(each, is_secret) for each in node.value]
            case _:  # a scalar
                is_hidden = (is_secret and node.tag not in _HARMLESS) or has_secret(node.value)
                yield (node.start_mark.index, node.end_mark.index), is_hidden


def _remove(text: str, scalars: dict[tuple[int, int], bool]) -> str:
    removed = {place: "''" for place, is_secret in scalars.items() if is_secret}
    for comment in _COMMENT.finditer(text):
        is_inside = any(start <= comment.start() < end for start, end in scalars)
        if not is_inside and mentions_secret(comment[0]):
            removed[comment.span()] = ""
    for (start, end), new in sorted(removed.items(), reverse=True):
        line_end = "\n" if text[start:end].endswith("\n") else ""
        text = text[:start] + new + line_end + text[end:]
    return text
