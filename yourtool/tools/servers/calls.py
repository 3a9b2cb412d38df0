"""Results of MCP calls."""

from typing import Any

from msgspec import Struct

from yourtool.errors import ToolError, ToolFailure

ASKING_SECONDS = 600.0
"""How long the questions of a server during one call can take in all."""


class ServerConnectionError(Exception):
    """The connection could not be made, or ended; the text continues "The MCP server X …"."""

    def __init__(self, reason: str, *, needs_login: bool = False) -> None:
        super().__init__(reason)
        self.needs_login = needs_login


class CallFailedError(Exception):
    """A call has no result; the text continues "The MCP server X …"."""

    def __init__(self, reason: str, *, may_have_run: bool = True) -> None:
        super().__init__(reason)
        self.may_have_run = may_have_run


class ForeignResult(Struct, frozen=True):
    """The result of a call as a server sent it."""

    content: tuple[dict[str, Any], ...]
    structured: Any = None
    is_error: bool = False


def build_call_error(server: str, reason: str, *, may_have_run: bool) -> ToolError:
    """Return the error of a call without a result."""
    advice = (
        "It may have had its effect: check that before you call it again."
        if may_have_run
        else "Nothing was run. Do without it, or ask the user: `/mcp` shows the server."
    )
    failure = ToolFailure.TIMEOUT if "no result within" in reason else ToolFailure.EXECUTION_ERROR
    return ToolError(f"The MCP server `{server}` {reason}. {advice}", failure)
