"""The `save_skill` tool.

A model writes a new skill of the workspace, and the user approves it. It is written as every file:
with a diff to approve, completely or not at all, and undone by `/undo`. It is only ever created,
and only in the folder of skills.
"""

import json
from collections.abc import Callable
from typing import Annotated

from msgspec import Meta

from yourtool.effects import Preview, SideEffects
from yourtool.errors import ToolError
from yourtool.messages.blocks import TextBlock
from yourtool.tools.base import Args, StructTool, ToolContext, ToolOutput, tool
from yourtool.tools.edits.file_changes import FileChange, apply_change, build_change, read_current

FOLDER = ".agents/skills"
_MAX_BODY = 24_000
"""Characters of a text; longer instructions belong in files that it names."""


class SaveSkill(Args, frozen=True):
    """A new skill."""

    name: Annotated[str, Meta(max_length=64, description="Of a-z, 0-9 and hyphens.")]
    description: Annotated[str, Meta(max_length=1_024, description="What for, and when.")]
    body: Annotated[str, Meta(max_length=_MAX_BODY, description="Markdown.")]

    @property
    def path(self) -> str:
        """The file of the skill in the workspace."""
        return f"{FOLDER}/{self.name}/SKILL.md"

    def workspace_paths(self) -> tuple[str, ...]:
        """Return the file, which the arguments do not have as a path."""
        return (self.path,)


def build_save_skill(check: Callable[[str, str], None]) -> StructTool:
    """Return the tool; `check` gets the name and the text of a skill, and can block.

    It raises a ToolError if that is no valid new skill.
    """

    def compute(args: SaveSkill, context: ToolContext) -> FileChange:
        text = context.mask.text(_compose(args))
        check(args.name, text)
        if read_current(args.path, context) is not None:
            raise ToolError(f"`{args.path}` exists; a skill is only created, never replaced")
        change = build_change(args.path, None, text.encode(), None, context)
        if change.real != args.path:
            raise ToolError(f"`{FOLDER}` leads to another place, so no skill is saved there")
        return change

    async def preview(args: SaveSkill, context: ToolContext) -> Preview:
        return await context.run_in_thread(
            lambda: compute(args, context).preview(None, context.workspace.root)
        )

    @tool(SideEffects.WRITE, preview=preview, records_changes=True)
    async def save_skill(args: SaveSkill, context: ToolContext) -> ToolOutput:
        """Save instructions for a kind of task as a new skill, if the user asked for it."""
        change = await apply_change(lambda: compute(args, context), args.path, context)
        text = f"Saved `{change.real}`. It is a skill once the user trusts the folder with it."
        details = {"path": change.real, "diff": change.diff(), "created": True}
        return ToolOutput((TextBlock(text),), details=details, files_modified=(change.real,))

    return save_skill


def _compose(args: SaveSkill) -> str:
    """Return the file; text between quotes of JSON is YAML as well."""
    description = json.dumps(" ".join(args.description.split()), ensure_ascii=False)
    return f"---\nname: {args.name}\ndescription: {description}\n---\n\n{args.body.strip()}\n"
