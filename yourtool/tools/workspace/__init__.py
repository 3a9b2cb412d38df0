"""Workspace files."""
