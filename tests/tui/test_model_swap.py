"""Model swaps rejected because of an image, with a real store and requests."""

import base64
import contextlib

import pytest

from tests.provider_server import ProviderServer, Reply
from tests.tui.pilot_helpers import press, say, screen_text, settle, until
from yourtool.agent.runtime import Runtime
from yourtool.paths import resolve_paths
from yourtool.settings.config import RunOptions
from yourtool.tui.app import YourtoolApp
from yourtool.tui.screens.swap import SwapSheet

PIXEL = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
)
BLIND = '[models."openai:blind"]\nsupports_images = false\n'


@pytest.fixture
def server(tmp_path, monkeypatch):
    monkeypatch.setenv("YOURTOOL_HOME", str(tmp_path / "home"))
    (tmp_path / "home").mkdir()
    (tmp_path / "home" / "models.toml").write_text(BLIND)
    (tmp_path / "work").mkdir()
    (tmp_path / "work" / "dot.png").write_bytes(PIXEL)
    with ProviderServer([Reply("Hello."), Reply("A dot."), Reply("Fine.")]) as server:
        for name, value in server.environment.items():
            monkeypatch.setenv(name, value)
        yield server


@contextlib.asynccontextmanager
async def _app(work, model=None, *, proceed=False):
    async def opens():
        return await Runtime.open(resolve_paths(), RunOptions(workspace=work, model=model))

    app = YourtoolApp(opens, continue_last=proceed)
    async with app.run_test(size=(110, 30)) as pilot:
        await until(pilot, lambda: app.chat.session is not None)
        await settle(pilot)
        yield app, pilot


async def _send(pilot, text):
    session = pilot.app.chat.session
    turns = session.state.turn_count
    await say(pilot, text)
    await until(
        pilot,
        lambda: session.state.turn_count == turns + 1 and not pilot.app.chat.runner.is_running,
    )


@contextlib.asynccontextmanager
async def _refused(tmp_path):
    """Return an app that shows the choices after a rejected swap."""
    async with _app(tmp_path / "work", "sonnet") as (app, pilot):
        await _send(pilot, "hello")
        await say(pilot, f"/attach {tmp_path / 'work' / 'dot.png'} ")
        await _send(pilot, "look at this")
        await say(pilot, "/model openai:blind ")
        await until(pilot, lambda: isinstance(app.screen, SwapSheet))
        await until(pilot, lambda: "Fork before" in screen_text(app))
        yield app, pilot


@pytest.mark.remaining
async def test_refused_swap_offers_placeholders_a_fork_or_cancel(tmp_path, server):
    async with _refused(tmp_path) as (app, pilot):
        shown = screen_text(app)
        assert "Swap to openai:blind?" in shown
        assert "! images" in shown and "1 image not sent: `openai:blind` takes no images" in shown
        assert "Send placeholders for the images" in shown
        assert "continue in a copy of the session, up to prompt 2" in shown
        assert "anthropic:claude-sonnet-5-5 stays active" in shown
        await press(pilot, "escape")
        assert app.chat.session.model.id == "anthropic:claude-sonnet-5-5"
        assert "Cannot swap to openai:blind: session contains images" in screen_text(app)


@pytest.mark.remaining
async def test_placeholders_are_sent_instead_of_images_if_chosen(tmp_path, server):
    async with _refused(tmp_path) as (app, pilot):
        await press(pilot, "enter")
        await until(pilot, lambda: app.chat.session.model.id == "openai:blind")
        await until(pilot, lambda: "with placeholders" in " ".join(screen_text(app).split()))
        await _send(pilot, "and now?")
        assert server.requests[-1][0] == "/v1/responses"
        assert "could not be shown to you" in str(server.requests[-1][1]["input"])


@pytest.mark.remaining
async def test_fork_before_the_image_continues_with_the_other_model(tmp_path, server):
    async with _refused(tmp_path) as (app, pilot):
        old = app.chat.session.id
        await press(pilot, "down", "enter")
        await until(pilot, lambda: app.chat.session.model.id == "openai:blind")
        assert app.chat.session.id != old
        assert app.chat.prompt.text == "look at this"
        assert [prompt.text for prompt in app.chat.session.state.prompts] == ["hello"]
        await press(pilot, "enter")
        await until(pilot, lambda: len(server.requests) == 3)
        await until(pilot, lambda: not app.chat.runner.is_running)
        assert "input_image" not in str(server.requests[-1][1])


@pytest.mark.remaining
async def test_model_option_offers_the_same_choices(tmp_path, server):
    async with _refused(tmp_path) as (app, pilot):
        await press(pilot, "escape")
        await app.shut_down()
    async with _app(tmp_path / "work", "openai:blind", proceed=True) as (app, pilot):
        await until(pilot, lambda: isinstance(app.screen, SwapSheet))
        assert app.chat.session.model.id == "anthropic:claude-sonnet-5-5"
        await until(pilot, lambda: "Send placeholders for the images" in screen_text(app))
        await press(pilot, "enter")
        await until(pilot, lambda: app.chat.session.model.id == "openai:blind")
        await app.shut_down()
    async with _app(tmp_path / "work", proceed=True) as (app, pilot):
        await until(pilot, lambda: "Cannot swap to openai:blind" in screen_text(app))
        assert app.chat.session.model.id == "openai:blind"
        await _send(pilot, "and now?")
        assert "could not be shown to you" in str(server.requests[-1][1]["input"])


@pytest.mark.remaining
async def test_sheet_fits_small_screens_and_page_keys_scroll_it(tmp_path, server):
    async with _refused(tmp_path) as (app, pilot):
        await pilot.resize_terminal(40, 12)
        await settle(pilot)
        shown = screen_text(app)
        assert "Send placeholders" in shown and "Cancel" in shown and "! images" in shown
        await press(pilot, "pagedown")
        await settle(pilot)
        assert "! images" not in screen_text(app)
        await press(pilot, "pageup", "escape")
        assert app.chat.session.model.id == "anthropic:claude-sonnet-5-5"
