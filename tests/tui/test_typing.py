"""Every key has one effect, in order, at any typing speed."""

import random

import pytest
from textual import events

from tests.tui.fakes import GPT, FakeRuntime, FakeSession, turn
from tests.tui.pilot_helpers import burst, press, say, screen_text, settle, until
from yourtool.tui.app import YourtoolApp
from yourtool.tui.input.drafts import Draft


@pytest.fixture(autouse=True)
def home(tmp_path, monkeypatch):
    monkeypatch.setenv("YOURTOOL_HOME", str(tmp_path / "home"))
    (tmp_path / "work").mkdir()
    return tmp_path / "home"


@pytest.fixture
def session(tmp_path):
    return FakeSession(turn("hello", "Hello to you."), workspace=tmp_path / "work")


@pytest.fixture
def app(home, session):
    runtime = FakeRuntime(home, session)

    async def opens():
        return runtime

    return YourtoolApp(opens)


async def all_sent(pilot):
    chat = pilot.app.chat
    await until(pilot, lambda: not chat.runner.is_running and not len(chat.runner.queue))
    await settle(pilot)


async def test_enter_twice_quickly_sends_one_message(app, session):
    async with app.run_test() as pilot:
        await settle(pilot)
        await burst(pilot, *"first", "enter", "enter")
        await all_sent(pilot)
        assert session.sent == ["first"]
        assert app.chat.prompt.text == ""


async def test_two_messages_typed_quickly_stay_separate(app, session):
    async with app.run_test() as pilot:
        await settle(pilot)
        await burst(pilot, *"first", "enter", *"second", "enter", *"third")
        await all_sent(pilot)
        assert session.sent == ["first", "second"]
        assert app.chat.prompt.text == "third"


@pytest.mark.remaining
async def test_a_thousand_keys_at_once_do_not_block_the_loop(app):
    text = "words and " * 100
    async with app.run_test() as pilot:
        await settle(pilot)
        await burst(pilot, *text)
        await until(pilot, lambda: app.chat.prompt.text == text)


async def test_paste_between_keys_stays_in_order(app, session):
    async with app.run_test() as pilot:
        await settle(pilot)
        for event in (
            events.Key("a", "a"),
            events.Paste("pas\nted"),
            events.Key("b", "b"),
            events.Key("enter", "\r"),
            events.Paste("more"),
        ):
            app._driver.send_message(event)
        await all_sent(pilot)
        assert session.sent == ["apas\ntedb"]
        assert app.chat.prompt.text == "more"


async def test_recalled_prompt_is_sent_unchanged(app, session):
    async with app.run_test() as pilot:
        await settle(pilot)
        for text in ("one", "two"):
            await say(pilot, text)
            await all_sent(pilot)
        await burst(pilot, "up", "up", "enter", "x")
        await all_sent(pilot)
        assert session.sent == ["one", "two", "one"]
        assert app.chat.prompt.text == "x"


async def test_up_passes_a_recalled_command_instead_of_its_suggestions(app, session):
    async with app.run_test() as pilot:
        await settle(pilot)
        for text in ("one", "/model"):
            app.chat.input.add_to_history(Draft(text))
        await burst(pilot, "up")
        assert app.chat.prompt.text == "/model"
        await burst(pilot, "up")
        assert app.chat.prompt.text == "one"
        await burst(pilot, "enter")
        await all_sent(pilot)
        assert session.sent == ["one"]


async def test_command_finishes_before_later_keys(app, session):
    async with app.run_test() as pilot:
        await settle(pilot)
        models = []
        send = session.send

        def noted(content):
            models.append(session.model.id)
            return send(content)

        session.send = noted
        await burst(pilot, *f"/model {GPT.id}", "enter", *"hello", "enter")
        await all_sent(pilot)
        assert session.sent == ["hello"]
        assert models == [GPT.id]


async def test_enter_accepts_the_suggestion_for_all_typed_text(app):
    async with app.run_test() as pilot:
        await settle(pilot)
        app.chat.prompt.load(Draft())
        await burst(pilot, *"/mode", "tab")
        assert app.chat.prompt.text == "/mode "
        await press(pilot, "ctrl+c")
        await burst(pilot, *"/eff", "tab", *"hi", "tab")
        assert app.chat.prompt.text == "/effort high"


@pytest.mark.parametrize("seed", range(4))
async def test_random_keys_have_the_same_effect_at_any_speed(app, session, seed):
    chance = random.Random(seed)
    edits = ["backspace", "left", "right", "home", "end", "delete"]
    keys = [chance.choice([*"abcdefg", *edits, "enter"]) for _ in range(150)]
    messages, left = typed(keys)
    async with app.run_test() as pilot:
        await settle(pilot)
        await burst(pilot, *keys)
        await all_sent(pilot)
        assert session.sent == messages
        assert app.chat.prompt.text == left


def typed(keys):
    """Return the effect of keys on one line: the sent messages and the rest of the prompt."""
    messages, line, at = [], "", 0
    for key in keys:
        match key:
            case "enter":
                if line:
                    messages.append(line)
                    line, at = "", 0
            case "backspace":
                line, at = line[: max(0, at - 1)] + line[at:], max(0, at - 1)
            case "delete":
                line = line[:at] + line[at + 1 :]
            case "left":
                at = max(0, at - 1)
            case "right":
                at = min(len(line), at + 1)
            case "home":
                at = 0
            case "end":
                at = len(line)
            case _:
                line, at = line[:at] + key + line[at:], at + 1
    return messages, line


@pytest.mark.parametrize("width", range(1, 7))
@pytest.mark.sample(3)
async def test_empty_prompt_is_drawn_on_a_very_narrow_terminal(app, session, width):
    async with app.run_test(size=(80, 10)) as pilot:
        await settle(pilot)
        await pilot.resize_terminal(width, 10)
        await settle(pilot)
        await say(pilot, "first")
        await all_sent(pilot)
        assert session.sent == ["first"]


@pytest.mark.parametrize("key", ["ctrl+underscore", "ctrl+y"])
async def test_undo_and_redo_of_more_lines_than_the_prompt_shows(app, key):
    async with app.run_test(size=(60, 12)) as pilot:
        await settle(pilot)
        prompt = app.chat.prompt
        lines = "\n".join(f"line {number}" for number in range(8))
        if key == "ctrl+y":
            prompt.insert(lines)
            prompt.clear()
            await press(pilot, "ctrl+underscore")
            prompt.move_cursor((7, 3))
            await settle(pilot)
            await press(pilot, key)
        else:
            prompt.insert("a")
            prompt.history.checkpoint()
            prompt.insert("\n" + lines)
            await settle(pilot)
            await press(pilot, key)
        assert prompt.text == ("a" if key == "ctrl+underscore" else "")
        assert prompt.cursor_location == (0, len(prompt.text))


async def test_a_submitted_text_has_left_the_prompt_when_its_command_starts(app, session):
    async with app.run_test() as pilot:
        await settle(pilot)
        seen: list[str] = []
        prompt, submit = app.chat.prompt, app.chat.input.submit

        def record(draft, way=""):
            seen.append(prompt.text)
            submit(draft, way)

        app.chat.input.submit = record
        await say(pilot, "hello")
        await all_sent(pilot)
        assert seen == [""]
        assert session.sent == ["hello"]


async def test_completed_mention_is_followed_by_one_space(app, session):
    session.list_files = lambda limit: ["notes.md", "tally.py"]
    async with app.run_test() as pilot:
        await settle(pilot)
        prompt = app.chat.prompt
        prompt.load(Draft())
        await press(pilot, "@")
        await until(pilot, lambda: app.chat.completer.files)
        await burst(pilot, *"tal", "tab", "space", *"is wrong")
        assert prompt.text == "@tally.py is wrong"
        await press(pilot, "ctrl+c")
        await burst(pilot, *"in  and", *["left"] * 4, *"@not", "enter")
        assert prompt.text == "in @notes.md and"
        await burst(pilot, *"see")
        assert prompt.text == "in @notes.md seeand"
        await press(pilot, "ctrl+c")
        await burst(pilot, *"@tal", "tab", "space", "space", "x")
        assert prompt.text == "@tally.py  x"


MANY = [f"src/part{number // 100}/module_{number}.py" for number in range(20_000)]


async def test_many_files_are_completed_after_a_pause_and_at_once_by_tab(app, session):
    session.list_files = lambda limit: MANY
    async with app.run_test() as pilot:
        await settle(pilot)
        prompt = app.chat.prompt
        prompt.load(Draft())
        await press(pilot, "@")
        await until(pilot, lambda: app.chat.completer.files)
        await burst(pilot, *"module_19999")
        await until(pilot, lambda: "part199/module_19999" in screen_text(app))
        await press(pilot, "ctrl+c")
        await burst(pilot, *"@module_17777", "tab")
        assert prompt.text == "@src/part177/module_17777.py "
