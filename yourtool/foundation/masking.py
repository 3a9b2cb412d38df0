"""Masking of keys in text.

A key is found in base64 at any offset and with any line wrapping: for each of the three alignments,
the search is for the characters that depend only on the key.
"""

import json
import re
import string
from base64 import b64encode
from collections import defaultdict
from collections.abc import Iterable, Iterator
from itertools import product
from typing import Any, cast
from urllib.parse import quote

MASK = "[hidden key]"

PIECE = 2**14
"""Bytes that are searched in one call, in which no other thread can run."""
_MIN_BASE64_BYTES = 12
"""Minimum length of a key in bytes; shorter ones would match base64 by accident."""
_EXACT_CHARACTERS = 24
"""Characters of base64 that are compared exactly."""
_HEX = re.compile("%[0-9A-F]{2}")
_ESCAPED = ("", "+", "/", "+/=", "<>&", "<>&'", "<>&'=", "<>&'+`\"", string.punctuation)
"""Characters that some JSON encoders (Go, Gson, .NET) write as `\\uXXXX`."""
_BREAK = b"(?:\r?\n)?"


class Mask:
    """Masks a fixed set of keys, in time linear in the length of the text."""

    def __init__(self, secrets: Iterable[str] = ()) -> None:
        self._secrets = tuple(secrets)
        forms = {form: wrapped for each in self._secrets for form, wrapped in _encodings(each)}
        longest_first = sorted(forms, key=len, reverse=True)
        self._pattern = re.compile(
            b"|".join(
                _wrapped_pattern(form) if forms[form] else re.escape(form) for form in longest_first
            )
            or b"(?!)"
        )
        self.reach = 3 * len(longest_first[0]) if forms else 0
        """Bytes on each side of a position that decide whether it is inside a key."""
        self._first_bytes = re.compile(
            b"[%b]" % b"".join(re.escape(form[:1]) for form in forms) if forms else b"(?!)"
        )
        self._forms: dict[int, list[tuple[bytes, bool]]] = defaultdict(list)
        for form, wrapped in forms.items():
            self._forms[form[0]].append((form, wrapped))

    def with_keys(self, secrets: Iterable[str]) -> "Mask":
        """Return a mask of further keys, too."""
        return Mask((*self._secrets, *secrets))

    def text(self, text: str) -> str:
        """Return `text` with all keys masked."""
        if not self._forms:
            return text
        data = text.encode("utf-8", "surrogatepass")
        masked = self.data(data)
        return masked.decode("utf-8", "surrogatepass") if masked != data else text

    def data(self, data: bytes) -> bytes:
        """Return `data` with all keys masked."""
        done, at = list[bytes](), 0
        for found in self._matches(data):
            done += (data[at : found.start()], MASK.encode())
            at = found.end()
        return b"".join((*done, data[at:])) if done else data

    def find(self, data: bytes) -> Iterator[bytes]:
        """Yield the keys in `data`, as they are encoded there."""
        return (found[0] for found in self._matches(data))

    def slice(self, text: str, start: int, stop: int) -> str:
        """Return `text[start:stop]` with all keys masked, including partial ones."""
        if not self._forms:
            return text[start:stop]
        above = max(0, start - self.reach)
        data = text[above : stop + self.reach].encode("utf-8", "surrogatepass")
        first = len(text[above:start].encode("utf-8", "surrogatepass"))
        last = first + len(text[start:stop].encode("utf-8", "surrogatepass"))
        done, at = list[bytes](), first
        for found in self._matches(data):
            if found.end() > first and found.start() < last:
                done += (data[at : found.start()], MASK.encode())
                at = found.end()
        return b"".join((*done, data[at:last])).decode("utf-8", "surrogatepass")

    def without_partial_key(self, text: str) -> str:
        """Return a truncated text without a possible partial key at its end."""
        if not self._forms:
            return text
        above = max(0, len(text) - self.reach)
        passed, _ = self.split(text[above:].encode("utf-8", "surrogatepass"))
        return text[:above] + passed.decode("utf-8", "surrogatepass")

    def value(self, value: Any) -> Any:
        """Return a JSON value with all keys in its strings masked."""
        match value:
            case str():
                return self.text(value)
            case dict():
                items = cast("dict[str, Any]", value).items()
                return {self.text(name): self.value(each) for name, each in items}
            case list():
                return [self.value(each) for each in cast("list[Any]", value)]
            case _:
                return value

    def stream(self) -> "MaskedStream":
        """Return a filter for data that arrives in pieces."""
        return MaskedStream(self)

    def split(self, data: bytes) -> tuple[bytes, bytes]:
        """Return `data` masked up to a possible partial key at its end, and that rest."""
        done, at = list[bytes](), 0
        for found in self._matches(data):
            if found.start() >= self._find_partial_key(data, at):
                break
            done += (data[at : found.start()], MASK.encode())
            at = found.end()
        held = self._find_partial_key(data, at)
        return b"".join((*done, data[at:held])), data[held:]

    def _matches(self, data: bytes) -> Iterator[re.Match[bytes]]:
        """Yield the matches of keys, including keys that cross the end of a piece."""
        at = 0
        while self._forms and at < len(data):
            stop = at + PIECE
            found = self._pattern.search(data, at, stop + self.reach)
            if found is None or found.start() >= stop:
                at = stop
            else:
                yield found
                at = found.end()

    def _find_partial_key(self, data: bytes, at: int) -> int:
        """Return the first position from which `data` is a prefix of a key."""
        for found in self._first_bytes.finditer(data, max(at, len(data) - self.reach)):
            rest = data[found.start() :]
            bare = rest.translate(None, b"\r\n")
            for form, wrapped in self._forms[rest[0]]:
                begin = bare if wrapped else rest
                if len(begin) < len(form) and form.startswith(begin):
                    return found.start()
        return len(data)


NO_KEYS = Mask()


class MaskedStream:
    """A filter that masks keys, also if they are split over pieces."""

    def __init__(self, mask: Mask) -> None:
        self._mask = mask
        self._buffer = b""

    def feed(self, data: bytes) -> bytes:
        """Return the masked data so far; a possible partial key is buffered."""
        passed, self._buffer = self._mask.split(self._buffer + data)
        return passed

    def close(self) -> bytes:
        """Return the buffered rest, masked."""
        passed, self._buffer = self._buffer, b""
        return self._mask.data(passed)


def _wrapped_pattern(form: bytes) -> bytes:
    """Return a pattern for base64 with line breaks; after `_HEAD` characters it matches any.

    A pattern with every character would take long to compile.
    """
    head = _BREAK.join(re.escape(bytes([each])) for each in form[:_EXACT_CHARACTERS])
    return head + b"(?:%b[A-Za-z0-9+/_-]){%d}" % (_BREAK, max(0, len(form) - _EXACT_CHARACTERS))


def _json_form(secret: str, escaped: str, digits: str) -> str:
    """Return a key as in a JSON string, with the characters of `escaped` as `\\u002b`."""
    return "".join(
        f"\\u{ord(each):04{digits}}" if each in escaped else json.dumps(each)[1:-1]
        for each in secret
    )


def _encodings(secret: str) -> Iterator[tuple[bytes, bool]]:
    """Yield all encodings of a key, each with whether it can contain line breaks."""
    raw = secret.encode("utf-8", "surrogatepass")
    yield raw, False
    for safe in ("", "/"):
        encoded = quote(raw, safe=safe)
        yield encoded.encode(), False
        yield _HEX.sub(lambda found: found[0].lower(), encoded).encode(), False
    for escaped, digits in product(_ESCAPED, "xX"):
        literal = _json_form(secret, escaped, digits)
        yield literal.encode(), False
        yield literal.replace("/", "\\/").encode(), False
    if len(raw) < _MIN_BASE64_BYTES:
        return
    for offset in range(3):
        bits = 8 * (offset + len(raw))
        inside = slice((8 * offset + 5) // 6, bits // 6)
        for alphabet in (None, b"-_"):
            yield b64encode(b"\0" * offset + raw, alphabet)[inside], True
