"""Models: their names, what they can take, and what they cost."""

from decimal import Decimal
from typing import Annotated, Literal, NamedTuple, TypeAlias, get_args

from msgspec import Meta, Struct

from yourtool.errors import UnknownModelError

Thinking: TypeAlias = Literal["budget", "adaptive", "effort"]
"""How a thinking level is put: so many tokens at most, as many as the model sees fit with an effort
beside it, or an effort alone."""
Effort: TypeAlias = Literal["off", "minimal", "low", "medium", "high", "xhigh", "max"]
"""How long a model is to think before it answers, least first."""
EFFORTS: tuple[Effort, ...] = get_args(Effort)
CacheRetention: TypeAlias = Literal["none", "short", "long"]
"""How long a provider is to keep the beginning of a conversation: not, minutes, hours."""


MAX_SAFE_INTEGER = 2**53
"""What any JSON and any reckoning with fractions holds exactly."""
Size: TypeAlias = Annotated[int, Meta(ge=1, le=MAX_SAFE_INTEGER)]
Count: TypeAlias = Annotated[int, Meta(ge=0, le=MAX_SAFE_INTEGER)]


class ModelId(NamedTuple):
    """`<provider>:<name>`; the name may hold colons and slashes of its own."""

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
    """What a model can take through our adapter; honest, also where the model could do more."""

    supports_thinking: bool = False
    supports_images: bool = False
    supports_audio: bool = False
    supports_documents: bool = False
    supports_tools: bool = True
    supports_system_prompt: bool = True
    supports_structured_output: bool = False
    supports_streaming: bool = True
    """False: replies are asked for as one document."""
    supports_streaming_tool_calls: bool = True
    """False: the same, for requests with tools."""
    supports_parallel_tool_calls: bool = True
    """False: one call at a time is asked for, sent back and run."""
    supports_prompt_caching: bool = False
    supports_system_messages_in_list: bool = True
    """False: the system prompt has a field of its own or, in a dialect without one, begins the
    first user message. A dialect that has such a field always uses it."""
    max_context_tokens: Size = 32_768
    max_output_tokens: Size = 4_096
    accepted_image_media_types: tuple[str, ...] = ()
    max_image_bytes: Size = 5 * 2**20 * 3 // 4
    """As they are; in base64 it is 5 MiB, the smallest limit among the large providers
    (https://docs.claude.com/en/docs/build-with-claude/vision)."""
    max_image_side: Size = 8_000
    """Pixels (same page)."""
    max_images: Count = 100
    """In one request (same page)."""
    many_images: Count = 20
    """With more in one request, none has more than `many_images_side` pixels a side (same page)."""
    many_images_side: Size = 2_000
    max_file_bytes: Size = 14 * 2**20
    """In a recording or a document; in base64 they leave room for words within
    `max_request_bytes`."""
    max_request_bytes: Size = 20 * 2**20
    """Of all that is posted, with files in base64: what Google took for long
    (https://ai.google.dev/gemini-api/docs/document-processing)."""


class Rates(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """US dollars per million tokens."""

    input_per_mtok_usd: Decimal
    output_per_mtok_usd: Decimal
    cached_read_per_mtok_usd: Decimal | None = None
    """None: cached tokens cost what uncached ones do."""
    cache_write_per_mtok_usd: Decimal | None = None


class PriceTier(Rates, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What a whole request costs whose prompt is longer than so many tokens."""

    above_prompt_tokens: Count
    """Cached tokens count as well."""


class Price(Rates, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What a model costs, and what it costs where prompts are long."""

    tiers: tuple[PriceTier, ...] = ()


class Model(Struct, frozen=True, kw_only=True):
    """One row of the catalogue."""

    id: str
    """Canonical: `<provider>:<name>`."""
    wire_name: str
    """What the provider calls it."""
    capabilities: AdapterCapabilities
    aliases: tuple[str, ...] = ()
    price: Price | None = None
    """None: unpriced, which is not the same as free."""
    price_as_of: str = ""
    """The version of the price where it is not the tables': who told it, and the date."""
    known: bool = True
    """False: nobody described this model; the capabilities are conservative guesses."""
    uses_max_completion_tokens: bool = False
    """Chat Completions: the newer name of the limit, which reasoning models insist on."""
    accepts_temperature: bool = True
    thinking: Thinking | None = None
    """For a model that `supports_thinking`; None: as its dialect mostly has it."""
    thinking_levels: tuple[Effort, ...] = ()
    """Those it takes; none: those that models of its form mostly take."""
    least_cached_tokens: int = 1_024
    """A shorter prefix is not cached."""
    caches_for_a_day: bool = False
    """Takes `prompt_cache_retention`, as some of OpenAI's models do and none from GPT-5.6 on
    (https://platform.openai.com/docs/guides/prompt-caching)."""

    @property
    def provider(self) -> str:
        """The part before the first colon."""
        return self.id.partition(":")[0]
