"""JSON-RPC messages as lines.

https://www.jsonrpc.org/specification
"""

from typing import Any

import msgspec

from yourtool.foundation.text import storable_json
from yourtool.settings.tables import is_table

PARSE_ERROR = -32700
INVALID_REQUEST = -32600
INTERNAL_ERROR = -32603


class MessageError(Exception):
    """A line is not a JSON-RPC message."""

    def __init__(self, code: int, message: str) -> None:
        super().__init__(message)
        self.code = code


def parse_message(line: bytes) -> dict[str, Any]:
    """Return the message of a line: its `id` has a valid type, and so has what is in its `error`.

    Raises:
        MessageError: it is no message.
    """
    try:
        message = storable_json(msgspec.json.decode(line))
    except (ValueError, RecursionError) as error:
        raise MessageError(PARSE_ERROR, f"A line is not JSON: {error}.") from error
    if not is_table(message):
        problem = "A line must be one JSON object; arrays of messages are not supported."
        raise MessageError(INVALID_REQUEST, problem)
    identity = message.get("id")
    if isinstance(identity, bool) or not isinstance(identity, int | str | None):
        raise MessageError(INVALID_REQUEST, "`id` must be an integer or a text.")
    if "method" in message:
        if not isinstance(message["method"], str):
            raise MessageError(INVALID_REQUEST, "`method` must be a text.")
        if identity is None:
            message.pop("id", None)  # a notification
    elif "error" in message:
        message["error"] = _repair_error(message["error"])
    elif identity is None:
        raise MessageError(INVALID_REQUEST, "A message has neither a `method` nor an `id`.")
    return message


def _repair_error(error: Any) -> dict[str, Any]:
    fields = error if is_table(error) else {}
    code, text = fields.get("code"), fields.get("message")
    return {
        "code": code if isinstance(code, int) else INTERNAL_ERROR,
        "message": text if isinstance(text, str) else "an error without a message",
    }
