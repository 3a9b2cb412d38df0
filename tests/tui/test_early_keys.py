"""Keys that need the session and are pressed before it is open have their effect afterwards."""

import asyncio

import pytest

from tests.tui.fakes import FakeRuntime, FakeSession, turn
from tests.tui.pilot_helpers import burst, press, say, screen_text, settle, until
from yourtool.settings.config import Mode
from yourtool.tui.app import YourtoolApp
from yourtool.tui.screens.picker import Picker


class Start:
    """An app whose session opens when `gate` is set; an earlier run sent `first` and `second`."""

    def __init__(self, root):
        self.root, self.gate = root, asyncio.Event()
        (root / "work").mkdir(exist_ok=True)

    async def run_before(self):
        app = self.build()
        self.gate.set()
        async with app.run_test() as pilot:
            await until(pilot, lambda: app.chat.session is not None)
            for text in ("first", "second"):
                await say(pilot, text)
                await until(pilot, lambda: not app.chat.runner.is_running)
            await burst(pilot, *"put aside", "ctrl+s")
            await settle(pilot)
        self.gate.clear()

    def build(self):
        scripts = turn("first", "1"), turn("second", "2")
        self.session = FakeSession(*scripts, workspace=self.root / "work")
        runtime = FakeRuntime(self.root / "home", self.session)

        async def opens():
            await self.gate.wait()
            return runtime

        return YourtoolApp(opens)


@pytest.fixture
def start(tmp_path):
    return Start(tmp_path)


@pytest.mark.parametrize(
    ("keys", "text"),
    [
        (["up"], "second"),
        (["up", "up"], "first"),
        (["ctrl+s"], "put aside"),
        (["up", *"abc"], "abc"),
        ([*"abc ", "up", *"def"], "abc def"),
        ([*"@REA", "tab", *"x"], "@REAx"),
    ],
)
async def test_early_key_has_its_effect_unless_the_text_changed(start, keys, text):
    await start.run_before()
    app = start.build()
    async with app.run_test() as pilot:
        await settle(pilot)
        await press(pilot, *keys)
        start.gate.set()
        await until(pilot, lambda: app.chat.session is not None)
        await settle(pilot)
        assert app.chat.prompt.text == text
        assert app.focused is app.chat.prompt


@pytest.mark.remaining
async def test_early_search_opens_its_list_which_ignores_an_enter_meant_for_the_prompt(start):
    await start.run_before()
    app = start.build()
    async with app.run_test() as pilot:
        await settle(pilot)
        await press(pilot, "ctrl+r")
        start.gate.set()
        await until(pilot, lambda: isinstance(app.screen, Picker))
        assert app.screen.is_unexpected
        await until(pilot, lambda: not app.screen.is_unexpected)
        await press(pilot, "enter")
        await until(pilot, lambda: app.chat.prompt.text == "second")


async def test_each_early_shift_tab_is_one_step(start):
    app = start.build()
    async with app.run_test() as pilot:
        await settle(pilot)
        await burst(pilot, "shift+tab", "shift+tab")
        start.gate.set()
        await until(pilot, lambda: app.chat.session is not None)
        await until(pilot, lambda: start.session.mode is Mode.PLAN)
        await settle(pilot)
        assert start.session.mode is Mode.PLAN and "plan" in screen_text(app)
