"""One file with the compiled code of all modules that starts import.

The usual import of a module searches a directory, opens a file, checks and reads it, which is up to
a tenth of the time of a start. A module is taken from the archive if its source has the size and
the time that the archive names; the interpreter checks its compiled files in the same way. The
archive has only modules inside packages, so that it never decides which package is imported.
"""

import marshal
import os
import sys
import time
from collections.abc import Iterable, Sequence
from contextlib import suppress
from importlib.machinery import ModuleSpec, SourceFileLoader
from pathlib import Path
from types import CodeType, ModuleType
from typing import Any

FILE = Path(__file__).with_suffix(".pyc")
"""The archive is next to its module, under the name that installers remove with the module."""
KEY = (1, sys.implementation.cache_tag, sys.hexversion, sys.flags.optimize)
"""The version of this format, and the interpreter that the code is for."""
MISSING = 16
"""Imported modules that the archive lacks, with which it is written again."""
_LONGEST_WRITE = 60
"""Seconds after which the process that was writing must have been killed."""
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
        self._imported_before = frozenset(sys.modules)
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
        """Write the archive again if many modules were imported that are not in it."""
        missing = [name for name in _compiled_modules() if name not in self._imported_before]
        if sys.dont_write_bytecode or len(missing) < MISSING:
            return
        with suppress(*_ERRORS):
            stored = {name: entry for name, entry in self._entries.items() if _is_current(entry)}
            self._write(stored | {name: _entry(sys.modules[name]) for name in missing})

    def _write(self, entries: dict[str, Entry]) -> None:
        codes: list[bytes] = []
        written: dict[str, Entry] = {}
        offset = 0
        for name, entry in entries.items():
            compiled = b""
            with suppress(OSError):
                compiled = Path(entry[1]).read_bytes()
            if _is_compiled_from(compiled[:_HEADER], entry):
                code = compiled[_HEADER:]
                written[name] = (*entry[:5], offset, len(code))
                codes.append(code)
                offset += len(code)
        index = marshal.dumps((KEY, written))
        self._replace(b"".join((len(index).to_bytes(8, "little"), index, *codes)))

    def _replace(self, content: bytes) -> None:
        """Replace the file, unless another process is doing so."""
        part = self._file.with_suffix(".pyo")  # installers remove it too, if this is killed
        try:
            descriptor = os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
        except FileExistsError:
            if time.time() - part.stat().st_mtime > _LONGEST_WRITE:
                part.unlink()
            return
        try:
            with os.fdopen(descriptor, "wb") as file:
                file.write(content)
                file.flush()
                os.fsync(file.fileno())
            part.replace(self._file)
        finally:
            part.unlink(missing_ok=True)


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


def _compiled_modules() -> Iterable[str]:
    """Return the names of the modules in packages that were imported from compiled files."""
    for name, module in sys.modules.copy().items():
        spec = getattr(module, "__spec__", None)
        if "." not in name or spec is None or type(spec.loader) is not SourceFileLoader:
            continue
        if spec.name == name and spec.origin and spec.cached:
            yield name


def _entry(module: ModuleType) -> Entry:
    """Return the entry of an imported module, without the place of its code.

    Raises:
        OSError: its source is gone.
    """
    spec = module.__spec__
    source, compiled = (spec.origin or "", spec.cached or "") if spec is not None else ("", "")
    status = Path(source).stat()
    return source, compiled, hasattr(module, "__path__"), status.st_mtime_ns, status.st_size, 0, 0


def install() -> None:
    """Import modules from the archive from now on."""
    sys.meta_path.insert(0, CodeArchive())


def update() -> None:
    """Write the archive again if it lacks many of the imported modules; takes about 0.1 s then."""
    for archive in [each for each in sys.meta_path if isinstance(each, CodeArchive)]:
        archive.update()
