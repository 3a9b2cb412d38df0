import pytest

from yourtool.tui.lines.slices import PAUSE_SECONDS, SLICE_SECONDS
from yourtool.tui.transcript.update_schedule import FLUSHES_PER_SECOND, UpdateSchedule

PERIOD = 1 / FLUSHES_PER_SECOND


class FakeTimer:
    def __init__(self, seconds: float) -> None:
        self.seconds = seconds
        self.is_stopped = False

    def stop(self) -> None:
        self.is_stopped = True


class FakeWidget:
    """A widget with a number of changes, each of which takes one layout."""

    def __init__(self) -> None:
        self.is_mounted = True
        self.changes = 0
        self.now = 100.0
        self.calls = []
        self.timers: list[FakeTimer] = []
        self.painted = 0
        self.deadlines: list[float] = []
        self.layout_seconds = 0.0

    def call_next(self, callback):
        self.calls.append(callback)

    def set_timer(self, seconds, callback):
        self.timers.append(FakeTimer(seconds))
        return self.timers[-1]

    def lay_out(self, deadline: float) -> None:
        self.deadlines.append(deadline)
        self.changes -= 1
        self.now += self.layout_seconds

    def paint(self) -> None:
        self.painted += 1


@pytest.fixture
def widget():
    return FakeWidget()


@pytest.fixture
def schedule(widget):
    return UpdateSchedule(
        widget,
        has_changes=lambda: widget.changes > 0,
        lay_out=widget.lay_out,
        paint=widget.paint,
        clock=lambda: widget.now,
    )


def test_first_change_is_painted_after_the_queued_events(widget, schedule):
    widget.changes = 1
    schedule.request()
    schedule.request(at_once=True)
    assert widget.calls == [schedule.flush] and not widget.painted
    schedule.flush()
    assert widget.painted == 1 and widget.deadlines == [100.0 + SLICE_SECONDS]
    assert not schedule.is_waiting


def test_next_change_waits_for_the_rest_of_the_period(widget, schedule):
    widget.changes = 1
    schedule.flush()
    widget.changes, widget.now = 1, 100.0 + PERIOD / 4
    schedule.request()
    schedule.request()
    assert [timer.seconds for timer in widget.timers] == [pytest.approx(PERIOD * 3 / 4)]
    assert schedule.is_waiting and not widget.calls
    schedule.flush()
    assert widget.painted == 2 and not schedule.is_waiting


def test_urgent_change_does_not_wait(widget, schedule):
    widget.changes = 1
    schedule.flush()
    widget.changes = 1
    schedule.request()
    schedule.request(at_once=True)
    assert widget.calls == [schedule.flush]
    schedule.flush()
    assert widget.timers[0].is_stopped and not schedule.is_waiting


def test_long_layout_continues_in_slices_and_is_painted_when_complete(widget, schedule):
    widget.changes = 1
    schedule.flush()
    widget.changes = 2
    schedule.flush()
    assert widget.painted == 1
    assert [timer.seconds for timer in widget.timers] == [PAUSE_SECONDS]
    schedule.flush()
    assert widget.painted == 2 and not schedule.is_waiting


def test_incomplete_layout_is_painted_once_a_period(widget, schedule):
    widget.changes = 100
    schedule.flush()
    schedule.flush()
    assert widget.painted == 1
    widget.now += PERIOD * 1.5
    schedule.flush()
    schedule.flush()
    assert widget.painted == 2


def test_reply_whose_layout_takes_long_is_painted_less_often(widget, schedule):
    widget.changes, widget.layout_seconds = 1, PERIOD / 5
    schedule.flush()
    widget.changes = 1
    schedule.request()
    assert [timer.seconds for timer in widget.timers] == [pytest.approx(PERIOD * (2 - 1 / 5))]
    widget.layout_seconds = 0.0
    schedule.flush()
    widget.changes = 1
    schedule.request()
    assert widget.timers[-1].seconds == pytest.approx(PERIOD)


def test_nothing_is_painted_without_changes(widget, schedule):
    schedule.flush()
    assert not (widget.painted or widget.deadlines or schedule.is_waiting)


def test_widget_that_is_not_mounted_schedules_nothing(widget, schedule):
    widget.is_mounted, widget.changes = False, 1
    schedule.request(at_once=True)
    assert not (widget.calls or widget.timers)
