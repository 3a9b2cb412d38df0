"""What is folded, how it is shown, and the keys that open it."""

import pytest
from msgspec.structs import replace

from tests.tui.events import EventBuilder
from tests.tui.pilot_helpers import paint
from tests.tui.transcript.test_transcript import DIFF, Stage, play
from yourtool.effects import SideEffects
from yourtool.events.context import ContextCompacted
from yourtool.events.deltas import ThinkingDelta, ToolOutputDelta
from yourtool.messages.blocks import ImageBlock, ImageSource, TextBlock, ThinkingBlock, ToolUseBlock
from yourtool.settings.sandbox_config import SandboxLevel
from yourtool.tui.transcript.excerpts import get_fold_hint
from yourtool.tui.transcript.text_items import UserMessageItem
from yourtool.tui.transcript.timeline import Timeline
from yourtool.tui.transcript.tool_card import ToolCard

SHELL = ToolUseBlock("tu_1", "shell", {"command": "make test"})
READ = ToolUseBlock("tu_2", "read_file", {"path": "a.py"})
ids = {"message_id": "m", "content_block_index": 0}


@pytest.fixture
def session():
    return EventBuilder()


def lines(count):
    return "".join(f"line {number}\n" for number in range(1, count + 1))


def shown(*events, width=60):
    timeline = Timeline()
    for event in events:
        timeline.apply(event)
    rows = []
    for item in timeline.items:
        item.lay_out(width)
        rows += [line.text.rstrip() for line in item.rows]
    return rows


@pytest.mark.req("R-TUI-11")
def test_folded_output_counts_its_hidden_lines_and_names_the_key(session):
    rows = shown(session.tool_start(SHELL), session.tool_result(SHELL, lines(41)))
    assert rows[1] == "│ … 36 more lines (Ctrl+O)"
    assert rows[-1] == "│ line 41"
    assert "│ … 2 more lines (Ctrl+O)" in shown(
        session.tool_start(SHELL), session.tool_result(SHELL, lines(7))
    )


def test_wrapped_rows_count_as_one_line(session):
    output = "\n".join("word " * 30 for _ in range(10))
    rows = shown(session.tool_start(SHELL), session.tool_result(SHELL, output))
    assert rows[1] in ("│ … 8 more lines (Ctrl+O)", "│ … 9 more lines (Ctrl+O)")


def test_running_command_counts_the_lines_above_its_last_ones(session):
    pieces = [f"line {number}\n" for number in range(5_000)]
    deltas = [ToolOutputDelta(tool_use_id=SHELL.id, text=piece) for piece in pieces]
    rows = shown(session.tool_start(SHELL), *deltas)
    assert rows[1] == "│ … 4,995 more lines (Ctrl+O)"
    assert rows[-1] == "│ line 4999"
    whole = ToolOutputDelta(tool_use_id=SHELL.id, text="".join(pieces))
    assert shown(session.tool_start(SHELL), whole)[1] == "│ … 4,995 more lines (Ctrl+O)"


def test_output_of_a_tool_that_reads_names_the_key_in_its_head(session):
    called = session.tool_start(READ, SideEffects.READ)
    result = (called, session.reply(READ), session.tool_result(READ, lines(22)))
    assert shown(*result) == ["Read a.py, 22 lines · 1.2 s (Ctrl+O)"]
    assert get_fold_hint() not in shown(*result, width=34)[0]


def test_details_of_a_command_have_the_level_in_which_it_ran(session):
    started = replace(session.tool_start(SHELL), sandbox=SandboxLevel.FULL)
    timeline = Timeline()
    for event in (started, session.reply(SHELL), session.tool_result(SHELL, "ok")):
        timeline.apply(event)
    [card] = [item for item in timeline.items if isinstance(item, ToolCard)]
    card.lay_out(60)
    assert not any("sandbox" in line.text for line in card.rows)
    card.expanded = True
    card.invalidate()
    card.lay_out(60)
    assert "│ sandbox: full" in [line.text.rstrip() for line in card.rows]


def test_image_of_a_result_is_a_line_with_its_type_and_size(session):
    image = ImageBlock(ImageSource("file_ref", "sha256:0"), "image/png", (640, 480))
    called = session.tool_start(READ, SideEffects.READ)
    result = (called, session.reply(READ), session.tool_result(READ, "Image:", image))
    assert shown(*result) == [
        "Read a.py, 2 lines · 1.2 s (Ctrl+O)",
        "│ [image/png image, 640x480 pixels]",
    ]
    run = (session.tool_start(SHELL), session.tool_result(SHELL, "made", image))
    assert shown(*run)[-1] == "│ [image/png image, 640x480 pixels]"


def test_long_diff_is_folded_with_a_count(session):
    edit = ToolUseBlock("tu_3", "edit_file", {"path": "f"})
    added = "".join(f"+line {number}\n" for number in range(60))
    diff = DIFF.replace("@@ -1,2 +1,2 @@\n one\n-two\n+2\n", "@@ -0,0 +1,60 @@\n" + added)
    rows = shown(
        session.tool_start(edit, SideEffects.WRITE), session.tool_result(edit, "", diff=diff)
    )
    assert rows[-1].endswith(" more lines (Ctrl+O)")


def test_reasoning_and_a_failure_before_a_retry_name_the_key(session):
    assert shown(*session.reasoning_reply("so and so")) == ["Reasoning, 3 words (Ctrl+O)"]
    assert shown(ThinkingDelta(text="so", **ids)) == ["Thinking… (Ctrl+O)"]
    failed = (session.failed_request("broken"), session.reply(TextBlock("Fine.")))
    rows = shown(*failed, width=80)
    assert rows[0].endswith("HTTP 500 (Ctrl+O)")


def test_hidden_reasoning_has_nothing_to_open(session):
    assert shown(session.reply(ThinkingBlock(""))) == ["Reasoning hidden by the provider"]


@pytest.mark.req("R-TUI-11")
def test_long_prompt_is_folded_to_its_beginning_and_its_end(session):
    rows = shown(session.turn_start("Why does this fail?\n" + lines(500) + "Explain it."))
    assert rows[:2] == ["Why does this fail?", "line 1"]
    assert rows[6] == "… 493 more lines (Ctrl+O)"
    assert rows[-2:] == ["line 500", "Explain it."]
    assert len(rows) == 10


def test_short_prompt_is_not_folded(session):
    text = lines(11) + "end"
    assert shown(session.turn_start(text)) == text.split("\n")


def test_long_line_in_a_prompt_is_folded(session):
    item = UserMessageItem("word " * 5_000)
    item.lay_out(60)
    assert len(item.rows) < 30
    assert any("more line (Ctrl+O)" in row.text for row in item.rows)
    assert item.source == "word " * 5_000


def test_expanded_prompt_shows_all_lines(session):
    item = UserMessageItem(lines(500))
    item.expand(True)
    item.lay_out(60)
    assert [row.text for row in item.rows] == lines(500).splitlines()


async def test_ctrl_o_opens_and_folds_everything_and_later_items_follow(session):
    stage = Stage()
    async with stage.run_test(size=(60, 40)) as pilot:
        await play(
            stage,
            pilot,
            session.turn_start(lines(20)),
            *session.reasoning_reply("so and so"),
            session.tool_start(SHELL),
            session.tool_result(SHELL, lines(9)),
        )
        assert stage.shown().count("(Ctrl+O)") == 3
        stage.transcript.toggle_folds()
        await paint(pilot)
        assert "(Ctrl+O)" not in stage.shown()
        assert "so and so" in stage.shown()
        after = await play(
            stage, pilot, session.tool_start(READ), session.tool_result(READ, lines(9))
        )
        assert "(Ctrl+O)" not in after and "line 9" in after
        stage.transcript.toggle_folds()
        await paint(pilot)
        assert stage.shown().count("(Ctrl+O)") == 4


async def test_opening_everything_keeps_the_item_at_the_top(session):
    stage = Stage()
    async with stage.run_test(size=(60, 12)) as pilot:
        for number in range(30):
            await play(stage, pilot, *session.turn(prompt=f"go {number}", output=lines(30)))
        index = next(
            at
            for at, item in enumerate(stage.transcript._timeline.items)
            if isinstance(item, UserMessageItem) and item.source == "go 15"
        )
        stage.transcript.scroll_to(y=stage.transcript._layout.top(index) + 1)
        await paint(pilot)
        assert stage.rows()[0] == "❯ go 15"
        for _ in range(2):
            stage.transcript.toggle_folds()
            await paint(pilot)
            assert stage.rows()[0] == "❯ go 15"


async def test_braces_go_from_prompt_to_prompt(session):
    stage = Stage()
    async with stage.run_test(size=(60, 12)) as pilot:
        for number in range(9):
            await play(stage, pilot, *session.turn(prompt=f"go {number}", output=lines(30)))
        stage.transcript.focus()
        for key, prompt in [("{", 8), ("{", 7), ("{", 6), ("}", 7)]:
            await pilot.press("left_curly_bracket" if key == "{" else "right_curly_bracket")
            await paint(pilot)
            assert stage.rows()[0] == f"❯▌go {prompt}"
        for _ in range(20):
            await pilot.press("left_curly_bracket")
        await paint(pilot)
        assert stage.rows()[0] == "❯▌go 0"


async def test_click_and_enter_open_one_item(session):
    stage = Stage()
    async with stage.run_test(size=(60, 40)) as pilot:
        await play(
            stage, pilot, session.turn_start(lines(20)), *session.reasoning_reply("so and so")
        )
        stage.transcript.focus()
        await pilot.press("up", "enter")
        assert "so and so" in stage.shown() and stage.shown().count("(Ctrl+O)") == 1
        await pilot.click(stage.transcript, offset=(5, 2))
        await paint(pilot)
        assert "(Ctrl+O)" not in stage.shown()


async def test_opening_ten_thousand_items_does_not_block_the_loop(session):
    stage = Stage()
    async with stage.run_test(size=(60, 20)) as pilot:
        events = [event for _ in range(2_000) for event in session.turn(output=lines(20))]
        timeline = await stage.transcript.build_timeline(events)
        stage.transcript.set_timeline(timeline)
        for _ in range(4):
            stage.transcript.toggle_folds()
            await paint(pilot)
        assert "more lines (Ctrl+O)" in stage.shown()


@pytest.mark.parametrize(
    ("command", "is_cut"), [("make test", False), ("make test && ls" * 9, True)]
)
def test_expanded_call_repeats_its_command_only_if_the_head_cuts_it(command, is_cut):
    card = ToolCard("shell")
    card.set_arguments({"command": command, "timeout_seconds": 5})
    card.expand(True)
    card.lay_out(60)
    rows = [row.text.rstrip() for row in card.rows]
    assert any(row.startswith("│ command: ") for row in rows) == is_cut
    assert "│ timeout_seconds: 5" in rows


@pytest.mark.req("R-CTX-05")
def test_summary_is_one_line_until_it_is_opened(session):
    facts = {"summary": "- Foxes.\n- More.", "through": "m", "message_count": 4}
    sizes = {"turn_count": 2, "tokens_before": 9_000, "tokens_after": 800, "reason": "threshold"}
    written = session._fact(ContextCompacted, **facts, **sizes, model="a:b")
    line = "Summarised 2 turns, about 9,000 → 800 tokens, by b (Alt+O original) (Ctrl+O)"
    assert shown(written, width=90) == [line]
    timeline = Timeline()
    timeline.apply(written)
    [item] = timeline.items
    item.expand(expanded=True)
    item.lay_out(80)
    assert [row.text.rstrip() for row in item.rows][1:] == ["• Foxes.", "• More."]
    failed = session._fact(ContextCompacted, **facts, **sizes, problem="no answer")
    assert "without a model: no answer" in shown(failed, width=100)[0]


def test_output_breaks_between_words():
    card = ToolCard("edit_file")
    card.finish("failed", "read the file again with read_file", None, {})
    for card.expanded in (False, True):
        rows = [line.text for line in card.build(23)][1:]
        assert rows == ["│ read the file again", "│ with read_file"]
