"""The lines of a terminal: pastes, continued lines, and answers."""

import asyncio
import os

import pytest

from yourtool.extensions.linear.lines import Lines


class Stage:
    """A pipe instead of a terminal, and a clock that is set."""

    def __init__(self) -> None:
        self.now = 0.0
        self.sent: list[str] = []
        self.is_closed = False
        self._reading, self._writing = os.pipe()
        self.lines = Lines(self._reading, self.sent.append, self._close, lambda: self.now)
        self.lines.start()

    def _close(self):
        self.is_closed = True

    def type(self, text: str) -> None:
        os.write(self._writing, text.encode())

    def end(self) -> None:
        os.close(self._writing)

    async def until(self, condition) -> None:
        for _ in range(1_000):
            if condition():
                return
            await asyncio.sleep(0.005)
        raise AssertionError("the lines did not arrive")


@pytest.fixture
async def stage():
    stage = Stage()
    yield stage
    stage.lines.stop()


async def test_lines_that_arrive_together_are_one_message(stage):
    stage.type("first\nsecond\n")
    await stage.until(lambda: stage.sent)
    assert stage.sent == ["first\nsecond"]


async def test_backslash_at_the_end_continues_the_message(stage):
    stage.type("first \\\n")
    await asyncio.sleep(0.05)
    stage.type("second\n")
    await stage.until(lambda: stage.sent)
    assert stage.sent == ["first \nsecond"]


async def test_line_answers_a_question_instead_of_being_a_message(stage):
    answer = asyncio.ensure_future(stage.lines.ask())
    stage.type("2\n")
    await stage.until(answer.done)
    assert (answer.result(), stage.sent) == ("2", [])


async def test_line_from_before_an_approval_prompt_is_a_message(stage):
    stage.type("1\n")
    await stage.until(lambda: stage.lines._buffer)
    answer = asyncio.ensure_future(stage.lines.ask(is_safe=False))
    await stage.until(lambda: stage.sent)
    assert stage.sent == ["1"] and not answer.done()
    stage.type("1\n")
    await stage.until(lambda: len(stage.sent) == 2)
    assert not answer.done()
    stage.now = 1.0
    stage.type("1\n")
    await stage.until(answer.done)
    assert answer.result() == "1"


async def test_end_of_the_input_closes_the_conversation(stage):
    stage.end()
    await stage.until(lambda: stage.is_closed)
