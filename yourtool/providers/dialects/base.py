"""Interface of a dialect.

`spec` has a `SPEC` of type `DialectSpec`, which the registry reads when it starts. `dialect` has a
function `build_dialect` of type `DialectBuilder`, which is imported with the first request.
"""

from collections.abc import Awaitable, Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias

from msgspec import Struct

from yourtool.events.deltas import StreamEvent
from yourtool.foundation.json_schema import SchemaResult
from yourtool.models import Model
from yourtool.providers.base import Request, SdkVendor, Transport
from yourtool.providers.model_lists import fetch_model_list
from yourtool.providers.provider_specs import ProviderSpec
from yourtool.providers.replies.body_decoder import BodyDecoder, SseEvent
from yourtool.providers.requests.tool_schema import lower_schema, remember_schemas
from yourtool.settings.config import Api

if TYPE_CHECKING:  # imported with the first dialect
    from yourtool.providers.replies.reply import Reply


ModelFetcher: TypeAlias = Callable[[Transport, ProviderSpec], Awaitable[tuple[Model, ...]]]
"""Fetches the models of a provider.

Raises:
    AdapterError: the request failed.
"""


class DialectSpec(Struct, frozen=True, kw_only=True):
    """What the registry needs before the dialect is imported."""

    api: Api
    """The name in the settings and, with underscores, of the package."""
    headers: Mapping[str, str] = {}
    """Headers of every request."""
    key_header: str = "authorization"
    key_format: str = "Bearer {}"
    """The value of the header with the key."""
    token_env: str | None = None
    """Environment variable whose value is not a key, but a bearer token for the SDK."""
    sdk: SdkVendor | None = None
    """The SDK that can send the requests."""
    parse_base_url: Callable[[str], str] = str
    """Returns the full form of a configured base URL."""
    fetch_models: ModelFetcher = fetch_model_list
    tool_schema: Callable[[Mapping[str, Any]], SchemaResult] = remember_schemas(lower_schema)
    """Returns the schema of a tool as the wire format accepts it."""


class WireRequest(Struct, frozen=True):
    """The path and body of a POST."""

    path: str
    body: bytes
    framing: Callable[[], BodyDecoder] = BodyDecoder
    """Splits the response into events."""


class ResponseParser(Protocol):
    """Parser of one response, which adds its contents to a reply."""

    reply: "Reply"

    def parse(self, frame: SseEvent) -> Iterable[StreamEvent]:
        """Parse one event of a stream; what is unknown is skipped.

        Raises:
            NetworkError: the event is not JSON.
        """
        ...

    def parse_document(self, document: bytes) -> Iterable[StreamEvent]:
        """Parse a response that is one JSON document.

        Raises:
            NetworkError: it is not JSON.
        """
        ...

    @property
    def is_complete(self) -> bool:
        """Whether a stream that ends here is whole, even without the dialect's end marker."""
        ...


class Dialect(Protocol):
    """One wire format."""

    api: str
    """Stable name: provider extras are stored with it."""

    def to_wire(self, request: Request) -> WireRequest:
        """Build the request; equal requests have equal bytes."""
        ...

    def build_parser(self, reply: "Reply") -> ResponseParser:
        """Return the parser of the response to one request."""
        ...


DialectBuilder: TypeAlias = Callable[[ProviderSpec], Dialect]
"""Builds the dialect of a provider.

Raises:
    ConfigError: a quirk of the provider is invalid.
"""
