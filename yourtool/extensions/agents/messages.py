"""Messages of an agent during a prompt."""

from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

from msgspec import Struct

from yourtool.extensions.agents.calls import ForeignCall, Option, read_options
from yourtool.settings.tables import is_table

METHOD_NOT_FOUND, INVALID_PARAMS = -32601, -32602
RESOURCE_NOT_FOUND = -32002


class Said(Struct):
    """Text of the reply, or of the reasoning before it."""

    parts: list[str]
    is_thought: bool = False

    @property
    def text(self) -> str:
        """The text so far."""
        return "".join(self.parts)


class Reported(Struct, frozen=True):
    """A call that the agent ran without a question has ended."""

    call: ForeignCall


class Asked(Struct, frozen=True):
    """The agent waits for the permission for a call."""

    key: int | str
    call: ForeignCall
    options: Sequence[Option]


class FileRequest(Struct, frozen=True):
    """The agent waits until we read or wrote a file."""

    key: int | str
    path: str
    content: str | None = None
    """The new content; None: the file is read."""
    line: int | None = None
    limit: int | None = None


class Ended(Struct, frozen=True):
    """The prompt ended."""

    reason: str = ""
    usage: Any = None
    error: str = ""
    """Why it failed."""


AgentRequest: TypeAlias = Asked | FileRequest
AgentEvent: TypeAlias = Said | Reported | AgentRequest | Ended


class RefusedRequestError(Exception):
    """A request of the agent has no valid form."""

    def __init__(self, code: int, message: str) -> None:
        super().__init__(message)
        self.code = code


def read_request(
    method: str,
    key: int | str,
    params: dict[str, Any],
    find_call: Callable[[dict[str, Any]], ForeignCall | None],
) -> AgentRequest:
    """Return a request of the agent.

    Raises:
        RefusedRequestError: it has no valid form.
    """
    path, content = params.get("path"), params.get("content")
    match method:
        case "session/request_permission":
            fields = params.get("toolCall")
            call = find_call(fields) if is_table(fields) else None
            if call is not None:
                return Asked(key, call, read_options(params.get("options")))
        case "fs/read_text_file":
            if isinstance(path, str):
                line, limit = _read_count(params.get("line")), _read_count(params.get("limit"))
                return FileRequest(key, path, None, line, limit)
        case "fs/write_text_file":
            if isinstance(path, str) and isinstance(content, str):
                return FileRequest(key, path, content)
        case _:
            raise RefusedRequestError(METHOD_NOT_FOUND, "this method is not offered")
    raise RefusedRequestError(INVALID_PARAMS, "a parameter is missing or has a wrong type")


def find_option(request: Asked, kind: str) -> str | None:
    """Return the id of the answer of a kind that a request offers."""
    return next((each.id for each in request.options if each.kind == kind), None)


def _read_count(value: Any) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) and value > 0 else None
