"""The dialect of generateContent, https://ai.google.dev/api/generate-content.

A conversation is a list of contents of the user and the model, each with parts; a reply is a list
of parts, too. Any part can have a signature, which is replayed on the part that it arrived with
(https://ai.google.dev/gemini-api/docs/thought-signatures).
"""

from urllib.parse import quote

from yourtool.messages.blocks import canonical_json
from yourtool.providers.base import Request
from yourtool.providers.dialects.base import WireRequest
from yourtool.providers.dialects.generate_content.request import API, build_body
from yourtool.providers.dialects.generate_content.response import GenerateContentParser
from yourtool.providers.provider_specs import ProviderSpec
from yourtool.providers.replies.reply import Reply


class GenerateContentDialect:
    """The dialect of generateContent."""

    api = API

    def to_wire(self, request: Request) -> WireRequest:
        """Build the request; equal requests have equal bytes."""
        name = request.model.wire_name
        place = quote(name if "/" in name else f"models/{name}")
        method = "streamGenerateContent?alt=sse" if request.is_streaming else "generateContent"
        return WireRequest(f"/v1beta/{place}:{method}", canonical_json(build_body(request)))

    def build_parser(self, reply: Reply) -> GenerateContentParser:
        """Return the parser of a response."""
        return GenerateContentParser(reply)


def build_dialect(_: ProviderSpec) -> GenerateContentDialect:
    """Return the dialect, which is the same for all providers."""
    return GenerateContentDialect()
