"""Models: names, capabilities and prices."""

from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from typing import Annotated, Literal, TypeAlias, get_args

from msgspec import Meta, Struct

from yourtool.errors import UnknownModelError

Thinking: TypeAlias = Literal["budget", "adaptive", "effort"]
"""The form of the reasoning effort in requests: a token budget, adaptive reasoning with an effort,
or an effort only."""
Effort: TypeAlias = Literal["off", "minimal", "low", "medium", "high", "xhigh", "max"]
"""Reasoning effort, lowest first."""
EFFORTS: tuple[Effort, ...] = get_args(Effort)
EditTool: TypeAlias = Literal["edit_file", "apply_patch"]
"""The tool with which a model changes parts of files."""
EDIT_TOOLS: tuple[EditTool, ...] = get_args(EditTool)
CacheRetention: TypeAlias = Literal["none", "short", "long"]
"""How long a provider caches the prefix of a conversation: not, minutes, hours."""

DEMO = "demo"
AGENT = "acp"
"""The provider whose models are other agents, unless the user has a provider of this name."""
TOUR_ID = "demo:tour"
"""The script whose first chapter is the reply to any first prompt."""
"""The provider whose models are scripts; its sessions use a scratch copy of the workspace."""

MAX_SAFE_INTEGER = 2**53
"""The largest integer up to which a double represents every integer exactly."""
Size: TypeAlias = Annotated[int, Meta(ge=1, le=MAX_SAFE_INTEGER)]
Count: TypeAlias = Annotated[int, Meta(ge=0, le=MAX_SAFE_INTEGER)]


class ModelId(Struct, frozen=True):
    """`<provider>:<name>`; the name may contain colons and slashes."""

    provider: str
    name: str

    @classmethod
    def parse(cls, text: str) -> "ModelId":
        """Split at the first colon.

        Raises:
            UnknownModelError: there is no provider or no name.
        """
        provider, colon, name = text.partition(":")
        if not (provider and colon and name):
            raise UnknownModelError(
                f"`{text}` is not a model id; write `<provider>:<name>`,"
                " for example `anthropic:claude-sonnet-4-6`"
            )
        return cls(provider, name)

    def __str__(self) -> str:
        return f"{self.provider}:{self.name}"


class AdapterCapabilities(Struct, frozen=True, kw_only=True):
    """What our adapter supports for a model, which may be less than the model does."""

    supports_thinking: bool = False
    supports_images: bool = False
    supports_audio: bool = False
    supports_documents: bool = False
    supports_tools: bool = True
    supports_system_prompt: bool = True
    supports_structured_output: bool = False
    supports_streaming: bool = True
    """False: replies are requested as one document."""
    supports_streaming_tool_calls: bool = True
    """False: the same for requests with tools."""
    supports_parallel_tool_calls: bool = True
    """False: tool calls are requested, sent and run one at a time."""
    supports_prompt_caching: bool = False
    supports_system_messages_in_list: bool = True
    """False: the system prompt is put at the start of the first user message, unless the dialect
    has a field for it, which it always uses."""
    max_context_tokens: Size = 32_768
    max_output_tokens: Size = 4_096
    accepted_image_media_types: tuple[str, ...] = ()
    max_image_bytes: Size = 5 * 2**20 * 3 // 4
    """Before encoding; in base64 it is 5 MiB, the smallest limit of the large providers
    (https://docs.claude.com/en/docs/build-with-claude/vision)."""
    max_image_side: Size = 8_000
    """Pixels (same page)."""
    max_images: Count = 100
    """Per request (same page)."""
    many_images: Count = 20
    """With more per request, `many_images_side` is the limit of each image (same page)."""
    many_images_side: Size = 2_000
    max_file_bytes: Size = 14 * 2**20
    """For audio or a document; in base64 it leaves space for text within
    `max_request_bytes`."""
    max_request_bytes: Size = 20 * 2**20
    """For the request body, with files in base64: a long-standing limit of Google's
    (https://ai.google.dev/gemini-api/docs/document-processing)."""


class Rates(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """US dollars per million tokens."""

    input_per_mtok_usd: Decimal
    output_per_mtok_usd: Decimal
    cached_read_per_mtok_usd: Decimal | None = None
    """None: cached tokens have the price of uncached ones."""
    cache_write_per_mtok_usd: Decimal | None = None
    cache_write_hour_per_mtok_usd: Decimal | None = None
    """For a cache of an hour; None: as `cache_write_per_mtok_usd`."""


class PriceTier(Rates, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The rates of an entire request whose prompt is longer than a number of tokens."""

    above_prompt_tokens: Count
    """Includes cached tokens."""


class Price(Rates, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The rates of a model, with tiers for long prompts."""

    tiers: tuple[PriceTier, ...] = ()


class Model(Struct, frozen=True, kw_only=True):
    """One row of the catalogue."""

    id: str
    """Canonical: `<provider>:<name>`."""
    wire_name: str
    """The provider's name of the model."""
    capabilities: AdapterCapabilities
    aliases: tuple[str, ...] = ()
    price: Price | None = None
    """None: unpriced, which is not the same as free."""
    price_as_of: str = ""
    """Source and date of the price, if it is not from the price tables."""
    known: bool = True
    """False: the model is unknown, and its capabilities are conservative defaults."""
    has_size: bool = True
    """False: the size of the context window is a guess; see `window`."""
    taken_from: str = ""
    """The model of the same family whose row describes this one."""
    ends: date | None = None
    """The day from which the provider answers with it no longer."""
    successor: str = ""
    """The provider's name of the model that replaces it."""
    uses_max_completion_tokens: bool = False
    """Chat Completions: the newer name of the limit, which reasoning models require."""
    accepts_temperature: bool = True
    thinking: Thinking | None = None
    """For a model with `supports_thinking`; None: the default of its dialect."""
    thinking_levels: tuple[Effort, ...] = ()
    """The supported levels; empty: the usual levels of its form."""
    least_cached_tokens: int = 1_024
    """A shorter prefix is not cached."""
    caches_for_a_day: bool = False
    """Accepts `prompt_cache_retention`, as some OpenAI models do, but none from GPT-5.6 on
    (https://platform.openai.com/docs/guides/prompt-caching)."""

    edit_tool: EditTool = "edit_file"
    """`apply_patch` for a model that is trained on patches."""

    @property
    def provider(self) -> str:
        """The part of the id before the first colon."""
        return self.id.partition(":")[0]

    @property
    def window(self) -> int | None:
        """The context window in tokens; None: its size is not known."""
        return self.capabilities.max_context_tokens if self.has_size else None

    def describe_end(self, within: timedelta = timedelta(0)) -> str | None:
        """Return that the model has ended, or ends within a time; None: neither is known."""
        today = datetime.now(UTC).date()
        if self.ends is None or self.ends > today + within:
            return None
        when = "ended" if self.ends <= today else "ends"
        next_one = f"; `{self.provider}:{self.successor}` replaces it" if self.successor else ""
        return f"`{self.id}` {when} on {self.ends}{next_one}"

    @property
    def is_demo(self) -> bool:
        """Whether a script answers instead of a model."""
        return self.provider == DEMO
