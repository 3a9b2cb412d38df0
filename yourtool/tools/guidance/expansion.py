"""The `expand_message` tool."""

from collections.abc import Callable
from typing import Annotated

from msgspec import Meta

from yourtool.effects import SideEffects
from yourtool.errors import ToolError
from yourtool.tools.base import Args, StructTool, ToolContext, tool

EXPAND_MESSAGE = "expand_message"
MAX_CHARACTERS = 8_000
"""Of a message in one result; `offset` reads on."""


class ExpandMessage(Args, frozen=True):
    """A message and where to start in it."""

    message: Annotated[str, Meta(max_length=40, description="Number or id.")]
    offset: Annotated[int, Meta(ge=0, description="Characters to skip.")] = 0


def cut_page(text: str, offset: int) -> str:
    """Return a part of a text, and how to read on if there is more.

    Raises:
        ToolError: the text ends before `offset`.
    """
    if offset >= len(text):
        raise ToolError(f"the message has {len(text):,} characters; use a smaller `offset`")
    end = offset + MAX_CHARACTERS
    if (more := len(text) - end) <= 0:
        return text[offset:]
    return f"{text[offset:end]}\n(… {more:,} more characters; `offset` {end} continues …)"


def build_expand_message(read: Callable[[str, int], str]) -> StructTool:
    """Return the tool; `read` returns the text from an offset on, and can block.

    It raises a ToolError if the session has no such message.
    """

    @tool(SideEffects.NONE)
    async def expand_message(args: ExpandMessage, context: ToolContext) -> str:
        """Read the original of a summarised or shortened message of this conversation."""
        return await context.run_in_thread(read, args.message, args.offset)

    return expand_message
