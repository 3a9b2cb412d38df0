"""The canonical message format, schema version 1: what is stored and what adapters translate.

A message is a role and an ordered tuple of typed blocks, never a bare string. A tool result is a
message of its own with role `tool`; a system prompt is a message with role `system`. Values are
frozen and hashable; equality and hashing leave `provider_raw` out.
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
    """Who speaks."""

    USER = "user"
    ASSISTANT = "assistant"
    SYSTEM = "system"
    TOOL = "tool"


class MessageStatus(StrEnum):
    """How far a message got."""

    COMPLETE = "complete"
    PARTIAL = "partial"
    CANCELLED = "cancelled"
    ERROR = "error"


class RoutingMode(StrEnum):
    """Why a turn went to its model, coarsely; the chain is in the `route.decided` event."""

    OVERRIDE = "override"
    MANUAL = "manual"
    RULE = "rule"
    PATTERN = "pattern"
    DELEGATE = "delegate"
    DEFAULT = "default"


class StopReason(StrEnum):
    """Why a reply ended. Whether tools run is decided by the tool_use blocks, never by this."""

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
"""True: a request that cannot hold the block fails instead of leaving it out."""


class TextBlock(Struct, frozen=True, tag_field="type", tag="text"):
    """Words."""

    text: str
    critical: Critical = msgspec.UNSET


class ToolUseBlock(Struct, frozen=True, tag_field="type", tag="tool_use"):
    """A tool the model wants to run."""

    id: str
    """`tu_<ulid>`, ours; providers' ids live in the id map."""
    name: str
    input: dict[str, Any]
    """Checked against the tool's schema at ingress and again at dispatch."""
    critical: Critical = msgspec.UNSET

    def __hash__(self) -> int:
        return hash((self.id, self.name))


class ImageSource(Struct, frozen=True):
    """Where the bytes of an image, a recording or a document are."""

    kind: Literal["base64", "url", "file_ref"]
    data: str
    """Base64 text, a URL, `sha256:<hex>` of a kept attachment (`yourtool.blobs`), or a path
    relative to the workspace."""


class ImageBlock(Struct, frozen=True, tag_field="type", tag="image", omit_defaults=True):
    """A picture."""

    source: ImageSource
    media_type: str
    pixels: tuple[int, int] | None = None
    """Width and height, if they are known; what it counts as depends on them."""
    critical: Critical = msgspec.UNSET


class AudioBlock(Struct, frozen=True, tag_field="type", tag="audio"):
    """A recording."""

    source: ImageSource
    media_type: str
    critical: Critical = msgspec.UNSET


class DocumentBlock(Struct, frozen=True, tag_field="type", tag="document", omit_defaults=True):
    """A document with a layout of its own, such as a PDF."""

    source: ImageSource
    media_type: str
    name: str = ""
    """The file's name without directories, if it is known; from outside."""
    critical: Critical = msgspec.UNSET


class ThinkingBlock(Struct, frozen=True, tag_field="type", tag="thinking"):
    """Reasoning shown by the model."""

    text: str
    signature: str | None = None
    """Opaque; only the provider that issued it can read it."""
    critical: Critical = msgspec.UNSET


class RedactedThinkingBlock(Struct, frozen=True, tag_field="type", tag="redacted_thinking"):
    """Reasoning that the provider keeps encrypted."""

    data: str
    critical: Critical = msgspec.UNSET


class ToolResultBlock(Struct, frozen=True, tag_field="type", tag="tool_result"):
    """What a tool answered."""

    tool_use_id: str
    content: tuple[TextBlock | ImageBlock, ...]
    is_error: bool = False
    critical: Critical = msgspec.UNSET


MediaBlock: TypeAlias = ImageBlock | AudioBlock | DocumentBlock
"""What has its bytes somewhere else."""

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


def each_block(content: Iterable[ContentBlock]) -> Iterator[ContentBlock]:
    """Yield every block, and after a tool result what it holds."""
    for block in content:
        yield block
        if isinstance(block, ToolResultBlock):
            yield from block.content


class Usage(Struct, frozen=True, kw_only=True):
    """Tokens and price of one model request; the three input counters are disjoint."""

    input_tokens: int
    """Prompt tokens neither read from nor written to a cache."""
    output_tokens: int
    cached_input_tokens: int = 0
    cache_creation_input_tokens: int = 0
    cost_usd: Decimal
    pricing_version: str
    """The price table used; empty when the model has no price."""
    latency_ms: int

    @property
    def prompt_tokens(self) -> int:
        """The whole prompt."""
        return self.input_tokens + self.cached_input_tokens + self.cache_creation_input_tokens


class RateLimits(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What the provider lets the account do yet, as of one response."""

    remaining_requests: int | None = None
    remaining_tokens: int | None = None
    reset_seconds: float | None = None
    """Until everything is available again."""


class Receipt(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What a provider says about a request beside the reply."""

    request_id: str | None = None
    """For its support desk."""
    response_id: str | None = None
    """Its name of the reply, by which some tell what it cost."""
    rate_limits: RateLimits | None = None


class UsageExtra(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What else is known about the tokens of a request."""

    estimated: bool = False
    """The provider did not say; the counters are our estimate."""
    unpriced: bool = False
    """No price is known for the model: `cost_usd` is zero because it must be a number."""
    reasoning_tokens: int | None = None
    """Of the output."""
    image_tokens: int | None = None
    """Of prompt and output together."""
    audio_tokens: int | None = None
    """Of prompt and output together."""
    reported_cost_usd: Decimal | None = None
    receipt: Receipt | None = None


class RoutingDecisionRecord(Struct, frozen=True, kw_only=True):
    """Why this message came from this model, in short."""

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
    """An `ErrorCode`, where more is known than the class."""


class ToolInputError(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Arguments that were not a JSON object; the call is stored with empty input and never run."""

    raw: str
    """The text as received, capped."""
    error: str
    truncated: bool = False
    """The reply was cut by the token limit inside this call."""


class Audience(StrEnum):
    """Who a message is for."""

    BOTH = "both"
    MODEL = "model"
    """The screen does not show it."""
    USER = "user"
    """No request holds it."""


class Origin(StrEnum):
    """Who made a message whose role does not say; other kinds are written `custom:<kind>`.

    An entry that no person, model or tool spoke is a user's text to the model.
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
    """Where an imported message or session was before, so that importing again adds nothing."""

    system: str
    format: str
    version: str | None = None
    source_id: str | None = None
    source_path: str | None = None
    source_sha256: str | None = None
    imported_at: datetime | None = None
    warnings: tuple[str, ...] = ()
    """What the format here could not take."""
    extra: dict[str, Any] | None = None
    """Metadata of the source that has no field here, as it was."""


class RequestOptions(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """How a reply was asked for, so that its turn can be repeated or compared."""

    thinking_level: str | None = None
    """What the model was asked for; None: it thought as it liked."""
    temperature: float | None = None
    max_tokens: int | None = None
    tool_choice: str | None = None
    """`auto`, `any`, `none` or `tool:<name>`; None: there were no tools."""
    service_tier: str | None = None
    cache_retention: str | None = None
    api: str | None = None
    """The wire format, as `api` of a provider's row names it."""


class MessageMetadata(Struct, frozen=True, kw_only=True, omit_defaults=True, eq=False):
    """Where a message came from and what it cost."""

    model: str | None = None
    """Canonical model id, `<provider>:<name>`."""
    provider: str | None = None
    routing: RoutingDecisionRecord | None = None
    usage: Usage | None = None
    parent_tool_use_id: str | None = None
    status: MessageStatus = MessageStatus.COMPLETE
    provider_raw: dict[str, Any] | None = None
    """Written and read by one adapter only; no part of equality."""
    user_id: str | None = None
    team_id: str | None = None
    stop_reason: StopReason | None = None
    stop_detail: str | None = None
    """The provider's own word for the stop reason."""
    error: ErrorInfo | None = None
    tool_input_errors: dict[str, ToolInputError] | None = None
    """By tool_use id."""
    details: dict[str, Any] | None = None
    """For the screen only (a diff, an exit code); never sent to a model."""
    terminate: bool = False
    """A tool's hint that its result ends the turn, if all results of the reply say so."""
    usage_extra: UsageExtra | None = None
    request: RequestOptions | None = None
    """Of an assistant's message; for people, read by nothing here."""
    origin: str | None = None
    """An `Origin`, or `custom:<kind>`."""
    audience: Audience = Audience.BOTH
    critical: bool = False
    """A request that cannot hold all blocks of the message fails instead of leaving one out."""
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
    """Return the current UTC time; microseconds are kept."""
    return datetime.now(UTC)


class Message(Struct, frozen=True, kw_only=True, weakref=True):
    """One entry of a conversation."""

    id: str
    """ULID, growing within a session; minted by the core, never by an adapter."""
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
        """Whether the user says something in it, rather than shows a command that they ran."""
        return self.role is Role.USER and self.metadata.origin != Origin.USER_SHELL

    @property
    def tool_uses(self) -> tuple[ToolUseBlock, ...]:
        """The calls in the message, in order."""
        return tuple(block for block in self.content if isinstance(block, ToolUseBlock))

    @property
    def result(self) -> ToolResultBlock | None:
        """The tool result that a `tool` message carries."""
        for block in self.content:
            if isinstance(block, ToolResultBlock):
                return block
        return None
