"""Calls of MCP tools."""

import base64
import binascii
import json
from collections.abc import Iterator
from typing import Any, Protocol

from yourtool.errors import ToolError
from yourtool.foundation.amounts import format_size
from yourtool.foundation.text import printable
from yourtool.messages.blocks import ImageBlock, ImageSource, TextBlock
from yourtool.tools.base import AskText, ToolContext, ToolOutput
from yourtool.tools.processes.output import CommandOutput
from yourtool.tools.schema_tool import SchemaTool
from yourtool.tools.servers.calls import ASKING_SECONDS, ForeignResult
from yourtool.tools.servers.projection import ProjectedTool

_IMAGE_TYPES = frozenset({"image/png", "image/jpeg", "image/gif", "image/webp"})
_MAX_IMAGES = 10


class Caller(Protocol):
    """Sends calls to a server."""

    name: str

    async def call(
        self, tool: ProjectedTool, arguments: dict[str, Any], ask: AskText | None = None
    ) -> ForeignResult:
        """Return the result of one call; `ask`: asks the user what the server asks.

        Raises:
            ToolError: there is none; the message names the server and the reason.
        """
        ...


def build_tool(server: Caller, tool: ProjectedTool, seconds: float) -> SchemaTool:
    """Return a tool of a server; a call takes at most `seconds`, which the server enforces, too."""

    async def run(arguments: dict[str, Any], context: ToolContext) -> ToolOutput:
        result = await server.call(tool, arguments, context.ask_text)
        return await context.run_in_thread(build_output, result, server.name, context)

    built = SchemaTool(tool.definition, run)
    # more than the server takes, whose message is better than that of the turn
    built.timeout_seconds = seconds + ASKING_SECONDS + 5
    return built


def build_output(result: ForeignResult, server: str, context: ToolContext) -> ToolOutput:
    """Return the result for the model: long texts saved, control characters made visible; blocks.

    Raises:
        ToolError: the server reports that the call failed.
    """
    images = list[ImageBlock]()
    texts = list(_read_content(result, images, context.image_limit))
    output = CommandOutput(context.spill, lambda _: None, context.mask)
    output.feed(printable("\n".join(texts)).encode("utf-8", "replace"))
    output.close()
    text = output.text(has_failed=result.is_error)
    if result.is_error:
        raise ToolError(f"The MCP server `{server}` reports an error: {text or '(no message)'}")
    return ToolOutput(
        (TextBlock(text or "(no content)"), *images),
        details={"mcp_server": server, "output_bytes": output.total_bytes},
    )


def read_texts(result: ForeignResult) -> list[str]:
    """Return the texts of a result, with a line for each image."""
    return [printable(each) for each in _read_content(result, [], 0)]


def _read_content(
    result: ForeignResult, images: list[ImageBlock], image_limit: int
) -> Iterator[str]:
    """Yield the texts of a result, and add its images to a list."""
    for block in result.content:
        match block.get("type"):
            case "text":
                yield str(block.get("text", ""))
            case "image":
                if problem := _add_image(block, images, image_limit):
                    yield f"[{problem}]"
            case "resource_link":
                about = block.get("description") or block.get("title") or block.get("name") or ""
                yield f"[resource {block.get('uri')}] {about}"
            case "resource":
                yield _describe_resource(block.get("resource") or {})
            case other:
                yield f"[{other} is not shown: this program has no use for it]"
    if result.structured is not None and not result.content:
        yield json.dumps(result.structured, ensure_ascii=False, indent=1)


def _describe_resource(resource: dict[str, Any]) -> str:
    where = f"[resource {resource.get('uri')}]"
    if isinstance(text := resource.get("text"), str):
        return f"{where}\n{text}"
    size = len(str(resource.get("blob", ""))) * 3 // 4
    return f"{where} {format_size(size)} of {resource.get('mimeType') or 'data'}, not shown"


def _add_image(block: dict[str, Any], images: list[ImageBlock], image_limit: int) -> str | None:
    """Add an image that the model accepts, or return why it does not get it."""
    media_type, encoded = str(block.get("mimeType")), str(block.get("data", ""))
    if media_type not in _IMAGE_TYPES:
        return f"an image of type {media_type}, which models do not accept"
    if not image_limit:
        return f"an image ({media_type}), which this model does not accept"
    if len(images) == _MAX_IMAGES:
        return f"one more image; a result has at most {_MAX_IMAGES}"
    try:
        data = base64.b64decode(encoded, validate=True)
    except (binascii.Error, ValueError):
        return f"an image ({media_type}) that is not valid base64"
    if len(data) > image_limit:
        return f"an image of {format_size(len(data))}, over the limit of this model"
    images.append(ImageBlock(ImageSource("base64", encoded), media_type))
    return None
