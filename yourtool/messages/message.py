"""Canonical message, schema version 1.

A message is a role and an ordered tuple of blocks. A tool result is a separate message with role
`tool`; a system prompt is a message with role `system`. The role decides the type of the message,
and so that of its metadata. Values are frozen and hashable; equality
and hashing ignore `provider_raw`.
"""

from collections.abc import Mapping
from datetime import UTC, datetime
from enum import StrEnum

from msgspec import Struct, field

from yourtool.messages.blocks import (
    ContentBlock,
    TextBlock,
    ToolResultBlock,
    ToolUseBlock,
    parse_file_block,
)
from yourtool.messages.metadata import (
    CUSTOM,
    MessageMetadata,
    Origin,
    PromptMetadata,
    ReplyMetadata,
    ResultMetadata,
)

SCHEMA_VERSION = 1


class Role(StrEnum):
    """The author of a message."""

    USER = "user"
    ASSISTANT = "assistant"
    SYSTEM = "system"
    TOOL = "tool"


def now() -> datetime:
    """Return the current UTC time with microseconds."""
    return datetime.now(UTC)


_NO_PROMPTS = (
    Origin.USER_SHELL,
    Origin.STEERING,
    Origin.COMPACTION_SUMMARY,
    Origin.BRANCH_SUMMARY,
)
"""The sources of user messages that start no turn; nor do those of custom entries."""


class Message(Struct, frozen=True, kw_only=True, weakref=True):
    """One entry of a conversation, of the type for its role."""

    id: str
    """ULID, increasing within a session; created by the core, never by an adapter."""
    session_id: str
    role: Role
    content: tuple[ContentBlock, ...]
    metadata: MessageMetadata
    created_at: datetime
    schema_version: int = SCHEMA_VERSION

    def __post_init__(self) -> None:
        if type(self) is not MESSAGE_TYPES[self.role]:
            raise ValueError(f"a {type(self).__name__} cannot have the role `{self.role}`")

    @property
    def text(self) -> str:
        """All text blocks, joined without a separator."""
        return "".join(block.text for block in self.content if isinstance(block, TextBlock))

    @property
    def text_without_files(self) -> str:
        """The text blocks of a prompt without attached files, which follow the first block."""
        return "".join(
            block.text
            for at, block in enumerate(self.content)
            if isinstance(block, TextBlock) and (at == 0 or parse_file_block(block) is None)
        )

    @property
    def is_prompt(self) -> bool:
        """Whether the message starts a turn: not one to a running turn or about the user."""
        if self.role is not Role.USER:
            return False
        origin = self.metadata.origin
        return origin is None or not (origin in _NO_PROMPTS or origin.startswith(CUSTOM))

    @property
    def tool_uses(self) -> tuple[ToolUseBlock, ...]:
        """The tool calls in the message, in order."""
        return tuple(block for block in self.content if isinstance(block, ToolUseBlock))

    @property
    def result(self) -> ToolResultBlock | None:
        """The tool result of a `tool` message."""
        for block in self.content:
            if isinstance(block, ToolResultBlock):
                return block
        return None


class PromptMessage(Message, frozen=True, kw_only=True):
    """A message of the user, or a system message."""

    role: Role = Role.USER
    metadata: PromptMetadata = field(default_factory=PromptMetadata)


class ReplyMessage(Message, frozen=True, kw_only=True):
    """A reply of a model."""

    role: Role = Role.ASSISTANT
    metadata: ReplyMetadata = field(default_factory=ReplyMetadata)


class ResultMessage(Message, frozen=True, kw_only=True):
    """The result of a tool call."""

    role: Role = Role.TOOL
    metadata: ResultMetadata = field(default_factory=ResultMetadata)


MESSAGE_TYPES: Mapping[Role, type[Message]] = {
    Role.USER: PromptMessage,
    Role.SYSTEM: PromptMessage,
    Role.ASSISTANT: ReplyMessage,
    Role.TOOL: ResultMessage,
}
METADATA_TYPES: Mapping[Role, type[MessageMetadata]] = {
    Role.USER: PromptMetadata,
    Role.SYSTEM: PromptMetadata,
    Role.ASSISTANT: ReplyMetadata,
    Role.TOOL: ResultMetadata,
}
