"""Dialect of Ollama's chat API.

The API (https://docs.ollama.com/api/chat) sends one JSON object per line.

Arguments are objects in both directions, and a call arrives complete; several calls arrive in one
line or in several. Only newer servers assign ids to calls, so results follow in the order of the
calls and also name their tool. Many models reason by default.

The request sets the context window that routing assumes, and disables truncation: otherwise the
server uses its default window and silently drops the oldest messages.
"""

from yourtool.messages.blocks import canonical_json
from yourtool.providers.base import Request
from yourtool.providers.dialects.base import WireRequest
from yourtool.providers.dialects.ollama.request import API, build_body
from yourtool.providers.dialects.ollama.response import OllamaParser
from yourtool.providers.provider_specs import ProviderSpec
from yourtool.providers.replies.ndjson import NdjsonDecoder
from yourtool.providers.replies.reply import Reply

_PATH = "/api/chat"


class OllamaDialect:
    """The dialect of Ollama servers."""

    api = API

    def to_wire(self, request: Request) -> WireRequest:
        """Build the request; equal requests have equal bytes."""
        return WireRequest(_PATH, canonical_json(build_body(request)), NdjsonDecoder)

    def build_parser(self, reply: Reply) -> OllamaParser:
        """Return the parser of a response."""
        return OllamaParser(reply)


def build_dialect(_: ProviderSpec) -> OllamaDialect:
    """Return the dialect, which is the same for all providers."""
    return OllamaDialect()
