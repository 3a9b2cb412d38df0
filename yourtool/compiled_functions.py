"""The compiled form of the methods that dataclasses and named tuples generate.

For each such class, the standard library writes the source of some methods and compiles it, which
takes ten times as long as to load the compiled form. Their modules have no other use of `exec` and
`eval`.
"""

import collections
import marshal
from collections.abc import Callable
from contextlib import suppress
from importlib import import_module
from types import CodeType, ModuleType
from typing import Any

Stored = dict[str, bytes]
"""By source: the code in the format of `marshal`, which the interpreter that wrote it reads."""

_MOST = 1_000
"""The number of sources that are stored; a start of the interface has about 200."""
_stored: Stored = {}
_compiled_now: dict[str, CodeType] = {}


def use(stored: Stored) -> None:
    """Use the stored code for named tuples from now on, instead of compiling their methods."""
    _stored.clear()
    _stored.update(stored)
    _replace(collections, "eval", _evaluate)


def use_in_dataclasses() -> None:
    """Use the stored code for dataclasses too; it imports `dataclasses`, which is slow."""
    _replace(import_module("dataclasses"), "exec", _execute)


def _replace(module: ModuleType, name: str, function: Callable[..., Any]) -> None:
    """Give a module its own function in place of a built-in one."""
    setattr(module, name, function)


def collect(known: Stored) -> Stored:
    """Return what is stored already, and what was compiled since."""
    new = {source: marshal.dumps(code) for source, code in _compiled_now.copy().items()}
    return {**known, **new}


def _execute(source: str, names: dict[str, Any], results: dict[str, Any] | None = None) -> None:
    exec(_find_code(source, "exec"), names, results)  # noqa: S102 - of the standard library


def _evaluate(source: str, names: dict[str, Any], results: dict[str, Any] | None = None) -> Any:
    return eval(_find_code(source, "eval"), names, results)  # noqa: S307 - of the standard library


def _find_code(source: str, mode: str) -> CodeType:
    with suppress(Exception):  # not stored, or damaged in any way
        code = marshal.loads(_stored[source])  # noqa: S302 - who can write it can write the program
        if isinstance(code, CodeType):
            return code
    code = compile(source, "<string>", mode, dont_inherit=True)
    if len(_stored) + len(_compiled_now) < _MOST:
        _compiled_now[source] = code
    return code
