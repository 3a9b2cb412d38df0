"""The compiled form of the patterns that modules and classes have as constants.

To compile a pattern takes about a hundred times as long as to load what the compiler returned,
which is the argument of the interpreter's own constructor of patterns. That one checks it. Only
constants are stored: other patterns can contain what a user typed, or a secret.
"""

import re
import sys
from array import array
from collections.abc import Iterable
from importlib import import_module
from typing import Any, cast

Stored = dict[tuple[str | bytes, int], tuple[bytes, int, dict[str, int]]]
"""By pattern and flags: the code as 32-bit numbers, the number of groups, the names of groups."""

_compiler: Any = import_module("re._compiler")
_parser: Any = import_module("re._parser")
_sre: Any = import_module("_sre")
_original = _compiler.compile
_MOST = 1_000
"""The number of patterns that are stored; a start of the interface has about 300."""
_METHOD = type(cast(object, re.compile("").match))
_TOKENIZER = "textual.css.tokenizer"
"""Its objects have the patterns that take longest to compile."""


def use(stored: Stored) -> None:
    """Compile no pattern from now on that was stored by the same interpreter."""

    def compile_(pattern: Any, flags: int = 0) -> re.Pattern[Any]:
        try:
            code, groups, names = stored[key := _key(pattern, flags)]
            numbers = memoryview(code).cast("I").tolist()
            by_number: list[str | None] = [None] * (groups + 1)
            for name, number in names.items():
                by_number[number] = name
            return _sre.compile(pattern, key[1], numbers, groups, names, tuple(by_number))
        except Exception:  # noqa: BLE001 - not stored, or damaged in any way
            return _original(pattern, flags)

    _compiler.compile = compile_


def _key(pattern: str | bytes, flags: int) -> tuple[str | bytes, int]:
    """Return the pattern with the flags that the compiled one has, unless it contains some."""
    is_unicode = isinstance(pattern, str) and not flags & re.ASCII
    return pattern, int(flags | re.UNICODE if is_unicode else flags)


def collect(known: Stored) -> Stored:
    """Return what is stored already, and the constants of the modules that were imported since."""
    found = dict(known)
    for pattern in _find_constants():
        if len(found) >= _MOST:
            break
        key = pattern.pattern, pattern.flags
        if key not in found:
            found[key] = _compile(pattern)
    return found


def _find_constants() -> Iterable[re.Pattern[Any]]:
    for name, module in sys.modules.copy().items():
        values = tuple(getattr(module, "__dict__", {}).copy().values())
        yield from _find_patterns(values)
        for value in values:
            if isinstance(value, type) and value.__module__ == name:
                yield from _find_patterns(tuple(vars(value).values()))


def _find_patterns(values: tuple[object, ...]) -> Iterable[re.Pattern[Any]]:
    """Yield the patterns among values, in tuples, in tokenizers, and whose methods are values.

    Not those in lists, dictionaries and other objects: they can be caches of what a user typed.
    """
    for value in values:
        kind = type(value)
        if isinstance(value, re.Pattern):
            pattern = cast("re.Pattern[Any]", value)
            if type(pattern.pattern) in (str, bytes):  # `re.Scanner` has another one
                yield pattern
        elif kind is tuple:
            yield from _find_patterns(cast("tuple[object, ...]", value))
        elif kind is _METHOD:
            yield from _find_patterns((cast(Any, value).__self__,))
        elif kind.__module__ == _TOKENIZER:
            yield from _find_patterns(tuple(getattr(value, "__dict__", {}).values()))


def _compile(pattern: re.Pattern[Any]) -> tuple[bytes, int, dict[str, int]]:
    numbers = _compiler._code(_parser.parse(pattern.pattern, pattern.flags), pattern.flags)
    return array("I", numbers).tobytes(), pattern.groups, dict(pattern.groupindex)
