"""The dialect of Chat Completions, https://platform.openai.com/docs/api-reference/chat."""

from collections.abc import Mapping

import msgspec

from yourtool.errors import ConfigError
from yourtool.messages.blocks import canonical_json
from yourtool.providers.base import Request
from yourtool.providers.dialects.base import WireRequest
from yourtool.providers.dialects.chat.request import API, build_body
from yourtool.providers.dialects.chat.response import ChatParser
from yourtool.providers.provider_specs import ProviderSpec
from yourtool.providers.quirks import Quirks
from yourtool.providers.replies.reply import Reply

_PATH = "/chat/completions"


class ChatDialect:
    """The dialect of Chat Completions, with the quirks of one server."""

    api = API

    def __init__(self, quirks: Mapping[str, bool | str] | None = None) -> None:
        """`quirks`: fields of `Quirks` that differ from their defaults.

        Raises:
            ConfigError: a quirk is unknown, or its value is invalid.
        """
        try:
            self._quirks = msgspec.convert(dict(quirks or {}), Quirks)
        except msgspec.ValidationError as error:
            known = ", ".join(f"`{name}`" for name in Quirks.__struct_fields__)
            message = f"a quirk of a provider is invalid: {error}; known quirks: {known}"
            raise ConfigError(message) from error

    def to_wire(self, request: Request) -> WireRequest:
        """Build the request; equal requests have equal bytes."""
        return WireRequest(_PATH, canonical_json(build_body(request, self._quirks)))

    def build_parser(self, reply: Reply) -> ChatParser:
        """Return the parser of a response."""
        return ChatParser(reply)


def build_dialect(provider: ProviderSpec) -> ChatDialect:
    """Return the dialect of a provider.

    Raises:
        ConfigError: a quirk of the provider is invalid.
    """
    return ChatDialect(provider.quirks)
