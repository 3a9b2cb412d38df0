"""Comparable entries of a git index.

They omit the times and sizes, which every `git status` changes.

The result is an index, too: git looks at each file again when it is next used. Format:
https://git-scm.com/docs/index-format.
"""

import hashlib
import struct
from collections.abc import Iterator

_HEADER = struct.Struct(">4sLL")
_STAT_BYTES = 40
"""Times, device, inode, mode, owner and size."""
_EXTENDED, _STAGE, _NAME_LENGTH = 0x4000, 0x3000, 0x0FFF
_SPARSE = b"sdir"


def strip_index(data: bytes) -> bytes | None:
    """Return an index with its entries alone; None if it is not one that can be read.

    Two indexes have the same result if what is staged in them is the same.
    """
    for width, kind in ((20, "sha1"), (32, "sha256")):
        end = len(data) - width
        unused = b"\0" * width
        if end < _HEADER.size or data[end:] not in (_hash(kind, data[:end]), unused):
            continue
        try:
            return _strip(data, end, width, kind)
        except (ValueError, struct.error, IndexError):
            return None
    return None


def read_object_ids(stripped: bytes) -> Iterator[str]:
    """Yield the ids of the staged objects of a result of `strip_index`."""
    for object_id, _ in _iter_entries(stripped):
        yield object_id


def has_conflicts(stripped: bytes) -> bool:
    """Whether a result of `strip_index` has files with conflicts."""
    return any(flags & _STAGE for _, flags in _iter_entries(stripped))


def _iter_entries(stripped: bytes) -> Iterator[tuple[str, int]]:
    """Yield the id and the flags of each entry."""
    _, version, count = _HEADER.unpack_from(stripped)
    is_short = stripped[-20:] == _hash("sha1", stripped[:-20])
    width, at = 20 if is_short else 32, _HEADER.size
    for _ in range(count):
        end = at + _STAT_BYTES + width
        yield stripped[at + _STAT_BYTES : end].hex(), int.from_bytes(stripped[end : end + 2])
        at = _find_end(stripped, at, width, version)


def _hash(kind: str, data: bytes) -> bytes:
    return hashlib.new(kind, data, usedforsecurity=False).digest()


def _strip(data: bytes, end: int, width: int, kind: str) -> bytes | None:
    signature, version, count = _HEADER.unpack_from(data)
    if signature != b"DIRC" or version not in (2, 3, 4):
        return None
    result, at = bytearray(data[:end]), _HEADER.size
    for _ in range(count):
        mode = data[at + 24 : at + 28]
        result[at : at + _STAT_BYTES] = bytes(24) + mode + bytes(12)
        at = _find_end(data, at, width, version)
    entries = bytes(result[:at])
    while at < end:
        name, size = data[at : at + 4], int.from_bytes(data[at + 4 : at + 8])
        if name == _SPARSE:
            entries += data[at : at + 8 + size]
        elif not name[:1].isupper():
            return None  # the entries depend on it, as on the other half of a split index
        at += 8 + size
    return entries + _hash(kind, entries)


def _find_end(data: bytes, at: int, width: int, version: int) -> int:
    """Return where the next entry starts."""
    begin = at
    at += _STAT_BYTES + width
    flags = int.from_bytes(data[at : at + 2])
    at += 4 if flags & _EXTENDED else 2
    if version == 4:
        while data[at] & 0x80:
            at += 1
        return data.index(b"\0", at + 1) + 1
    length = flags & _NAME_LENGTH
    end = at + length if length < _NAME_LENGTH else data.index(b"\0", at)
    return begin + ((end - begin + 8) & ~7)
