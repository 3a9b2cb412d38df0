"""Vim's keys on a text and a caret, and in the prompt."""
