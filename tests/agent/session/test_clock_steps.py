"""The order of a session is the order in which it was stored, also if the clock steps back."""

from datetime import UTC, datetime, timedelta
from types import SimpleNamespace

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.agent.harness import Bench, Checked, play
from yourtool.ids import new_id
from yourtool.messages import message
from yourtool.messages.invariants import validate_session
from yourtool.providers.scripted import Scripted, calls, says

REPLIES = [calls("read_file", path="a.txt"), says("one"), says("two"), says("three")]
STEPS = st.lists(st.integers(-(10**9), 10**9), min_size=1, max_size=20)
"""Seconds by which the clock moves each time it is read; repeated."""


class SteppingClock:
    """A clock that is set forward and back."""

    def __init__(self, steps) -> None:
        self.now = datetime(2026, 1, 1, tzinfo=UTC)
        self._steps, self._reads = steps, 0

    def __call__(self, zone=None):
        moved = self.now + timedelta(seconds=self._steps[self._reads % len(self._steps)])
        self._reads += 1
        if moved.year in range(1980, 2200):
            self.now = moved
        return self.now


async def play_turns(root, steps):
    """Play two turns, resume the session and play one more; return the sent messages."""
    clock = SteppingClock(steps)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(message, "datetime", SimpleNamespace(now=clock))
        patch.setattr(new_id, "_last", new_id._last)  # restored for other tests
        patch.setattr(new_id, "_clock", lambda: int(clock.now.timestamp() * 1e9))
        bench = Bench(root)
        (bench.workspace / "a.txt").write_text("a cat\n")
        adapter = Checked(Scripted(REPLIES))
        session = await bench.session(adapter)
        for text in ("first", "second"):
            await play(session.send(text))
        await session.close()
        session = await bench.session(adapter, resume=session.id)
        await play(session.send("third"))
        stored = await bench.store.read(session.id)
        assert list(stored) == session.state.facts
        assert [fact.id for fact in stored] == sorted(fact.id for fact in stored)
        assert validate_session(session.state.messages) == []
        [listed] = await bench.store.list()
        assert listed.title == "first"
        await session.close()
        await bench.close()
    return [each.text for each in adapter.requests[-1].messages if each.text]


@given(steps=STEPS)
@settings(max_examples=6, deadline=None, suppress_health_check=list(HealthCheck))
@pytest.mark.req("R-PER-02")
@pytest.mark.remaining
async def test_messages_keep_their_order_when_the_clock_steps(tmp_path_factory, steps):
    sent = await play_turns(tmp_path_factory.mktemp("clock"), steps)
    prompts = [text for text in sent if text in ("first", "one", "second", "two", "third")]
    assert prompts == ["first", "one", "second", "two", "third"]
