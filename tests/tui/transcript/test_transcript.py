import time
import typing

import pytest
from msgspec.structs import replace
from textual.app import App
from textual.geometry import Offset
from textual.selection import Selection
from textual.widgets import Input

from tests.tui.events import EventBuilder
from tests.tui.pilot_helpers import paint, settle
from yourtool.effects import SideEffects
from yourtool.events.catalog import Event
from yourtool.events.deltas import (
    BlockEdge,
    MessageComplete,
    MessageStart,
    Notice,
    RetryScheduled,
    TextDelta,
    ThinkingDelta,
    TokenUsage,
    ToolOutputDelta,
    ToolUseEnd,
    ToolUseStart,
)
from yourtool.events.facts import Fact
from yourtool.messages.blocks import RedactedThinkingBlock, TextBlock, ThinkingBlock, ToolUseBlock
from yourtool.messages.message import Role
from yourtool.messages.metadata import StopReason
from yourtool.tui.theme.output_filter import SanitizeFilter
from yourtool.tui.transcript.heights import Heights
from yourtool.tui.transcript.items import FooterItem, NoticeItem
from yourtool.tui.transcript.session_changes import NOT_SHOWN, describe_change
from yourtool.tui.transcript.text_items import ReplyItem
from yourtool.tui.transcript.timeline import Timeline
from yourtool.tui.transcript.tool_card import ToolCard
from yourtool.tui.transcript.transcript import Transcript

SHELL = ToolUseBlock("tu_1", "shell", {"command": "make test"})
DIFF = "--- a/f\n+++ b/f\n@@ -1,2 +1,2 @@\n one\n-two\n+2\n"


@pytest.fixture
def session():
    return EventBuilder()


class Stage(App[None]):
    CSS = "Transcript { height: 1fr; }"

    def __init__(self) -> None:
        super().__init__()
        self.asked = 0

    def get_line_filters(self):
        return [*super().get_line_filters(), SanitizeFilter()]

    def compose(self):
        yield Transcript()
        prompt = Input()
        prompt.cursor_blink = False
        yield prompt

    def on_transcript_retry_requested(self):
        self.asked += 1

    @property
    def transcript(self) -> Transcript:
        return self.query_one(Transcript)

    def rows(self) -> list[str]:
        strips = self.transcript.render_lines(self.transcript.region.reset_offset)
        return [strip.text[:-1].rstrip() for strip in strips]

    def shown(self) -> str:
        return "\n".join(self.rows()).strip("\n")


async def play(stage: Stage, pilot, *events: Event) -> str:
    for event in events:
        stage.transcript.apply(event)
    await paint(pilot)
    stage.transcript._schedule.flush()
    await paint(pilot)
    return stage.shown()


def build_rows(*events: Event, width: int = 60) -> list[str]:
    story = Timeline(retry_key="Ctrl+T", clock=lambda: 5.0)
    for event in events:
        story.apply(event)
    rows: list[str] = []
    for item in story.items:
        item.lay_out(width)
        rows += [line.text.rstrip() for line in item.rows]
    return rows


def test_every_event_type_is_handled(session):
    parts = (Timeline._apply_fact, Timeline._apply_delta, describe_change)
    taken = [name for part in parts for name in part.__code__.co_names]
    taken += [kind.__name__ for kind in NOT_SHOWN]
    kinds = [kind for kind in typing.get_args(Event) if not issubclass(kind, BlockEdge)]
    assert [kind.__name__ for kind in kinds if kind.__name__ not in taken] == []


@pytest.mark.parametrize("size", [(40, 12), (80, 24), (120, 40)])
async def test_turn_is_shown_at_every_size(session, size):
    stage = Stage()
    async with stage.run_test(size=size) as pilot:
        shown = await play(stage, pilot, *session.turn(prompt="fix it", reply="Some **words**."))
        for words in (
            "fix it",
            "Some words.",
            "Ran a.txt",
            "output",
            "$0.0123",
            "3.2 s",
        ):
            assert words in " ".join(shown.split())


async def test_resumed_session_looks_as_it_did_live(session):
    events = [
        *session.turn(prompt="one", reply="# A\n\n- b\n- c", diff=DIFF),
        session.turn_start("two"),
        session.route(),
        session.failed_request("try later"),
        session.reply(TextBlock("There."), unpriced=True),
        session.turn_end(),
        session.turn_start("three"),
        *session.text_deltas("half an ans"),
        session.failed_request(
            "stopped", "cancelled", session.message(Role.ASSISTANT, TextBlock("half an ans"))
        ),
        session.turn_stop(),
        session.turn_start("four"),
        ToolUseStart(message_id="m", content_block_index=0, tool_use_id="tu_9", tool_name="glob"),
        ToolUseEnd(message_id="m", content_block_index=0, tool_use_id="tu_9", final_input={}),
        session.failed_request("cut", "network", cut_calls={"tu_9": "glob"}),
        session.turn_stop(),
    ]
    live, resumed = Stage(), Stage()
    async with live.run_test(size=(70, 60)) as pilot:
        shown = await play(live, pilot, *events)
    async with resumed.run_test(size=(70, 60)) as pilot:
        resumed.transcript.set_timeline(
            await resumed.transcript.build_timeline(
                [event for event in events if isinstance(event, Fact)]
            )
        )
        await paint(pilot)
        assert resumed.shown() == shown
    assert "(cancelled)" in shown and "half an ans" in shown and "unpriced" in shown
    assert "⊘ Find" in shown


@pytest.mark.req("R-TUI-08")
async def test_resuming_lays_out_at_most_one_screen(session):
    facts = [e for number in range(400) for e in session.turn(prompt=f"prompt {number}")]
    stage = Stage()
    async with stage.run_test(size=(80, 24)) as pilot:
        stage.transcript.set_timeline(await stage.transcript.build_timeline(facts))
        await paint(pilot)
        items = stage.transcript._timeline.items
        assert sum(bool(item.rows) for item in items) < 30 < len(items)
        assert "prompt 399" in stage.shown()
        stage.transcript.scroll_home()
        await paint(pilot)
        assert "prompt 0" in stage.shown()
        assert sum(bool(item.rows) for item in items) < 60


@pytest.mark.req("R-TUI-08")
@pytest.mark.remaining
async def test_scrolling_back_moves_by_rows_and_drops_distant_items(session):
    facts = [
        e
        for number in range(500)
        for e in session.turn(prompt=f"prompt {number}", reply="word " * 60)
    ]
    stage = Stage()
    async with stage.run_test(size=(60, 20)) as pilot:
        transcript = stage.transcript
        transcript.set_timeline(await transcript.build_timeline(facts))
        await paint(pilot)
        before = stage.rows()
        for _ in range(60):
            transcript.scroll_to(y=round(transcript.scroll_y) - 1)
            await paint(pilot)
            after = stage.rows()
            assert after[1:] == before[: len(after) - 1]
            before = after
        await pilot.resize_terminal(60, 200)  # scroll back a tenth of the pages
        while transcript.scroll_y > 0:
            transcript.scroll_page_up(animate=False)
            await paint(pilot)
        assert "prompt 0" in stage.shown()
        assert sum(bool(item.rows) for item in transcript._timeline.items) <= 900


@pytest.mark.req("R-TUI-09")
async def test_transcript_follows_the_end_only_while_it_is_in_view(session):
    stage = Stage()
    async with stage.run_test(size=(40, 12)) as pilot:
        transcript = stage.transcript
        await play(stage, pilot, *session.turn(reply="line\n\n" * 30))
        assert "$0.0123" in stage.shown() and not transcript.unseen_rows
        transcript.scroll_home()
        await settle(pilot)
        top = stage.shown()
        assert await play(stage, pilot, *session.turn(prompt="more")) == top
        assert transcript.unseen_rows
        transcript.scroll_end(animate=False)
        await settle(pilot)
        assert not transcript.unseen_rows and "A reply." in stage.shown()
        await play(stage, pilot, *session.turn(reply="Followed."))
        assert "Followed." in stage.shown()


async def test_position_in_a_long_reply_is_preserved_on_resize(session):
    stage = Stage()
    reply = "\n\n".join(f"line {number} " + "word " * 12 for number in range(60))
    async with stage.run_test(size=(80, 24)) as pilot:
        await play(stage, pilot, *session.turn(reply=reply))
        stage.transcript.scroll_to(y=40)
        await settle(pilot)
        [first] = [row for row in stage.rows()[:2] if "line" in row]
        for columns, rows in ((80, 20), (80, 24), (50, 24), (80, 24)):
            await pilot.resize_terminal(columns, rows)
            await settle(pilot)
            assert first[:12] in "\n".join(stage.rows()[:4])


async def test_new_lines_are_counted_until_they_are_seen(session):
    stage = Stage()
    async with stage.run_test(size=(40, 12)) as pilot:
        transcript = stage.transcript
        await play(stage, pilot, *session.turn(reply="line\n\n" * 30))
        transcript.scroll_up(animate=False)
        await settle(pilot)
        before = transcript._layout.total
        counts = []
        for number in range(10):
            transcript.add_notice("info", f"notice {number}")
            await settle(pilot)
            counts.append(transcript.unseen_rows)
        assert counts == sorted(counts)
        assert counts[-1] == transcript._layout.total - before > 5
        transcript.scroll_down(animate=False)
        transcript.scroll_down(animate=False)
        await settle(pilot)
        assert transcript.unseen_rows == counts[-1] - 1
        transcript.follow_end()
        await settle(pilot)
        assert not transcript.unseen_rows
        assert "notice 9" in stage.shown()


async def test_opening_a_card_is_not_new_output(session):
    stage = Stage()
    async with stage.run_test(size=(60, 12)) as pilot:
        transcript = stage.transcript
        output = "\n".join(map(str, range(90)))
        call = [session.reply(SHELL), session.tool_start(SHELL), session.tool_result(SHELL, output)]
        await play(stage, pilot, *call)
        transcript.focus()
        await settle(pilot)
        transcript.action_select(-1)
        transcript.action_toggle_item()
        await settle(pilot)
        assert transcript.max_scroll_y > 20
        assert not transcript.unseen_rows


@pytest.mark.req("R-TUI-07")
async def test_everything_is_wrapped_again_on_resize(session):
    stage = Stage()
    reply = "word " * 40 + "x" * 10_000 + "\n\n日本語のテキスト" * 3
    async with stage.run_test(size=(100, 24)) as pilot:
        await play(stage, pilot, *session.turn(reply=reply))
        for width in (40, 61, 100):
            await pilot.resize_terminal(width, 24)
            await paint(pilot)
            items = [item for item in stage.transcript._timeline.items if item.layout_width]
            assert items and all(item.layout_width == width - 3 for item in items)
            assert "$0.0123" in stage.shown()
            drawn = stage.screen._compositor.render_strips()
            assert any("$0.0123" in strip.text for strip in drawn)


@pytest.mark.req("R-TUI-10")
def test_reasoning_is_folded_and_redacted_reasoning_is_labelled(session):
    assert build_rows(*session.reasoning_reply("one two three")) == ["Reasoning, 3 words (Ctrl+O)"]
    hidden = build_rows(session.reply(RedactedThinkingBlock("xx")))
    assert hidden == ["Reasoning hidden by the provider"]
    sealed = build_rows(session.reply(ThinkingBlock("", signature="xx")))
    assert sealed == ["Reasoning hidden by the provider"]


@pytest.mark.parametrize(
    "hidden", [RedactedThinkingBlock("xx"), ThinkingBlock("")], ids=["sealed", "silent"]
)
@pytest.mark.req("R-TUI-10")
def test_reasoning_without_events_is_placed_as_after_a_resume(session, hidden):
    call = ToolUseStart(
        message_id="m", content_block_index=4, tool_use_id=SHELL.id, tool_name=SHELL.name
    )
    streamed = (
        ThinkingDelta(message_id="m", content_block_index=1, text="so and so"),
        TextDelta(message_id="m", content_block_index=2, text="I look."),
        call,
    )
    content = (hidden, ThinkingBlock("so and so"), TextBlock("I look."), hidden, SHELL)
    stored = session.reply(*content)
    shown = build_rows(*streamed, stored)
    assert shown == build_rows(stored)
    assert [line for line in shown if "easoning" in line] == [
        "Reasoning hidden by the provider",
        "Reasoning, 3 words (Ctrl+O)",
        "Reasoning hidden by the provider",
    ]


@pytest.mark.req("R-TUI-10")
async def test_reasoning_can_be_unfolded(session):
    stage = Stage()
    async with stage.run_test(size=(60, 12)) as pilot:
        await play(stage, pilot, *session.reasoning_reply("because of this"))
        stage.transcript.focus()
        await pilot.press("up", "enter")
        assert "because of this" in stage.shown()
        await pilot.press("enter")
        assert "because of this" not in stage.shown()


@pytest.mark.req("R-TUI-11")
def test_search_card_shows_its_pattern():
    card = ToolCard("grep")
    card.set_arguments({"path": "src", "pattern": "def main"})
    card.lay_out(60)
    assert card.rows[0].text == "Search for def main · queued"


@pytest.mark.req("R-TUI-11")
def test_card_passes_through_all_states(session):
    story = Timeline(clock=iter([0.0, *[7.5] * 20]).__next__)

    def head() -> str:
        [card] = story.items
        card.invalidate()
        card.lay_out(60)
        return f"{card.mark[0]} {card.rows[0].text}"

    story.apply(
        ToolUseStart(message_id="m", content_block_index=0, tool_use_id="tu_1", tool_name="shell")
    )
    assert head() == "○ Run · queued"
    story.apply(
        ToolUseEnd(
            message_id="m", content_block_index=0, tool_use_id="tu_1", final_input=SHELL.input
        )
    )
    asked = session.approval_request(SHELL)
    story.apply(asked)
    assert head() == "? Run make test · waiting for you"
    story.apply(session.tool_start(SHELL))
    assert head() == "● Running make test · 7 s"
    story.apply(session.tool_result(SHELL, "all good"))
    assert head() == "✓ Ran make test · 1.2 s"


@pytest.mark.parametrize(
    ("error_class", "mark", "word"),
    [
        ("user_denied", "⊘", "denied"),
        ("permission_denied", "⊘", "denied"),
        ("cancelled", "⊘", "cancelled"),
        ("execution_error", "✗", "failed"),
    ],
)
@pytest.mark.req("R-TUI-11")
def test_failed_call_shows_the_reason(session, error_class, mark, word):
    story = Timeline()
    story.apply(session.reply(SHELL))
    story.apply(session.tool_failure(SHELL, error_class, "the reason"))
    [card] = story.items
    card.lay_out(60)
    assert card.mark[0] == mark and word in card.rows[0].text
    assert any("the reason" in line.text for line in card.rows)


@pytest.mark.req("R-TUI-11")
def test_unfolded_card_shows_all_input_and_output(session):
    card = ToolCard("shell")
    card.set_arguments({"command": "make\ninstall", "timeout": 5})
    card.start(SideEffects.EXECUTE)
    output = "\n".join(f"line {number}" for number in range(40))
    card.finish("failed", output, 1.0, {"exit_code": 2})
    card.lay_out(60)
    folded = [line.text for line in card.rows]
    assert folded[0] == "Ran make … · exit code 2 · 1 s (Ctrl+O)"
    assert folded[1] == "│ … 32 more lines (Ctrl+O)" and "line 39" in folded[-1]
    card.expand(True)
    card.lay_out(60)
    text = "\n".join(line.text for line in card.rows)
    assert all(words in text for words in ("install", "timeout: 5", "line 0", "line 39"))


@pytest.mark.req("R-TUI-11")
def test_edit_card_shows_the_diff_and_plan_card_shows_the_steps(session):
    edit, plan = (
        ToolUseBlock("tu_2", "edit_file", {"path": "f"}),
        ToolUseBlock("tu_3", "update_plan", {}),
    )
    steps = [{"step": "look", "status": "done"}, {"step": "leap", "status": "in_progress"}]
    rows = build_rows(
        session.tool_start(edit, SideEffects.WRITE),
        session.tool_result(edit, "ok", diff=DIFF),
        session.tool_start(plan, SideEffects.NONE),
        session.tool_result(plan, "ok", plan=steps),
    )
    assert rows == [
        "Edited · +1 −1 · 1.2 s",
        "│ 1   one",
        "│ 2 − two",
        "│ 2 + 2",
        "Plan · 1.2 s",
        "│ ✓ look",
        "│ ▸ leap",
    ]


@pytest.mark.req("R-TUI-13")
def test_running_shell_command_shows_its_last_lines(session):
    printed = [ToolOutputDelta(tool_use_id="tu_1", text=f"line {n}\n") for n in range(3000)]
    rows = build_rows(session.tool_start(SHELL), *printed)
    hidden = "│ … 2,995 more lines (Ctrl+O)"
    assert rows == ["Running", hidden, *(f"│ line {n}" for n in range(2995, 3000))]


@pytest.mark.req("R-TUI-15")
def test_stopped_items_are_marked(session):
    story = Timeline()
    for event in [
        session.turn_start(),
        *session.text_deltas("half an "),
        session.tool_start(SHELL),
        session.turn_stop(),
        *session.turn(prompt="next", reply="works"),
    ]:
        story.apply(event)
    for item in story.items:
        item.lay_out(60)
    rows = [line.text for item in story.items for line in item.rows]
    assert "(cancelled)" in rows and "works" in rows
    [card, _] = [item for item in story.items if isinstance(item, ToolCard)]
    assert card.status == "cancelled"
    assert all("cancelled" in style for text, style in card.rows[0].spans[:1] if text)


@pytest.mark.req("R-TUI-17")
def test_failure_shows_class_provider_cause_and_remedies(session):
    rows = build_rows(*session.failed_turn("The server is on fire"), width=70)[1:]
    assert rows == [
        "The provider failed · server_error · acme, HTTP 500",
        "The server is on fire",
        "The fault is at the provider; `/model` switches models. Ctrl+T",
        "retries.",
    ]


@pytest.mark.req("R-TUI-17")
def test_partial_text_stays_and_a_recovered_failure_is_shortened(session):
    partial = session.message(Role.ASSISTANT, TextBlock("so far"))
    rows = build_rows(
        session.turn_start(),
        *session.text_deltas("so far"),
        session.failed_request("cut", message=partial),
        *session.text_deltas("whole"),
        session.reply(TextBlock("whole")),
    )
    assert rows == [
        "hello",
        "so far",
        "The provider failed · server_error · acme, HTTP 500 (Ctrl+O)",
        "whole",
    ]


@pytest.mark.req("R-TUI-17")
async def test_one_key_requests_a_retry(session):
    stage = Stage()
    async with stage.run_test(size=(60, 20)) as pilot:
        stage.transcript.focus()
        await pilot.press("r")
        assert stage.asked == 0
        await play(stage, pilot, *session.failed_turn("no"))
        await pilot.press("r")
        assert stage.asked == 1


def test_turn_without_an_available_model_fails_with_reasons(session):
    rows = build_rows(session.turn_start(), session.no_route())
    assert rows[1:3] == ["No available model for this message", "acme:big: no key for it"]


@pytest.mark.parametrize(
    ("policy", "choice"),
    [
        ("per_message_override", "demo:tour · `@model` in this message · "),
        ("manual_sticky", ""),
        ("global_default", ""),
    ],
)
def test_footer_names_a_model_that_is_not_the_expected_one(session, policy, choice):
    rows = build_rows(
        session.route(policy), session.reply(TextBlock("a")), session.turn_end(), width=90
    )
    assert rows[-1] == f"{choice}$0.0123 · 3.2 s"


def test_footer_names_the_rule_that_chose_the_model(session):
    route = session.route("rule", "has_images = true", rule="pictures")
    rows = build_rows(route, session.reply(TextBlock("a")), session.turn_end(), width=90)
    assert rows[-1].startswith("demo:tour · rule pictures · $0.0123")


def test_footer_explains_a_model_change(session):
    first = [
        session.turn_start(),
        session.route(),
        session.reply(TextBlock("a")),
        session.turn_end(),
    ]
    second = [
        session.turn_start(),
        session.route(reason="now the default"),
        session.reply(TextBlock("b"), model="acme:big"),
        session.turn_end(StopReason.MAX_TOKENS),
    ]
    rows = build_rows(*first, *second, width=90)
    assert (
        rows[-2].startswith("acme:big · changed: now the default · ") and "output limit" in rows[-1]
    )
    assert not rows[2].endswith("default")


WAITING = RetryScheduled(
    attempt=2, max_attempts=3, delay_seconds=4, error_class="server_error", message="broken"
)


def test_wait_before_a_retry_counts_down_and_offers_no_manual_retry(session):
    moment = [10.0]
    story = Timeline(retry_key="Ctrl+T", clock=lambda: moment[0])
    for event in (session.turn_start(), session.failed_request(), WAITING):
        story.apply(event)
    [failure] = story.ticking_items
    assert story.active_item is failure
    shown = []
    for moment[0] in (10.0, 12.5, 14.0):
        failure.invalidate()
        failure.lay_out(60)
        shown.append(failure.rows[-1].text)
    again = "(2 of 3); Esc stops."
    assert shown == [f"Retrying {when}{again}" for when in ("in 4 s ", "in 2 s ", "")]
    assert not story.has_failed
    story.apply(MessageStart(message_id="m", model="acme:big"))
    assert story.ticking_items == []


def test_failure_before_a_successful_retry_is_one_line(session):
    rows = build_rows(
        session.turn_start(), session.failed_request(), WAITING, session.failed_request("again")
    )
    assert rows[1] == "The provider failed · server_error · acme, HTTP 500 (Ctrl+O)"
    assert "Ctrl+T retries." in rows[-1]
    assert not any("Retrying" in row for row in rows)


def test_stop_before_a_retry_shows_the_advice_again(session):
    rows = build_rows(session.turn_start(), session.failed_request(), WAITING, session.turn_stop())
    assert not any("Retrying" in row for row in rows)
    assert any("Ctrl+T retries." in row for row in rows)


def test_input_that_no_model_accepts_is_reported_once(session):
    notices = [Notice(level="error", text=text) for text in ("No model can", "Configured: x")]
    events = session.turn_start(), session.no_route()
    assert build_rows(*events, *notices) == build_rows(*events)


def test_finished_message_replaces_the_streamed_text(session):
    rows = build_rows(*session.text_deltas("wrong"), session.reply(TextBlock("right")))
    assert rows == ["right"]


@pytest.mark.req("R-TUI-06")
async def test_raw_source_can_be_shown_and_copied(session):
    stage = Stage()
    async with stage.run_test(size=(60, 20)) as pilot:
        await play(stage, pilot, *session.turn(reply="# Head\n\n**bold**"))
        assert "**bold**" not in stage.shown()
        stage.transcript.action_toggle_raw()
        assert "**bold**" in stage.shown() and "# Head" in stage.shown()
        stage.transcript.action_toggle_raw()
        assert "**bold**" not in stage.shown()
        assert stage.transcript.last_reply_source() == "# Head\n\n**bold**"
        stage.transcript.action_copy_item()
        assert stage.clipboard == "# Head\n\n**bold**"


@pytest.mark.req("R-TUI-06")
async def test_selection_copies_the_source(session):
    source = (
        "Some **bold** words\n\n```py\nif x:\n\ty()\n```\n\n| a | b |\n|---|---|\n| 1 | 2 |\n\n"
        + "long " * 20
    )
    stage = Stage()
    async with stage.run_test(size=(50, 30)) as pilot:
        await play(stage, pilot, session.turn_start(), session.reply(TextBlock(source)))
        rows = stage.rows()
        first = next(y for y, row in enumerate(rows) if "Some" in row)
        last = next(y for y, row in enumerate(rows) if "1" in row and "│" in row)
        transcript = stage.transcript
        whole = Selection.from_offsets(Offset(2, first), Offset(50, last))
        assert transcript.get_selection(whole) == (
            "Some **bold** words\n\nif x:\n\ty()\n\n| a | b |\n|---|---|\n| 1 | 2 |",
            "\n",
        )
        part = Selection.from_offsets(Offset(7, first), Offset(11, first))
        assert transcript.get_selection(part) == ("bold", "\n")
        soft = next(y for y, row in enumerate(rows) if "long" in row)
        words = transcript.get_selection(
            Selection.from_offsets(Offset(2, soft), Offset(6, soft + 1))
        )
        assert words is not None and "\n" not in words[0] and words[0].endswith("long")


async def test_mouse_selection_is_painted_and_click_unfolds_a_card(session):
    stage = Stage()
    async with stage.run_test(size=(60, 20)) as pilot:
        await play(stage, pilot, *session.turn(reply="hello there", output="x\n" * 40))
        y = next(y for y, row in enumerate(stage.rows()) if "hello there" in row)
        await pilot.mouse_down(Transcript, offset=(2, y))
        await pilot.hover(Transcript, offset=(6, y))
        await pilot.mouse_up(Transcript, offset=(6, y))
        assert stage.screen.get_selected_text() == "hello"
        stage.screen.clear_selection()
        stage.query_one(Input).focus()
        y = next(y for y, row in enumerate(stage.rows()) if "Ran" in row)
        before = stage.shown().count("│ x")
        await pilot.click(Transcript, offset=(5, y))
        assert stage.shown().count("│ x") > before
        assert stage.focused is not stage.transcript


async def test_only_changed_rows_are_painted_while_a_reply_grows(session):
    stage = Stage()
    async with stage.run_test(size=(60, 30)) as pilot:
        transcript = stage.transcript
        await play(
            stage, pilot, session.turn_start(), *session.text_deltas("para one\n\n", "para two")
        )
        painted: list[int] = []
        refresh = transcript.refresh

        def noting(*regions, **options):
            painted.extend(y for region in regions for y in region.line_range)
            return refresh(*regions, **options)

        transcript.refresh = noting
        await play(stage, pilot, session.text_deltas(" goes on")[1])
        assert painted == [4]


async def test_timer_runs_only_while_a_tool_runs(session):
    stage = Stage()
    async with stage.run_test(size=(60, 20)) as pilot:
        transcript = stage.transcript
        await play(stage, pilot, *session.turn())
        assert not transcript._ticker.is_running and not transcript._schedule.is_waiting
        await play(stage, pilot, session.tool_start(SHELL))
        assert transcript._ticker.is_running
        await play(stage, pilot, session.tool_result(SHELL, "done"))
        assert not transcript._ticker.is_running


async def test_cleared_transcript_still_works(session):
    stage = Stage()
    async with stage.run_test(size=(60, 20)) as pilot:
        await play(stage, pilot, *session.turn(reply="word\n\n" * 50))
        stage.transcript.clear()
        await paint(pilot)
        assert stage.shown() == ""
        assert "again" in await play(stage, pilot, *session.turn(prompt="again"))


async def test_long_reply_does_not_block_the_loop_and_is_shown_completely(session):
    stage = Stage()
    text = "word **bold** and `code`\n\n" * 4000
    async with stage.run_test(size=(80, 24)) as pilot:
        for event in session.text_deltas(
            *(text[at : at + 5000] for at in range(0, len(text), 5000))
        ):
            stage.transcript.apply(event)
        usage = TokenUsage(input_tokens=1, output_tokens=1)
        stage.transcript.apply(
            MessageComplete(
                message_id="m",
                stop_reason=StopReason.END_TURN,
                final_content=(TextBlock(text),),
                usage=usage,
                latency_ms=1,
            )
        )
        reply = next(
            item for item in stage.transcript._timeline.items if isinstance(item, ReplyItem)
        )
        while reply.is_partial or not reply.rows:
            await paint(pilot)
        assert len(reply.rows) == 7999


@pytest.fixture(scope="module")
def long_timeline():
    timeline = Timeline()
    timeline.items += [NoticeItem("info", "a notice of some words\nin two lines")] * 299_999
    timeline.items.append(NoticeItem("info", "the last one"))
    return timeline


async def test_three_hundred_thousand_items_do_not_delay_keys(long_timeline):
    stage = Stage()
    async with stage.run_test(size=(60, 20)) as pilot:
        stage.transcript.set_timeline(long_timeline)
        await paint(pilot)
        assert "the last one" in stage.shown()
        await pilot.resize_terminal(41, 20)
        await paint(pilot)
        assert "the last one" in stage.shown()
        assert stage.transcript._layout.total >= 300_000


def test_height_index_finds_every_position():
    heights = Heights()
    for height in (2, 0, 3, 1):
        heights.extend([height])
    assert [heights.top(index) for index in range(5)] == [0, 2, 2, 5, 6]
    assert [heights.index_at(row) for row in (-1, 0, 1, 2, 4, 5, 99)] == [0, 0, 0, 2, 2, 3, 3]
    heights[2] = 1
    assert heights.total == 4 and heights.index_at(3) == 3


def test_notices_have_a_level_and_footers_wrap_between_numbers():
    story = Timeline()
    story.apply(Notice(level="warning", text="careful"))
    assert story.items[0].mark == ("!", "warning")
    footer = FooterItem(["anthropic:claude", "1,234 in, 567 out", "$0.01"])
    footer.lay_out(30)
    assert [line.text for line in footer.rows] == ["anthropic:claude", "1,234 in, 567 out · $0.01"]


@pytest.mark.remaining
async def test_long_stored_reply_is_laid_out_completely_in_parts(session):
    stage = Stage()
    words = "word **bold** and `code`\n\n"
    async with stage.run_test(size=(80, 24)) as pilot:
        stage.transcript.set_timeline(
            await stage.transcript.build_timeline([*session.turn(reply=words * 6_000)])
        )
        reply = next(
            item for item in stage.transcript._timeline.items if isinstance(item, ReplyItem)
        )
        assert 0 < len(reply.rows) < 2_000
        while reply.is_partial:
            await paint(pilot)
        assert len(reply.rows) == 11_999
        assert stage.transcript.scroll_y == stage.transcript.max_scroll_y


def test_silent_calls_are_not_displayed(session):
    visible = [session.turn_start(), session.reply(TextBlock("hello")), session.turn_end()]
    silent = [
        replace(session.reply(TextBlock("A title")), purpose="title"),
        replace(session.failed_request("no title"), purpose="title"),
    ]
    timeline, expected = Timeline(), Timeline()
    for event in (visible[0], *silent, *visible[1:]):
        timeline.apply(event)
    for event in visible:
        expected.apply(event)
    assert [type(item) for item in timeline.items] == [type(item) for item in expected.items]
    assert timeline.last_reply == "hello"
    assert not timeline.has_failed


async def test_steps_of_a_turn_wait_for_the_next_frame_and_its_end_does_not(session):
    stage = Stage()
    async with stage.run_test(size=(60, 20)) as pilot:
        await play(stage, pilot, *session.turn())
        schedule = stage.transcript._schedule
        schedule._painted_at = time.monotonic() + 3600
        shown = [*session.text_deltas("Step."), session.reply(TextBlock("Step."), SHELL)]
        for event in (*shown, session.tool_start(SHELL), session.tool_result(SHELL, "done")):
            stage.transcript.apply(event)
            await paint(pilot)
        assert schedule.is_waiting and "Step." not in stage.shown()
        stage.transcript.apply(session.turn_end())
        await paint(pilot)
        assert not schedule.is_waiting and "Step." in stage.shown()


LONG_OUTPUT = "\n".join(f"row {number}" for number in range(90))


@pytest.mark.parametrize("key", ["enter", "ctrl+o"])
async def test_end_of_the_newest_card_stays_in_view_when_it_opens(session, key):
    stage = Stage()
    async with stage.run_test(size=(60, 12)) as pilot:
        transcript = stage.transcript
        call = [session.reply(SHELL), session.tool_start(SHELL)]
        await play(stage, pilot, *call, session.tool_result(SHELL, LONG_OUTPUT))
        transcript.action_select(-1)
        if key == "enter":
            transcript.action_toggle_item()
        else:
            transcript.toggle_folds()
        await settle(pilot)
        assert "row 89" in stage.shown() and "row 50" not in stage.shown()
        transcript.action_select(-1)
        await settle(pilot)
        assert "row 89" not in stage.shown() and "row 78" in stage.shown()


async def test_opened_output_shows_the_end_that_its_fold_showed(session):
    stage = Stage()
    async with stage.run_test(size=(60, 20)) as pilot:
        transcript = stage.transcript
        call = [session.reply(SHELL), session.tool_start(SHELL)]
        await play(stage, pilot, *call, session.tool_result(SHELL, LONG_OUTPUT))
        await play(stage, pilot, session.reply(TextBlock("It ran.")), session.turn_end())
        for _ in range(2):
            transcript.action_select(-1)
        transcript.action_toggle_item()
        await settle(pilot)
        assert all(text in stage.shown() for text in ("row 77", "row 89", "It ran.", "3.2 s"))
        transcript.action_select(-1)
        await settle(pilot)
        assert "row 61" in stage.shown() and "row 89" not in stage.shown()


async def test_rows_below_an_opened_output_stay_where_they_are(session):
    stage = Stage()
    async with stage.run_test(size=(60, 14)) as pilot:
        transcript = stage.transcript
        call = [session.reply(SHELL), session.tool_start(SHELL)]
        await play(stage, pilot, *call, session.tool_result(SHELL, LONG_OUTPUT))
        await play(stage, pilot, *session.turn(reply="last words\n\n" * 12, output="x"))
        transcript._selected = transcript.items[0]
        transcript.scroll_to(y=0)
        await settle(pilot)
        before = stage.rows()
        end = next(at for at, row in enumerate(before) if "row 89" in row)
        transcript.action_toggle_item()
        await settle(pilot)
        assert [row[2:] for row in stage.rows()[end:]] == [row[2:] for row in before[end:]]
        assert "row 88" in stage.rows()[end - 1] and "row 83" in stage.rows()[end - 6]
        transcript.action_toggle_item()
        await settle(pilot)
        assert "Ran" in stage.rows()[0]


async def test_opening_a_card_above_others_moves_no_row_that_is_read(session):
    stage = Stage()
    async with stage.run_test(size=(60, 12)) as pilot:
        transcript = stage.transcript
        await play(stage, pilot, *session.turn(reply="first words", output=LONG_OUTPUT))
        await play(stage, pilot, *session.turn(reply="last words\n\n" * 12, output="x"))
        transcript.scroll_to(y=0)
        await settle(pilot)
        for _ in range(9):
            transcript.scroll_down(animate=False)
        await settle(pilot)
        [y] = [y for y, row in enumerate(stage.rows()) if "Ran" in row or "·" in row][-1:]
        before = stage.rows()[y]
        transcript.toggle_folds()
        await settle(pilot)
        assert stage.rows()[y][:20] == before[:20]
        transcript.toggle_folds()
        await settle(pilot)
        assert stage.rows()[y] == before


async def test_folding_an_item_from_its_middle_shows_its_first_row(session):
    stage = Stage()
    async with stage.run_test(size=(60, 12)) as pilot:
        transcript = stage.transcript
        await play(stage, pilot, *session.turn(reply="first words", output=LONG_OUTPUT))
        await play(stage, pilot, *session.turn(reply="last words\n\n" * 40, output="x"))
        [card, _] = [item for item in transcript.items if isinstance(item, ToolCard)]
        card.expand(True)
        transcript._selected = card
        transcript._redraw_item(card)
        transcript.scroll_to(y=40)
        await settle(pilot)
        transcript.action_toggle_item()
        await settle(pilot)
        assert "Ran" in "\n".join(stage.rows()[:2])


async def test_new_lines_of_an_item_that_was_never_visible_are_counted_exactly(session):
    stage = Stage()
    async with stage.run_test(size=(40, 12)) as pilot:
        transcript = stage.transcript
        await play(stage, pilot, *session.turn(reply="line\n\n" * 30))
        transcript.scroll_to(y=3)
        await settle(pilot)
        before = transcript._layout.total
        for number in range(6):
            transcript.add_notice("info", f"{number} " + "averylongword" * number * 9)
            await settle(pilot)
        counted = transcript.unseen_rows
        transcript.follow_end()
        transcript.scroll_to(y=before - 3)
        await settle(pilot)
        assert counted == transcript._layout.total - before
