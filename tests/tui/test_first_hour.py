"""The six concepts of the first hour (ADR 96).

The recording of the screenshots has every screen of a first session: the start, the request, the
questions about an edit and a command, and the end.
"""

import json
import re
from pathlib import Path

import pyte
import pytest

ROOT = Path(__file__).parents[2]
CONCEPTS = {"model", "mode", "command", "question", "session", "sandbox"}
"""The six."""
WORDS = {
    "model": r"models?",
    "mode": r"(?:\w+ )?mode|ask first|ask before",
    "command": r"commands?",
    "question": r"allow|deny|denies",
    "session": r"sessions?",
    "sandbox": r"sandbox\w*",
    "token": r"tokens?|\d+ in, \d+ out",
    "context": r"context|ctx",
    "price": r"unpriced",
    "git": r"git:\S+",
    "queue": r"queued?|queues",
    "steering": r"steers?",
    "call": r"tool calls?|(?:read|edit|write)_file|list_dir|grep|glob",
    "exit code": r"exit code 0",
}
"""Patterns of words that need an explanation; the terms of the glossary are others."""
PLAIN = {"prompt", "check", "approval", "tool"}
"""Terms of the glossary that are also ordinary words."""


def find_terms():
    """Return the terms of the glossary."""
    rows = (ROOT / "docs" / "glossary.md").read_text().splitlines()
    cells = [row.split("|")[1] for row in rows if row.startswith("| ")][1:]
    return {term.strip() for cell in cells for term in cell.split(",")}


def find_concepts(text):
    """Return the concepts that a text has words of."""
    patterns = {**{term: rf"{re.escape(term)}s?" for term in find_terms() - PLAIN}, **WORDS}
    return {
        name
        for name, pattern in patterns.items()
        if re.search(rf"(?<!\w)(?:{pattern})(?!\w)", text, re.IGNORECASE)
    }


@pytest.fixture
def screens():
    """The screens of the recording, up to the first command."""
    head, *frames = (ROOT / "docs" / "screenshots" / "session.cast").read_text().splitlines()
    size = json.loads(head)
    screen = pyte.Screen(size["width"], size["height"])
    stream, shown = pyte.Stream(screen), []
    for frame in frames:
        stream.feed(json.loads(frame)[2])
        if any(row.startswith("│ /") for row in screen.display):
            break
        shown.append("\n".join(screen.display))
    return shown


def test_first_session_shows_at_most_six_concepts(screens):
    signs = ("yourtool", "Waiting for", "Edit `tally.py`?", "Run this command?", "Ran python3")
    assert all(any(sign in shown for shown in screens) for sign in signs)
    met = set().union(*map(find_concepts, screens))
    assert met <= CONCEPTS, sorted(met - CONCEPTS)
    assert {"model", "mode", "command", "question"} <= met
    assert len(CONCEPTS) == 6


def test_each_screen_of_a_first_session_is_calm(screens):
    limits = {"yourtool 0": 4, "Waiting for anthropic": 3, "Run this command?": 5}
    for sign, most in limits.items():
        found = [find_concepts(shown) for shown in screens if sign in shown]
        assert found and max(map(len, found)) <= most, (sign, found)


@pytest.mark.parametrize(
    ("text", "concept"),
    [
        ("4,623 in, 4 out · $0.0139", "token"),
        ("0% ctx", "context"),
        ("git:main", "git"),
        ("a hook ran", "hook"),
        ("[exit code 0]", "exit code"),
        ("read_file a.py", "call"),
        ("Alt+Enter queues", "queue"),
    ],
)
def test_word_that_needs_an_explanation_is_found(text, concept):
    assert concept in find_concepts(text)
