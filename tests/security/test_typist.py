"""Nothing that a person types by the way answers a question, and nothing typed is lost.

See `typist.py` for the person. The version in `make test` is short; the other one asks 10,000
questions in the virtual time of some hours.
"""

import asyncio
import random
from collections import Counter

import pytest
from textual.screen import Screen

from tests.security.typist import Desk, Findings, simulate
from tests.tui.fakes import FakeRuntime
from tests.virtual_time import run_in_virtual_time
from yourtool.tui.app import YourtoolApp
from yourtool.tui.screens.chat import ChatScreen
from yourtool.tui.screens.command_results import run_command

SEEDS, QUESTIONS = range(25), 400


@pytest.fixture(scope="module")
def totals() -> Counter[str]:
    return Counter()


@pytest.fixture
def play(home, tmp_path, monkeypatch):
    """Return a function that returns what happens until so many questions were asked."""
    monkeypatch.setattr(Screen, "_compositor_refresh", lambda self: self._dirty_widgets.clear())

    def run(seed: int, questions: int) -> Findings:
        async def main() -> Findings:
            desk = Desk(tmp_path, random.Random(seed), questions)
            runtime = FakeRuntime(home, desk)

            async def opens() -> FakeRuntime:
                return runtime

            app = YourtoolApp(opens)
            app.chat = ChatScreen(run_command, asyncio.get_running_loop().time)
            app.chat.approval_prompt.enter_approves = seed % 4 == 3
            app.animation_level = "none"
            return await simulate(app, desk, random.Random(f"typist {seed}"))

        return run_in_virtual_time(monkeypatch, main())

    return run


@pytest.mark.req("T20", "R-CONF-03")
@pytest.mark.remaining
def test_typing_answers_nothing_and_is_not_lost(play):
    found = play(4, 12)
    assert (found.unintended, found.lost) == ([], [])
    assert found.deliberate >= 3, "the person answers, too"


@pytest.mark.security
@pytest.mark.blocks_loop("seconds of a virtual clock")
@pytest.mark.timeout(1_800)
@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.req("T20", "R-CONF-03")
def test_typing_answers_nothing_in_many_questions(play, seed, totals, figures):
    found = play(seed, QUESTIONS)
    totals["questions"] += found.questions
    totals["answers"] += len(found.unintended)
    totals["lost"] += len(found.lost)
    text = f"{totals['answers']} answers, {totals['lost']} texts in {totals['questions']:,}"
    figures("typist", text)
    assert (found.unintended, found.lost) == ([], [])
    assert found.deliberate > found.questions / 10
