"""Message metadata by role.

The fields of each type are in the order of the stored form, which has those of all roles.
"""

from datetime import datetime
from enum import StrEnum
from typing import Any, TypeAlias

from msgspec import Struct, field

from yourtool.messages.blocks import canonical_json
from yourtool.messages.usage import Usage, UsageExtra


class MessageStatus(StrEnum):
    """Whether a message is complete."""

    COMPLETE = "complete"
    PARTIAL = "partial"
    CANCELLED = "cancelled"
    ERROR = "error"


class RoutingMode(StrEnum):
    """Why a model was chosen, in short; the full chain is in the `route.decided` event."""

    OVERRIDE = "override"
    MANUAL = "manual"
    RULE = "rule"
    PATTERN = "pattern"
    DELEGATE = "delegate"
    DEFAULT = "default"


class StopReason(StrEnum):
    """Why a reply ended. Tools run because of tool_use blocks, never because of this."""

    END_TURN = "end_turn"
    MAX_TOKENS = "max_tokens"
    STOP_SEQUENCE = "stop_sequence"
    TOOL_USE = "tool_use"
    REFUSAL = "refusal"
    CONTENT_FILTER = "content_filter"
    PAUSE_TURN = "pause_turn"
    CANCELLED = "cancelled"
    ERROR = "error"
    OTHER = "other"


class RoutingDecisionRecord(Struct, frozen=True, kw_only=True):
    """Why this model was chosen for this message, in short."""

    mode: RoutingMode
    chosen_model: str
    reason: str
    rule_name: str | None = None
    confidence: float | None = None
    alternatives_considered: tuple[str, ...] = ()


class ErrorInfo(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Why a reply failed."""

    error_class: str
    message: str
    retryable: bool = False
    http_status: int | None = None
    code: str | None = None
    """An `ErrorCode`, if the cause is known more precisely than the class."""


class ToolInputError(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Arguments that were not a JSON object; the call is stored with empty input and never run."""

    raw: str
    """The received text, truncated."""
    error: str
    truncated: bool = False
    """The reply hit the output limit inside this call."""


class Audience(StrEnum):
    """The recipients of a message."""

    BOTH = "both"
    MODEL = "model"
    """Hidden on the screen."""
    USER = "user"
    """Not sent to models."""


class Origin(StrEnum):
    """The source of a message, if its role is not enough; other sources are `custom:<kind>`.

    A message that does not come from a person, model or tool has the role `user`.
    """

    USER = "user"
    MODEL = "model"
    TOOL = "tool"
    COMPACTION_SUMMARY = "compaction_summary"
    BRANCH_SUMMARY = "branch_summary"
    USER_SHELL = "user_shell"
    STEERING = "steering"
    FOLLOW_UP = "follow_up"
    IMPORT_REPAIR = "import_repair"
    RESUME_REPAIR = "resume_repair"
    FILES_RESTORED = "custom:files_restored"
    PROCESSES = "custom:processes"


CUSTOM = "custom:"
"""The start of the sources of custom entries, before their kind."""


class ImportSource(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The source of an imported message or session, to detect a repeated import."""

    system: str
    format: str
    version: str | None = None
    source_id: str | None = None
    source_path: str | None = None
    source_sha256: str | None = None
    imported_at: datetime | None = None
    warnings: tuple[str, ...] = ()
    """Content that our format cannot represent."""
    extra: dict[str, Any] | None = None
    """Unchanged metadata of the source that has no field here."""


class RequestOptions(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The settings of a request, to repeat or compare it."""

    thinking_level: str | None = None
    """The requested reasoning effort; None: the model's default."""
    temperature: float | None = None
    max_tokens: int | None = None
    tool_choice: str | None = None
    """`auto`, `any`, `none` or `tool:<name>`; None without tools."""
    service_tier: str | None = None
    cache_retention: str | None = None
    api: str | None = None
    """The wire format: the `api` of the provider."""


class _Metadata(Struct, frozen=True, gc=False, kw_only=True, omit_defaults=True, eq=False):
    """Equality and hashing, which ignore `provider_raw`."""

    def _identity(self) -> tuple[Any, ...]:
        return tuple(
            canonical_json(value) if isinstance(value, dict | ImportSource) else value
            for name in self.__struct_fields__
            if name != "provider_raw"
            for value in (getattr(self, name),)
        )

    def __eq__(self, other: object) -> bool:
        if type(other) is not type(self):
            return NotImplemented
        return self._identity() == other._identity()

    def __hash__(self) -> int:
        return hash(self._identity())


class PromptMetadata(_Metadata, frozen=True, kw_only=True, omit_defaults=True, eq=False):
    """Metadata of a prompt or a system message; messages of every role have these fields."""

    status: MessageStatus = MessageStatus.COMPLETE
    user_id: str | None = None
    team_id: str | None = None
    origin: str | None = None
    """An `Origin`, or `custom:<kind>`."""
    audience: Audience = Audience.BOTH
    critical: bool = False
    """A request that cannot contain all blocks of the message fails instead of dropping one."""
    import_source: ImportSource | None = field(default=None, name="import")


class ReplyMetadata(_Metadata, frozen=True, kw_only=True, omit_defaults=True, eq=False):
    """Metadata of a reply; a complete one has `model`, `provider`, `routing` and `usage`."""

    model: str | None = None
    """Canonical model id, `<provider>:<name>`."""
    provider: str | None = None
    routing: RoutingDecisionRecord | None = None
    usage: Usage | None = None
    status: MessageStatus = MessageStatus.COMPLETE
    provider_raw: dict[str, Any] | None = None
    """Opaque data of one adapter; ignored by equality."""
    user_id: str | None = None
    team_id: str | None = None
    stop_reason: StopReason | None = None
    stop_detail: str | None = None
    """The stop reason in the provider's term."""
    error: ErrorInfo | None = None
    tool_input_errors: dict[str, ToolInputError] | None = None
    """By tool_use id."""
    usage_extra: UsageExtra | None = None
    request: RequestOptions | None = None
    """For people; not used by the program except for its `api`."""
    origin: str | None = None
    audience: Audience = Audience.BOTH
    critical: bool = False
    import_source: ImportSource | None = field(default=None, name="import")


class ResultMetadata(_Metadata, frozen=True, kw_only=True, omit_defaults=True, eq=False):
    """Metadata of a tool result."""

    parent_tool_use_id: str | None = None
    """The id of the call; every complete result has it."""
    status: MessageStatus = MessageStatus.COMPLETE
    user_id: str | None = None
    team_id: str | None = None
    details: dict[str, Any] | None = None
    """For the screen only (a diff, an exit code); never sent to a model."""
    terminate: bool = False
    """A tool's hint to end the turn, if all results of the reply have it."""
    origin: str | None = None
    audience: Audience = Audience.BOTH
    critical: bool = False
    import_source: ImportSource | None = field(default=None, name="import")


MessageMetadata: TypeAlias = PromptMetadata | ReplyMetadata | ResultMetadata
