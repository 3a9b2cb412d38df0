"""Media type detection from content.

It follows https://mimesniff.spec.whatwg.org.
"""

import struct
from typing import Literal

IMAGE_TYPES = ("image/png", "image/jpeg", "image/gif", "image/webp")
AUDIO_TYPES = ("audio/wav", "audio/mpeg", "audio/ogg", "audio/flac")
PDF, PLAIN = "application/pdf", "text/plain"
DOCUMENT_TYPES = (PDF, PLAIN)
_ORIENTATION = 0x0112
_MAGIC = {
    b"\x89PNG\r\n\x1a\n": "image/png",
    b"\xff\xd8\xff": "image/jpeg",
    b"GIF87a": "image/gif",
    b"GIF89a": "image/gif",
    b"ID3": "audio/mpeg",
    b"\xff\xfb": "audio/mpeg",
    b"\xff\xf3": "audio/mpeg",
    b"\xff\xf2": "audio/mpeg",
    b"OggS": "audio/ogg",
    b"fLaC": "audio/flac",
    b"%PDF-": PDF,
}


def sniff(content: bytes) -> str | None:
    """Return the media type detected from the first bytes; None: unknown.

    Providers check the same bytes. Only types that some model accepts are detected.
    """
    for magic, media_type in _MAGIC.items():
        if content.startswith(magic):
            return media_type
    if content[:4] == b"RIFF":
        return {b"WEBP": "image/webp", b"WAVE": "audio/wav"}.get(content[8:12])
    return None


def dimensions(content: bytes) -> tuple[int, int] | None:
    """Return width and height in pixels of a PNG, a GIF or a JPEG with an early frame header."""
    kind = sniff(content)
    if kind == "image/png" and len(content) >= 24:
        return struct.unpack(">II", content[16:24])
    if kind == "image/gif" and len(content) >= 10:
        return struct.unpack("<HH", content[6:10])
    at = 2
    while kind == "image/jpeg" and at + 9 <= len(content) and content[at] == 0xFF:
        marker, size = content[at + 1], int.from_bytes(content[at + 2 : at + 4], "big")
        if 0xC0 <= marker <= 0xCF and marker not in (0xC4, 0xC8, 0xCC):
            height, width = struct.unpack(">HH", content[at + 5 : at + 9])
            return width, height
        at += 2 + max(size, 2)
    return None


def orientation(content: bytes) -> int:
    """Return the Exif orientation of a JPEG: 1 upright, 2 to 8 rotated or mirrored.

    https://www.cipa.jp/std/documents/download_e.html?DC-008-Translation-2023-E
    """
    at = 2
    while sniff(content) == "image/jpeg" and content[at : at + 1] == b"\xff":
        marker, size = content[at + 1 : at + 2], int.from_bytes(content[at + 2 : at + 4], "big")
        if marker == b"\xe1" and content[at + 4 : at + 10] == b"Exif\0\0":
            return _parse_orientation(content[at + 10 : at + 2 + size])
        if marker in (b"", b"\xda"):
            break
        at += 2 + max(size, 2)
    return 1


def _parse_orientation(exif: bytes) -> int:
    """Return the orientation in an Exif block, which has the TIFF format."""
    form: Literal["little", "big"] = "little" if exif[:2] == b"II" else "big"

    def number(at: int, size: int) -> int:
        return int.from_bytes(exif[at : at + size], form)

    first = number(4, 4)
    for entry in range(first + 2, first + 2 + 12 * number(first, 2), 12):
        if entry + 12 > len(exif):
            break
        if number(entry, 2) == _ORIENTATION:
            value = number(entry + 8, 2)
            return value if 1 <= value <= 8 else 1
    return 1
