"""Times between keys and questions."""

from math import inf

import pytest

from yourtool.tui.keys.keystroke_guard import QUIET_SECONDS, SEEN_SECONDS, KeystrokeGuard


class Desk:
    """A guard, and the clock that it reads."""

    def __init__(self):
        self.now, self.shown_since = 100.0, -inf
        self.guard = KeystrokeGuard(lambda: self.now, lambda: self.shown_since)

    def press_after(self, seconds, *, types=False):
        """Press a key, and return whether it can answer."""
        self.now += seconds
        self.guard.mark_keystroke()
        if types:
            self.guard.mark_typing()
        return self.guard.was_seen


@pytest.mark.req("R-CONF-03")
def test_key_before_or_right_after_drawing_answers_nothing():
    desk = Desk()
    desk.guard.reset()
    assert not desk.press_after(5)
    desk.guard.mark_drawn()
    assert not desk.press_after(SEEN_SECONDS - 0.1)
    assert desk.press_after(0.1)


@pytest.mark.req("T20")
def test_key_after_a_pause_in_typing_answers_nothing():
    desk = Desk()
    desk.guard.mark_drawn()
    assert desk.press_after(2, types=True)
    assert not desk.press_after(SEEN_SECONDS - 0.1, types=True)
    assert desk.press_after(SEEN_SECONDS)


def test_quiet_time_is_measured_from_the_last_key():
    desk = Desk()
    desk.guard.mark_drawn()
    desk.press_after(0.8)
    desk.now += SEEN_SECONDS - 0.8
    assert desk.guard.seconds_until_ready > 0
    desk.now += 0.8 + QUIET_SECONDS - SEEN_SECONDS
    assert desk.guard.seconds_until_ready == pytest.approx(0, abs=1e-9)
    desk.press_after(0.1, types=True)
    assert desk.guard.seconds_until_quiet == pytest.approx(QUIET_SECONDS)
    desk.now += QUIET_SECONDS
    assert desk.guard.seconds_until_ready == pytest.approx(SEEN_SECONDS - QUIET_SECONDS)


def test_question_that_is_not_drawn_takes_no_keys():
    desk = Desk()
    desk.guard.reset()
    assert desk.guard.seconds_until_ready == inf


@pytest.mark.req("R-CONF-03")
def test_key_for_a_question_that_the_terminal_does_not_show_answers_nothing():
    desk = Desk()
    desk.shown_since = inf
    desk.guard.mark_drawn()
    assert not desk.press_after(5)
    desk.shown_since = desk.now + 1
    assert not desk.press_after(1 + SEEN_SECONDS - 0.1)
    assert desk.press_after(0.1)
