"""Decoding with web encodings.

Python's other codecs can take quadratic time or are not text encodings, such as `punycode`. The
encodings and the supersets used for some labels follow
https://encoding.spec.whatwg.org/#names-and-labels, looked up through Python's aliases.
"""

import codecs
from encodings import normalize_encoding
from encodings.aliases import aliases

_DEFAULT = "utf_8"
_ACCEPTED = {
    name: name
    for name in (
        "utf_8", "utf_16", "utf_16_le", "utf_16_be",
        "cp866", "cp874", "cp1250", "cp1251", "cp1252", "cp1253", "cp1254", "cp1255", "cp1256",
        "cp1257", "cp1258", "iso8859_2", "iso8859_3", "iso8859_4", "iso8859_5", "iso8859_6",
        "iso8859_7", "iso8859_8", "iso8859_10", "iso8859_13", "iso8859_14", "iso8859_15",
        "iso8859_16", "koi8_r", "koi8_u", "mac_roman", "mac_cyrillic",
        "gb18030", "big5hkscs", "euc_jp", "iso2022_jp", "cp932", "cp949",
    )
}  # fmt: skip
"""Decoders by codec name."""
_SUPERSETS = {
    "ascii": "cp1252",
    "latin_1": "cp1252",
    "iso8859_1": "cp1252",
    "iso8859_9": "cp1254",
    "iso8859_11": "cp874",
    "tis_620": "cp874",
    "windows_874": "cp874",
    "gb2312": "gb18030",
    "gbk": "gb18030",
    "big5": "big5hkscs",
    "shift_jis": "cp932",
    "euc_kr": "cp949",
}
_CODECS = _ACCEPTED | _SUPERSETS
_CHUNK_BYTES = 2**16
"""Bytes decoded at a time, since decoding blocks all other threads."""


def codec_for_label(label: str | None) -> str:
    """Return Python's codec for an encoding label; UTF-8 if the label is unknown."""
    name = normalize_encoding((label or "").strip().lower()).removeprefix("x_")
    return _CODECS.get(aliases.get(name, name), _DEFAULT)


def decode_text(data: bytes | bytearray, label: str | None) -> str:
    """Decode `data`; bytes that are invalid in the encoding `label` become U+FFFD."""
    decoder = codecs.getincrementaldecoder(codec_for_label(label))("replace")
    view = memoryview(data)
    pieces = [
        decoder.decode(view[at : at + _CHUNK_BYTES]) for at in range(0, len(data), _CHUNK_BYTES)
    ]
    return "".join((*pieces, decoder.decode(b"", final=True)))
