"""Similar names for a mistyped name."""

from collections.abc import Iterable
from importlib import import_module

CLOSE = 0.7
"""The least similarity, from 0 to 1, with which a word is a mistyped command."""


def find_similar(word: str, known: Iterable[str], least: float = 0.6) -> list[str]:
    """Return up to three known names, the most similar one first.

    `least` is between 0 and 1. The comparison is imported here: most runs have no mistyped name.
    """
    return import_module("difflib").get_close_matches(word, list(known), cutoff=least)


def find_closest(word: str, known: Iterable[str], least: float = 0.6) -> str | None:
    """Return the most similar name, if any is similar."""
    return next(iter(find_similar(word, known, least)), None)
