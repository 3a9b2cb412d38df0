"""A recorded session plays again with the same transcript, without a model and without tools."""

from contextlib import aclosing

import pytest

from tests.agent.harness import Bench, User, play
from tests.store.turns import changed
from yourtool.effects import Decision, Verdict
from yourtool.errors import InvalidRequestError, RateLimitError
from yourtool.events.deltas import TextDelta
from yourtool.events.model_calls import LlmCallCompleted
from yourtool.events.tools import ToolCompleted
from yourtool.events.turns import TurnStarted
from yourtool.extensions.lab.replay.player import replay
from yourtool.ids import new_tool_use_id
from yourtool.messages.blocks import TextBlock
from yourtool.providers.scripted import Scripted, calls, fails, says, thinks

FILES = {"a.txt": "alpha\n", "b.txt": "beta\n"}


@pytest.fixture
def bench(tmp_path):
    bench = Bench(tmp_path)
    for name, text in FILES.items():
        (bench.workspace / name).write_text(text)
    return bench


@pytest.fixture
def scratch(tmp_path):
    directory = tmp_path / "scratch"
    directory.mkdir()
    return directory


async def record(bench, *replies, prompts=("go",), **settings):
    """Return the facts of a session that was played with a script."""
    session = await bench.session(Scripted(list(replies)), **settings)
    for prompt in prompts:
        await play(session.send(prompt))
    facts = await bench.store.read(session.id)
    await session.close()
    return facts


SESSIONS = {
    "text": [says("hello")],
    "reasoning": [thinks("hm", "sig") + says("hello")],
    "a call": [calls("read_file", path="a.txt"), says("done")],
    "parallel calls": [
        calls("read_file", path="a.txt") + calls("list_dir", path=".") + calls("nothing"),
        says("done"),
    ],
    "invalid arguments": [calls("read_file", wrong=1), says("done")],
    "repeated calls": [*[calls("read_file", path="a.txt")] * 4, says("done")],
    "a failure": [fails(InvalidRequestError("no"))],
    "a failure in a reply": [says("I sta") + fails(RateLimitError("slow down"))],
}


@pytest.mark.parametrize("replies", SESSIONS.values(), ids=SESSIONS)
async def test_transcript_of_a_replay_is_the_same_byte_for_byte(bench, scratch, replies):
    facts = await record(bench, *replies)
    played = await replay(facts, scratch)
    assert played.difference is None
    assert played.is_same
    assert played.turns == 1
    assert played.requests >= 1


async def test_calls_that_the_user_declined_are_not_run(bench, scratch):
    user = User(Decision(verdict=Verdict.DENY))
    facts = await record(
        bench, calls("write_file", path="c.txt", content="x"), says("fine"), confirm=user
    )
    played = await replay(facts, scratch)
    assert played.difference is None
    assert not list((scratch / "work").iterdir())


async def test_tools_do_not_run_again(bench, scratch):
    allow = User(Decision(verdict=Verdict.ALLOW))
    facts = await record(
        bench, calls("write_file", path="c.txt", content="x"), says("fine"), confirm=allow
    )
    (bench.workspace / "c.txt").unlink()
    played = await replay(facts, scratch)
    assert played.is_same
    assert played.tool_calls == 1
    assert not (bench.workspace / "c.txt").exists()
    assert not list((scratch / "work").iterdir())


async def test_replay_of_a_replay_is_the_same(bench, scratch):
    facts = await record(bench, calls("read_file", path="a.txt"), says("done"))
    first, second = await replay(facts, scratch), await replay(facts, scratch)
    assert first == second


async def test_a_recording_that_the_loop_would_not_make_differs(bench, scratch):
    facts = list(await record(bench, calls("read_file", path="a.txt"), says("done")))
    at = max(at for at, fact in enumerate(facts) if isinstance(fact, LlmCallCompleted))
    extra = changed(facts[at].message, id=facts[at].message.id[:-1] + "Z")
    facts.insert(at + 1, changed(facts[at], message=extra))
    played = await replay(facts, scratch)
    assert not played.is_same
    line, recorded, replayed = played.difference
    assert line > 0
    assert recorded != replayed


async def test_a_result_without_a_call_delays_no_other_result(bench, scratch):
    facts = list(await record(bench, calls("read_file", path="a.txt"), says("done")))
    at = next(at for at, fact in enumerate(facts) if isinstance(fact, ToolCompleted))
    block = changed(facts[at].message.content[0], tool_use_id=new_tool_use_id())
    lost = changed(facts[at].message, id=facts[at].message.id[:-1] + "0", content=(block,))
    facts.insert(at, changed(facts[at], tool_use_id=block.tool_use_id, message=lost))
    played = await replay(facts, scratch)
    assert not played.is_same
    assert b"alpha" in played.replayed


async def test_an_unfinished_turn_is_not_played(bench, scratch):
    facts = await record(bench, says("one"), says("two"), prompts=("a", "b"))
    last = max(at for at, fact in enumerate(facts) if isinstance(fact, TurnStarted))
    played = await replay(facts[: last + 2], scratch)
    assert played.is_same
    assert played.turns == 1
    assert b"two" not in played.replayed


class OneMessage:
    """A message of the user that waits for the running turn."""

    def __init__(self, text):
        self._waiting = [(TextBlock(text),)]

    async def __call__(self):
        return self._waiting.pop() if self._waiting else None


async def test_messages_to_a_running_turn_follow_the_same_results(bench, scratch):
    replies = [calls("read_file", path="a.txt"), calls("read_file", path="b.txt"), says("done")]
    session = await bench.session(Scripted(replies))
    session.steer_with(OneMessage("briefly, please"))
    await play(session.send("go"))
    played = await replay(await bench.store.read(session.id), scratch)
    assert played.difference is None
    assert b"briefly, please" in played.replayed
    await session.close()


async def test_a_stopped_reply_and_the_next_turn_play_again(bench, scratch):
    replies = [says("I begin to write a long text"), says("done")]
    session = await bench.session(Scripted(replies, words_per_second=50))
    async with aclosing(session.send("go")) as events:
        async for event in events:
            if isinstance(event, TextDelta):
                session.cancel()
    await play(session.send("again"))
    played = await replay(await bench.store.read(session.id), scratch)
    assert played.difference is None
    assert (played.turns, played.requests) == (2, 2)
    await session.close()


async def test_what_happens_between_turns_is_repeated(bench, scratch):
    session = await bench.session(Scripted([says("one"), says("two"), says("three")]))
    await play(session.send("a"))
    await play(session.run_shell("echo hi", shared=True))
    await play(session.select_model("other"))
    await play(session.send("b"))
    await play(session.rename("my title"))
    await play(session.send("c"))
    played = await replay(await bench.store.read(session.id), scratch)
    assert played.difference is None
    assert b"openai:other" in played.replayed
    await session.close()


async def test_the_present_branch_plays_again(bench, scratch):
    session = await bench.session(Scripted([says("one"), says("two"), says("three")]))
    for prompt in ("a", "b"):
        await play(session.send(prompt))
    first_reply = session.state.messages[1]
    await play(session.tree.move(first_reply.id))
    await play(session.send("c"))
    played = await replay(await bench.store.read(session.id), scratch)
    assert played.difference is None
    assert b"two" not in played.replayed
    assert b"three" in played.replayed
    await session.close()
