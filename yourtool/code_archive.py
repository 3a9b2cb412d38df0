"""One file with the compiled code of all modules that starts import.

The usual import of a module searches a directory, opens a file, checks and reads it, which is a
sixth of the time of a start. A module is taken from the archive if its source has the size and the
time that the archive names; the interpreter checks its own compiled files in the same way. The
archive has only modules inside packages, so that it never decides which package is imported.
"""

import marshal
import os
import sys
from collections.abc import Iterable, Sequence
from contextlib import suppress
from importlib.machinery import ModuleSpec, SourceFileLoader
from pathlib import Path
from types import CodeType, ModuleType
from typing import Any

from yourtool.files import replace_file

FILE = Path(__file__).with_suffix(".pyc")
"""The archive is next to its module, under the name that installers remove with the module."""
KEY = (1, sys.implementation.cache_tag, sys.hexversion, sys.flags.optimize)
"""The version of this format, and the interpreter that the code is for."""
MISSING = 16
"""With so many imported modules that are not in the archive, it is written again."""
_HEADER = 16
"""Bytes before the code in a compiled file: https://peps.python.org/pep-0552/"""
_ERRORS = (OSError, ValueError, EOFError, TypeError, MemoryError)
"""Errors of a file that is not there, is damaged or cannot be written."""

Entry = tuple[str, str, bool, int, int, int, int]
"""Source, compiled file, whether it is a package, time and size of the source, offset, length."""


class CodeArchive:
    """A finder for `sys.meta_path`."""

    def __init__(self, file: Path = FILE) -> None:
        self._file = file
        self._descriptor = -1
        self._entries: dict[str, Entry] = {}
        self._start = 0
        with suppress(*_ERRORS):
            self._open()

    def _open(self) -> None:
        self._descriptor = os.open(self._file, os.O_RDONLY | os.O_CLOEXEC)
        size = int.from_bytes(os.read(self._descriptor, 8), "little")
        if size >= os.fstat(self._descriptor).st_size:
            return
        key, entries = _load(os.read(self._descriptor, size))
        if key == KEY:
            self._entries, self._start = entries, 8 + size

    def find_spec(
        self, name: str, path: Sequence[str] | None = None, _: ModuleType | None = None
    ) -> ModuleSpec | None:
        """Return how to import a module, or None if the next finder has to search for it."""
        entry = self._entries.get(name)
        if entry is None or not path or not _is_current(entry):
            return None
        source, compiled, is_package, *_rest, offset, length = entry
        folder = source.rpartition("/")[0]
        if path[0] != (folder.rpartition("/")[0] if is_package else folder):
            return None
        loader = _Loader(name, source, self._descriptor, self._start + offset, length)
        spec = ModuleSpec(name, loader, origin=source, is_package=is_package)
        spec.has_location = True
        spec.cached = compiled
        if spec.submodule_search_locations is not None:
            spec.submodule_search_locations.append(folder)
        return spec

    def update(self) -> None:
        """Write the archive again if many imported modules are not in it."""
        if sys.dont_write_bytecode:
            return
        with suppress(*_ERRORS):
            imported = dict(_imported_modules())
            stored = {name: entry for name, entry in self._entries.items() if _is_current(entry)}
            if len(imported.keys() - stored.keys()) >= MISSING:
                self._write(stored | imported)

    def _write(self, entries: dict[str, Entry]) -> None:
        codes: list[bytes] = []
        written: dict[str, Entry] = {}
        offset = 0
        for name, entry in entries.items():
            compiled = Path(entry[1]).read_bytes()
            if _is_compiled_from(compiled[:_HEADER], entry):
                code = compiled[_HEADER:]
                written[name] = (*entry[:5], offset, len(code))
                codes.append(code)
                offset += len(code)
        index = marshal.dumps((KEY, written))
        replace_file(self._file, b"".join((len(index).to_bytes(8, "little"), index, *codes)))


class _Loader(SourceFileLoader):
    """Loads a module of which the archive has the code; what it cannot read, it compiles."""

    def __init__(self, name: str, source: str, descriptor: int, offset: int, length: int) -> None:
        super().__init__(name, source)
        self._place = (descriptor, length, offset)

    def get_code(self, fullname: str) -> CodeType | None:
        """Return the code of the module."""
        with suppress(*_ERRORS):
            code = _load(os.pread(*self._place))
            if isinstance(code, CodeType):
                return code
        return super().get_code(fullname)


def _load(stored: bytes) -> Any:
    return marshal.loads(stored)  # noqa: S302 - who can write it can write the program


def _is_current(entry: Entry) -> bool:
    """Return whether the source is what the entry was made from."""
    try:
        status = os.stat(entry[0])  # noqa: PTH116 - a `Path` for each module takes longer
    except OSError:
        return False
    return (status.st_mtime_ns, status.st_size) == entry[3:5]


def _is_compiled_from(header: bytes, entry: Entry) -> bool:
    """Return whether a compiled file is that of the source, by its header."""
    flags, seconds, size = (
        int.from_bytes(header[at : at + 4], "little") for at in range(4, _HEADER, 4)
    )
    return flags == 0 and (seconds, size) == (entry[3] // 10**9 & 0xFFFFFFFF, entry[4] & 0xFFFFFFFF)


def _imported_modules() -> Iterable[tuple[str, Entry]]:
    """Return the imported modules whose code can be stored, and where it is now."""
    for name, module in sys.modules.copy().items():
        spec = getattr(module, "__spec__", None)
        if spec is None or "." not in name or not isinstance(spec.loader, SourceFileLoader):
            continue
        if spec.name == name and spec.origin and spec.cached:
            with suppress(OSError):
                status = Path(spec.origin).stat()
                is_package = spec.submodule_search_locations is not None
                places = (spec.origin, spec.cached, is_package)
                yield name, (*places, status.st_mtime_ns, status.st_size, 0, 0)
