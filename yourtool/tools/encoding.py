"""How the text of a file is stored: encoding, byte order mark and line endings.

Decoding is strict, so `encode(decode(data)) == data` for whatever `recognise` accepts.
"""

import codecs

from msgspec import Struct

_MARKS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)


class Encoding(Struct, frozen=True):
    """What to keep when a file is rewritten."""

    codec: str = "utf-8"
    mark: bytes = b""
    """The byte order mark."""
    newline: str = "\n"
    """The line ending that most lines have."""

    def decode(self, data: bytes) -> str:
        """Return the text without the byte order mark; line endings stay."""
        return data[len(self.mark) :].decode(self.codec)

    def encode(self, text: str) -> bytes:
        """Return the bytes of a file that holds `text`."""
        return self.mark + text.encode(self.codec)

    def in_style(self, text: str, like: str = "") -> str:
        """Return `text` with the line endings of `like`, or the file's where it has none."""
        newline = self.newline
        if "\n" in like:
            newline = "\r\n" if "\r\n" in like else "\n"
        return text.replace("\r\n", "\n").replace("\n", newline)


def recognise(data: bytes) -> Encoding | None:
    """Return how a file is encoded; None: it is not text in UTF-8 or UTF-16."""
    mark, codec = next((pair for pair in _MARKS if data.startswith(pair[0])), (b"", "utf-8"))
    try:
        text = data[len(mark) :].decode(codec)
    except UnicodeDecodeError:
        return None
    if "\0" in text:
        return None
    crlf = text.count("\r\n")
    return Encoding(codec, mark, "\r\n" if crlf > text.count("\n") - crlf else "\n")
