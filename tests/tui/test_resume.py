"""Keys are handled while a long session opens, and no item is lost or duplicated."""

import asyncio
from decimal import Decimal

import pytest

from tests.tui.events import EventBuilder
from tests.tui.fakes import WHEN, FakeRuntime, FakeSession, turn
from tests.tui.pilot_helpers import burst, press, say, screen_text, settle, until
from tests.tui.transcript.test_transcript import Stage
from yourtool.errors import ConfigError, SessionBusyError
from yourtool.store.base import SessionActivity, SessionSummary
from yourtool.tui.app import YourtoolApp
from yourtool.tui.input.drafts import Draft
from yourtool.tui.lines import slices
from yourtool.tui.screens import picker, stored_pages
from yourtool.tui.screens.sessions import show_session
from yourtool.tui.transcript.text_items import UserMessageItem

TURNS = 50
MANY_TURNS = 1_300
"""More than two pages."""


def facts(turns):
    made = EventBuilder()
    return [fact for n in range(turns) for fact in made.turn(prompt=f"prompt {n}", reply="Yes.")]


@pytest.fixture
def sessions(tmp_path, monkeypatch):
    """Return an open session, and one that takes 200 iterations of the loop to read."""
    monkeypatch.setenv("YOURTOOL_HOME", str(tmp_path / "home"))
    monkeypatch.setattr(slices, "SLICE_SECONDS", 0)
    (tmp_path / "work").mkdir()
    here, long = (
        FakeSession(turn("hello", "Hello to you."), workspace=tmp_path / "work", session_id=name)
        for name in ("sess_1", "sess_2")
    )
    for fact in facts(TURNS):
        long.state.apply(fact)
    return here, long


def app_of(tmp_path, *sessions, **options):
    runtime = FakeRuntime(tmp_path / "home", *sessions)
    runtime.store.summaries.append(type("S", (), {"id": "sess_2"}))

    async def opens():
        return runtime

    return YourtoolApp(opens, **options)


def prompts_shown(app):
    return [
        item.source
        for item in app.chat.transcript._timeline.items
        if isinstance(item, UserMessageItem)
    ]


async def reading(pilot):
    """Wait until the app reads a session."""
    for _ in range(2_000):
        if pilot.app.chat.opening is not None:
            return
        await asyncio.sleep(0.001)
    raise AssertionError("no session is being read")


@pytest.mark.remaining
async def test_session_of_20_000_items_does_not_block_the_loop():
    stage = Stage()
    async with stage.run_test(size=(80, 24)):
        reading = asyncio.create_task(stage.transcript.build_timeline(facts(5_000)))
        rounds = 0
        while not reading.done():
            rounds += 1
            await asyncio.sleep(0)
        stage.transcript.set_timeline(await reading)
        assert len(stage.transcript._timeline.items) == 20_000
        assert "prompt 4999" in stage.shown()
    assert rounds > 3


@pytest.mark.remaining
async def test_keys_are_handled_while_a_long_session_opens(tmp_path, sessions):
    here, long = sessions
    app = app_of(tmp_path, here, long)
    async with app.run_test() as pilot:
        await until(pilot, lambda: app.chat.session is here)
        app.chat.prompt.load(Draft("/resume sess_2"))
        await app.chat.prompt.run_action("send")
        await reading(pilot)
        await burst(pilot, *"typed", "enter", *"more")
        assert app.chat.opening is not None
        assert app.chat.prompt.text == "more"
        assert app.chat.session is here and here.sent == []
        await until(pilot, lambda: long.sent == ["typed"] and not app.chat.runner.is_running)
        assert here.closed and not long.closed
        expected = [*(f"prompt {n}" for n in range(TURNS)), "hello"]
        assert prompts_shown(app) == expected
        assert "Hello to you." in screen_text(app)


@pytest.mark.remaining
async def test_session_opened_at_startup_sends_the_typed_message(tmp_path, sessions):
    _, long = sessions
    app = app_of(tmp_path, long, resume="sess_2")
    async with app.run_test() as pilot:
        await reading(pilot)
        assert "opening …" in screen_text(app)
        app.chat.note("warning", "Mind the gap.")
        await burst(pilot, *"typed", "enter")
        assert app.chat.opening is not None
        await until(pilot, lambda: long.sent == ["typed"] and not app.chat.runner.is_running)
        assert prompts_shown(app) == [*(f"prompt {n}" for n in range(TURNS)), "hello"]
        assert "Mind the gap." in screen_text(app)


@pytest.mark.parametrize("second", ["/new", "/resume sess_2", "/fork"])
@pytest.mark.remaining
async def test_command_waits_until_the_session_is_open(tmp_path, sessions, second):
    here, long = sessions
    app = app_of(tmp_path, here, long)
    async with app.run_test() as pilot:
        await until(pilot, lambda: app.chat.session is here)
        await say(pilot, "hi")
        await until(pilot, lambda: not app.chat.runner.is_running)
        app.chat.input.submit(Draft("/resume sess_2"))
        await reading(pilot)
        app.chat.input.submit(Draft(second))
        assert [each.text for each in app.chat.runner.queue.drafts] == [second]
        await until(pilot, lambda: app.chat.session is long and not len(app.chat.runner.queue))
        await settle(pilot)
        if second == "/fork":
            assert "Fork from where?" in screen_text(app)
            await press(pilot, "escape")
        await until(pilot, lambda: not app.chat.runner._command_running)
        assert prompts_shown(app) == [f"prompt {n}" for n in range(TURNS)]


@pytest.mark.parametrize("at_start", [True, False])
async def test_quitting_while_a_session_opens_closes_it(tmp_path, sessions, at_start):
    here, long = sessions
    options = {"resume": "sess_2"} if at_start else {}
    app = app_of(tmp_path, *((long,) if at_start else (here, long)), **options)
    async with app.run_test() as pilot:
        if not at_start:
            await until(pilot, lambda: app.chat.session is here)
            app.chat.input.submit(Draft("/resume sess_2"))
        await reading(pilot)
        await press(pilot, "ctrl+d")
        await until(pilot, lambda: app._exit)
    assert app.return_code == 0
    assert long.closed is not at_start  # at the start it is not open yet
    assert long.sent == []
    assert here.closed is not at_start


async def test_failed_opening_is_not_shown_as_opening(tmp_path):
    async def fails():
        raise ConfigError("No model is called `x`.")

    app = YourtoolApp(fails)
    async with app.run_test() as pilot:
        await until(pilot, lambda: "Messages cannot be sent" in screen_text(app))
        assert "not opened" in screen_text(app)
        assert "opening …" not in screen_text(app)


@pytest.mark.remaining
async def test_session_is_replaced_only_when_its_turn_has_ended(sessions, tmp_path):
    here, there = sessions
    gate = asyncio.Event()
    here._scripts = [[*turn("hello", "Hello to you."), gate]]
    app = app_of(tmp_path, here, there)
    async with app.run_test() as pilot:
        await until(pilot, lambda: app.chat.session is here)
        await say(pilot, "hello")
        await until(pilot, lambda: here.state.turn_count == 1)
        showing = asyncio.ensure_future(show_session(app.chat, app.runtime, there))
        await settle(pilot)
        assert app.chat.session is here and not here.closed
        gate.set()
        await showing
        assert app.chat.session is there and here.closed
        assert len(prompts_shown(app)) == TURNS


@pytest.fixture
def very_long(tmp_path, monkeypatch):
    """Return a session of more than one page."""
    monkeypatch.setenv("YOURTOOL_HOME", str(tmp_path / "home"))
    (tmp_path / "work").mkdir(exist_ok=True)
    session = FakeSession(
        turn("hello", "Hello to you."), workspace=tmp_path / "work", session_id="sess_2"
    )
    for fact in facts(MANY_TURNS):
        session.state.apply(fact)
    return session


async def opened(app, pilot, session):
    await until(pilot, lambda: app.chat.session is session and app.chat.opening is None)
    await settle(pilot)


@pytest.mark.remaining
async def test_earlier_messages_are_loaded_when_the_user_scrolls_to_them(tmp_path, very_long):
    app = app_of(tmp_path, very_long, resume="sess_2")
    async with app.run_test(size=(60, 20)) as pilot:
        await opened(app, pilot, very_long)
        shown = prompts_shown(app)
        assert "prompt 0" not in shown and shown[-1] == f"prompt {MANY_TURNS - 1}"
        assert len(shown) < MANY_TURNS
        await press(pilot, "ctrl+home")
        await until(pilot, lambda: len(prompts_shown(app)) > len(shown))
        await settle(pilot)
        assert shown[0] in screen_text(app), "the rows that were visible have moved"
        while (earlier := app.chat.transcript.earlier) is not None:
            count = len(prompts_shown(app))
            await press(pilot, "ctrl+home")
            await until(
                pilot,
                lambda least=count, now=earlier: (
                    len(prompts_shown(app)) > least or app.chat.transcript.earlier is not now
                ),
            )
        assert prompts_shown(app) == [f"prompt {n}" for n in range(MANY_TURNS)]
        await say(pilot, "hi")
        await until(pilot, lambda: "Hello to you." in screen_text(app))


@pytest.mark.remaining
async def test_key_for_the_earlier_prompt_loads_it(tmp_path, very_long):
    app = app_of(tmp_path, very_long, resume="sess_2")
    async with app.run_test(size=(60, 20)) as pilot:
        await opened(app, pilot, very_long)
        first = prompts_shown(app)[0]
        transcript = app.chat.transcript
        app.chat.set_focus(transcript)

        def has_earlier():
            transcript.action_select_prompt(-1)
            return prompts_shown(app)[0] != first

        await until(pilot, has_earlier)


@pytest.mark.remaining
async def test_message_of_an_earlier_page_is_found(tmp_path, very_long):
    app = app_of(tmp_path, very_long, resume="sess_2")
    wanted = next(each for each in very_long.state.messages if each.text == "prompt 3")
    async with app.run_test(size=(60, 20)) as pilot:
        await opened(app, pilot, very_long)
        await app.chat.transcript.earlier.find_message(wanted.id)
        app.chat.transcript.scroll_to_message(wanted.id)
        await until(pilot, lambda: "prompt 3" in screen_text(app))


class SlowRuntime(FakeRuntime):
    """Opens sessions only when the test allows it."""

    def __init__(self, *arguments):
        super().__init__(*arguments)
        self.may_open, self.error = asyncio.Event(), None

    async def resume(self, session_id, confirm):
        await self.may_open.wait()
        if self.error is not None:
            raise self.error
        return await super().resume(session_id, confirm)


@pytest.mark.parametrize("fails", [False, True])
async def test_end_of_a_session_is_shown_while_it_opens(tmp_path, very_long, fails, monkeypatch):
    monkeypatch.setattr(stored_pages, "PREVIEW_SECONDS", 0)
    runtime = SlowRuntime(tmp_path / "home", very_long)
    runtime.store.summaries.append(type("S", (), {"id": "sess_2"}))

    async def opens():
        return runtime

    app = YourtoolApp(opens, resume="sess_2")
    async with app.run_test(size=(60, 20)) as pilot:
        last = f"prompt {MANY_TURNS - 1}"
        await until(pilot, lambda: last in screen_text(app))
        await until(pilot, lambda: "Opening the session" in screen_text(app))
        app.chat.note("warning", "Mind the gap.")
        await press(pilot, *"typed")
        runtime.error = SessionBusyError("Somebody uses it.") if fails else None
        runtime.may_open.set()
        await until(pilot, lambda: app.chat.session is not None)
        await settle(pilot)
        text = screen_text(app)
        assert "Mind the gap." in text and "typed" in text
        assert ("Started a new session." in text) is fails
        if not fails:
            assert prompts_shown(app)[-1] == last and prompts_shown(app).count(last) == 1


async def test_list_of_sessions_follows_what_they_do(tmp_path, sessions, monkeypatch):
    monkeypatch.setattr(picker, "REFRESH_SECONDS", 0.01)
    app = app_of(tmp_path, *sessions)
    summary = SessionSummary(
        id="sess_2", title="fix it", workspace_path="/other", active_model=None, turn_count=1,
        cost_usd=Decimal("0.5"), created_at=WHEN, updated_at=WHEN,
    )  # fmt: skip
    found = []

    async def find_activity(_ids=()):
        return tuple(found)

    async with app.run_test(size=(100, 30)) as pilot:
        await until(pilot, lambda: app.chat.session is not None)
        store = app.chat.runtime.store
        store.summaries[:], store.find_activity = [summary], find_activity
        await say(pilot, "/agents")
        await until(pilot, lambda: "/other" in screen_text(app))
        assert "done ·" in screen_text(app) and "$0.50" in screen_text(app)
        found.append(SessionActivity(id="sess_2", state="waiting", process="7"))
        await until(pilot, lambda: "? fix it" in screen_text(app))
        await press(pilot, "enter")
        await until(pilot, lambda: "in process 7: read only here" in screen_text(app))
