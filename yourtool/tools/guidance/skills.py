"""Skills for the model, and `load_skill`."""

import hashlib
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Annotated

from msgspec import Meta, Struct

from yourtool.effects import SideEffects
from yourtool.events.guidance import SkillLoaded
from yourtool.messages.blocks import TextBlock
from yourtool.providers.estimate import estimate_text
from yourtool.tools.base import Args, StructTool, ToolContext, ToolOutput, tool

LOAD_SKILL = "load_skill"
MAX_INDEX_BYTES = 8_192
"""Of the rows in the system prompt; skills without a row are found by words."""
SKILL_HEADING = "# Skill: "


def count_tokens(text: str) -> int:
    """Return the estimated tokens of the text of a skill."""
    return round(estimate_text(text))


class Skill(Struct, frozen=True):
    """A valid skill."""

    name: str
    description: str
    """In one line."""
    body: str
    source: str
    """`user`, or the file relative to the workspace."""
    is_listed: bool = True
    """Whether the model learns of it; if not, only the user can use it."""
    allowed_tools: str = ""
    """The tools that it names in `allowed-tools`; they need approvals as always."""
    model: str = ""
    """The model that it names, which is not used."""

    @property
    def text(self) -> str:
        """What the model reads."""
        place = "" if self.source == "user" else f"Its files are in `{Path(self.source).parent}`.\n"
        return f"{SKILL_HEADING}{self.name} (source: {self.source})\n{place}\n{self.body}"

    @property
    def version(self) -> str:
        """What differs when the text does."""
        return hashlib.sha256(self.body.encode()).hexdigest()[:16]

    @property
    def tokens(self) -> int:
        """The estimated tokens of the text."""
        return count_tokens(self.text)


class SkillSet(Struct, frozen=True):
    """The skills of a workspace by name, and which files are invalid and why."""

    skills: Mapping[str, Skill]
    problems: tuple[str, ...] = ()

    def index(self) -> str:
        """Return the rows for the system prompt; empty without skills."""
        rows, size = list[str](), 0
        listed = [each for each in self.skills.values() if each.is_listed]
        for skill in listed:
            row = f"- {skill.name}: {skill.description}"
            size += len(row.encode()) + 1
            if size > MAX_INDEX_BYTES:
                rows.append(f"- and {len(listed) - len(rows)} more, found by words of them")
                break
            rows.append(row)
        return "\n".join(rows)

    def search(self, words: str) -> list[Skill]:
        """Return the skills that contain the words: in the name first, then in the description."""
        wanted = words.strip().lower()
        scores = [
            (-2 * (wanted in each.name) - (wanted in each.description.lower()), each.name, each)
            for each in self.skills.values()
            if each.is_listed
        ]
        return [each for score, _, each in sorted(scores, key=lambda row: row[:2]) if score]


class LoadSkill(Args, frozen=True):
    """A skill, or words of it."""

    name: Annotated[str, Meta(max_length=200)]


def build_load_skill(load: Callable[[str], Skill | str]) -> StructTool:
    """Return the tool; `load` returns the skill with a name, or another answer, and can block.

    It raises a ToolError if a skill cannot be loaded.
    """

    @tool(SideEffects.NONE)
    async def load_skill(args: LoadSkill, context: ToolContext) -> ToolOutput:
        """Load the instructions of a skill; other words list the skills that match."""
        found = await context.run_in_thread(load, args.name)
        if isinstance(found, str):
            return ToolOutput((TextBlock(found),))
        loaded = SkillLoaded(
            skill_id=found.name,
            skill_version=found.version,
            load_reason="on_demand",
            load_size_tokens=found.tokens,
            source="global" if found.source == "user" else "workspace",
            triggered_by_tool_use_id=context.tool_use_id,
        )
        return ToolOutput((TextBlock(found.text),), facts=(loaded,))

    return load_skill
