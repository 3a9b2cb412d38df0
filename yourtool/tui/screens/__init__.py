"""The chat, and what is laid over it."""
