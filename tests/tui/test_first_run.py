"""The first screen, the tour without a key, and the prompt of the command line."""

import pytest

from tests.trusted_folders import trust
from tests.tui.fakes import SONNET, TOUR, FakeRuntime, FakeSession, turn
from tests.tui.pilot_helpers import press, say, screen_text, settle, until
from yourtool.errors import UsageError
from yourtool.tui.app import YourtoolApp
from yourtool.tui.input.prompt_input import TOUR_PROMPT

CHAPTER = turn(TOUR_PROMPT, "First I look around.")


@pytest.fixture(autouse=True)
def home(tmp_path, monkeypatch):
    monkeypatch.setenv("YOURTOOL_HOME", str(tmp_path / "home"))
    (tmp_path / "work").mkdir()
    return tmp_path / "home"


@pytest.fixture
def opened(home, tmp_path):
    """Build an app and its runtime for sessions with a model."""

    def build(model=SONNET, first_prompt="", **options):
        session = FakeSession(CHAPTER, workspace=tmp_path / "work", model=model)
        runtime = FakeRuntime(home, session)

        async def opens():
            return runtime

        app = YourtoolApp(opens, **options)
        app.first_prompt = first_prompt
        return app, session, runtime

    return build


async def until_open(pilot):
    await until(pilot, lambda: pilot.app.chat.session is not None)
    await settle(pilot)


@pytest.mark.parametrize("size", [(40, 12), (80, 24)])
@pytest.mark.req("R-EASE-01")
async def test_enter_starts_the_tour_and_the_banner_ends_with_the_first_chapter(opened, size):
    app, session, _ = opened(TOUR)
    async with app.run_test(size=size) as pilot:
        await until_open(pilot)
        text = screen_text(app)
        assert "Press Enter to start the two-minute" in text
        assert "Demo, no model: /key enters an API key" in text
        assert "/key      enter an API key, or set AN" in text
        await press(pilot, "enter")
        await until(pilot, lambda: session.sent and not app.chat.runner.is_running)
        await settle(pilot)
        assert session.sent == [TOUR_PROMPT]
        assert "Demo, no model" not in screen_text(app)
        assert "Press Enter" not in screen_text(app)
        await press(pilot, "enter")
        assert session.sent == [TOUR_PROMPT], "Enter starts the tour only once"


async def test_enter_in_an_empty_prompt_sends_nothing_to_a_model(opened):
    app, session, _ = opened()
    async with app.run_test() as pilot:
        await until_open(pilot)
        await press(pilot, "enter")
        assert session.sent == []
        assert 'Say what to do: "fix the failing test"' in screen_text(app)


async def test_example_leaves_the_prompt_after_the_first_message(opened):
    app, session, _ = opened()
    async with app.run_test() as pilot:
        await until_open(pilot)
        await say(pilot, "hello")
        await until(pilot, lambda: session.sent and not app.chat.runner.is_running)
        await settle(pilot)
        assert "Say what to do" in screen_text(app)
        assert "failing test" not in screen_text(app)


@pytest.mark.parametrize("size", [(40, 12), (80, 24)])
async def test_first_screen_names_the_instruction_files(opened, tmp_path, size):
    (tmp_path / "work" / "AGENTS.md").write_text("Be brief.")
    trust(tmp_path / "work")
    app, *_ = opened()
    async with app.run_test(size=size) as pilot:
        await until_open(pilot)
        assert "AGENTS.md loaded" in screen_text(app)


async def test_first_screen_without_instruction_files_names_none(opened):
    app, *_ = opened()
    async with app.run_test() as pilot:
        await until_open(pilot)
        assert "loaded" not in screen_text(app)


# The prompt of the command line


@pytest.mark.req("R-CLI-01")
async def test_first_prompt_is_sent_when_the_session_is_open(opened):
    app, session, _ = opened(first_prompt="fix the failing test")
    async with app.run_test() as pilot:
        await until(pilot, lambda: session.sent)
        assert session.sent == ["fix the failing test"]
        await until(pilot, lambda: not app.chat.runner.is_running)
        await press(pilot, "up")
        assert app.chat.prompt.text == "fix the failing test", "it can be recalled"


async def test_first_prompt_precedes_what_was_typed_ahead(opened):
    app, session, _ = opened(first_prompt="one")
    async with app.run_test() as pilot:
        await say(pilot, "two")
        await until(pilot, lambda: len(session.sent) == 2)
        assert session.sent == ["one", "two"]


async def test_first_prompt_can_be_a_command(opened):
    app, session, _ = opened(first_prompt="/mode plan")
    async with app.run_test() as pilot:
        await until_open(pilot)
        await until(pilot, lambda: "plan" in screen_text(app))
        assert session.sent == []


@pytest.mark.parametrize(
    ("text", "options", "reason"),
    [
        ("/frobnicate", {}, "Paused, the command is not valid"),
        ("go on", {"continue_last": True}, "Paused, this is a new session"),
        ("go on", {"resume": "01NOTHING"}, "Paused, this is a new session"),
    ],
)
async def test_first_prompt_that_might_surprise_waits_for_enter(opened, text, options, reason):
    app, session, _ = opened(first_prompt=text, **options)
    async with app.run_test(size=(100, 30)) as pilot:
        await until_open(pilot)
        assert reason in screen_text(app)
        assert session.sent == []
        await press(pilot, "enter")
        await until(pilot, lambda: session.sent)
        assert session.sent == [text]


async def test_first_prompt_waits_for_a_key_instead_of_starting_the_demo(opened):
    app, session, _ = opened(TOUR, first_prompt="fix it")
    async with app.run_test(size=(100, 30)) as pilot:
        await until_open(pilot)
        text = screen_text(app)
        assert "no model is set up, /key enters a key" in text
        assert "1. fix it" in text
        assert session.sent == []


async def test_first_prompt_goes_to_the_demo_if_it_was_chosen(opened):
    app, session, runtime = opened(TOUR, first_prompt="fix it")
    runtime.options.model = TOUR.id
    async with app.run_test() as pilot:
        await until(pilot, lambda: session.sent)
        assert session.sent == ["fix it"]


async def test_first_prompt_with_control_characters_is_sent_as_it_was_given(opened):
    app, session, _ = opened(first_prompt="look\r\nat \x1b[31mthis\ud800")
    async with app.run_test() as pilot:
        await until(pilot, lambda: session.sent)
        assert session.sent == ["look\nat \x1b[31mthis\N{REPLACEMENT CHARACTER}"]


async def test_first_prompt_is_in_the_prompt_if_no_session_can_be_opened():
    async def fails():
        raise UsageError("there is no such provider")

    app = YourtoolApp(fails)
    app.first_prompt = "fix it"
    async with app.run_test() as pilot:
        await until(pilot, lambda: "no such provider" in screen_text(app))
        assert app.chat.prompt.text == "fix it"
