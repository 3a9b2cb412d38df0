"""Sessions of random replies, failures, stops and branches: sound, and the same when replayed."""

import random
from contextlib import aclosing

import pytest

from tests.agent.harness import Bench, User, play
from yourtool.effects import Decision, Verdict
from yourtool.errors import (
    AuthError,
    ContextOverflowError,
    InvalidRequestError,
    NetworkError,
    RateLimitError,
    ServerError,
)
from yourtool.extensions.lab.replay.player import replay
from yourtool.providers.scripted import Scripted, calls, fails, says, thinks

check_session = pytest.importorskip("yourtool.extensions.repair.checks").check_session

ERRORS = (
    AuthError,
    ContextOverflowError,
    InvalidRequestError,
    NetworkError,
    RateLimitError,
    ServerError,
)
READ = calls("read_file", path="a.txt")
REPLIES = (
    says("a longer text\nof two lines"),
    thinks("hm", "sig") + says("x"),
    READ,
    calls("read_file", path="missing"),
    calls("list_dir", path=".") + READ + calls("grep", pattern="a"),
    calls("shell", command="exit 3"),
    calls("write_file", path="c.txt", content="new"),
    calls("nothing"),
    says("I change it") + calls("edit_file", path="a.txt", old="alpha", new="beta"),
)


def draw_reply(source):
    """Return one of the replies, or a failure, perhaps in the middle of a reply."""
    if source.random() < 0.8:
        return source.choice(REPLIES)
    failure = fails(source.choice(ERRORS)("no"))
    return source.choice((failure, says("part ") + failure))


async def do_something(session, source):
    """Do what a user can do in a session, and perhaps stop the turn."""
    action, messages = source.randrange(8), session.state.messages
    if action == 0:
        await play(session.run_shell("echo hi", shared=source.random() < 0.5))
    elif action == 1 and len(messages) > 2:
        await play(session.tree.move(source.choice(messages).id))
    elif action == 2:
        await play(session.select_model(source.choice(("test", "other"))))
    elif action == 4:
        await play(session.tree.add_note("a note", source.choice(("session", "requests"))))
    else:
        can_retry = action == 3 and session.state.prompts
        stop_at = source.randrange(3, 20) if source.random() < 0.3 else None
        seen = 0
        async with aclosing(session.retry() if can_retry else session.send("go on")) as events:
            async for _ in events:
                seen += 1
                if seen == stop_at:
                    session.cancel()


@pytest.mark.sample(20)
@pytest.mark.parametrize("seed", range(40))
async def test_random_session_is_sound_and_its_replay_is_the_same(tmp_path, seed):
    source, bench = random.Random(seed), Bench(tmp_path)
    (bench.workspace / "a.txt").write_text("alpha\n")
    (tmp_path / "scratch").mkdir()
    verdicts = source.choices((Verdict.ALLOW, Verdict.DENY), (3, 1), k=30)
    script = Scripted([draw_reply(source) for _ in range(200)], words_per_second=2_000)
    user = User(*(Decision(verdict=each) for each in verdicts))
    session = await bench.session(script, confirm=user)
    for _ in range(8):
        await do_something(session, source)
    assert await check_session(bench.store, session.id, tmp_path / "blobs") == []
    played = await replay(await bench.store.read(session.id), tmp_path / "scratch")
    assert played.difference is None
    await session.close()
