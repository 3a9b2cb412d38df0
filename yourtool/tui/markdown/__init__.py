"""Markdown rendered as styled lines while it streams."""
