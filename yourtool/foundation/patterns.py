"""Untrusted regular expressions.

They use RE2, whose time is linear in the text (https://github.com/google/re2).
"""

from functools import lru_cache
from importlib import import_module
from typing import Any, Protocol

_MEMORY = 8 * 2**20
"""Bytes that a compiled pattern may take."""


class Pattern(Protocol):
    """A compiled pattern."""

    def search(self, text: str) -> object | None:
        """Return a match anywhere in the text, or None."""
        ...

    def fullmatch(self, text: str) -> object | None:
        """Return a match of the whole text, or None."""
        ...


class Place(Protocol):
    """A match."""

    def start(self) -> int:
        """Return where it starts, in bytes."""
        ...


class LinePattern(Protocol):
    """A compiled pattern of which no match crosses a line."""

    def search(self, text: bytes, start: int) -> Place | None:
        """Return the first match of the text, which is UTF-8 with LF line endings, or None."""
        ...


@lru_cache(maxsize=64)
def compile_pattern(pattern: str) -> Pattern:
    """Return a compiled pattern.

    Raises:
        ValueError: it is not a pattern of RE2, or it takes too much memory.
    """
    try:
        return _compile(pattern)
    except ValueError as error:
        raise ValueError(f"`{pattern}` is not a pattern of RE2: {error}") from error


def compile_line_pattern(pattern: str, *, ignore_case: bool, is_literal: bool) -> LinePattern:
    """Return a compiled pattern for the lines of a text.

    Raises:
        ValueError: as for `compile_pattern`; only the reason.
    """
    source = pattern if is_literal else f"(?m){pattern}"
    settings = {"never_nl": True, "case_sensitive": not ignore_case, "literal": is_literal}
    return _compile(source.encode("utf-8", "replace"), **settings)


def _compile(pattern: str | bytes, **settings: bool) -> Any:
    engine: Any = import_module("re2")  # only settings with patterns, and searches, need it
    options = engine.Options()
    options.max_mem, options.log_errors = _MEMORY, False
    for name, value in settings.items():
        setattr(options, name, value)
    try:
        return engine.compile(pattern, options)
    except engine.error as error:
        detail = error.args[0] if error.args else "unknown"
        text = detail.decode("utf-8", "replace") if isinstance(detail, bytes) else str(detail)
        raise ValueError(text) from error
