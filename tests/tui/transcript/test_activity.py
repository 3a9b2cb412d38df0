"""The line under the last message while a turn runs."""

import hypothesis.strategies as st
import pytest
from hypothesis import given
from rich.cells import cell_len
from textual.geometry import Region

from tests.clocks import SetClock
from tests.tui.events import EventBuilder
from tests.tui.pilot_helpers import paint
from tests.tui.transcript.test_transcript import Stage, play
from yourtool.effects import SideEffects
from yourtool.events.deltas import (
    RetryScheduled,
    TextDelta,
    ThinkingDelta,
    TokenUsage,
    ToolUseInputDelta,
    ToolUseStart,
    UsageUpdate,
)
from yourtool.events.model_calls import LlmCallStarted
from yourtool.messages.blocks import TextBlock, ToolUseBlock
from yourtool.tui.transcript.activity import FRAMES_PER_SECOND, ActivityLine, describe_activity
from yourtool.tui.transcript.timeline import Timeline
from yourtool.tui.transcript.transcript import Transcript

SHELL = ToolUseBlock("tu_1", "shell", {"command": "make test\nmake lint"})
READ = ToolUseBlock("tu_2", "read_file", {"path": "a.py"})
ids = {"message_id": "m", "content_block_index": 0}
session = EventBuilder()


def sent(provider="acme"):
    return LlmCallStarted(
        model=f"{provider}:x", provider=provider, estimated_input_tokens=1, request_id="r"
    )


def retry(seconds):
    return RetryScheduled(
        attempt=1, max_attempts=3, delay_seconds=seconds, error_class="server_error", message=""
    )


def story(*events, clock=None):
    timeline = Timeline(clock=clock or SetClock(100.0))
    for event in events:
        timeline.apply(event)
    return timeline


def line(timeline, *, clock=None, seconds=0, width=80, **flags):
    """The text of the line after a turn of some seconds."""
    clock = clock or SetClock(100.0)
    activity = ActivityLine(clock)
    activity.start()
    for name, value in flags.items():
        setattr(activity, name, value)
    clock.now += seconds
    activity.update(timeline, width)
    return activity.line.text


STARTED = (session.turn_start("go"), sent())
ANSWERED = (*STARTED, session.reply(SHELL, READ))


@pytest.mark.parametrize(
    ("events", "words"),
    [
        ([session.turn_start("go")], "working"),
        ([*STARTED], "waiting for acme"),
        ([session.turn_start("go"), sent("ev\x1bil")], "waiting for ev␛il"),
        ([*STARTED, ThinkingDelta(text="Hm", **ids)], "thinking"),
        ([*STARTED, TextDelta(text="Hm", **ids)], "writing"),
        (
            [*STARTED, ToolUseStart(tool_use_id="tu_1", tool_name="shell", **ids)],
            "preparing shell",
        ),
        ([*STARTED, session.failed_request(), retry(9)], "waiting to retry"),
        ([*STARTED, session.failed_request(), retry(0)], "waiting for acme"),
        ([*ANSWERED, session.tool_start(SHELL)], "running `make test …`"),
        ([*ANSWERED, session.tool_start(READ, SideEffects.READ)], "reading a.py"),
        ([*ANSWERED, session.tool_start(SHELL), session.tool_start(READ)], "running 2 tools"),
        (
            [
                *ANSWERED,
                session.tool_start(SHELL),
                session.tool_result(SHELL, ""),
                session.tool_start(READ),
            ],
            "reading a.py",
        ),
    ],
)
@pytest.mark.req("R-TUI-18")
def test_activity_is_what_the_turn_does(events, words):
    assert describe_activity(story(*events)) == words


def test_line_has_the_activity_the_time_the_tokens_and_the_key():
    timeline = story(*STARTED, TextDelta(text="x" * 4_000, **ids))
    assert line(timeline, seconds=9) == "Writing · 9 s · Esc to interrupt"
    assert line(timeline, seconds=40, width=90).startswith("Writing · 40 s · ")
    assert line(timeline, seconds=40, width=90).endswith(" · ~1,000 tokens · Esc to interrupt")
    assert line(story(*STARTED), seconds=3) == "Waiting for acme · 3 s · Esc to interrupt"


@pytest.mark.req("R-DLG-01")
def test_stopped_turn_names_the_key_that_stops_its_workers():
    worker = ToolUseBlock("tu_3", "delegate", {"task": "Look."})
    timeline = story(*ANSWERED, session.tool_start(worker))
    stopped = line(timeline, seconds=2, width=100, is_stopping=True)
    assert stopped.startswith("Stopping when the workers are done · 2 s")
    assert stopped.endswith("Esc to stop them")
    other = line(story(*ANSWERED, session.tool_start(SHELL)), seconds=2, is_stopping=True)
    assert other.startswith("Stopping · 2 s")
    assert "Esc" not in other


def test_count_of_the_provider_replaces_the_estimate():
    usage = TokenUsage(input_tokens=9, output_tokens=7)
    timeline = story(*STARTED, TextDelta(text="x" * 20, **ids))
    assert str(timeline.tokens) == "~5 tokens"
    timeline.apply(UsageUpdate(message_id="m", usage=usage))
    assert str(timeline.tokens) == "7 tokens"


def test_tokens_of_all_requests_of_a_turn_are_counted():
    timeline = story(*ANSWERED)
    assert str(timeline.tokens) == "20 tokens"
    for event in (
        ThinkingDelta(text="x" * 20, **ids),
        ToolUseInputDelta(tool_use_id="tu_3", partial_json='{"path": ' + "x" * 11, **ids),
    ):
        timeline.apply(event)
    assert str(timeline.tokens) == "~30 tokens"
    timeline.apply(session.turn_start("again"))
    assert str(timeline.tokens) == ""


@pytest.mark.req("R-TUI-18")
def test_reply_that_stopped_growing_is_shown_as_silent():
    assert "no output for 12 s" in line(story(*STARTED, TextDelta(text="So", **ids)), seconds=12)
    assert "no output" not in line(story(*STARTED), seconds=12)


def test_line_of_a_stopping_turn_names_no_key():
    assert line(story(*STARTED), is_stopping=True, seconds=2) == "Stopping · 2 s"


def test_nothing_is_shown_while_only_the_user_is_awaited():
    assert line(story(*ANSWERED, session.approval_request(SHELL)), is_asking=True) == ""
    busy = story(*ANSWERED, session.tool_start(READ), session.approval_request(SHELL))
    assert line(busy, is_asking=True).startswith("Reading a.py")


@given(st.integers(1, 130), st.text(max_size=60), st.integers(0, 10**6))
def test_line_fits_into_every_width(width, command, seconds):
    call = ToolUseBlock("tu_1", "shell", {"command": command})
    timeline = story(*STARTED, session.reply(call), session.tool_start(call))
    shown = line(timeline, width=width, seconds=seconds)
    assert cell_len(shown) <= max(2, width)
    assert "\n" not in shown and "\x1b" not in shown


def test_narrow_line_drops_the_tokens_first_and_keeps_the_time():
    timeline = story(session.turn_start("go"), sent("anthropic"))
    timeline.tokens.set_reported(1_234)
    assert line(timeline, width=47, seconds=12) == "Waiting for anthropic · 12 s · Esc to interrupt"
    assert line(timeline, width=40, seconds=12) == "Waiting for anthropic · 12 s · Esc stops"
    assert line(timeline, width=38, seconds=12) == "Waiting for anthropic · 12 s"


class TimedStage(Stage):
    """A transcript with a clock of the test."""

    def __init__(self) -> None:
        super().__init__()
        self.clock = SetClock(100.0)

    def compose(self):
        yield Transcript(self.clock)

    def begin(self) -> None:
        self.transcript.activity.start()
        self.transcript.update_activity()

    async def tick(self, pilot, seconds=1 / FRAMES_PER_SECOND) -> list[str]:
        self.clock.now += seconds
        self.transcript._tick()
        await paint(pilot)
        return self.rows()


async def test_line_is_below_the_last_message_and_disappears_after_the_turn():
    stage = TimedStage()
    async with stage.run_test(size=(60, 20)) as pilot:
        stage.begin()
        await play(stage, pilot, *STARTED)
        *above, last = [row for row in stage.rows() if row]
        assert above[-1] == "❯ go"
        assert last.endswith("Waiting for acme · 0 s · Esc to interrupt")
        await play(stage, pilot, TextDelta(text="So.", **ids))
        *above, last = [row for row in stage.rows() if row]
        assert above[-1].strip() == "So."
        assert last.endswith("Writing · 0 s · Esc to interrupt")
        await play(stage, pilot, session.reply(TextBlock("So.")), session.turn_end())
        stage.transcript.activity.end()
        stage.transcript.update_activity()
        await paint(pilot)
        assert "Esc to interrupt" not in stage.shown()


async def test_end_of_a_turn_without_new_output_repaints_the_row_of_the_line(monkeypatch):
    stage = TimedStage()
    async with stage.run_test(size=(60, 20)) as pilot:
        stage.begin()
        await play(stage, pilot, *STARTED)
        row, whole = stage.transcript._activity_row, Region(0, 0, 60, 20)
        painted = []
        monkeypatch.setattr(
            stage.transcript, "refresh", lambda *regions: painted.extend(regions or [whole])
        )
        stage.transcript.activity.end()
        stage.transcript.update_activity()
        assert [region for region in painted if region.y <= row < region.bottom]


@pytest.mark.parametrize("size", [(40, 12), (80, 24), (120, 40)])
@pytest.mark.sample(3)
async def test_line_stays_below_a_long_reply_that_grows(size):
    stage = TimedStage()
    async with stage.run_test(size=size) as pilot:
        stage.begin()
        await play(stage, pilot, *STARTED)
        for number in range(60):
            delta = TextDelta(text=f"word {number}\n\n", **ids)
            shown = [row for row in (await play(stage, pilot, delta)).split("\n") if row]
            assert shown[-1][2:].startswith("Writing · ")
            assert shown[-2].strip() == f"word {number}"


async def test_spinner_moves_and_the_seconds_count():
    stage = TimedStage()
    async with stage.run_test(size=(60, 20)) as pilot:
        stage.begin()
        await play(stage, pilot, *STARTED)
        frames = {(await stage.tick(pilot))[2][0] for _ in range(8)}
        assert len(frames) == 4
        assert "4 s" in stage.shown()


async def test_reduced_motion_shows_no_spinner_and_still_counts_the_seconds():
    stage = TimedStage()
    stage.animation_level = "none"
    async with stage.run_test(size=(60, 20)) as pilot:
        stage.begin()
        await play(stage, pilot, *STARTED)
        assert stage.transcript._ticker._seconds == 1
        frames = {(await stage.tick(pilot))[2][0] for _ in range(8)}
        assert frames == {"•"}
        assert "4 s" in stage.shown()


async def test_screen_counts_the_seconds_of_a_command_that_runs(monkeypatch):
    stage = TimedStage()
    async with stage.run_test(size=(100, 20)) as pilot:
        stage.begin()
        await play(stage, pilot, *ANSWERED)
        screen, whole = dict(enumerate(stage.rows())), Region(0, 0, 100, 20)

        def paint_rows(*regions):
            rows = stage.rows()
            for region in regions or [whole]:
                if region.width > 1:  # otherwise only the spinner
                    screen.update((y, rows[y]) for y in range(region.y, region.bottom))

        monkeypatch.setattr(stage.transcript, "refresh", paint_rows)
        await play(stage, pilot, session.tool_start(SHELL))
        for second in range(1, 5):
            await stage.tick(pilot, 1)
            line = screen[stage.transcript._activity_row]
            assert "Running `make test …`" in line
            assert f"· {second} s ·" in line
            assert "Ctrl+B to the background" in line


def test_question_before_a_command_is_not_part_of_its_time():
    clock = SetClock(100.0)
    timeline = story(*ANSWERED, session.approval_request(SHELL), clock=clock)
    activity = ActivityLine(clock)
    activity.start()
    clock.now += 6
    timeline.apply(session.tool_start(SHELL))
    clock.now += 2
    activity.update(timeline, 80)
    assert "Running `make test …` · 2 s ·" in activity.line.text
    clock.now += 1
    timeline.apply(session.tool_start(READ))
    activity.update(timeline, 80)
    assert "Running 2 tools · 3 s ·" in activity.line.text


async def test_spinner_repaints_one_cell(monkeypatch):
    stage = TimedStage()
    async with stage.run_test(size=(60, 20)) as pilot:
        stage.begin()
        await play(stage, pilot, *STARTED)
        painted = []
        monkeypatch.setattr(stage.transcript, "refresh", lambda *regions: painted.extend(regions))
        await stage.tick(pilot)
        assert [region.area for region in painted] == [1]


async def test_a_waiting_minute_paints_two_cells_a_second_and_one_row_each_second(monkeypatch):
    stage = TimedStage()
    async with stage.run_test(size=(60, 20)) as pilot:
        stage.begin()
        await play(stage, pilot, *STARTED)
        assert stage.transcript._ticker._seconds == 1 / FRAMES_PER_SECOND
        whole, painted, built = Region(0, 0, 60, 20), [], []
        monkeypatch.setattr(
            stage.transcript, "refresh", lambda *regions: painted.extend(regions or [whole])
        )
        for item in stage.transcript.items:
            monkeypatch.setattr(item, "build", built.append)
        for _ in range(60 * FRAMES_PER_SECOND):
            stage.clock.now += 1 / FRAMES_PER_SECOND
            stage.transcript._tick()
        rows = [region for region in painted if region.area > 1]
        assert len(painted) - len(rows) == 60 * FRAMES_PER_SECOND
        assert len(rows) == 60 and {region.height for region in rows} == {1}
        assert not built


async def test_no_frame_is_painted_while_the_line_is_out_of_view(monkeypatch):
    stage = TimedStage()
    async with stage.run_test(size=(60, 12)) as pilot:
        stage.begin()
        await play(stage, pilot, *session.turn(reply="word\n\n" * 50), *STARTED)
        stage.transcript.scroll_to(y=0)
        await paint(pilot)
        assert stage.transcript.hidden_activity == "waiting for acme"
        painted = []
        monkeypatch.setattr(stage.transcript, "refresh", lambda *regions: painted.extend(regions))
        await stage.tick(pilot)
        assert painted == []


async def test_line_without_new_output_does_not_count_as_unseen():
    stage = TimedStage()
    async with stage.run_test(size=(60, 12)) as pilot:
        await play(stage, pilot, *session.turn(reply="word\n\n" * 50))
        stage.transcript.scroll_to(y=0)
        await paint(pilot)
        stage.begin()
        stage.transcript.apply(sent())
        stage.transcript.update_activity()
        await paint(pilot)
        assert stage.transcript.unseen_rows == 0
