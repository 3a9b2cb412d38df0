"""Tool calls for clients."""

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from acp.schema import (
    ContentToolCallContent,
    ImageContentBlock,
    TextContentBlock,
    ToolCallLocation,
    ToolKind,
)

from yourtool.effects import SideEffects
from yourtool.foundation.text import printable
from yourtool.messages.blocks import ContentBlock, ImageBlock, TextBlock

PLAN_TOOL = "update_plan"
"""Its calls are shown as the plan."""
_KINDS: Mapping[str, ToolKind] = {
    "read_file": "read",
    "list_dir": "read",
    "expand_message": "read",
    "grep": "search",
    "glob": "search",
    "edit_file": "edit",
    "write_file": "edit",
    "apply_patch": "edit",
    "shell": "execute",
    "process_input": "execute",
    "process_output": "execute",
    "process_stop": "execute",
    "fetch_url": "fetch",
    "delegate": "think",
    "propose_plan": "switch_mode",
}
_KINDS_BY_EFFECT: Mapping[SideEffects, ToolKind] = {
    SideEffects.NONE: "other",
    SideEffects.READ: "read",
    SideEffects.WRITE: "edit",
    SideEffects.EXECUTE: "execute",
    SideEffects.NETWORK: "other",
}
_TELLING = ("command", "pattern", "path", "url", "query", "task", "name")
"""Arguments that a title shows, the first of them that a call has."""
_MAX_TITLE = 200
"""Characters of a title."""


def get_kind(name: str, effects: SideEffects = SideEffects.NONE) -> ToolKind:
    """Return the kind of a tool, by its effect if the name is not one of ours."""
    return _KINDS.get(name) or _KINDS_BY_EFFECT[effects]


def build_title(name: str, arguments: Mapping[str, Any]) -> str:
    """Return one line: the tool with its most telling argument."""
    for key in _TELLING:
        if isinstance(value := arguments.get(key), str) and value.strip():
            first, line_feed, _ = value.strip().partition("\n")
            is_cut = bool(line_feed) or len(first) > _MAX_TITLE
            shown = first[:_MAX_TITLE] + " …" * is_cut
            return printable(f"{name}: {shown}").replace("\t", " ")
    return printable(name)


def find_locations(arguments: Mapping[str, Any], workspace: Path) -> list[ToolCallLocation]:
    """Return the file that a call names, with the line from which it is read."""
    if not isinstance(path := arguments.get("path"), str) or not path:
        return []
    line = arguments.get("offset")
    place = line if isinstance(line, int) and not isinstance(line, bool) and line > 0 else None
    return [ToolCallLocation(path=printable(str(workspace / path)), line=place)]


def to_content(blocks: Iterable[ContentBlock]) -> list[ContentToolCallContent]:
    """Return the texts and images of a result."""
    found = list[ContentToolCallContent]()
    for block in blocks:
        match block:
            case TextBlock(text=text) if text:
                shown = TextContentBlock(type="text", text=printable(text))
                found.append(ContentToolCallContent(type="content", content=shown))
            case ImageBlock(source=source, media_type=kind) if source.kind == "base64":
                image = ImageContentBlock(type="image", data=source.data, mime_type=kind)
                found.append(ContentToolCallContent(type="content", content=image))
            case ImageBlock():
                shown = TextContentBlock(type="text", text=printable(block.label))
                found.append(ContentToolCallContent(type="content", content=shown))
            case _:
                pass
    return found
