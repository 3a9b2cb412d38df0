"""Every dialect by a short name, with the provider and the API that its requests are checked as."""

import pytest

from yourtool.providers.dialects.chat.dialect import OpenAIChat
from yourtool.providers.dialects.generate_content.dialect import Google
from yourtool.providers.dialects.messages.dialect import Anthropic
from yourtool.providers.dialects.ollama.dialect import Ollama
from yourtool.providers.dialects.responses.dialect import OpenAIResponses

DIALECTS = {
    "anthropic": (Anthropic(), "anthropic", "messages"),
    "chat": (OpenAIChat(), "openai", "chat"),
    "openrouter": (OpenAIChat(), "openrouter", "chat"),
    "responses": (OpenAIResponses(), "openai", "responses"),
    "google": (Google(), "gemini", "generateContent"),
    "ollama": (Ollama(), "ollama", "chat"),
}
EACH = pytest.mark.parametrize("dialect", DIALECTS)


def sse(*events: bytes) -> bytes:
    return b"".join(b"data: %s\n\n" % event for event in events)
