import pytest
from rich.cells import cell_len
from rich.segment import Segment
from rich.style import Style
from textual.color import Color

from yourtool.tui.terminal.terminal import (
    notification_sequence,
    restore_title_sequence,
    save_title_sequence,
    set_title_sequence,
)
from yourtool.tui.theme.display_filters import _REPLACEMENTS, AsciiFilter, NoColorFilter


def drawn(text: str) -> str:
    [segment] = AsciiFilter().apply([Segment(text)], Color(0, 0, 0))
    return segment.text


@pytest.mark.req("R-TUI-23")
def test_borders_and_symbols_are_ascii_and_words_are_unchanged():
    assert drawn("╭─ Allow? ─╮") == "+- Allow? -+"
    assert drawn("│ ✓ read · 3 lines …") == "| v read - 3 lines ~"
    assert drawn("naïve 日本") == "naïve 日本"


def test_every_symbol_is_as_wide_as_the_one_it_replaces():
    assert all(cell_len(sign) == cell_len(plain) == 1 for sign, plain in _REPLACEMENTS.items())
    assert all(plain.isascii() for plain in _REPLACEMENTS.values())


@pytest.mark.req("R-TUI-23")
def test_highlighted_text_is_reversed_without_colours():
    night = Color(20, 20, 20)
    row = [
        Segment("cursor", Style.parse("#000000 on #ffffff")),
        Segment("diff", Style.parse("bold green on #1d3226")),
        Segment("plain", None),
    ]
    cursor, diff, plain = NoColorFilter().apply(row, night)
    assert cursor.style == Style(reverse=True)
    assert diff.style == Style(bold=True)
    assert plain == row[2]


def test_what_a_click_does_stays_without_colours():
    row = [Segment("link", Style.parse("red") + Style.from_meta({"@click": "open"}))]
    [link] = NoColorFilter().apply(row, Color(20, 20, 20))
    assert link.style.color is None
    assert link.style.meta == {"@click": "open"}


def set_title(text, environ):
    return set_title_sequence(text, text, environ)


@pytest.mark.parametrize("write", [set_title, notification_sequence])
@pytest.mark.req("R-TUI-22")
def test_text_outside_the_screen_contains_no_foreign_sequence(write):
    sent = write("evil\x1b]52;c;aGk=\x07\n\x9b2J\u202e", {"TERM": "xterm"})
    own = sent.removeprefix("\x07")
    assert own.startswith("\x1b]") and own.endswith("\x07")
    assert own[2:-1].isprintable()


def test_terminal_without_title_support_gets_no_title():
    plain = {"TERM": "linux"}
    assert save_title_sequence(plain) == restore_title_sequence(plain) == ""
    assert set_title_sequence("x", "y", plain) == ""
    assert notification_sequence("x", plain) == "\x07"


def test_window_title_has_the_title_of_the_session_and_cuts_a_long_one():
    xterm = {"TERM": "xterm"}
    assert set_title_sequence("Parser", "work", xterm) == "\x1b]2;yourtool — Parser · work\x07"
    assert set_title_sequence("", "work", xterm) == "\x1b]2;yourtool — work\x07"
    assert len(set_title_sequence("x" * 1_000_000, "work", xterm)) < 200
