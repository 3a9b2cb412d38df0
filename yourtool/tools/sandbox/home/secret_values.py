"""Settings files without their secrets.

A whole value is removed, or a whole section with what is in it, never a part that changes what the
rest means. What cannot be parsed and mentions a secret becomes empty.
"""

import datetime
import json
import re
from collections.abc import Iterator, Mapping
from typing import Any, cast

from yourtool.settings.tables import parse_toml

_WORDS = (
    "token|passw|secret|_auth|authident|authorization|extraheader|credential|api[-_]?key"
    "|private[-_]?key|smtppass"
)
_WORD = re.compile(_WORDS, re.IGNORECASE)
_LOGIN = r"://[^/\s@]{0,300}:[^/\s@]{1,300}@"
_SECRET = re.compile(
    rf"(?:{_WORDS})(?:[\w-]{{0,60}}[\"']?[ \t]{{0,9}}[=: \t]|[_-]?[a-z0-9]{{20}})|{_LOGIN}",
    re.IGNORECASE,
)
"""A name that means a secret, with what is assigned to it, or a login in an address."""
_MENTIONED = re.compile(f"{_WORDS}|private|{_LOGIN}", re.IGNORECASE)
_PRIVATE_KEY = "PRIVATE KEY-----"
_COMMENTS = ("#", ";", "!")
_HEADER = re.compile(r'[ \t]*\[([^\]"\n]*)("(?:[^"\\\n]|\\.)*"[ \t]*)?\]')


def mentions_secret(text: str) -> bool:
    """Whether a text may contain a secret; most settings do not."""
    return _MENTIONED.search(text) is not None


def is_secret_name(name: str) -> bool:
    """Whether a name means a secret: `npmAuthToken`, but not the file `secrets.py`."""
    return _WORD.search(re.split(r"[/.:]", name)[-1]) is not None


def has_secret(value: str) -> bool:
    """Whether a value contains a secret, and not only a word for one."""
    return _SECRET.search(value) is not None or _PRIVATE_KEY in value


def clean_lines(text: str) -> str:
    """Return the content of a file in which each line is one setting."""
    return "".join(each for each in _join(text, "\\") if not _is_secret_entry(each))


def clean_git(text: str) -> str:
    """Return the content of a file of settings of git."""
    return "".join(_clean_sections(_join(text, "\\")))


def clean_ini(text: str) -> str:
    """Return the content of a file with sections, in which indented lines continue a value."""
    return "".join(_clean_sections(_join(text, "")))


def _join(text: str, continuation: str) -> Iterator[str]:
    """Yield settings with their further lines: after such an end, or else indented ones."""
    entry = ""
    for line in text.splitlines(keepends=True):
        if continuation:
            is_more = entry.rstrip("\r\n").endswith(continuation)
        else:
            is_more = line[0] in " \t" and line.strip() != ""
        if entry and not is_more:
            yield entry
            entry = ""
        entry += line
    if entry:
        yield entry


def _clean_sections(entries: Iterator[str]) -> Iterator[str]:
    is_removed = False
    for entry in entries:
        if (header := _HEADER.match(entry)) is not None:
            is_removed = is_secret_name(header[1]) or has_secret(header[2] or "")
            if not is_removed and _is_secret_entry(entry[header.end() :]):
                yield f"{header[0]}\n"
                continue
        if not is_removed and (header or not _is_secret_entry(entry)):
            yield entry


def _is_secret_entry(entry: str) -> bool:
    is_comment = entry.lstrip().startswith(_COMMENTS)
    return has_secret(entry) or (is_comment and _WORD.search(entry) is not None)


def clean_toml(text: str) -> str:
    """Return the content of a TOML file, without its comments."""
    try:
        table = _clean_table(parse_toml(text))
    except ValueError:
        return ""
    return "".join(f"{_quote(name)} = {_to_toml(value)}\n" for name, value in table.items())


def _clean_table(table: Mapping[str, Any]) -> dict[str, Any]:
    return {
        name: _clean_value(value)
        for name, value in table.items()
        if not has_secret(name) and not _is_secret_value(name, value)
    }


def _clean_value(value: Any) -> Any:
    match value:
        case dict():
            return _clean_table(cast("dict[str, Any]", value))
        case list():
            elements = cast("list[Any]", value)
            return [_clean_value(each) for each in elements if not _is_secret_value("", each)]
        case _:
            return value


def _is_secret_value(name: str, value: Any) -> bool:
    if isinstance(value, bool):
        return False
    return is_secret_name(name) or (isinstance(value, str) and has_secret(value))


def _to_toml(value: Any) -> str:
    match value:
        case dict():
            items = cast("dict[str, Any]", value).items()
            return (
                "{" + ", ".join(f"{_quote(name)} = {_to_toml(each)}" for name, each in items) + "}"
            )
        case list():
            return f"[{', '.join(map(_to_toml, cast('list[Any]', value)))}]"
        case str():
            return _quote(value)
        case bool():
            return str(value).lower()
        case datetime.date() | datetime.time():
            return value.isoformat()
        case _:
            return repr(value)


def _quote(text: str) -> str:
    """Return a TOML string, which has the escapes of JSON and one more."""
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")
