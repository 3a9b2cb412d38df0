"""Slash commands in the prompts of an editor."""

import pytest
from acp.exceptions import RequestError

from tests.acp.editor import connected
from tests.provider_server import Reply


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
