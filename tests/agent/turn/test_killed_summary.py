"""A kill while a summary is written leaves the conversation whole and usable."""

import asyncio
import sys

import pytest

from tests.agent.harness import Bench, play
from tests.agent.turn.test_compaction import SUMMARY, Limited, kinds
from yourtool.events.context import ContextCompacted
from yourtool.events.turns import TurnCompleted
from yourtool.messages.invariants import validate_session
from yourtool.messages.metadata import StopReason
from yourtool.providers.scripted import says


@pytest.mark.remaining
@pytest.mark.req("R-PER-02", "R-CTX-02")
async def test_session_continues_after_a_kill_during_a_summary(tmp_path):
    arguments = (sys.executable, "-m", "tests.agent.killed_summary", str(tmp_path))
    process = await asyncio.create_subprocess_exec(*arguments, stdout=asyncio.subprocess.PIPE)
    try:
        assert process.stdout is not None
        session_id = (await process.stdout.readline()).decode().strip()
    finally:
        process.kill()
        await process.wait()
    bench = Bench(tmp_path)
    model = Limited(10**6, reply="Still here.")
    session = await bench.session(model.adapter, resume=session_id)
    assert [each.text for each in session.state.prompts] == [f"Prompt {at}." for at in range(3)]
    assert session.state.branch.compacted is None
    assert not kinds(session.state.facts, ContextCompacted)
    events = await play(session.send("And now?"))
    assert kinds(events, TurnCompleted)[-1].stop_reason is StopReason.END_TURN
    sent = model.requests[-1].messages
    assert [each.text for each in sent if each.is_prompt][-4:] == [
        "Prompt 0.", "Prompt 1.", "Prompt 2.", "And now?",
    ]  # fmt: skip
    assert validate_session(sent) == []
    model.summary = says(SUMMARY)
    [fact] = kinds(await play(session.compact()), ContextCompacted)
    assert (fact.summary, fact.turn_count) == (SUMMARY, 3)
    await session.close()
    await bench.close()
