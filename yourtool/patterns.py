"""Patterns of others: RE2, whose time is linear in the text (https://github.com/google/re2)."""

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


@lru_cache(maxsize=64)
def compile_pattern(pattern: str) -> Pattern:
    """Return a compiled pattern.

    Raises:
        ValueError: it is not a pattern of RE2, or it takes too much memory.
    """
    engine: Any = import_module("re2")  # only settings with patterns need it
    options = engine.Options()
    options.max_mem, options.log_errors = _MEMORY, False
    try:
        return engine.compile(pattern, options)
    except engine.error as error:
        detail = error.args[0] if error.args else "unknown"
        text = detail.decode("utf-8", "replace") if isinstance(detail, bytes) else str(detail)
        raise ValueError(f"`{pattern}` is not a pattern of RE2: {text}") from error
