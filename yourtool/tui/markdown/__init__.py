"""Markdown to lines, while it arrives."""
