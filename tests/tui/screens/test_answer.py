"""The screen of an answer apart from the conversation."""

import asyncio

from tests.tui.pilot_helpers import screen_text, until
from yourtool.agent.commands.base import ShowAnswer
from yourtool.errors import UsageError
from yourtool.tui.screens.answer import AnswerScreen
from yourtool.tui.screens.command_results import show_result


class Answering:
    """An answer that the test lets grow."""

    def __init__(self, title="why?"):
        self.queue = asyncio.Queue()
        self.is_stopped = False
        self.result = ShowAnswer(title, self._read(), self._stop)

    async def _read(self):
        while (piece := await self.queue.get()) is not None:
            if isinstance(piece, Exception):
                raise piece
            yield piece

    def _stop(self):
        self.is_stopped = True
        self.queue.put_nowait(None)


async def test_answer_grows_on_the_screen_and_is_closed(app_of):
    app, answering = app_of(), Answering()
    async with app.run_test(size=(80, 24)) as pilot:
        await until(pilot, lambda: app.chat.session is not None)
        await show_result(app.chat, answering.result)
        await until(pilot, lambda: "why?" in screen_text(app) and "…" in screen_text(app))
        answering.queue.put_nowait("Because **it")
        answering.queue.put_nowait(" is** so.")
        await until(pilot, lambda: "Because it is so." in screen_text(app))
        answering.queue.put_nowait(None)
        await until(pilot, lambda: "Esc closes" in screen_text(app))
        await pilot.press("escape")
        await until(pilot, lambda: app.screen is app.chat)
        assert "Because" not in screen_text(app)


async def test_escape_stops_an_answer_that_grows(app_of):
    app, answering = app_of(), Answering()
    async with app.run_test(size=(80, 24)) as pilot:
        await until(pilot, lambda: app.chat.session is not None)
        await show_result(app.chat, answering.result)
        await until(pilot, lambda: isinstance(app.screen, AnswerScreen))
        await pilot.press("escape")
        await until(pilot, lambda: app.screen is app.chat and answering.is_stopped)


async def test_error_and_hostile_text_are_shown_as_they_are(app_of):
    app, answering = app_of(), Answering("[b]why?\x1b[31m")
    async with app.run_test(size=(80, 24)) as pilot:
        await until(pilot, lambda: app.chat.session is not None)
        await show_result(app.chat, answering.result)
        answering.queue.put_nowait("[red]one[/red]\x1b]0;title\x07")
        answering.queue.put_nowait(UsageError("It failed [b]."))
        await until(pilot, lambda: "It failed [b]." in screen_text(app))
        shown = screen_text(app)
        assert "[b]why?" in shown and "[red]one[/red]" in shown and "\x1b" not in shown
