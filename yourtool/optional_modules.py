"""Modules that libraries import if they are there, and that an idle session does not need.

`asyncio` and `hashlib` work without OpenSSL, as in an interpreter that was built without it, and
`TextArea` without tree-sitter. OpenSSL alone takes 4 MiB, half of them its own tables, and a
fortieth of the time of a start. It is imported for the first server with HTTPS, and the modules of
the standard library get it then. Textual's command palette, which is off, takes another twentieth.
Without Textual, nothing needs `typing_extensions`, and nothing writes archives.
"""

import sys
from collections.abc import Generator, Iterable
from contextlib import contextmanager
from importlib import import_module, reload
from importlib.util import find_spec
from types import ModuleType

_OWN_SHA256 = ("_sha2", "_sha256")
"""The interpreter's own SHA-256, of Python 3.12 and before; a distribution can omit it."""

_PALETTE = "textual.command"
_PALETTE_CLASSES = (
    *("CommandListItem", "CommandPalette", "DiscoveryHit", "Hit", "Hits", "Provider"),
    "SimpleProvider",
)
"""What Textual imports from there at its start."""


@contextmanager
def without_optional_modules() -> Generator[None, None, None]:
    """Import modules as if these were not there; only one thread may import meanwhile."""
    optional = ["ssl", "tree_sitter"]
    if any(map(find_spec, _OWN_SHA256)):
        optional.append("_hashlib")
    with _hidden(*optional), _without_palette():
        yield


@contextmanager
def _without_palette() -> Generator[None, None, None]:
    if _PALETTE in sys.modules:
        yield
        return
    sys.modules[_PALETTE] = _build_stand_in(_PALETTE, _PALETTE_CLASSES)
    try:
        yield
    finally:
        del sys.modules[_PALETTE]


def import_libraries() -> None:
    """Import libraries that every command needs without modules that only make them larger."""
    with _hidden("typing_extensions"):
        import_module("msgspec")
    with _hidden("bz2", "lzma"):  # for archives
        import_module("platformdirs")


@contextmanager
def _hidden(*names: str) -> Generator[None, None, None]:
    """Let modules that were not imported yet look as if they were not there."""
    modules: dict[str, ModuleType | None] = sys.modules  # pyright: ignore[reportAssignmentType] - https://docs.python.org/3/reference/import.html#the-module-cache
    hidden = [name for name in names if name not in modules]
    modules.update(dict.fromkeys(hidden))
    try:
        yield
    finally:
        for name in hidden:
            del modules[name]


def _build_stand_in(name: str, classes: Iterable[str]) -> ModuleType:
    """Return a module with empty classes."""
    module = ModuleType(name)
    for each in classes:
        setattr(module, each, type(each, (), {}))
    return module


def use_openssl() -> None:
    """Give OpenSSL to the modules of the standard library that were imported without it."""
    users = [import_module(f"asyncio.{name}") for name in ("base_events", "selector_events")]
    if all(user.ssl is not None for user in users):
        return
    reload(import_module("hashlib"))  # its own functions are several times as slow
    reload(import_module("asyncio.sslproto"))
    for user in users:
        setattr(user, "ssl", import_module("ssl"))  # noqa: B010 - a name of the module
