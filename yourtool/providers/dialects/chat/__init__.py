"""Chat Completions API."""
