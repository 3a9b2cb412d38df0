"""The early prompt shows what the prompt of the interface will show."""

import asyncio
import math
import random

import pytest
from rich.cells import cell_len

from tests.tui.pilot_helpers import settle
from yourtool.process.early_prompt.line_editor import (
    MAX_PASTED_CHARACTERS,
    MAX_PASTED_LINES,
    LineEditor,
    cell_width,
)
from yourtool.process.terminal_input.reader import Reader
from yourtool.tui.app import YourtoolApp
from yourtool.tui.input.drafts import Draft, should_fold
from yourtool.tui.terminal.terminal_events import TerminalEvents

LEFT, RIGHT, HOME, END, DELETE, BACKSPACE = (
    "\x1b[D", "\x1b[C", "\x1b[H", "\x1b[F", "\x1b[3~", "\x7f"
)  # fmt: skip
MOVES = (LEFT, RIGHT, HOME, END, "\x01", "\x05", "\x1bOD", "\x1bOC", "\x1bOH", "\x1bOF")
LETTERS = (*"ab c.-!", "é", "日", "e\u0301", "🎉", "я")
PASTES = tuple(f"\x1b[200~{text}\x1b[201~" for text in ("two\rlines", "one", "日本\n", "x\r\ny"))
OTHERS = ("\n", "\\", "\\\r", "\x03", "\r", "\t", "\x1b[A", "(", "\x15", "\x1bb", "\u200b")
PROMPT = (36, 4)


@pytest.fixture(autouse=True)
def home(tmp_path, monkeypatch):
    monkeypatch.setenv("YOURTOOL_HOME", str(tmp_path / "home"))


def edited(*keys, size=PROMPT):
    editor, reader = LineEditor(*size), Reader()
    for key in keys:
        typed = key if isinstance(key, bytes) else key.encode()
        editor.feed(reader.feed_ahead(typed, 0.0, is_checked=True))
    return editor


def random_keys(chance):
    weights = ((LETTERS, 8), (MOVES, 3), ((DELETE, BACKSPACE), 3), (PASTES, 1), (OTHERS, 1))
    kinds = chance.choices([k for k, _ in weights], [w for _, w in weights], k=25)
    return [chance.choice(kind) for kind in kinds]


def read(key):
    return Reader().feed_ahead(key.encode(), 0.0, is_checked=True)


async def press_in(app, pilot, key):
    for event in TerminalEvents(str).build(read(key)):
        app._driver.process_message(event)
    await pilot._wait_for_screen()


@pytest.mark.remaining
async def test_every_key_has_the_effect_that_it_has_in_the_interface():
    async def never_opens():
        await asyncio.Event().wait()

    app = YourtoolApp(never_opens)
    compared = 0
    async with app.run_test(size=(40, 20)) as pilot:
        await settle(pilot)
        app._paused_at = math.inf  # no pause between keys
        prompt = app.chat.prompt
        for seed in range(60):
            prompt.load(Draft())
            editor = LineEditor(*PROMPT)
            for key in random_keys(random.Random(seed)):
                editor.feed(read(key))
                if editor.is_frozen:
                    break
                await press_in(app, pilot, key)
                before = prompt.document.get_text_range((0, 0), prompt.cursor_location)
                assert (editor.before, editor.text) == (before, prompt.text), (seed, key)
                compared += 1
    assert compared > 400


def test_input_may_be_split_anywhere():
    chance = random.Random(7)
    for seed in range(200):
        typed = "".join(random_keys(random.Random(seed))).encode()
        pieces, rest = [], typed
        while rest:
            at = chance.randint(1, 4)
            pieces.append(rest[:at])
            rest = rest[at:]
        whole, split = edited(typed), edited(*pieces)
        assert (split.before, split.after) == (whole.before, whole.after), seed
        assert split.is_frozen == whole.is_frozen


@pytest.mark.remaining
def test_a_character_has_the_width_that_the_interface_gives_it():
    known = 0
    for number in range(0x110000):
        if (width := cell_width(chr(number))) is not None:
            assert width == cell_len(chr(number)), hex(number)
            known += 1
    assert known > 100_000


@pytest.mark.parametrize("key", ["\t", "\x1b[A", "\x1b[Z", "\x12", "\u200d", "\U0001f1e9"])
def test_an_unknown_key_freezes_the_text(key):
    editor = edited("ab", key, "c")
    assert editor.is_frozen
    assert editor.text == "ab"


def test_enter_freezes_text_that_will_be_sent():
    assert edited("hi", "\r", "more").text == "hi"
    blank = edited("  ", "\r", "x")
    assert (blank.text, blank.is_frozen) == ("x", False)


def test_text_that_does_not_fit_is_frozen():
    assert edited("x" * 35).text == "x" * 35
    assert edited("x" * 36).is_frozen
    assert edited("日" * 18).is_frozen
    assert edited("\n" * 3).text == "\n" * 3
    assert edited("\n" * 4).is_frozen
    shrunk = edited("word " * 5)
    shrunk.resize(10, 4)
    assert shrunk.is_frozen


def test_a_paste_that_the_interface_folds_or_attaches_freezes_the_text():
    def pasted(text):
        return edited(f"\x1b[200~{text}\x1b[201~", size=(5_000, 100))

    assert should_fold("x" * (MAX_PASTED_CHARACTERS + 1)) and should_fold("\n" * MAX_PASTED_LINES)
    assert not pasted("x" * (MAX_PASTED_CHARACTERS)).is_frozen
    assert pasted("x" * (MAX_PASTED_CHARACTERS + 1)).is_frozen
    assert not pasted("\n" * (MAX_PASTED_LINES - 1)).is_frozen
    assert pasted("\n" * MAX_PASTED_LINES).is_frozen
    assert pasted("/a/picture.png").is_frozen
    assert pasted("a\x1b[31mb").is_frozen


@pytest.mark.parametrize(
    ("keys", "quits"),
    [
        ("\x04", True),
        ("a\x04", False),
        ("\x03", False),
        ("\x03\x03", True),
        ("\x03a\x03", False),
        ("a\x03\x03", False),
        ("a\x03\x03\x03", True),
        ("a\r\x03\x03", True),
        ("a\r\x04", False),
    ],
)
def test_ctrl_c_twice_or_ctrl_d_without_text_quits(keys, quits):
    assert edited(keys).wants_to_quit is quits
