"""The dialect of the Messages API, https://docs.claude.com/en/api/messages."""

from yourtool.messages.blocks import canonical_json
from yourtool.providers.base import Request
from yourtool.providers.dialects.base import WireRequest
from yourtool.providers.dialects.messages.request import API, build_body
from yourtool.providers.dialects.messages.response import MessagesParser
from yourtool.providers.provider_specs import ProviderSpec
from yourtool.providers.replies.reply import Reply

_PATH = "/v1/messages"


class MessagesDialect:
    """The dialect of the Messages API."""

    api = API

    def __init__(
        self, *, supports_long_cache: bool = False, requires_signatures: bool = True
    ) -> None:
        """`supports_long_cache`: the host supports the longer cache retention.

        `requires_signatures`: the host rejects reasoning without a signature, as Anthropic does.
        """
        self._supports_long_cache = supports_long_cache
        self._requires_signatures = requires_signatures

    def to_wire(self, request: Request) -> WireRequest:
        """Build the request; equal requests have equal bytes."""
        body = build_body(
            request,
            supports_long_cache=self._supports_long_cache,
            requires_signatures=self._requires_signatures,
        )
        return WireRequest(_PATH, canonical_json(body))

    def build_parser(self, reply: Reply) -> MessagesParser:
        """Return the parser of a response."""
        return MessagesParser(reply)


def build_dialect(provider: ProviderSpec) -> MessagesDialect:
    """Return the dialect of a provider."""
    is_official = provider.is_official
    return MessagesDialect(supports_long_cache=is_official, requires_signatures=is_official)
