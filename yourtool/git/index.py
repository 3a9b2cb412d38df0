"""The index of a git repository: https://git-scm.com/docs/index-format."""

import struct
from collections.abc import Iterator, Sequence

from msgspec import Struct

MAX_INDEX_BYTES = 2**26
"""Size of the index of half a million files."""
_HEADER = struct.Struct(">4sLL")
_ENTRY = struct.Struct(">10L20sH")
_EXTENSION = struct.Struct(">4sL")
_HASH_BYTES = 20
_MAX_NAMES_BYTES = 2**28
"""Size of all names; each can repeat almost all of a longer one before it."""
_EXTENDED, _STAGE, _NAME_LENGTH = 0x4000, 0x3000, 0x0FFF


class Entry(Struct, frozen=True, gc=False):
    """An entry of an index."""

    name: bytes
    """Of the path relative to the top of the work tree."""
    mode: int
    object_id: str
    ctime_ns: int
    mtime_ns: int
    inode: int
    """The lower 32 bits, as of the size."""
    size: int
    is_conflict: bool


class Index(Struct, frozen=True):
    """The content of an index."""

    entries: Sequence[Entry]
    is_whole: bool
    """False: a part is in another file, or some entries are directories (sparse index)."""


def parse_index(data: bytes) -> Index:
    """Parse an index with hashes of 20 bytes, in time proportional to its size.

    Raises:
        ValueError: it is damaged, or has another version.
    """
    try:
        signature, version, count = _HEADER.unpack_from(data)
        if signature != b"DIRC" or version not in (2, 3, 4):
            raise ValueError("another form of the index")
        reader = _Reader(data, has_short_names=version == 4)
        entries = [reader.read() for _ in range(count)]
        return Index(entries, not any(kind[:1].islower() for kind in reader.iter_extensions()))
    except (struct.error, IndexError) as error:
        raise ValueError("a damaged index") from error


class _Reader:
    def __init__(self, data: bytes, *, has_short_names: bool) -> None:
        """`has_short_names`: names lack what they share with the one before."""
        self._data = data
        self._has_short_names = has_short_names
        self._at = _HEADER.size
        self._name = b""
        self._room = _MAX_NAMES_BYTES

    def read(self) -> Entry:
        """Read the next entry."""
        fields = _ENTRY.unpack_from(self._data, self._at)
        begin, flags = self._at, fields[11]
        self._at += _ENTRY.size + (2 if flags & _EXTENDED else 0)
        if self._has_short_names:
            self._read_short_name()
        else:
            self._read_name(begin, flags & _NAME_LENGTH)
        return Entry(
            name=self._name,
            mode=fields[6],
            object_id=fields[10].hex(),
            ctime_ns=fields[0] * 10**9 + fields[1],
            mtime_ns=fields[2] * 10**9 + fields[3],
            inode=fields[5],
            size=fields[9],
            is_conflict=bool(flags & _STAGE),
        )

    def iter_extensions(self) -> Iterator[bytes]:
        """Yield the names of what follows the entries; those in lower case change its meaning."""
        at = self._at
        while at + _EXTENSION.size <= len(self._data) - _HASH_BYTES:
            kind, size = _EXTENSION.unpack_from(self._data, at)
            yield kind
            at += _EXTENSION.size + size

    def _read_name(self, begin: int, length: int) -> None:
        end = self._data.index(b"\0", self._at)
        found = end - self._at
        if found != length and not (length == _NAME_LENGTH < found):
            raise ValueError("a damaged index")
        self._name = self._data[self._at : end]
        self._at = begin + ((end - begin + 8) & ~7)

    def _read_short_name(self) -> None:
        removed = self._read_number()
        end = self._data.index(b"\0", self._at)
        self._name = self._name[: len(self._name) - removed] + self._data[self._at : end]
        self._room -= len(self._name)
        if self._room < 0:
            raise ValueError("too many names")
        self._at = end + 1

    def _read_number(self) -> int:
        """Read a number of variable width."""
        byte = self._data[self._at]
        value = byte & 0x7F
        while byte & 0x80:
            self._at += 1
            byte = self._data[self._at]
            value = ((value + 1) << 7) | (byte & 0x7F)
        self._at += 1
        return value
