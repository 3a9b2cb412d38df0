"""A replay runs no hooks, and gives what they had added."""

import sys

import pytest

from tests.agent.harness import play
from yourtool.agent.hooks.hook import build_hook
from yourtool.agent.hooks.hooks import Hooks
from yourtool.providers.scripted import Scripted, says
from yourtool.settings.hook_config import HookConfig

replay = pytest.importorskip("yourtool.extensions.lab.replay.player").replay


async def test_turn_that_a_hook_continued_is_replayed_without_the_hook(bench, tmp_path):
    counter = tmp_path / "counter"
    body = (
        f"import sys; f = open({str(counter)!r}, 'a+'); f.write('x'); f.seek(0);"
        " sys.exit(2 if len(f.read()) < 3 else 0)"
    )
    hook = build_hook(HookConfig("Stop", f'{sys.executable} -c "{body}"'), "user")
    replies = [says("one"), says("two"), says("three")]
    session = await bench.session(Scripted(replies), settings={"hooks": Hooks([hook])})
    await play(session.send("go"))
    assert counter.read_text() == "xxx"
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    played = await replay(await bench.store.read(session.id), scratch)
    assert played.difference is None
    assert played.requests == 3
    assert counter.read_text() == "xxx"
