"""Unified diffs on the screen."""
