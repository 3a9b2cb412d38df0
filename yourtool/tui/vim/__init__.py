"""Vim keys on a text and a caret, without a screen."""
