"""Colours, styles and terminal filters."""
