"""Text that a terminal shows at the end."""

import codecs
from itertools import pairwise

import pyte
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.doubling import LINEAR, growth
from yourtool.foundation.masking import Mask
from yourtool.tools.background import RunningCommand
from yourtool.tools.processes.output import CommandOutput
from yourtool.tools.processes.terminal_text import TerminalText, apply_erasures

PRINTED = st.text("abc 0é█", min_size=1, max_size=6)
MOVES = st.one_of(
    st.sampled_from(["\r", "\n", "\r\n", "\b", "\x1b[K", "\x1b[1K", "\x1b[2K", "\x1b[A"]),
    st.builds("\x1b[{}{}".format, st.integers(1, 9), st.sampled_from("ACDGF")),
)
SCRIPTS = st.lists(st.one_of(PRINTED, MOVES), max_size=40).map("".join)
ODD = [
    "\x1b",
    "\x1b[",
    "\x1b]",
    "\x1b]0;a",
    "\x07",
    "\x1b\\",
    "\x1b[31",
    "\x1bP",
    "\x1b[?25l",
    "\x00",
]
ODD += ["\x1b[31m", "\x1b[J", "\x1b[3B", "\x1b[9999999999999C", "x" * 3_999, "\n" * 99, "y\n" * 101]
BYTES = st.lists(
    st.one_of(SCRIPTS.map(str.encode), st.sampled_from(ODD).map(str.encode), st.binary(max_size=5))
).map(b"".join)


def final_text(text, *, colours=False):
    terminal = TerminalText(colours=colours)
    return terminal.feed(text) + terminal.close()


def collect(tmp_path, pieces, **options):
    """Return the output of a command, and what was shown of it live."""
    shown = []
    output = CommandOutput(tmp_path, shown.append, Mask(), **options)
    for each in pieces:
        output.feed(each)
    output.close()
    return output, apply_erasures("".join(shown))


def stripped(lines):
    return "\n".join(each.rstrip() for each in lines).rstrip("\n")


@given(SCRIPTS)
def test_text_is_the_last_screen_of_a_terminal(script):
    screen = pyte.Screen(400, 90)
    pyte.Stream(screen).feed(script.replace("\n", "\r\n"))
    assert stripped(final_text(script).split("\n")) == stripped(screen.display)


@given(BYTES, st.lists(st.integers(0, 300)), st.booleans())
def test_pieces_of_any_size_give_the_same_text(tmp_path_factory, data, ends, colours):
    place = tmp_path_factory.getbasetemp()
    cuts = [0, *sorted(each for each in ends if each < len(data)), len(data)]
    pieces = [data[start:end] for start, end in pairwise(cuts)]
    whole, shown_of_whole = collect(place, [data], colours=colours)
    split, shown_of_split = collect(place, pieces, colours=colours)
    assert split.text() == whole.text()
    assert shown_of_split == shown_of_whole
    text = codecs.decode(data, "utf-8", "surrogateescape")
    assert whole.total_bytes == len(
        final_text(text, colours=colours).encode("utf-8", "surrogateescape")
    )


@given(st.lists(st.tuples(BYTES, st.booleans())))
def test_texts_that_are_read_one_after_the_other_are_the_whole(tmp_path_factory, steps):
    output = CommandOutput(tmp_path_factory.getbasetemp(), lambda _: None, Mask())
    read, position = "", 0
    for data, reads in steps:
        output.feed(data.decode("utf-8", "ignore").encode())
        if reads:
            text, position = output.text_since(position)
            read += text
            assert not output.has_text_since(position)
    output.close()
    whole = output.text()
    assert len(whole) > 40_000 or read + output.text_since(position)[0] == whole


@pytest.mark.parametrize(
    ("text", "final"),
    [
        ("10 %\r20 %\rerror: no space\n30 %\r40 %\n", "error: no space\n40 %\n"),
        ("a: 0\nb: 0\n\x1b[2A\x1b[2Ka: 1\n\x1b[2Kb: 1\n", "a: 1\nb: 1\n"),
        ("N\bNA\bAM\bME\n_\bx", "NAME\nx"),
        (
            "\x1b]0;title\x07a\x1b]2;more\x1b\\b\x1bP1$r0m\x1b\\c\x1b[?25ld\x1b(B\x1b=\x1b7e",
            "abcde",
        ),
        ("\x1b]8;;https://a.example\x1b\\link\x1b]8;;\x07.", "link."),
        ("\x1b]0;without an end\x1b[1mbold", "bold"),
        ("one\ntwo\nthree\x1b[2A\r\x1b[Jnew", "new"),
        ("before\n\x1b[2J\x1b[Hafter", "before\nafter"),
        ("\x1b]a\nb\x1b]", "\x1b]a\nb\x1b]"),
        ("waiting\r\x1b[Kdone\r\n", "done\n"),
        ("tab\tand \x07 and \x1b[31", "tab\tand \x07 and \x1b[31"),
        ("\x1b[1 qa\x1b[>4;2mb\x1b[5n", "ab"),
    ],
)
def test_cases_of_known_programs(text, final):
    assert final_text(text) == final


def test_progress_bar_of_20_000_steps_is_one_line(tmp_path):
    steps = [b"\r%d of 20000 [====>    ] 12 MB/s" % n for n in range(20_001)]
    output, shown = collect(tmp_path, [*steps, b"\nresult\n"])
    assert output.text() == shown == "20000 of 20000 [====>    ] 12 MB/s\nresult\n"
    assert output.spill_path is None


def test_saved_output_is_that_for_the_model(tmp_path):
    output, _ = collect(tmp_path, [b"0\r%d\xff\n" % n for n in range(20_000)])
    saved = output.spill_path.read_bytes()
    assert saved.startswith(b"0\xff\n1\xff\n2\xff\n") and len(saved) == output.total_bytes


def test_what_was_read_continues_on_a_new_line(tmp_path):
    output = CommandOutput(tmp_path, lambda _: None, Mask())
    process = RunningCommand("make", output)
    output.feed(b"building\n10 %")
    assert process.read() == "building\n10 %"
    output.feed(b" of 9")
    assert process.read() == " of 9"
    output.feed(b"\r20 %\r90 %")
    assert process.has_unread and process.last_line == "90 % of 9"
    assert process.read() == "\n90 % of 9"
    output.feed(b"\r\n")
    assert process.read() == "\n"
    output.feed(b"a\nb\n\x1b[2A")
    assert process.read() == "a\nb\n\n"
    output.feed(b"c\nd\n")
    assert process.read() == "c\nd\n"


def test_last_line_does_not_end_the_changes(tmp_path):
    output = CommandOutput(tmp_path, lambda _: None, Mask())
    process = RunningCommand("make", output)
    for step in range(100):
        output.feed(b"\r%d %%" % step)
        assert process.last_line == f"{step} %"
    assert process.read() == "99 %"


def test_lines_above_the_last_hundred_are_final():
    terminal = TerminalText(colours=False)
    lines = "".join(f"{n}\n" for n in range(200))
    assert terminal.feed(lines) == "".join(f"{n}\n" for n in range(101))
    assert terminal.feed("\x1b[999Afirst") == ""
    assert terminal.pending.startswith("first\n102\n")


def test_colours_stay_for_the_user_and_not_for_the_model():
    text = "\x1b[1;31mred\x1b[0m and \x1b[Kplain\rR\n\x1b[m"
    assert final_text(text) == "Red and plain\n"
    assert final_text(text, colours=True) == "Red\x1b[0m and plain\n\x1b[m"
    assert len(final_text("\x1b[31m" * 9_999 + "a", colours=True)) < 250
    assert final_text("\x1b[31ma\x1b[0m\n", colours=True) == "\x1b[31ma\n\x1b[0m"


@pytest.mark.parametrize(
    "piece",
    ["x", "\n", "\r", "\b", "a\r\n", "\x1b", "\x1b[", "\x1b]a", "\x1b[31ma", "a\x1b[A", "\x1b[999C",
     "\x1b[999Ca\n", "ab\b", "\x1b[1K"],
)  # fmt: skip
@pytest.mark.sample(4)
def test_output_is_followed_in_linear_time(piece):
    def sized(length):
        return (piece * (length // len(piece) + 1))[:length]

    assert growth(lambda text: final_text(text, colours=True), sized, 10_000) < LINEAR


@given(st.text("ab\b"))
def test_erasures_in_pieces_are_those_of_the_whole(text):
    middle = len(text) // 2
    assert apply_erasures(apply_erasures(text[:middle]) + text[middle:]) == apply_erasures(text)


def test_key_that_sequences_split_is_masked_in_all_that_is_stored(tmp_path):
    key = "sk-secret-0123456789"
    output = CommandOutput(tmp_path, lambda _: None, Mask((key,)))
    split = "\x1b[1m".join(key)
    output.feed(f"before {split} after\n".encode() + b"x" * 70 + b"\n")
    output.feed(b"line\n" * 20_000)
    output.close()
    assert key not in output.text()
    assert output.spill_path is not None
    stored = output.spill_path.read_text()
    assert key not in stored
    assert stored.startswith("before ") and " after\n" in stored


def test_change_far_above_shows_only_the_end_of_the_live_text_again(tmp_path):
    sizes = list[int]()
    output = CommandOutput(tmp_path, lambda text: sizes.append(len(text)), Mask())
    output.feed((b"z" * 3_999 + b"\n") * 100)
    sizes.clear()
    for number in range(50):
        output.feed(b"\r\x1b[99A\x1b[2K%d\x1b[99B\r" % number)
    output.close()
    assert max(sizes) < 5_000
    assert "\n49\n" in output.text()
