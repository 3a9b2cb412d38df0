"""Output of programs, diffs and plain text of any shape are drawn in linear time."""

from functools import partial

import pytest

from tests.doubling import LINEAR, growth, ratio
from yourtool.effects import SideEffects
from yourtool.tui.diff.rows import Diff
from yourtool.tui.lines.ansi import AnsiParser
from yourtool.tui.lines.highlight import get_highlighter
from yourtool.tui.lines.verbatim import plain_lines
from yourtool.tui.transcript.tool_card import ToolCard

PIECES = ["\x1b[31m", "\x1b[1;2;3;42m a", "\x1b", "\x1b[", "\x1b[1;", "\r", "\r\n", "a", "a ", "\t"]
PIECES += ["日", "\u202e", "a\u200d", "👩\ufe0f", "e\u0301", "\0", "\ud800", "\n", "\x1b[;;;;;;;;"]
DRAWN = {
    "output": lambda text: AnsiParser().parse(text),
    "text": lambda text: plain_lines(text, "", 80),
    "added line": lambda text: list(Diff(f"@@ -0,0 +1 @@\n+{text}").rows(80)),
    "added lines": lambda text: list(
        Diff("@@ -0,0 +1,9999 @@" + "\n+a" * (len(text) // 6)).rows(80)
    ),
    "painted change": lambda text: [
        row.painted_spans
        for row in Diff(f"@@ -1 +1 @@\n-a{text}\n+b{text}c", highlight=get_highlighter).rows(160)
    ],
}


@pytest.mark.parametrize("kind", DRAWN)
@pytest.mark.parametrize("piece", PIECES)
@pytest.mark.sample(3)
def test_output_is_drawn_in_linear_time(kind, piece):
    def sized(length):
        return (piece * (length // len(piece) + 1))[:length]

    assert growth(DRAWN[kind], sized, 1_000) < LINEAR


@pytest.mark.parametrize("digits", [5_000, 50_000])
def test_numbers_of_thousands_of_digits_are_shown_as_text(digits):
    number = "1" * digits
    [[(shown, style)]] = AnsiParser().parse(f"\x1b[{number}mred")
    assert (shown, style) == (f"\u241b[{number}mred", "")
    assert not list(Diff(f"@@ -{number} +{number} @@\n+a").rows(80))


def test_colour_sequence_with_thousands_of_parameters_is_shown_as_text():
    [[(shown, _)]] = AnsiParser().parse("\x1b[" + "1;" * 10_000 + "mbold")
    assert shown.startswith("\u241b[1;1;")


LARGE = {
    "one line": "x" * 10_000_000,
    "wide characters": "字" * 3_000_000,
    "lines": "one of many lines\n" * 1_000_000,
    "colours": "\x1b[31mred\x1b[0m\n" * 500_000,
    "returns": "\r" * 3_000_000,
}


def card_of(text, details, *, expanded):
    card = ToolCard("shell")
    card.start(SideEffects.EXECUTE)
    card.set_arguments({"command": text})
    card.finish("ok", "" if details else text, 1.0, details)
    card.expanded = expanded
    return card


@pytest.mark.parametrize("expanded", [False, True])
@pytest.mark.parametrize("kind", LARGE)
@pytest.mark.sample(12)
def test_only_part_of_a_very_large_output_is_laid_out(kind, expanded):
    text = LARGE[kind]
    diff = "@@ -0,0 +1,999999 @@\n+" + text[:1_000_000].replace("\n", "\n+")
    for details in ({}, {"diff": diff}):
        whole = card_of(text, details, expanded=expanded)
        parts = {key: value[:100_000] for key, value in details.items()}
        part = card_of(text[:100_000], parts, expanded=expanded)
        assert ratio(partial(part.build, 80), partial(whole.build, 80), limit=15) <= 15
        whole.lay_out(80)
        assert "more line" in "".join(row.text for row in whole.rows)


ARGUMENTS = {
    "many texts": {f"key{n}": "字" * 50_000 for n in range(20)},
    "a long name": {"字" * 1_000_000: "x"},
    "nested": {"key": [[n] * 10 for n in range(100_000)]},
    "lines": {f"key{n}": "line\n" * 100_000 for n in range(5)},
}
PLANS = {"long": [{"step": "字" * 500_000}], "many": [{"step": "a", "status": "done"}] * 100_000}


@pytest.mark.parametrize("kind", [*ARGUMENTS, *PLANS])
@pytest.mark.sample(6)
def test_only_part_of_very_large_arguments_and_plans_is_laid_out(kind):
    card = ToolCard("tool")
    card.set_arguments(ARGUMENTS.get(kind, {}))
    card.finish("ok", "the output", 1.0, {"plan": PLANS.get(kind)})
    card.expand(True)
    rows = [row.text for row in card.build(80)]
    assert sum(map(len, rows)) < 120_000
    assert "…" in "\n".join(rows)
    assert kind == "lines" or "│ the output" in rows


def test_truncated_card_explains_how_to_get_the_rest():
    card = card_of("x" * 60_000, {}, expanded=True)
    rows = [row.text for row in card.build(80)]
    assert rows[-1] == "│ … 2 more lines not shown; c copies the full output"
    assert card.source.endswith("x" * 60_000)
