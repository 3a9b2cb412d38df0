"""Colours of the output of programs."""

import pytest

from yourtool.tui.lines.ansi import AnsiParser


def spans(*codes):
    """Return the styles of a letter after each sequence of codes."""
    line = "".join(f"\x1b[{each}mx" for each in codes)
    return [style for _, style in AnsiParser().parse(line)[0]]


@pytest.mark.parametrize(
    ("codes", "style"),
    [
        ("1", "sgr:bold"), ("2", "sgr:dim"), ("3", "sgr:italic"), ("4", "sgr:underline"),
        ("7", "sgr:reverse"), ("9", "sgr:strike"), ("1;4", "sgr:bold,underline"),
        ("1;1", "sgr:bold"), ("30", "sgr:black"), ("37", "sgr:white"), ("40", "sgr:on,black"),
        ("47", "sgr:on,white"), ("90", "sgr:bright_black"), ("97", "sgr:bright_white"),
        ("100", "sgr:on,bright_black"), ("107", "sgr:on,bright_white"),
        ("31;44", "sgr:red,on,blue"),
        ("1;32;103", "sgr:bold,green,on,bright_yellow"), ("38;5;0", "sgr:color(0)"),
        ("38;5;255", "sgr:color(255)"), ("48:5:7", "sgr:on,color(7)"),
        ("38;2;1;2;255", "sgr:#0102ff"), ("48;2;0;0;0", "sgr:on,#000000"),
        ("38;5;9;1", "sgr:bold,color(9)"), ("38;2;1;2;3;4", "sgr:underline,#010203"),
    ],
)  # fmt: skip
def test_codes_of_colours_and_attributes_become_names_of_styles(codes, style):
    assert spans(codes) == [style]


@pytest.mark.parametrize(
    "codes",
    ["0", "", "38", "39", "49", "98", "99", "108", "110", "130", "5", "8", "10", "29", "38;5",
     "38;5;256", "38;2", "38;2;256;0;0", "38;2;0;256;0", "38;2;0;0;256", "38;3", "48;5;999"],
)  # fmt: skip
def test_unknown_and_incomplete_codes_change_nothing(codes):
    assert spans(codes) == [""]


@pytest.mark.parametrize("code", ["5", "8", "10", "29", "98", "99", "108", "109", "110", "130"])
def test_colours_stay_at_unknown_codes(code):
    assert spans("31;44", code)[1] == "sgr:red,on,blue"


@pytest.mark.parametrize("off", ["38", "39", "48", "49", "1;22;31;39", "0", ""])
def test_colour_ends_with_its_own_code_or_the_general_one(off):
    kept = {"48": "sgr:red", "49": "sgr:red", "38": "sgr:on,blue", "39": "sgr:on,blue"}
    assert spans("31;44", off)[1] == kept.get(off, "" if off in ("0", "") else "sgr:on,blue")


@pytest.mark.parametrize(
    ("on", "off"), [("1;2", "22"), ("3", "23"), ("4", "24"), ("7", "27"), ("9", "29")]
)
def test_attribute_ends_with_its_code_and_the_others_stay(on, off):
    other = "4" if on == "3" else "3"
    assert spans(f"{on};{other}", off)[1] == spans(other)[0]


def test_style_applies_across_lines_until_it_changes():
    parser = AnsiParser()
    assert parser.parse("a\x1b[31mb\nc\r\n\rd") == [
        [("a", ""), ("b", "sgr:red")], [("c", "sgr:red")], [], [("d", "sgr:red")],
    ]  # fmt: skip
    assert parser.parse("") == [[]]
    assert parser.parse("e\x1b[0m\x1b[1mf") == [[("e", "sgr:red"), ("f", "sgr:bold")]]


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("\x1b]52;c;aGk=\x07", "␛]52;c;aGk=␇"), ("\x1b[31", "␛[31"), ("\x1bP0m", "␛P0m"),
        ("\x1b[" + "1;" * 101 + "m", "␛[" + "1;" * 101 + "m"), ("\x1b[6n", "␛[6n"),
        ("\x1b[2Ja\x1b[K", "␛[2Ja␛[K"), ("\x1b[?25l\x1b(B", "␛[?25l␛(B"),
        ("a\tb", "a   b"),
    ],
)  # fmt: skip
@pytest.mark.req("T21")
def test_every_other_sequence_is_text(text, shown):
    assert AnsiParser().parse(text) == [[(shown, "")]]
    coloured = AnsiParser().parse(f"\x1b[1m{text}")
    assert coloured == [[(shown, "sgr:bold")]]


def test_longest_sequence_of_a_terminal_is_a_style():
    assert spans("0" * 199 + "1") == ["sgr:bold"]
    assert spans("0" * 200 + "1") != ["sgr:bold"]
