"""Output of programs, diffs and plain text of any shape are drawn in linear time."""

import pytest

from tests.growth import growth
from yourtool.tui.ansi import AnsiLines
from yourtool.tui.widgets.diff import diff_lines
from yourtool.tui.widgets.items import plain_lines

PIECES = ["\x1b[31m", "\x1b[1;2;3;42m a", "\x1b", "\x1b[", "\x1b[1;", "\r", "\r\n", "a", "a ", "\t"]
PIECES += ["日", "\u202e", "a\u200d", "👩\ufe0f", "e\u0301", "\0", "\ud800", "\n", "\x1b[;;;;;;;;"]
DRAWN = {
    "output": lambda text: AnsiLines().lines(text),
    "text": lambda text: plain_lines(text, "", 80),
    "added line": lambda text: diff_lines(f"@@ -0,0 +1 @@\n+{text}", 80),
    "added lines": lambda text: diff_lines("@@ -0,0 +1,9999 @@" + "\n+a" * (len(text) // 6), 80),
}


@pytest.mark.parametrize("kind", DRAWN)
@pytest.mark.parametrize("piece", PIECES)
def test_output_is_drawn_in_time_linear_in_its_length(kind, piece):
    small, large = (
        lambda n=n: DRAWN[kind]((piece * (n // len(piece) + 1))[:n]) for n in (5_000, 15_000)
    )
    assert growth(small, large, limit=6) <= 6


@pytest.mark.parametrize("digits", [5_000, 50_000])
def test_numbers_of_thousands_of_digits_are_shown_as_text(digits):
    number = "1" * digits
    [[(shown, ink)]] = AnsiLines().lines(f"\x1b[{number}mred")
    assert (shown, ink) == (f"\u241b[{number}mred", "")
    assert diff_lines(f"@@ -{number} +{number} @@\n+a", 80) == []


def test_a_colour_sequence_of_thousands_of_parameters_is_shown_as_text():
    [[(shown, _)]] = AnsiLines().lines("\x1b[" + "1;" * 10_000 + "mbold")
    assert shown.startswith("\u241b[1;1;")
