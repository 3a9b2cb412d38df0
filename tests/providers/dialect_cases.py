"""Every dialect by a short name, with the provider and the API that its requests are checked as."""

import pytest

from yourtool.providers.dialects.chat.dialect import ChatDialect
from yourtool.providers.dialects.generate_content.dialect import GenerateContentDialect
from yourtool.providers.dialects.messages.dialect import MessagesDialect
from yourtool.providers.dialects.ollama.dialect import OllamaDialect
from yourtool.providers.dialects.responses.dialect import ResponsesDialect

DIALECTS = {
    "anthropic": (MessagesDialect(), "anthropic", "messages"),
    "chat": (ChatDialect(), "openai", "chat"),
    "openrouter": (ChatDialect(), "openrouter", "chat"),
    "responses": (ResponsesDialect(), "openai", "responses"),
    "google": (GenerateContentDialect(), "gemini", "generateContent"),
    "ollama": (OllamaDialect(), "ollama", "chat"),
}
EACH = pytest.mark.parametrize("dialect", DIALECTS)


def sse(*events: bytes) -> bytes:
    return b"".join(b"data: %s\n\n" % event for event in events)
