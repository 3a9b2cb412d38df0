"""Facts about skills and memory.

They record the skills that a model loaded, and its changes for later sessions.
"""

from typing import ClassVar, Literal, TypeAlias

from yourtool.events.facts import Actor, Fact, Sensitivity

MemoryOperation: TypeAlias = Literal["add", "replace", "consolidate"]
"""A line was added, a text in the file was replaced, or all of the file was."""


class SkillLoaded(Fact, frozen=True, kw_only=True, tag="skill.loaded"):
    """A model loaded the text of a skill."""

    actor: ClassVar[Actor] = Actor.AGENT

    skill_id: str
    """Its name."""
    skill_version: str
    """The start of the SHA-256 of its text, in hexadecimal."""
    load_reason: Literal["on_demand"]
    load_size_tokens: int
    """Estimated."""
    source: Literal["global", "workspace"]
    """Whether it is a skill of the user or of the project."""
    triggered_by_tool_use_id: str


class MemoryUpdated(Fact, frozen=True, kw_only=True, tag="memory.updated"):
    """A model changed a memory file; sizes are in bytes, hashes are SHA-256 in hexadecimal."""

    actor: ClassVar[Actor] = Actor.AGENT
    sensitivity: ClassVar[Sensitivity] = Sensitivity.PRIVATE

    file: str
    """Its name."""
    operation: MemoryOperation
    before_hash: str
    after_hash: str
    before_size_bytes: int
    after_size_bytes: int
