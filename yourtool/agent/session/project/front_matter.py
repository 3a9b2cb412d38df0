"""YAML front matter of Markdown files.

Every scalar is text, so that nothing is constructed from tags, dates or numbers. Aliases are
rejected, because a few of them can stand for gigabytes.
"""

import re
from collections.abc import Mapping
from functools import lru_cache
from typing import Any, cast

import yaml

MAX_CHARACTERS = 16_384
"""Longer front matter is invalid."""
_FRONT = re.compile(r"\A---[ \t]*\r?\n(.*?)^---[ \t]*(?:\r?\n|\Z)", re.DOTALL | re.MULTILINE)


class FrontMatterError(ValueError):
    """The front matter is invalid; the message is a clause without the name of the file."""


class _Loader(yaml.BaseLoader):
    def compose_node(self, parent: Any, index: Any) -> Any:
        if self.check_event(yaml.AliasEvent):
            raise FrontMatterError("its front matter has an alias (`*name`)")
        return cast(Any, super()).compose_node(parent, index)


@lru_cache(256)
def split_front_matter(text: str) -> tuple[Mapping[str, Any] | None, str]:
    """Return the front matter, None without one, and the text after it.

    Raises:
        FrontMatterError: it is not a mapping, or too long.
    """
    if (match := _FRONT.match(text)) is None:
        return None, text
    if len(match[1]) > MAX_CHARACTERS:
        raise FrontMatterError(f"its front matter is longer than {MAX_CHARACTERS:,} characters")
    try:
        found: object = yaml.load(match[1], _Loader)  # noqa: S506 - it constructs only text
    except (yaml.YAMLError, RecursionError, ValueError) as error:
        if isinstance(error, FrontMatterError):
            raise
        problem = getattr(error, "problem", None) or "it is nested too deeply"
        raise FrontMatterError(f"its front matter is not YAML: {problem}") from error
    if not isinstance(found, dict):
        raise FrontMatterError("its front matter is not a mapping")
    fields = cast("dict[object, Any]", found)
    return {str(name): value for name, value in fields.items()}, text[match.end() :]
