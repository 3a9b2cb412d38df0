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
import zlib
from collections.abc import Iterable, Sequence
from contextlib import suppress
from importlib.machinery import ModuleSpec, SourceFileLoader
from pathlib import Path
from types import CodeType, ModuleType
from typing import Any

from yourtool import compiled_functions, compiled_patterns

FILE = Path(__file__).with_suffix(".pyc")
"""The archive is next to its module, under the name that installers remove with the module."""
KEY = (6, sys.implementation.cache_tag, sys.hexversion, sys.flags.optimize)
"""The version of this format, and the interpreter that the code is for."""
MISSING = 16
"""Imported modules that the archive lacks, with which it is written again."""
_LONGEST_WRITE = 60
"""Seconds after which the process that was writing must have been killed."""
_HEADER = 16
"""Bytes before the code in a compiled file: https://peps.python.org/pep-0552/"""
_PREFIX = 12
"""Bytes before the index: its length and its checksum."""
_ERRORS = (OSError, ValueError, EOFError, TypeError, MemoryError, SystemError)
"""Errors of a file that is not there, is damaged or cannot be written."""

_ENDING = f".{sys.implementation.cache_tag}.pyc"
"""The ending of compiled files; with options such as `-O`, none of them is read."""

Entry = tuple[bool, int, int, int, int]
"""Whether the module is a package, time and size of its source, offset and length of its code."""
Index = dict[str, tuple[str, dict[str, Entry]]]
"""By the name of a package: its directory, and the entries of its modules by their last name."""


class CodeArchive:
    """A finder for `sys.meta_path`."""

    def __init__(self, file: Path = FILE) -> None:
        self._file = file
        self._descriptor = -1
        self._index: Index = {}
        self._start = 0
        self.patterns: compiled_patterns.Stored = {}
        self.functions: compiled_functions.Stored = {}
        self._imported_before = frozenset(sys.modules)
        with suppress(*_ERRORS):
            self._open()

    def _open(self) -> None:
        self._descriptor = os.open(self._file, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
        size = int.from_bytes(os.read(self._descriptor, 8), "little")
        checksum = int.from_bytes(os.read(self._descriptor, 4), "little")
        if size >= os.fstat(self._descriptor).st_size:
            return
        packed = os.read(self._descriptor, size)
        if zlib.crc32(packed) != checksum:
            return
        key, *stored = _load(packed)
        if key == KEY:
            self._index, self.patterns, self.functions = stored
            self._start = _PREFIX + size

    def find_spec(
        self, name: str, path: Sequence[str] | None = None, _: ModuleType | None = None
    ) -> ModuleSpec | None:
        """Return how to import a module, or None if the next finder has to search for it."""
        package, _dot, last = name.rpartition(".")
        folder, modules = self._index.get(package, ("", {}))
        if last not in modules or not path or path[0] != folder:
            return None
        is_package, _time, _size, offset, length = entry = modules[last]
        if not _is_current(source := _source(folder, last, is_package), entry):
            return None
        loader = _Loader(name, source, self._descriptor, self._start + offset, length)
        spec = ModuleSpec(name, loader, origin=source, is_package=is_package)
        spec.has_location = True
        spec.cached = _compiled(source)
        if spec.submodule_search_locations is not None:
            spec.submodule_search_locations.append(f"{folder}/{last}")
        return spec

    def update(self) -> None:
        """Write the archive again if many modules were imported that are not in it."""
        if sys.dont_write_bytecode:
            return
        missing = [name for name in _compiled_modules() if name not in self._imported_before]
        if len(missing) < MISSING:
            return
        with suppress(*_ERRORS):
            patterns = compiled_patterns.collect(self.patterns)
            functions = compiled_functions.collect(self.functions)
            sources = [*self._sources(), *map(_module_source, missing)]
            self._replace(_pack(sources, patterns, functions))

    def _sources(self) -> Iterable[tuple[str, str]]:
        """Return the names and sources of the modules in the archive."""
        for package, (folder, modules) in self._index.items():
            for last, (is_package, *_) in modules.items():
                yield f"{package}.{last}", _source(folder, last, is_package)

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


def _source(folder: str, last: str, is_package: bool) -> str:
    return f"{folder}/{last}/__init__.py" if is_package else f"{folder}/{last}.py"


def _compiled(source: str) -> str:
    """Return where the interpreter stores what it compiles from a source."""
    folder, _slash, file = source.rpartition("/")
    return f"{folder}/__pycache__/{file.removesuffix('.py')}{_ENDING}"


def _is_current(source: str, entry: Entry) -> bool:
    """Return whether the source is what the entry was made from."""
    try:
        status = os.stat(source)  # noqa: PTH116 - a `Path` for each module takes longer
    except OSError:
        return False
    return (status.st_mtime_ns, status.st_size) == entry[1:3]


def _compiled_modules() -> Iterable[str]:
    """Return the names of the modules in packages that were imported from compiled files."""
    for name, module in sys.modules.copy().items():
        spec = getattr(module, "__spec__", None)
        if "." not in name or spec is None or type(spec.loader) is not SourceFileLoader:
            continue
        if spec.name == name and spec.origin and spec.cached == _compiled(spec.origin):
            yield name


def _module_source(name: str) -> tuple[str, str]:
    """Return the name of an imported module and its source."""
    return name, str(sys.modules[name].__file__)


def _pack(
    sources: Iterable[tuple[str, str]],
    patterns: compiled_patterns.Stored,
    functions: compiled_functions.Stored,
) -> bytes:
    """Return the content of an archive with the modules that are compiled."""
    index: Index = {}
    codes: list[bytes] = []
    offset = 0
    for name, source in sources:
        try:
            status, compiled = Path(source).stat(), Path(_compiled(source)).read_bytes()
        except OSError:  # removed, or not compiled
            continue
        code, is_package = compiled[_HEADER:], source.endswith("/__init__.py")
        if not _is_header_of(compiled[:_HEADER], status):
            continue
        package, _dot, last = name.rpartition(".")
        folder = source[: -len(_source("", last, is_package))]
        entry = (is_package, status.st_mtime_ns, status.st_size, offset, len(code))
        index.setdefault(package, (folder, {}))[1][last] = entry
        codes.append(code)
        offset += len(code)
    packed = marshal.dumps((KEY, index, patterns, functions))
    prefix = len(packed).to_bytes(8, "little") + zlib.crc32(packed).to_bytes(4, "little")
    return b"".join((prefix, packed, *codes))


def _is_header_of(header: bytes, source: os.stat_result) -> bool:
    """Return whether a compiled file is that of the source, by its header."""
    flags, seconds, size = (
        int.from_bytes(header[at : at + 4], "little") for at in range(4, _HEADER, 4)
    )
    last_bits = 0xFFFFFFFF
    return flags == 0 and (seconds, size) == (
        int(source.st_mtime) & last_bits,
        source.st_size & last_bits,
    )


def install() -> None:
    """Use the archive from now on."""
    archive = CodeArchive()
    sys.meta_path.insert(0, archive)
    compiled_patterns.use(archive.patterns)
    compiled_functions.use(archive.functions)


def remove() -> None:
    """Remove the archive, because what was imported from it does not work."""
    with suppress(OSError):
        FILE.unlink()


def update() -> None:
    """Write the archive again if it lacks many of the imported modules; takes about 0.1 s then."""
    for archive in [each for each in sys.meta_path if isinstance(each, CodeArchive)]:
        archive.update()
