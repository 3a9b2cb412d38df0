from msgspec.structs import replace

from tests.tui.driving import say, screen_text, settle, until
from tests.tui.fakes import GPT, SONNET, FakeRuntime, FakeSession
from yourtool.tui.app import YourtoolApp

LOCAL = replace(GPT, id="llama-cpp:qwen", aliases=())


class StartedLater(FakeRuntime):
    """A machine on which a model server answers as soon as somebody looks for one."""

    async def find_local_servers(self) -> tuple[()]:
        self.catalogue.all = lambda: (GPT, SONNET, LOCAL)
        self.registry.why_not = lambda provider: None
        return ()


async def test_a_server_that_was_started_since_is_offered_in_the_list_r_ease_02(
    tmp_path, monkeypatch
):
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
        await until(pilot, lambda: LOCAL.id in screen_text(app))
        assert LOCAL.id in dict(app.chat.completer.values["model"])
