"""Detection of a file's encoding.

It also detects the byte order mark and the line endings. Decoding is strict, so
`encode(decode(data)) == data` for all data that `detect_encoding` accepts.
"""

import codecs

from msgspec import Struct

_BOMS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)


class Encoding(Struct, frozen=True):
    """The format of a text file, preserved when it is rewritten."""

    codec: str = "utf-8"
    bom: bytes = b""
    """The byte order mark."""
    newline: str = "\n"
    """The most frequent line ending."""

    def decode(self, data: bytes) -> str:
        """Return the text without the byte order mark; line endings do not change."""
        return data[len(self.bom) :].decode(self.codec)

    def encode(self, text: str) -> bytes:
        """Return the bytes of a file with the content `text`."""
        return self.bom + text.encode(self.codec)

    def with_line_endings(self, text: str, like: str = "") -> str:
        """Return `text` with the line endings of `like`, or of the file if `like` has none."""
        newline = self.newline
        if "\n" in like:
            newline = "\r\n" if "\r\n" in like else "\n"
        return text.replace("\r\n", "\n").replace("\n", newline)


def detect_encoding(data: bytes) -> Encoding | None:
    """Return the encoding of a file; None if it is not UTF-8 or UTF-16 text."""
    mark, codec = next((pair for pair in _BOMS if data.startswith(pair[0])), (b"", "utf-8"))
    try:
        text = data[len(mark) :].decode(codec)
    except UnicodeDecodeError:
        return None
    if "\0" in text:
        return None
    crlf = text.count("\r\n")
    return Encoding(codec, mark, "\r\n" if crlf > text.count("\n") - crlf else "\n")


def to_lf(text: str) -> str:
    """Return a text with LF line endings."""
    return text.replace("\r\n", "\n")
