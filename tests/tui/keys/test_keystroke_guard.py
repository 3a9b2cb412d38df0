import random
from math import inf

import pytest

from yourtool.tui.keys.keystroke_guard import (
    ENTER_SECONDS,
    QUIET_SECONDS,
    SEEN_SECONDS,
    KeystrokeGuard,
)

LETTERS = "aswdn"
TEXTS = [
    "add a test for the parser and run it",
    "write down why",
    "do not push yet",
    "no, look at the other file first",
    "see whether it still works",
    "a",
    "also d and w",
]


class Desk:
    """An approval prompt, a prompt and a clock: the panel's rules without the panel."""

    def __init__(self):
        self.now = 100.0
        self.answering = KeystrokeGuard(lambda: self.now)
        self.prompt = ""
        self.listening = False
        self.answers = []

    def ask(self):
        self.listening = False
        self.answering.reset()
        self.answering.mark_drawn()

    def pass_time(self, seconds):
        end = self.now + seconds
        while self.now < end:
            self.now = min(end, self.now + 0.01)
            if not self.listening and not self.prompt and self.answering.seconds_until_ready == 0:
                self.listening = True

    def press(self, key):
        self.answering.mark_keystroke()
        held = self.answering.held_letter
        if not self.listening:
            self.answering.mark_typing()
            self.prompt = "" if key == "\n" else self.prompt + key
        elif held and key == "\n":
            self.answers.append(self.answering.release_letter())
            self.ask()
        elif not held and key in LETTERS:
            self.answering.hold_letter(key)
        else:
            self.answering.mark_typing()
            self.prompt += self.answering.release_letter() + key
            self.listening = False


@pytest.mark.req("T20")
def test_typing_never_answers_by_accident():
    dice = random.Random(20)
    for _ in range(400):
        desk = Desk()
        rate = dice.uniform(4, 15)
        text = dice.choice([each for each in TEXTS if len(each) > 1]) + "\n"
        appears = dice.randrange(len(text))
        for at, key in enumerate(text):
            if at == appears:
                desk.ask()
            desk.press(key)
            desk.pass_time(dice.uniform(0.7, 1.3) / rate)
        assert desk.answers == []


@pytest.mark.req("T20")
def test_first_letter_after_a_pause_is_not_an_answer():
    dice = random.Random(7)
    for text in TEXTS:
        if len(text) == 1:
            continue
        for _ in range(50):
            desk = Desk()
            desk.ask()
            desk.pass_time(dice.uniform(0, 3))
            for key in text:
                desk.press(key)
                desk.pass_time(dice.choice((0.05, 0.3, 5)))
            assert desk.answers == []
            assert desk.prompt == text


def test_letter_answers_once_enter_confirms_it():
    desk = Desk()
    desk.ask()
    desk.pass_time(SEEN_SECONDS + 0.1)
    desk.press("a")
    desk.pass_time(60)
    assert desk.answers == []
    desk.press("\n")
    assert desk.answers == ["a"]


@pytest.mark.req("T20")
def test_letter_and_enter_before_the_user_looked_at_the_screen_are_a_message():
    desk = Desk()
    desk.ask()
    desk.pass_time(QUIET_SECONDS + 0.1)
    for key in "a\n":
        desk.press(key)
    assert desk.answers == []
    desk.pass_time(SEEN_SECONDS - 0.1)
    for key in "a\n":
        desk.press(key)
    assert desk.answers == []


def test_enter_without_a_letter_waits_for_another_key():
    now = 0.0
    answering = KeystrokeGuard(lambda: now)
    answering.hold_letter("enter", ENTER_SECONDS)
    assert answering.accept_letter() == ""
    now = ENTER_SECONDS
    assert answering.accept_letter() == "enter"
    assert answering.held_letter == ""


@pytest.mark.req("R-CONF-03")
def test_key_before_or_right_after_drawing_goes_to_the_prompt():
    desk = Desk()
    desk.answering.reset()
    desk.pass_time(5)
    desk.press("a")
    assert desk.prompt == "a"
    desk.prompt = ""
    desk.answering.mark_drawn()
    desk.pass_time(QUIET_SECONDS - 0.1)
    desk.press("w")
    desk.pass_time(1)
    assert desk.answers == []


def test_quiet_time_is_measured_from_the_last_key():
    now = 0.0
    answering = KeystrokeGuard(lambda: now)
    answering.mark_drawn()
    now = 0.8
    answering.mark_keystroke()
    now = SEEN_SECONDS
    assert answering.seconds_until_ready > 0
    now = 0.8 + QUIET_SECONDS
    assert answering.seconds_until_ready == 0
    answering.mark_keystroke()
    answering.mark_typing()
    now += QUIET_SECONDS
    assert answering.seconds_until_ready == pytest.approx(SEEN_SECONDS - QUIET_SECONDS)


def test_approval_prompt_that_is_not_drawn_takes_no_letters():
    answering = KeystrokeGuard(lambda: 10.0)
    answering.reset()
    assert answering.seconds_until_ready == float("inf")


@pytest.mark.req("R-CONF-03")
def test_letter_for_an_approval_prompt_that_the_terminal_does_not_show_is_text():
    desk, shown_since = Desk(), inf
    desk.answering = KeystrokeGuard(lambda: desk.now, lambda: shown_since)
    desk.ask()
    desk.pass_time(5)
    desk.press("a")
    desk.press("\n")
    assert (desk.answers, desk.prompt) == ([], "")
    shown_since = desk.now + 1
    desk.pass_time(1 + SEEN_SECONDS - 0.1)
    desk.press("a")
    assert desk.prompt == "a", "it was shown for less than a second"
    desk.prompt = ""
    desk.pass_time(SEEN_SECONDS + 0.1)
    desk.press("a")
    desk.press("\n")
    assert desk.answers == ["a"]
