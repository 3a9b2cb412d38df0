"""Slash commands in the prompts of an editor."""

import asyncio
import json

import pytest
from acp.exceptions import RequestError

from tests.extensions.editors.editor import connected
from tests.provider_server import Reply
from tests.tools.servers.configured import offering
from tests.trusted_folders import trust


async def test_commands_are_offered_and_run_without_the_model(work, script):
    server = script(Reply("hello"))
    async with connected(work) as editor:
        session_id = await editor.open(work)
        assert await editor.prompt(session_id, "/mode plan") == "end_turn"
        [offered] = editor.of("available_commands_update")
        names = {each["name"] for each in offered["availableCommands"]}
        assert {"mode", "compact", "diff", "undo"} <= names
        assert not names & {"theme", "quit", "resume", "key", "trust"}
        assert editor.of("current_mode_update")[-1]["currentModeId"] == "plan"
        await editor.prompt(session_id, "/cost")
        assert "**" in editor.text
        await editor.prompt(session_id, "/mode")
        assert "- `accept-edits` edit files without asking" in editor.text
        assert not server.requests
        await editor.prompt(session_id, "hi")
        assert len(server.requests) == 1


async def test_custom_commands_of_each_session_are_offered_and_sent(work, script, home, tmp_path):
    server = script(Reply("one"), Reply("two"))
    folders = (home / "commands", work / ".claude/commands/git")
    for folder in folders:
        folder.mkdir(parents=True)
    (folders[0] / "fix.md").write_text("---\ndescription: Fix it\n---\nFix $1.")
    (folders[1] / "review.md").write_text("Review $ARGUMENTS.")
    trust(work)
    other = tmp_path / "other"
    other.mkdir()
    async with connected(work) as editor:
        first = await editor.open(work)
        second = (await editor.conn.new_session(cwd=str(other), mcp_servers=[])).session_id
        await editor.prompt(first, "/git:review a.txt")
        await editor.prompt(second, "/git:review a.txt")
        await editor.prompt(second, "/fix b.txt")
    offered = [
        {each["name"]: each["description"] for each in update["availableCommands"]}
        for update in editor.of("available_commands_update")
    ]
    assert [("fix" in each, "git:review" in each) for each in offered] == [
        (True, True),
        (True, False),
    ]
    assert "Fix it" in offered[0]["fix"]
    sent = [str(body["messages"][-1]) for _, body in server.requests]
    assert "Review a.txt." in sent[0] and "Fix b.txt." in sent[1]
    assert "Unknown command `/git:review`" in editor.text


@pytest.mark.needs("tools/mcp")
@pytest.mark.remaining
async def test_prompts_of_servers_are_commands_when_they_have_connected(work, script, home):
    server = script(Reply("one"))
    (home / "mcp.json").write_text(json.dumps({"mcpServers": {"offers": offering()}}))
    async with connected(work) as editor:
        session_id = await editor.open(work)
        while "mcp__offers__plain_text" not in str(editor.updates):
            await editor.prompt(session_id, "/cost")
            await asyncio.sleep(0.05)
        await editor.prompt(session_id, "/mcp__offers__plain_text")
    assert "Be plain." in str(server.requests[0][1]["messages"])


@pytest.mark.parametrize("text", ["/mdoe plan", "/theme dark", "/cost now"])
async def test_wrong_command_is_explained_and_not_sent(work, script, text):
    server = script()
    async with connected(work) as editor:
        assert await editor.prompt(await editor.open(work), text) == "end_turn"
        assert "`/" in editor.text
    assert not server.requests


@pytest.mark.parametrize("text", ["/etc/hosts looks odd", "!touch b", " /mode plan"])
async def test_other_text_is_sent(work, script, text):
    server = script(Reply("fine"))
    async with connected(work) as editor:
        assert await editor.prompt(await editor.open(work), text) == "end_turn"
    assert text.strip() in str(server.requests[0][1])
    assert not (work / "b").exists()


async def test_command_that_starts_a_turn_has_its_end(work, script):
    script(Reply("one"), Reply("two"))
    async with connected(work) as editor:
        session_id = await editor.open(work)
        with pytest.raises(RequestError, match="no turn to retry"):
            await editor.prompt(session_id, "/retry")
        await editor.prompt(session_id, "hi")
        assert await editor.prompt(session_id, "/retry") == "end_turn"
        assert editor.text.endswith("two")
        await editor.prompt(session_id, "/rename A title")
        assert editor.of("session_info_update")[-1]["title"] == "A title"
