"""Chat Completions, the API of OpenAI, OpenRouter and many other servers."""
