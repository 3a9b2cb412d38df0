"""Our own `yourtool acp` as the agent: a process, with a vendor or the demo behind it."""

import json
import sys

import pytest

from tests.agent.harness import User, names, play
from tests.provider_server import Reply
from yourtool.agent.runtime import Runtime
from yourtool.events.files import FilesChanged
from yourtool.paths import resolve_paths
from yourtool.settings.config import RunOptions, config_file

pytestmark = [pytest.mark.needs("extensions/editors"), pytest.mark.remaining]


@pytest.fixture
async def session(work, tmp_path, monkeypatch):
    """A session with the model `acp:own`, whose home is another one than that of the agent."""
    monkeypatch.setenv("HOME", str(tmp_path / "inner"))
    (tmp_path / "inner").mkdir()
    monkeypatch.setenv("YOURTOOL_DEMO_PACE", "0")
    names = ["ANTHROPIC_API_KEY", "ANTHROPIC_BASE_URL", "YOURTOOL_DEMO_PACE", "PYTHONPATH"]
    command = [sys.executable, "-m", "yourtool", "acp"]
    paths = resolve_paths()
    paths.home.mkdir(parents=True, exist_ok=True)
    config_file(paths).write_text(
        f"[agents.own]\ncommand = {json.dumps(command)}\nenvironment = {json.dumps(names)}\n"
    )
    runtime = await Runtime.open(paths, RunOptions(workspace=work, model="acp:own"))
    user = User()
    session = await runtime.new_session(user)
    session.user = user
    yield session
    await session.close()
    await runtime.close()


async def test_edit_is_asked_by_both_and_undone_by_us(vendor, session, work):
    vendor(
        Reply(text="I read.", calls=[("read_file", {"path": "a.txt"})]),
        Reply(calls=[("write_file", {"path": "a.txt", "content": "three\n"})]),
        Reply(text="Written."),
    )
    events = await play(session.send("change it"))
    assert names(events)[-1] == "turn.completed"
    assert [each.title for each in session.user.asked] == ["agent_call"]
    assert "+three" in session.user.asked[0].preview.body
    assert (work / "a.txt").read_text() == "three\n"
    assert session.state.messages[-1].text == "Written."
    uses = [use.name for each in session.state.messages for use in each.tool_uses]
    assert uses == ["read_file", "agent_report", "agent_call"]
    assert [each.changes[0].path for each in events if isinstance(each, FilesChanged)] == ["a.txt"]
    await play(session.files.undo())
    assert (work / "a.txt").read_text() == "one\ntwo\n"


async def test_tour_of_the_demo_is_a_conversation(session, work):
    for _ in range(3):
        events = await play(session.send("go on"))
        assert names(events)[-1] == "turn.completed"
    assert [each.title for each in session.user.asked] == ["agent_call"] * 2
    assert "Welcome" in "".join(each.text for each in session.state.messages)
    assert [each.name for each in work.iterdir()] == ["a.txt"], "the demo works in a copy"
