"""The interface on a full disk: no input is lost, and the reason is shown."""

import json

import pytest

from tests.tui.pilot_helpers import press, say, screen_text, until
from yourtool.agent.runtime import Runtime
from yourtool.paths import resolve_paths
from yourtool.settings.config import RunOptions
from yourtool.tui.app import YourtoolApp
from yourtool.tui.screens import sessions


@pytest.fixture(autouse=True)
def pace(monkeypatch):
    monkeypatch.setenv("YOURTOOL_DEMO_PACE", "0")


async def refuse(runtime, event):
    """Make the database report a full disk for one type of event; empty for none."""

    def change(database):
        database.execute("DROP TRIGGER IF EXISTS full")
        database.execute(
            f"CREATE TRIGGER full BEFORE INSERT ON events WHEN NEW.type = '{event}'"
            " BEGIN SELECT RAISE(ABORT, 'database or disk is full'); END"
        )

    await runtime.store.database.write(change)


def build_app(tmp_path, replies):
    script = tmp_path / "script.json"
    script.write_text(json.dumps({"replies": replies}))
    (resolve_paths().home / "config.toml").write_text(
        f'model = "demo:file"\n[providers.demo]\nquirks = {{ script = "{script}" }}\n'
    )
    options = RunOptions(workspace=tmp_path)
    return YourtoolApp(lambda: Runtime.open(resolve_paths(), options))


def get_prompts(app):
    return [message.text for message in app.chat.session.state.prompts]


@pytest.mark.parametrize("refused", ["turn.cancelled", "turn.started"])
@pytest.mark.req("R-PER-02")
@pytest.mark.sample(2)
async def test_full_disk_holds_queued_prompts_until_there_is_space(tmp_path, refused):
    """With `turn.started`, the first turn can still end, but the next one cannot start."""
    replies = [[{"say": "Hm."}, {"pause": 60}], *[[{"say": "Fine."}]] * 3]
    app = build_app(tmp_path, replies)
    async with app.run_test() as pilot:
        await until(pilot, lambda: app.chat.session is not None)
        chat = app.chat
        chat.runner.enter = "queue"

        def waiting():
            return [draft.full_text for draft in chat.runner.queue.drafts]

        await say(pilot, "begin")
        await until(pilot, lambda: get_prompts(app) == ["begin"] and chat.runner.is_running)
        for text in ("first", "second", "third"):
            await say(pilot, text)
        assert waiting() == ["first", "second", "third"]
        await refuse(app.runtime, "turn.cancelled")
        await press(pilot, "escape")
        await until(pilot, lambda: not chat.runner.is_running)
        await until(pilot, lambda: "disk is full" in " ".join(screen_text(app).split()))
        assert chat.runner.queue.pause_reason
        assert waiting() == ["first", "second", "third"]
        await refuse(app.runtime, refused)
        await press(pilot, "enter")  # still full: the prompt is restored, the others stay queued
        await until(pilot, lambda: chat.prompt.draft.full_text == "first")
        assert chat.runner.queue.pause_reason
        assert waiting() == ["second", "third"]
        await refuse(app.runtime, "")
        await press(pilot, "enter")
        await until(pilot, lambda: get_prompts(app) == ["begin", "first", "second", "third"])
        await until(pilot, lambda: not chat.runner.is_running)
        assert not waiting()


async def fill(runtime):
    """Let SQLite report a full disk for every change that needs another page."""

    def change(database):
        [pages] = database.execute("PRAGMA page_count").fetchone()
        return pages

    pages = await runtime.store.database.read(change)
    await runtime.store.database.read(
        lambda database: database.execute(f"PRAGMA max_page_count = {pages}")
    )


async def empty(runtime):
    await runtime.store.database.read(
        lambda database: database.execute("PRAGMA max_page_count = 1000000")
    )


LONG = "It is finished. " * 4_000


def replies(app):
    return [m.text for m in app.chat.session.state.messages if m.role == "assistant"]


@pytest.mark.req("R-PER-02")
@pytest.mark.remaining
async def test_a_turn_on_a_full_disk_waits_with_its_reply_until_there_is_space(tmp_path):
    app = build_app(tmp_path, [[{"say": "Hm."}], [{"say": LONG}]])
    async with app.run_test() as pilot:
        await until(pilot, lambda: app.chat.session is not None)
        await say(pilot, "begin")
        await until(pilot, lambda: replies(app) == ["Hm."] and not app.chat.runner.is_running)
        await fill(app.runtime)
        await say(pilot, "go on")
        await until(pilot, lambda: "The disk is full" in screen_text(app))
        assert app.chat.runner.is_running
        await empty(app.runtime)
        await until(
            pilot, lambda: replies(app) == ["Hm.", LONG.strip()] or replies(app)[1:] == [LONG]
        )
        await until(pilot, lambda: not app.chat.runner.is_running)
        await until(pilot, lambda: "The disk is full" not in screen_text(app))
        assert get_prompts(app) == ["begin", "go on"]


@pytest.mark.req("R-PER-02")
@pytest.mark.remaining
async def test_escape_ends_the_wait_for_space(tmp_path):
    app = build_app(tmp_path, [[{"say": "Hm."}], [{"say": LONG}], [{"say": "Fine."}]])
    async with app.run_test() as pilot:
        await until(pilot, lambda: app.chat.session is not None)
        await say(pilot, "begin")
        await until(pilot, lambda: replies(app) == ["Hm."] and not app.chat.runner.is_running)
        await fill(app.runtime)
        await say(pilot, "go on")
        await until(pilot, lambda: "The disk is full" in screen_text(app))
        await press(pilot, "escape")
        await until(pilot, lambda: not app.chat.runner.is_running)
        await empty(app.runtime)
        answered = len(replies(app))
        await say(pilot, "again")
        await until(pilot, lambda: get_prompts(app)[-1] == "again" and len(replies(app)) > answered)


async def test_disk_that_is_nearly_full_is_shown_while_the_user_types(tmp_path, monkeypatch):
    app = build_app(tmp_path, [[{"say": "Fine."}]])
    async with app.run_test(size=(100, 30)) as pilot:
        await until(pilot, lambda: app.chat.session is not None)
        await press(pilot, "h", "i")
        await until(pilot, lambda: app.chat.prompt.text == "hi")
        assert "nearly full" not in screen_text(app)
        monkeypatch.setattr(sessions, "LOW_SPACE", 2**80)
        await press(pilot, "!")
        await until(pilot, lambda: "The disk is nearly full" in screen_text(app))
        monkeypatch.setattr(sessions, "LOW_SPACE", 0)
        await press(pilot, "?")
        await until(pilot, lambda: "nearly full" not in screen_text(app))
