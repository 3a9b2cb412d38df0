"""The dialect of the Responses API, https://platform.openai.com/docs/api-reference/responses.

Nothing is stored at the provider. Reasoning arrives encrypted in its item and is replayed unchanged
but without its id, because an id refers to a stored item, which requires the next item with its id.
"""

from yourtool.messages.blocks import canonical_json
from yourtool.providers.base import Request
from yourtool.providers.dialects.base import WireRequest
from yourtool.providers.dialects.responses.request import API, build_body
from yourtool.providers.dialects.responses.response import ResponsesParser
from yourtool.providers.provider_specs import ProviderSpec
from yourtool.providers.replies.reply import Reply

_PATH = "/responses"


class ResponsesDialect:
    """The dialect of the Responses API."""

    api = API

    def __init__(self, *, supports_long_cache: bool = False) -> None:
        """`supports_long_cache`: the host supports the longer cache retention."""
        self._supports_long_cache = supports_long_cache

    def to_wire(self, request: Request) -> WireRequest:
        """Build the request; equal requests have equal bytes."""
        body = build_body(request, supports_long_cache=self._supports_long_cache)
        return WireRequest(_PATH, canonical_json(body))

    def build_parser(self, reply: Reply) -> ResponsesParser:
        """Return the parser of a response."""
        return ResponsesParser(reply)


def build_dialect(provider: ProviderSpec) -> ResponsesDialect:
    """Return the dialect of a provider."""
    return ResponsesDialect(supports_long_cache=provider.is_official)
