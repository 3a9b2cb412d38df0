"""Detection of a file's encoding.

It also detects the byte order mark and the line endings. `encode(decode(data)) == data` for all
data that `detect_encoding` accepts, so an edit of the text changes no other byte.
"""

import codecs
import re
from functools import cache
from importlib import import_module
from typing import Any, Literal

from msgspec import Struct

_BOMS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF32_LE, "utf-32-le"),
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
_SUPERSETS = {
    "Shift_JIS": "cp932",
    "GBK": "gb18030",
    "EUC-KR": "cp949",
    "Big5": "big5hkscs",
    "windows-874": "cp874",
}
"""Python's codecs for labels of https://encoding.spec.whatwg.org that it has another codec for."""
_SAMPLE_BYTES = 2**16
"""Bytes, from just before the first one that is not ASCII, that an encoding is guessed from."""
_SAMPLE_START = 2**10
_NOT_ASCII = re.compile(rb"[\x80-\xff]")
_STRAY = re.compile("[\udc80-\udcff]")
"""The characters of the error handler `surrogateescape` for bytes that are not UTF-8."""
_CONTROLS = re.compile("[\x00-\x08\x0e-\x1a\x1c-\x1f\x7f-\x9f]")
_INVISIBLE = re.compile("[\\s\xad\u200b-\u200f\u2060\ufeff]+")


class Encoding(Struct, frozen=True):
    """The format of a text file, preserved when it is rewritten."""

    codec: str = "utf-8"
    bom: bytes = b""
    """The byte order mark."""
    newline: Literal["\n", "\r\n", "\r"] = "\n"
    """The most frequent line ending; a carriage return only if there is no other one."""
    guess: str = ""
    """The name of an encoding that nothing in the file proves."""
    errors: Literal["strict", "surrogateescape"] = "strict"
    """`surrogateescape` preserves bytes that are not UTF-8; see PEP 383."""

    def decode(self, data: bytes) -> str:
        r"""Return the text without the byte order mark.

        Line endings do not change, except that a file without `\n` has it in place of `\r`.
        """
        text = data[len(self.bom) :].decode(self.codec, self.errors)
        return text.replace("\r", "\n") if self.newline == "\r" else text

    def show(self, data: bytes) -> str:
        """Return the text with U+FFFD for each byte that is not valid; never raises."""
        rest = data[len(self.bom) :]
        try:
            return _STRAY.sub("\ufffd", self.decode(data))
        except UnicodeDecodeError:
            return rest.decode(self.codec, "replace")

    def encode(self, text: str) -> bytes:
        """Return the bytes of a file with the content `text`.

        Raises:
            UnicodeEncodeError: the encoding does not have one of the characters.
        """
        if self.newline == "\r":
            text = text.replace("\n", "\r")
        return self.bom + text.encode(self.codec, self.errors)

    def with_line_endings(self, text: str, like: str = "") -> str:
        """Return `text` with the line endings of `like`, or of the file if `like` has none."""
        newline = "\r\n" if self.newline == "\r\n" else "\n"
        if "\n" in like:
            newline = "\r\n" if "\r\n" in like else "\n"
        return text.replace("\r\n", "\n").replace("\n", newline)

    @property
    def name(self) -> str:
        """The name for a message; empty if the file is plain UTF-8."""
        if self.guess:
            return f"{self.guess} (a guess)"
        return "" if self.codec == "utf-8" else self.codec.upper()


def detect_encoding(data: bytes) -> Encoding | None:
    """Return the encoding of a file; None if it is not text.

    Bytes that are neither UTF-8 nor in an encoding that can be guessed stay as they are.
    """
    for mark, codec in _BOMS:
        if data.startswith(mark) and (found := _match(data, codec, mark)) is not None:
            return found
    mark = codecs.BOM_UTF8 if data.startswith(codecs.BOM_UTF8) else b""
    if b"\0" in data:
        return None if mark else _detect_utf16(data)
    if not mark and (found := _match(data, "utf-8")) is not None:
        return found
    text = data[len(mark) :].decode("utf-8", "surrogateescape")
    if mark or _is_mostly_utf8(text) or (found := _guess(data)) is None:
        return Encoding("utf-8", mark, _find_newline(text), errors="surrogateescape")
    return found


def _match(data: bytes, codec: str, mark: bytes = b"", guess: str = "") -> Encoding | None:
    """Return an encoding if it is certain to change no byte of the file."""
    try:
        text = data[len(mark) :].decode(codec)
        if "\0" in text or (codec != "utf-8" and mark + text.encode(codec) != data):
            return None
    except (UnicodeError, LookupError):
        return None
    if guess and _CONTROLS.search(text):
        return None
    return Encoding(codec, mark, _find_newline(text), guess)


def _find_newline(text: str) -> Literal["\n", "\r\n", "\r"]:
    crlf, lines = text.count("\r\n"), text.count("\n")
    if not lines and "\r" in text:
        return "\r"
    return "\r\n" if crlf > lines - crlf else "\n"


def _detect_utf16(data: bytes) -> Encoding | None:
    """Return UTF-16 without a byte order mark, which has NUL in its line ends and spaces."""
    codec = "utf-16-le" if data[1::2].count(0) > data[::2].count(0) else "utf-16-be"
    if (found := _match(data, codec)) is None:
        return None
    text = found.decode(data)
    is_text = (" " in text or "\n" in text) and _INVISIBLE.sub("", text).isprintable()
    return found if is_text else None


def _is_mostly_utf8(text: str) -> bool:
    """True if characters of several bytes are not rarer than the bytes that are not valid."""
    valid = text.encode("utf-8", "ignore").decode()
    strays = len(text) - len(valid)
    return len(valid) - len(valid.encode("ascii", "ignore")) >= strays


def _guess(data: bytes) -> Encoding | None:
    """Return the encoding that a part of the file looks like, if all of it has that one."""
    first = _NOT_ASCII.search(data)
    start = max(0, first.start() - _SAMPLE_START) if first else 0
    label: str = _load_detector().detect(data[start : start + _SAMPLE_BYTES])
    name = label.replace("windows", "Windows").replace("gb", "GB")
    return _match(data, _SUPERSETS.get(label, label), guess=name)


@cache
def _load_detector() -> Any:
    """Import the detector of Firefox, which only files in old encodings need."""
    return import_module("chardetng_py")


def to_lf(text: str) -> str:
    """Return a text with LF line endings."""
    return text.replace("\r\n", "\n")
