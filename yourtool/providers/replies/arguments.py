"""Parser of tool call arguments."""

import json
import re
from collections.abc import Sequence
from typing import Any, cast

import msgspec

from yourtool.foundation.text import storable_json

_TOKENS = re.compile(r'\\.?|["{}]', re.DOTALL)
_WHITESPACE = " \t\r\n"


def parse_arguments(raw: str) -> tuple[dict[str, Any], str | None]:
    """Return the object in `raw`, or an empty one and the error; empty text is an empty object.

    Nothing is repaired. An incomplete object is an error, and so is a NUL character, which no path,
    command or text file can contain. Integers are exact at any length; NaN and Infinity are not
    JSON.
    """
    if not raw.strip():
        return {}, None
    try:
        value = _decode(raw)
    except RecursionError:
        return {}, "the arguments are nested too deeply"
    except (ValueError, UnicodeError) as error:  # msgspec's errors are the former
        return {}, f"the arguments are not JSON: {error}"
    if not isinstance(value, dict):
        return {}, f"the arguments are not a JSON object but {_type_name(value)}"
    arguments = cast("dict[str, Any]", value)  # JSON has no other keys
    try:
        clean = storable_json(arguments)
    except ValueError as error:
        return {}, f"the arguments are {error}"
    if (name := next((name for name in clean if _has_nul(name, clean[name])), None)) is not None:
        where = name.replace("\0", "\\u0000")
        return {}, f"`{where}` contains a NUL character (\\u0000), which no tool accepts; omit it"
    return clean, None


def arguments_to_json(arguments: Any) -> str:
    """Serialise arguments that a provider sends as an object.

    Values that are not objects, strings included, are serialised as they are; `parse_arguments`
    rejects them, and also a NaN from a lenient server. None and `""` become empty text.
    """
    if arguments is None or arguments == "":
        return ""
    return json.dumps(arguments, ensure_ascii=False, sort_keys=True, separators=(",", ":"))


def arguments_as_text(arguments: Any) -> str:
    """Return arguments as text; some servers send the object where the API has text."""
    return arguments if isinstance(arguments, str) else arguments_to_json(arguments)


class ArgumentsScanner:
    """Detect when arguments that arrive in pieces form a complete object.

    Each piece is scanned once. The arguments are parsed only when the first brace is closed: later
    text cannot repair them, and only whitespace leaves a complete object complete.
    """

    def __init__(self) -> None:
        self._pieces_read = 0
        self._depth = 0
        self._is_quoted = False
        self._pending_backslash = ""  # at the end of a piece; the next one has its character
        self._is_complete: bool | None = None

    def is_complete(self, pieces: Sequence[str]) -> bool:
        """Whether `pieces`, the earlier ones and any new ones, form an object."""
        new, self._pieces_read = pieces[self._pieces_read :], len(pieces)
        if self._is_complete is None:
            if any(map(self._closes_object, new)):
                self._is_complete = parse_arguments("".join(pieces))[1] is None
        elif self._is_complete:
            self._is_complete = not any(piece.strip(_WHITESPACE) for piece in new)
        return bool(self._is_complete)

    def _closes_object(self, piece: str) -> bool:
        text, self._pending_backslash = self._pending_backslash + piece, ""
        for mark in _TOKENS.findall(text):
            if mark == '"':
                self._is_quoted = not self._is_quoted
            elif mark == "\\":
                self._pending_backslash = mark
            elif mark in "{}" and not self._is_quoted:
                self._depth += 1 if mark == "{" else -1
                if self._depth <= 0:
                    return True
        return False


def _has_nul(*values: Any) -> bool:
    """Whether any string in JSON of limited depth, names included, contains NUL."""
    for value in values:
        match value:
            case str() if "\0" in value:
                return True
            case list() if _has_nul(*cast("list[Any]", value)):
                return True
            case dict() if _has_nul(*value.keys(), *value.values()):
                return True
            case _:
                pass
    return False


def _decode(raw: str) -> Any:
    try:
        return msgspec.json.decode(raw)
    except (msgspec.DecodeError, UnicodeError):
        if "\\ud" not in raw.lower():
            raise
        try:  # lone surrogate escapes may be the only problem
            return json.loads(raw, parse_constant=_reject_constant)
        except ValueError:
            pass
        raise


def _reject_constant(constant: str) -> None:
    raise ValueError(constant)


def _type_name(value: Any) -> str:
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true or false"
    return {str: "text", int: "a number", float: "a number", list: "an array"}[type(value)]
