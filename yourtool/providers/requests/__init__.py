"""Shared parts of requests."""
