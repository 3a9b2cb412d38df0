"""Transports: HTTP clients that send bytes to a provider and stream the response."""
