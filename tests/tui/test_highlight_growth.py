"""Lexers highlight any hostile line of code quickly and without errors."""

import random

import pytest

from tests.doubling import cpu_seconds
from yourtool.tui.lines.highlight import LANGUAGES, get_highlighter

SIGNS = r"""
    ( [ { < > ) ] } " ' ` \ / /* */ // # % $ $( ${ @ ! & | ; : , . = - + * ~ ^ ? a A 0 1. a( a[ a=
    <a </ <!-- "\ '\ {% {{ a: a:: 0x 1e _ -a a- 日 $a r' f'{ <? <% =a a" a' [a] () [] {} \\ .. a;
"""
PIECES = [*SIGNS.split(), " ", "\t", "a ", '" "', "a b", "<a b=", "\x01"]
LONGEST = 999
COMMON = ["python", "javascript", "bash", "html", "yaml", "markdown", "cpp", "sql", "rust", "make"]


def highlighted(language: str, text: str) -> float:
    """Highlight a line, check that its text is unchanged and return the CPU time."""
    highlighter = get_highlighter(language)
    assert highlighter is not None, language
    spans = []
    seconds = cpu_seconds(lambda: spans.extend(highlighter.highlight(text)))
    assert "".join(part for part, _ in spans) == text
    return seconds


def mixtures(seed: str, number: int) -> list[str]:
    chance = random.Random(seed)
    parts = [chance.sample(PIECES, chance.randint(2, 4)) for _ in range(number)]
    return [("".join(some) * LONGEST)[:LONGEST] for some in parts]


@pytest.mark.parametrize("language", COMMON)
def test_hostile_line_of_a_common_language_is_highlighted_quickly(language):
    for text in mixtures(language, 8):
        assert highlighted(language, text) < 0.25


@pytest.mark.soak
@pytest.mark.parametrize("language", sorted(LANGUAGES))
def test_any_hostile_line_is_highlighted_quickly(language):
    for text in [(piece * LONGEST)[:LONGEST] for piece in PIECES] + mixtures(language, 100):
        assert highlighted(language, text) < 0.25


@pytest.mark.parametrize(
    ("language", "line"), [("easytrieve", "\t" * 999), ("mcschema", "<!--" * 240)]
)
def test_lexers_that_never_end_are_not_used(language, line):
    assert get_highlighter(language) is None


def test_failing_lexer_is_replaced():
    assert highlighted("postgresql", "select $a") < 0.25
