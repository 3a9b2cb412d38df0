"""Parse replies: bytes into events, events into a message, error responses into errors."""
