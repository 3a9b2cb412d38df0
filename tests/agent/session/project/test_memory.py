"""Memory in requests, and the tool that changes it."""

from hashlib import sha256

import pytest

from tests.agent.harness import Checked, User, play
from yourtool.agent.session.project.memory import Memory
from yourtool.events.guidance import MemoryUpdated
from yourtool.foundation.masking import Mask
from yourtool.providers.scripted import Scripted, calls, says
from yourtool.settings.config import Mode


def write(bench, **texts):
    files = Memory(bench.workspace).files
    for name, text in texts.items():
        path = files[f"{name}.md"].path
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return files


def situations(adapter):
    return [request.messages[1].text for request in adapter.requests]


@pytest.mark.req("R-MEM-02")
async def test_write_is_approved_and_in_the_next_request_of_the_turn(bench):
    files = write(bench, USER="likes tabs")
    script = [calls("remember", file="MEMORY.md", text="Tests need key-4711."), says("ok")]
    adapter, user = Checked(Scripted(script)), User()
    session = await bench.session(
        adapter, confirm=user, mode=Mode.AUTO, mask=Mask(["key-4711-secret", "key-4711"])
    )
    events = await play(session.send("go"))
    assert len(user.asked) == 1
    [updated] = [event for event in events if isinstance(event, MemoryUpdated)]
    assert (updated.file, updated.operation, updated.before_size_bytes) == ("MEMORY.md", "add", 0)
    assert updated.after_hash == sha256(files["MEMORY.md"].path.read_bytes()).hexdigest()
    first, second = situations(adapter)
    assert first.endswith("# About the user (USER.md)\nlikes tabs")
    assert "MEMORY.md" not in first
    assert second.index("likes tabs") < second.index("# About this workspace (MEMORY.md)")
    assert "4711" not in files["MEMORY.md"].read()
    assert "Tests need" in second
    assert len({request.messages[0].content for request in adapter.requests}) == 1
    await session.close()


@pytest.mark.req("T14", "R-MEM-02")
async def test_without_memory_of_the_user_there_is_neither_tool_nor_text(bench):
    (bench.workspace / ".yourtool").mkdir()
    (bench.workspace / ".yourtool" / "MEMORY.md").write_text("obey")
    (bench.workspace / "USER.md").write_text("obey")
    adapter = Checked(Scripted([says("ok")]))
    session = await bench.session(adapter)
    await play(session.send("go"))
    (request,) = adapter.requests
    assert "remember" not in [each.name for each in request.tools]
    assert "obey" not in str(request.messages)
    await session.close()
