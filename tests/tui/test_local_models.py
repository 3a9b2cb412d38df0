import asyncio

import pytest
from msgspec.structs import replace

from tests.providers.local_server import serve
from tests.tui.fakes import GPT, SONNET, FakeRuntime, FakeSession
from tests.tui.pilot_helpers import press, say, screen_text, settle, until
from yourtool.agent.runtime import Runtime
from yourtool.paths import resolve_paths
from yourtool.settings.config import RunOptions
from yourtool.tui.app import YourtoolApp
from yourtool.tui.screens.picker import Picker

LOCAL = replace(GPT, id="llama-cpp:qwen", aliases=())


class StartedLater(FakeRuntime):
    """A machine with a model server that answers the first discovery."""

    async def find_servers(self, *, elsewhere: bool) -> tuple[()]:
        self.catalogue.all = lambda: (GPT, SONNET, LOCAL)
        self.registry.configuration_problem = lambda provider: None
        return ()


@pytest.mark.req("R-EASE-02")
async def test_server_started_later_is_in_the_picker(tmp_path, monkeypatch):
    monkeypatch.setenv("YOURTOOL_HOME", str(tmp_path / "home"))
    (tmp_path / "work").mkdir()
    runtime = StartedLater(tmp_path / "home", FakeSession([], workspace=tmp_path / "work"))

    async def opens():
        return runtime

    app = YourtoolApp(opens)
    async with app.run_test() as pilot:
        await settle(pilot)
        assert LOCAL.id not in dict(app.chat.completer.values["model"])
        await say(pilot, "/models")
        await until(pilot, lambda: "llama-cpp" in screen_text(app) and "qwen" in screen_text(app))
        assert LOCAL.id in dict(app.chat.completer.values["model"])


@pytest.mark.req("R-EASE-02")
@pytest.mark.remaining
async def test_models_of_a_configured_server_are_in_the_picker(tmp_path, monkeypatch):
    monkeypatch.setenv("OLLAMA_HOST", "127.0.0.1:9")
    with serve({"/v1/models": {"data": [{"id": "qwen3-coder"}]}}) as server:
        (resolve_paths().home / "config.toml").write_text(
            f'model = "mine:other"\n[providers.mine]\nbase_url = "{server.url}/v1"\n'
        )
        app = YourtoolApp(lambda: Runtime.open(resolve_paths(), RunOptions(workspace=tmp_path)))
        async with app.run_test() as pilot:
            await until(pilot, lambda: app.chat.session is not None)
            assert server.requests == []
            await say(pilot, "/models")
            await until(pilot, lambda: "qwen3-coder" in screen_text(app))
            await press(pilot, *"qwen3-coder", "enter")
            await until(pilot, lambda: app.chat.session.model.id == "mine:qwen3-coder")


class Slow(FakeRuntime):
    """A server that answers after the picker has opened."""

    answer: asyncio.Event

    async def find_servers(self, *, elsewhere: bool) -> tuple[()]:
        if elsewhere:
            self.answer = asyncio.Event()
            await self.answer.wait()
            self.catalogue.all = lambda: (LOCAL, GPT, SONNET)
        return ()


@pytest.mark.remaining
async def test_late_answer_is_added_and_the_cursor_does_not_move(tmp_path, monkeypatch):
    monkeypatch.setenv("YOURTOOL_HOME", str(tmp_path / "home"))
    (tmp_path / "work").mkdir()
    runtime = Slow(tmp_path / "home", FakeSession([], workspace=tmp_path / "work"))
    runtime.registry.configuration_problem = lambda provider: None

    async def opens():
        return runtime

    app = YourtoolApp(opens)
    async with app.run_test() as pilot:
        await settle(pilot)
        await say(pilot, "/models")
        await until(pilot, lambda: isinstance(app.screen, Picker))
        await press(pilot, "down")
        chosen = app.screen.highlighted.value
        runtime.answer.set()
        await until(pilot, lambda: "llama-cpp" in screen_text(app))
        assert app.screen.highlighted.value == chosen
