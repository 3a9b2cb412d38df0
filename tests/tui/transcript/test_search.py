"""The search in the transcript."""

import asyncio

import pytest
from textual import events

from tests.tui.events import EventBuilder
from tests.tui.fakes import FakeSession, turn
from tests.tui.pilot_helpers import burst, paint, press, screen_text, settle, until
from tests.tui.test_chat import app_of
from tests.tui.transcript.test_transcript import Stage
from yourtool.messages.blocks import TextBlock, ToolUseBlock
from yourtool.tui.lines.styled_lines import StyledLine
from yourtool.tui.transcript.layout import ItemLayout
from yourtool.tui.transcript.search import Search, find_in_rows
from yourtool.tui.transcript.search_bar import SearchBar
from yourtool.tui.transcript.timeline import Timeline

SHELL = ToolUseBlock("tu_1", "shell", {"command": "make test"})


@pytest.fixture
def session():
    return EventBuilder()


def layout_of(*events, width=60):
    timeline = Timeline()
    for event in events:
        timeline.apply(event)
    layout = ItemLayout(timeline.items, width)
    layout.add_new_items()
    return layout


async def walk(layout, query, steps, row=0):
    """The rows of the first match and those after some steps."""
    search = Search(query)
    await search.find(layout, row)
    found = []
    for step in (0, *steps):
        await search.step(layout, step)
        item = search.item
        found.append(item and item.rows[search.first_row].text.strip())
    return search, found


def marked(search):
    item = search.item
    spans = [(row, search.span_at(item, row)) for row in range(len(item.rows))]
    return [item.rows[row].text[span[0] : span[1]] for row, span in spans if span]


@pytest.mark.req("R-TUI-20")
async def test_matches_are_visited_in_order_and_around_the_end(session):
    layout = layout_of(
        *session.turn(prompt="find the word", reply="One Word.\n\nNo more."),
        *session.turn(prompt="again", reply="The last word"),
    )
    search, found = await walk(layout, "word", (1, 1, 1, -1))
    expected = ["find the word", "One Word.", "The last word", "find the word", "The last word"]
    assert found == expected
    assert search.summary == "3 of 3"
    assert marked(search) == ["word"]


async def test_search_starts_at_the_visible_rows(session):
    events = [each for number in range(9) for each in session.turn(prompt=f"word {number}")]
    layout = layout_of(*events)
    row = layout.top(layout.find_next(20, 1, lambda item: item.source.startswith("word")))
    _, found = await walk(layout, "word", (), row=row)
    assert found == [layout.items[layout.index_at(row)].source]


async def test_query_with_a_capital_letter_respects_case(session):
    layout = layout_of(session.turn_start("Word and word"))
    search, _ = await walk(layout, "Word", (1,))
    assert search.summary == "1 of 1"


async def test_phrase_is_found_across_markdown_and_wrapped_rows(session):
    text = "The parser **reads** `both` forms and then it goes on to another row of the text."
    layout = layout_of(session.turn_start(), session.reply(TextBlock(text)), width=40)
    search, _ = await walk(layout, "reads both forms and then it goes", ())
    assert search.summary == "1 of 1"
    assert "".join(marked(search)).replace(" ", "") == "readsbothformsandthenitgoes"


async def test_match_that_is_only_in_the_source_is_skipped(session):
    text = "[here](https://example.com/needle) and a needle"
    layout = layout_of(session.turn_start("`x`"), session.reply(TextBlock(text)))
    _, [row] = await walk(layout, "needle", ())
    assert row.endswith("and a needle")
    gone, nothing = await walk(layout, "no such text", (1, -1))
    assert nothing == [None, None, None] and gone.summary == "no match"


async def test_folded_output_is_opened_for_its_match_and_folded_again(session):
    output = "".join(f"line {number}\n" for number in range(40))
    layout = layout_of(
        session.turn_start("where is line 3?"),
        session.tool_start(SHELL),
        session.tool_result(SHELL, output),
    )
    card = layout.items[1]
    search, found = await walk(layout, "line 3", (1,))
    assert found == ["where is line 3?", "│ line 3"] and card.expanded
    assert search.summary == "2 of 12"
    await search.step(layout, -1)
    assert search.item is layout.items[0] and not card.expanded


async def test_output_opened_for_the_start_of_a_query_is_folded_again_for_the_rest(session):
    output = "".join(f"line {number}\n" for number in range(40))
    stage = Stage()
    async with stage.run_test(size=(80, 24)) as pilot:
        view = stage.transcript
        calls = session.tool_start(SHELL), session.tool_result(SHELL, output)
        view.set_timeline(await view.build_timeline([session.turn_start("go"), *calls]))
        view.focus()
        await press(pilot, "slash")
        entry, card = stage.screen.query_one(SearchBar).entry, view.items[1]
        entry.value = "line 3"
        await until(pilot, lambda: card.expanded and "line 3" in stage.shown())
        entry.value = "line 39"
        await until(pilot, lambda: not card.expanded and "1 of 1" in screen_text(stage))
        assert "more lines" in stage.shown()
        entry.value = "line 3"
        await until(pilot, lambda: card.expanded)
        entry.value = ""
        await until(pilot, lambda: not card.expanded and "more lines" in stage.shown())


async def test_item_is_painted_while_its_matches_are_located(session):
    long = "word\n\n" + "\n\n".join(f"line {number}" for number in range(5_000))
    layout = layout_of(*session.turn(prompt="word word word", reply=long))
    search, _ = await walk(layout, "word", (1, 1))
    locating = asyncio.ensure_future(search.step(layout, 1))
    looks = 0
    while not locating.done():
        await asyncio.sleep(0)
        looks += search.item is layout.items[1] and search.span_at(search.item, 0) is None
    await locating
    assert looks and search.summary == "4 of 4"


def test_match_in_a_wrapped_card_skips_the_bar():
    rows = [StyledLine((("│ one two", ""),)), StyledLine((("│  three", ""),), separator="")]
    [match] = find_in_rows(rows, Search("two three")._in_rows)
    assert match == {0: (6, 9), 1: (2, 8)}


async def test_hundred_thousand_rows_are_searched_without_delaying_keys(session):
    reply = "\n\n".join(f"row {number}" for number in range(500))
    events = [each for _ in range(100) for each in session.turn(reply=reply)]
    stage = Stage()
    async with stage.run_test(size=(80, 24)) as pilot:
        view = stage.transcript
        view.set_timeline(await view.build_timeline(events))
        view.focus()
        await press(pilot, "slash")
        bar = stage.screen.query_one(SearchBar)
        bar.entry.value = "row 499"
        await until(pilot, lambda: bar.search is not None and "row 499" in stage.shown())
        assert bar.search.summary == "100 of 100"


async def test_search_in_the_transcript_by_keys(tmp_path):
    home = tmp_path / "home"
    (tmp_path / "work").mkdir()
    script = turn("hello", "Hello to you.\n\nMany words.")
    app, _ = app_of(home, FakeSession(script, workspace=tmp_path / "work"))
    async with app.run_test(size=(100, 30)) as pilot:
        await until(pilot, lambda: app.chat.session is not None)
        await press(pilot, *"hello", "enter")
        await until(pilot, lambda: not app.chat.runner.is_running)
        await press(pilot, "tab", "slash")
        await until(pilot, lambda: "Esc ends" in screen_text(app))
        await press(pilot, *"hello")
        await until(pilot, lambda: "of 2 · n next · N previous · Esc ends" in screen_text(app))
        assert app.chat.prompt.text == ""
        await press(pilot, "enter")
        search = app.screen.query_one(SearchBar).search
        before = search.summary
        await press(pilot, "n")
        await until(pilot, lambda: search.summary != before)
        await press(pilot, "N")
        await until(pilot, lambda: search.summary == before)
        strips = app.chat.transcript.render_lines(app.chat.transcript.region.reset_offset)
        reverse = [text for strip in strips for text, style, _ in strip if style and style.reverse]
        assert [text.lower() for text in reverse] == ["hello"]
        await press(pilot, "escape")
        await until(pilot, lambda: "Esc ends" not in screen_text(app))
        assert app.chat.transcript.has_focus
        await press(pilot, "n")
        assert app.chat.prompt.text == "n"


async def test_query_typed_with_the_key_that_opens_the_search_is_in_the_search(tmp_path):
    (tmp_path / "work").mkdir()
    session = FakeSession(turn("hello", "Hello."), workspace=tmp_path / "work")
    app, _ = app_of(tmp_path / "home", session)
    async with app.run_test(size=(100, 30)) as pilot:
        await until(pilot, lambda: app.chat.session is not None)
        await press(pilot, "tab")
        await until(pilot, lambda: app.chat.transcript.has_focus)
        await burst(pilot, "slash", *"hel")
        bar = app.screen.query_one(SearchBar)
        await until(pilot, lambda: bar.search is not None)
        assert bar.entry.value == "hel"
        assert app.chat.prompt.text == ""


async def test_keys_of_the_transcript_follow_enter_however_fast_they_are_typed(tmp_path):
    (tmp_path / "work").mkdir()
    session = FakeSession(turn("hello", "hello " * 8), workspace=tmp_path / "work")
    app, _ = app_of(tmp_path / "home", session)
    async with app.run_test(size=(100, 30)) as pilot:
        await until(pilot, lambda: app.chat.session is not None)
        await press(pilot, *"hello", "enter")
        await until(pilot, lambda: not app.chat.runner.is_running)
        await press(pilot, "tab")
        await burst(pilot, "slash", *"helpo", "left", "backspace", "l", "enter", *"nn")
        bar = app.screen.query_one(SearchBar)
        await until(pilot, lambda: bar.search is not None and "of 9" in screen_text(app))
        assert bar.entry.value == "hello" and app.chat.prompt.text == ""
        await until(pilot, lambda: bar.search.summary == "3 of 9")


async def test_paste_in_the_search_is_its_query(tmp_path):
    (tmp_path / "work").mkdir()
    session = FakeSession(turn("hello", "hello " * 8), workspace=tmp_path / "work")
    app, _ = app_of(tmp_path / "home", session)
    async with app.run_test(size=(100, 30)) as pilot:
        await until(pilot, lambda: app.chat.session is not None)
        await press(pilot, "tab", "slash")
        app.post_message(events.Paste("hello\nto you"))
        await settle(pilot)
        assert app.screen.query_one(SearchBar).entry.value == "hello"
        assert app.chat.prompt.text == ""


async def test_query_stays_visible_on_a_screen_that_becomes_narrow(tmp_path):
    (tmp_path / "work").mkdir()
    session = FakeSession(turn("hello", "hello " * 8), workspace=tmp_path / "work")
    app, _ = app_of(tmp_path / "home", session)
    async with app.run_test(size=(100, 30)) as pilot:
        await until(pilot, lambda: app.chat.session is not None)
        await press(pilot, *"hello", "enter")
        await until(pilot, lambda: not app.chat.runner.is_running)
        await press(pilot, "tab", "slash", *"hello")
        await until(pilot, lambda: "N previous" in screen_text(app))
        await pilot.resize_terminal(40, 12)
        await until(pilot, lambda: "1 of 9 · n/N · Esc ends" in screen_text(app))
        assert "/hello " in screen_text(app)


async def test_each_of_many_fast_keys_moves_one_match(tmp_path):
    (tmp_path / "work").mkdir()
    session = FakeSession(turn("hello", "hello " * 8), workspace=tmp_path / "work")
    app, _ = app_of(tmp_path / "home", session)
    async with app.run_test(size=(100, 30)) as pilot:
        await until(pilot, lambda: app.chat.session is not None)
        await press(pilot, *"hello", "enter")
        await until(pilot, lambda: not app.chat.runner.is_running)
        await press(pilot, "tab", "slash", *"hello", "enter")
        search = app.screen.query_one(SearchBar).search
        start = int(search.summary.split()[0])
        await burst(pilot, *"nnnn")
        await until(pilot, lambda: search.summary == f"{(start + 3) % 9 + 1} of 9")


async def test_keys_that_are_faster_than_the_search_move_from_its_first_match(tmp_path):
    (tmp_path / "work").mkdir()
    session = FakeSession(turn("hello", "hello " * 8), workspace=tmp_path / "work")
    app, _ = app_of(tmp_path / "home", session)
    async with app.run_test(size=(100, 30)) as pilot:
        await until(pilot, lambda: app.chat.session is not None)
        await press(pilot, *"hello", "enter")
        await until(pilot, lambda: not app.chat.runner.is_running)
        await press(pilot, "tab", "slash", *"hello")
        bar = app.screen.query_one(SearchBar)
        start = int(bar.search.summary.split()[0])
        bar.entry.value = ""
        bar.entry.value = "hello"
        for _ in range(4):
            app.chat.transcript.action_step_match(1)
        await until(pilot, lambda: bar.search is not None)
        await until(pilot, lambda: bar.search.summary == f"{(start + 3) % 9 + 1} of 9")


async def test_escape_ends_the_search_and_not_the_turn(tmp_path):
    (tmp_path / "work").mkdir()
    gate = asyncio.Event()
    script = [*turn("hello", "Hello.")[:-1], gate, turn("", "")[-1]]
    session = FakeSession(script, workspace=tmp_path / "work")
    app, _ = app_of(tmp_path / "home", session)
    async with app.run_test(size=(100, 30)) as pilot:
        await until(pilot, lambda: app.chat.session is not None)
        await press(pilot, *"hello", "enter")
        await until(pilot, lambda: app.chat.runner.is_running)
        await press(pilot, "tab", "slash", *"hel", "escape")
        await paint(pilot)
        assert app.chat.runner.is_running and not app.chat.runner.is_stopping
        gate.set()
        await until(pilot, lambda: not app.chat.runner.is_running)
