"""The canonical message format, schema version 1, which is stored and which adapters translate.

A message is a role and an ordered tuple of typed blocks, never a bare string. A tool result is a
separate message with role `tool`; a system prompt is a message with role `system`. Values are
frozen and hashable; equality and hashing ignore `provider_raw`.
"""

from collections.abc import Iterable, Iterator
from datetime import UTC, datetime
from decimal import Decimal
from enum import StrEnum
from typing import Any, Literal, TypeAlias

import msgspec
from msgspec import Struct, field

SCHEMA_VERSION = 1


class Role(StrEnum):
    """The author of a message."""

    USER = "user"
    ASSISTANT = "assistant"
    SYSTEM = "system"
    TOOL = "tool"


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


def canonical_json(value: Any) -> bytes:
    """Encode `value` with sorted keys, so that equal values have equal bytes."""
    return msgspec.json.encode(value, order="deterministic")


Critical: TypeAlias = bool | msgspec.UnsetType
"""True: a request that cannot contain the block fails instead of dropping it."""


class TextBlock(Struct, frozen=True, tag_field="type", tag="text"):
    """Text."""

    text: str
    critical: Critical = msgspec.UNSET


class ToolUseBlock(Struct, frozen=True, tag_field="type", tag="tool_use"):
    """A tool call of the model."""

    id: str
    """`tu_<ulid>`, our id; the id map has the providers' ids."""
    name: str
    input: dict[str, Any]
    """Validated against the tool's schema on arrival and again at dispatch."""
    critical: Critical = msgspec.UNSET

    def __hash__(self) -> int:
        return hash((self.id, self.name))


class ImageSource(Struct, frozen=True):
    """The location of the bytes of an image, audio or a document."""

    kind: Literal["base64", "url", "file_ref"]
    data: str
    """Base64 text, a URL, `sha256:<hex>` of a stored attachment (`yourtool.blobs`), or a path
    relative to the workspace."""


class ImageBlock(Struct, frozen=True, tag_field="type", tag="image", omit_defaults=True):
    """An image."""

    source: ImageSource
    media_type: str
    pixels: tuple[int, int] | None = None
    """Width and height, if known; the token count depends on them."""
    critical: Critical = msgspec.UNSET


class AudioBlock(Struct, frozen=True, tag_field="type", tag="audio"):
    """Audio."""

    source: ImageSource
    media_type: str
    critical: Critical = msgspec.UNSET


class DocumentBlock(Struct, frozen=True, tag_field="type", tag="document", omit_defaults=True):
    """A document, such as a PDF."""

    source: ImageSource
    media_type: str
    name: str = ""
    """The file name without directories, if known; external text."""
    critical: Critical = msgspec.UNSET


class ThinkingBlock(Struct, frozen=True, tag_field="type", tag="thinking"):
    """Reasoning that the model shows."""

    text: str
    signature: str | None = None
    """Opaque; only the provider that issued it can read it."""
    critical: Critical = msgspec.UNSET


class RedactedThinkingBlock(Struct, frozen=True, tag_field="type", tag="redacted_thinking"):
    """Encrypted reasoning."""

    data: str
    critical: Critical = msgspec.UNSET


class ToolResultBlock(Struct, frozen=True, tag_field="type", tag="tool_result"):
    """The result of a tool call."""

    tool_use_id: str
    content: tuple[TextBlock | ImageBlock, ...]
    is_error: bool = False
    critical: Critical = msgspec.UNSET


MediaBlock: TypeAlias = ImageBlock | AudioBlock | DocumentBlock
"""The blocks with an `ImageSource`."""

ContentBlock: TypeAlias = (
    TextBlock
    | ToolUseBlock
    | ToolResultBlock
    | ImageBlock
    | AudioBlock
    | DocumentBlock
    | ThinkingBlock
    | RedactedThinkingBlock
)


def iter_blocks(content: Iterable[ContentBlock]) -> Iterator[ContentBlock]:
    """Yield every block, and after each tool result the blocks in it."""
    for block in content:
        yield block
        if isinstance(block, ToolResultBlock):
            yield from block.content


class Usage(Struct, frozen=True, kw_only=True):
    """Tokens and price of one model request; the three input counters are disjoint."""

    input_tokens: int
    """Prompt tokens that were neither read from nor written to a cache."""
    output_tokens: int
    cached_input_tokens: int = 0
    cache_creation_input_tokens: int = 0
    cost_usd: Decimal
    pricing_version: str
    """The version of the price table; empty if the model has no price."""
    latency_ms: int

    @property
    def prompt_tokens(self) -> int:
        """All prompt tokens, cached or not."""
        return self.input_tokens + self.cached_input_tokens + self.cache_creation_input_tokens


class RateLimits(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The remaining rate limits of the account, as of one response."""

    remaining_requests: int | None = None
    remaining_tokens: int | None = None
    reset_seconds: float | None = None
    """Seconds until the limits are reset."""


class Receipt(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Metadata of a response, such as its ids."""

    request_id: str | None = None
    """The provider's id of the request, for its support."""
    response_id: str | None = None
    """The provider's id of the reply, with which some report its cost."""
    rate_limits: RateLimits | None = None


class UsageExtra(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Additional token counts of a request."""

    estimated: bool = False
    """The provider sent no counts; these are our estimate."""
    unpriced: bool = False
    """The model has no known price; `cost_usd` is zero because it must be a number."""
    reasoning_tokens: int | None = None
    """Included in the output tokens."""
    image_tokens: int | None = None
    """In prompt and output together."""
    audio_tokens: int | None = None
    """In prompt and output together."""
    reported_cost_usd: Decimal | None = None
    receipt: Receipt | None = None


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


class MessageMetadata(Struct, frozen=True, kw_only=True, omit_defaults=True, eq=False):
    """Source, cost and state of a message."""

    model: str | None = None
    """Canonical model id, `<provider>:<name>`."""
    provider: str | None = None
    routing: RoutingDecisionRecord | None = None
    usage: Usage | None = None
    parent_tool_use_id: str | None = None
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
    details: dict[str, Any] | None = None
    """For the screen only (a diff, an exit code); never sent to a model."""
    terminate: bool = False
    """A tool's hint to end the turn, if all results of the reply have it."""
    usage_extra: UsageExtra | None = None
    request: RequestOptions | None = None
    """For people; set on assistant messages and not used by the program."""
    origin: str | None = None
    """An `Origin`, or `custom:<kind>`."""
    audience: Audience = Audience.BOTH
    critical: bool = False
    """A request that cannot contain all blocks of the message fails instead of dropping one."""
    import_source: ImportSource | None = field(default=None, name="import")

    def _identity(self) -> tuple[Any, ...]:
        return tuple(
            canonical_json(value) if isinstance(value, dict | ImportSource) else value
            for name in self.__struct_fields__
            if name != "provider_raw"
            for value in (getattr(self, name),)
        )

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, MessageMetadata):
            return NotImplemented
        return self._identity() == other._identity()

    def __hash__(self) -> int:
        return hash(self._identity())


def now() -> datetime:
    """Return the current UTC time with microseconds."""
    return datetime.now(UTC)


class Message(Struct, frozen=True, kw_only=True, weakref=True):
    """One entry of a conversation."""

    id: str
    """ULID, increasing within a session; created by the core, never by an adapter."""
    session_id: str
    role: Role
    content: tuple[ContentBlock, ...]
    metadata: MessageMetadata = field(default_factory=MessageMetadata)
    created_at: datetime
    schema_version: int = SCHEMA_VERSION

    @property
    def text(self) -> str:
        """All text blocks, joined without a separator."""
        return "".join(block.text for block in self.content if isinstance(block, TextBlock))

    @property
    def is_prompt(self) -> bool:
        """Whether the message is a prompt, not the output of the user's shell command."""
        return self.role is Role.USER and self.metadata.origin != Origin.USER_SHELL

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
