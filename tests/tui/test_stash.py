"""Ctrl+S puts the draft aside and brings it back."""

import asyncio
import os
import shutil
import threading

import pytest

from tests.tui.fakes import FakeRuntime, FakeSession, turn, turn_start
from tests.tui.pilot_helpers import burst, press, say, screen_text, settle, until
from yourtool.tui.app import YourtoolApp
from yourtool.tui.input.drafts import Draft

HINT = "1 stashed (Ctrl+S)"


@pytest.fixture
def open_app(tmp_path, monkeypatch):
    monkeypatch.setenv("YOURTOOL_HOME", str(tmp_path / "home"))
    (tmp_path / "work").mkdir()

    def build(*scripts, home="home"):
        scripts = scripts or (turn("hello", "Hello to you."),)
        session = FakeSession(*scripts, workspace=tmp_path / "work")
        runtime = FakeRuntime(tmp_path / home, session)

        async def opens():
            return runtime

        return YourtoolApp(opens)

    return build


async def all_sent(pilot):
    chat = pilot.app.chat
    await until(pilot, lambda: not chat.runner.is_running and not len(chat.runner.queue))
    await settle(pilot)


async def test_stashed_draft_comes_back_after_the_next_message(open_app):
    app = open_app()
    async with app.run_test() as pilot:
        await settle(pilot)
        paste = "\n".join(f"line {n}" for n in range(30))
        await press(pilot, *"long ")
        app.chat.prompt.paste(paste)
        await press(pilot, "ctrl+s")
        assert app.chat.prompt.text == ""
        assert HINT in screen_text(app)
        await press(pilot, *"quick", "enter")
        await all_sent(pilot)
        assert app.chat.session.sent == ["quick"]
        assert app.chat.prompt.draft.full_text == f"long {paste}"
        assert HINT not in screen_text(app)


async def test_ctrl_s_in_an_empty_prompt_brings_the_last_draft_back(open_app):
    app = open_app()
    async with app.run_test() as pilot:
        await settle(pilot)
        await burst(pilot, *"one", "ctrl+s", *"two", "ctrl+s")
        assert "2 stashed (Ctrl+S)" in screen_text(app)
        await press(pilot, "ctrl+s")
        assert app.chat.prompt.text == "two"
        await press(pilot, "ctrl+c", "ctrl+s")
        assert app.chat.prompt.text == "one"
        await press(pilot, "ctrl+c", "ctrl+s")
        assert app.chat.prompt.text == ""


async def test_slash_command_leaves_the_stash_alone(open_app):
    app = open_app()
    async with app.run_test() as pilot:
        await settle(pilot)
        await burst(pilot, *"draft", "ctrl+s")
        await say(pilot, "/clear")
        await settle(pilot)
        assert app.chat.prompt.text == ""
        assert HINT in screen_text(app)


async def test_text_typed_after_enter_is_not_mixed_with_the_stashed_draft(open_app):
    app = open_app()
    async with app.run_test() as pilot:
        await settle(pilot)
        await burst(pilot, *"draft", "ctrl+s", *"quick", "enter", *" more")
        await all_sent(pilot)
        assert app.chat.session.sent == ["quick"]
        assert app.chat.prompt.text == "draft more"


async def test_stash_is_there_after_a_restart(open_app):
    for text in ("first", "second"):
        app = open_app()
        async with app.run_test() as pilot:
            await settle(pilot)
            if text == "second":
                assert HINT in screen_text(app)
                await press(pilot, "ctrl+s")
                assert app.chat.prompt.text == "first"
                return
            await burst(pilot, *text, "ctrl+s")
            await app.shut_down()


@pytest.mark.parametrize("size", [(40, 12), (80, 24)])
async def test_hint_of_the_stash_is_visible_on_small_screens(open_app, size):
    app = open_app()
    async with app.run_test(size=size) as pilot:
        await settle(pilot)
        await burst(pilot, *"draft", "ctrl+s")
        assert HINT in screen_text(app)
        await press(pilot, *"x")
        assert HINT in screen_text(app)


@pytest.mark.parametrize("ends", [True, False])
@pytest.mark.sample(2)
async def test_messages_that_wait_at_the_exit_are_stashed_in_order_for_the_next_run(open_app, ends):
    app = open_app([turn_start("hello"), asyncio.Event()], turn("hello", "Hello to you."))
    async with app.run_test() as pilot:
        await until(pilot, lambda: app.chat.session is not None)
        await say(pilot, "go")
        await until(pilot, lambda: app.chat.runner.is_running)
        for text in ("/steer first", "second", "third"):
            await say(pilot, text)
        assert len(app.chat.runner.queue) == 3
        if ends:
            await press(pilot, "escape")
            await until(pilot, lambda: not app.chat.runner.is_running)
            await press(pilot, "ctrl+c")  # clears the restored prompt
        await press(pilot, *"draft")
        await app.shut_down()
    assert "3 queued messages were not sent but stashed: Ctrl+S" in app.last_words
    app = open_app()
    async with app.run_test() as pilot:
        await until(pilot, lambda: app.chat.session is not None)
        await settle(pilot)
        assert app.chat.prompt.text == "draft"
        for text in ("first", "second", "third"):
            await press(pilot, "ctrl+c", "ctrl+s")
            assert app.chat.prompt.text.removeprefix("/steer ") == text


@pytest.mark.remaining
async def test_messages_that_wait_when_the_program_dies_are_stashed_for_the_next_run(
    open_app, tmp_path
):
    app = open_app([turn_start("hello"), asyncio.Event()])
    app.chat.runner.enter = "queue"
    async with app.run_test() as pilot:
        await until(pilot, lambda: app.chat.session is not None)
        await say(pilot, "go")
        await until(pilot, lambda: app.chat.runner.is_running)
        for text in ("/steer first", "second", "removed", "third"):
            await say(pilot, text)
        app.chat.runner.queue.remove(app.chat.runner.queue.waiting[1])
        await settle(pilot)
        shutil.copytree(tmp_path / "home", tmp_path / "died")
        await app.shut_down()
    app = open_app(home="died")
    async with app.run_test() as pilot:
        await until(pilot, lambda: app.chat.session is not None)
        await settle(pilot)
        assert "3 stashed (Ctrl+S)" in screen_text(app)
        for text in ("first", "second", "third"):
            await press(pilot, "ctrl+c", "ctrl+s")
            assert app.chat.prompt.text.removeprefix("/steer ") == text


async def test_message_that_was_sent_is_not_stashed(open_app, tmp_path):
    app = open_app(turn("hello", "Hello."), turn("again", "Yes."))
    async with app.run_test() as pilot:
        await until(pilot, lambda: app.chat.session is not None)
        await say(pilot, "hello")
        await say(pilot, "again")
        await all_sent(pilot)
        shutil.copytree(tmp_path / "home", tmp_path / "died")
        await app.shut_down()
    app = open_app(home="died")
    async with app.run_test() as pilot:
        await until(pilot, lambda: app.chat.session is not None)
        await settle(pilot)
        assert "stashed" not in screen_text(app)


class SlowFile:
    """A file that takes no byte before `read`; who waits for it on the loop blocks the loop."""

    def __init__(self, path) -> None:
        os.mkfifo(path, 0o600)
        self._path = path
        self._is_read = threading.Event()
        self._content = asyncio.create_task(asyncio.to_thread(self._read))

    async def read(self) -> bytes:
        self._is_read.set()
        return await self._content

    def _read(self) -> bytes:
        self._is_read.wait(1.0)
        return self._path.read_bytes()


@pytest.mark.remaining
async def test_keys_work_while_the_disk_is_busy_and_the_newest_draft_is_stored(open_app):
    app = open_app()
    async with app.run_test() as pilot:
        await settle(pilot)
        [lock] = (app.runtime.paths.state / "prompts").glob("*.lock")
        slow = SlowFile(lock.with_suffix(".new"))
        for text in ("first", " second", " third"):
            await press(pilot, *text)
            app.chat.save_draft()
        assert "first second third" in screen_text(app)
        assert b'"first"' in await slow.read()
        await settle(pilot)
        assert b'"first second third"' in lock.with_suffix(".draft").read_bytes()


@pytest.mark.remaining
async def test_prompt_is_sent_while_its_history_cannot_be_written(open_app):
    app = open_app()
    async with app.run_test() as pilot:
        await settle(pilot)
        [lock] = (app.runtime.paths.state / "prompts").glob("*.lock")
        slow = SlowFile(lock.with_name(lock.name.replace(".0.lock", ".jsonl")))
        await press(pilot, *"hello", "enter")
        await until(pilot, lambda: "Hello to you." in screen_text(app))
        assert await slow.read() == b'{"text":"hello"}\n'


@pytest.mark.remaining
async def test_message_that_waits_is_stored_before_the_program_ends_on_a_slow_disk(open_app):
    app = open_app()
    async with app.run_test() as pilot:
        await settle(pilot)
        [lock] = (app.runtime.paths.state / "prompts").glob("*.lock")
        slow = SlowFile(lock.with_suffix(".new"))
        await press(pilot, *"first")
        app.chat.save_draft()
        app.chat.input.put_aside(Draft("aside"))
        await app.action_quit()
        reading = asyncio.create_task(slow.read())
    assert b'"first"' in await reading
    stored = lock.with_suffix(".draft").read_bytes()
    assert b'"first"' in stored and b'"aside"' in stored


@pytest.mark.remaining
async def test_draft_is_stored_on_a_slow_disk_although_the_interface_fails(open_app):
    def fail():
        raise ValueError("a fault")

    app = open_app()
    with pytest.raises(ValueError, match="a fault"):
        async with app.run_test() as pilot:
            await settle(pilot)
            [lock] = (app.runtime.paths.state / "prompts").glob("*.lock")
            slow = SlowFile(lock.with_suffix(".new"))
            for text in ("first", " last"):
                await press(pilot, *text)
                app.chat.save_draft()
            app.call_later(fail)
            reading = asyncio.create_task(slow.read())
    assert app.failed
    assert b'"first"' in await reading
    assert b'"first last"' in lock.with_suffix(".draft").read_bytes()


@pytest.mark.remaining
async def test_messages_of_an_earlier_run_come_back_only_when_they_are_asked_for(open_app):
    first = open_app()
    async with first.run_test() as pilot:
        await settle(pilot)
        await burst(pilot, *"old a", "ctrl+s", *"old b", "ctrl+s")
        await settle(pilot)
    app = open_app()
    async with app.run_test() as pilot:
        await until(pilot, lambda: app.chat.session is not None)
        await press(pilot, *"new", "enter")
        await all_sent(pilot)
        assert app.chat.prompt.text == "" and "2 stashed (Ctrl+S)" in screen_text(app)
        await press(pilot, "ctrl+s")
        assert app.chat.prompt.text == "old b"
        await press(pilot, "ctrl+s", "ctrl+s")
        assert app.chat.prompt.text == "old b"
