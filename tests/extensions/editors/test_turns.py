"""Turns of a session that an editor has open."""

import asyncio

from tests.extensions.editors.editor import CANCELLED, Editor, connected, raw_lines
from tests.provider_server import Reply

EDIT = ("edit_file", {"path": "a.txt", "edits": [{"old": "two", "new": "2"}]})
WRITE = ("write_file", {"path": "b.txt", "content": "b\n"})


async def test_reply_is_shown_while_it_arrives(work, script):
    script(Reply("a reply of several words", pause=0.05, words_at_once=1))
    async with connected(work) as editor:
        session_id = await editor.open(work)
        assert await editor.prompt(session_id, "hi") == "end_turn"
        assert editor.text == "a reply of several words"
        assert len(editor.of("agent_message_chunk")) > 1
        [usage] = editor.of("usage_update")
        assert usage["used"] > 0 and usage["cost"]["currency"] == "USD"


async def test_change_is_shown_as_a_diff_before_and_after_it_is_made(work, script):
    script(Reply(calls=[WRITE]), Reply("done"))
    async with connected(work, "once") as editor:
        session_id = await editor.open(work)
        assert await editor.prompt(session_id, "write") == "end_turn"
    [asked], [call] = editor.asked, editor.calls
    diff = {"type": "diff", "path": str(work / "b.txt"), "newText": "b\n"}
    assert asked["content"] == [diff] and asked["kind"] == "edit"
    assert asked["toolCallId"] == call["toolCallId"]
    assert call["status"] == "completed" and call["content"][0] == diff
    assert call["locations"] == [{"path": str(work / "b.txt")}]
    assert (work / "b.txt").read_text() == "b\n"


async def test_denied_call_changes_nothing(work, script):
    server = script(Reply(calls=[WRITE]), Reply("fine"))
    async with connected(work, "deny") as editor:
        await editor.prompt(await editor.open(work), "write")
    assert not (work / "b.txt").exists()
    assert editor.calls[0]["status"] == "failed"
    assert "The user declined" in str(server.requests[1][1])


async def test_question_without_an_answer_is_no_answer_of_the_user(work, script):
    for answer in (CANCELLED, "error", "no such option"):
        server = script(Reply(calls=[WRITE]), Reply("fine"))
        async with connected(work, answer) as editor:
            assert await editor.prompt(await editor.open(work), "write") == "end_turn"
        assert not (work / "b.txt").exists()
        told = str(server.requests[1][1])
        assert "got no answer" in told and "The user declined" not in told


async def test_rule_for_the_session_is_named_and_asks_once(work, script):
    shell = ("shell", {"command": "touch c"})
    script(Reply(calls=[shell]), Reply(calls=[shell]), Reply("done"))
    async with connected(work, "session") as editor:
        await editor.prompt(await editor.open(work), "go")
    [options] = editor.options
    assert [each for each in options if each != "sandbox"] == ["once", "session", "always", "deny"]
    assert "`shell(touch *)`" in options["always"] and "always" in options["always"].lower()


async def test_rule_for_always_is_stored_and_asks_in_no_later_session(work, script, home):
    shell = ("shell", {"command": "touch c"})
    for answers, asked in ((["always"], 1), ([], 0)):
        script(Reply(calls=[shell]), Reply("done"))
        async with connected(work, *answers) as editor:
            await editor.prompt(await editor.open(work), "go")
        assert len(editor.asked) == asked
        assert (work / "c").exists()
        (work / "c").unlink()
    [grants] = [each for each in home.rglob("*.toml") if "touch *" in each.read_text()]
    assert work not in grants.parents


async def test_cancel_stops_the_turn_in_a_question(work, script):
    script(Reply(calls=[WRITE]), Reply("not reached"))
    editor = Editor(CANCELLED)
    async with connected(work, editor=editor):
        session_id = await editor.open(work)
        editor.when_asked = lambda: editor.conn.cancel(session_id=session_id)
        assert await editor.prompt(session_id, "write") == "cancelled"
        assert not (work / "b.txt").exists()
        assert editor.calls[0]["status"] == "failed", "the call has its result"
        assert await editor.prompt(session_id, "again") == "end_turn", "the session goes on"


async def test_cancel_that_follows_the_prompt_at_once_stops_the_turn(work, script):
    server = script(Reply(calls=[WRITE]), Reply("not reached"))
    async with raw_lines(work) as client:
        opened = await client.ask("session/new", {"cwd": str(work), "mcpServers": []})
        session_id = opened["result"]["sessionId"]
        text = [{"type": "text", "text": "write"}]
        prompt = {"sessionId": session_id, "prompt": text}
        client.send({"id": 5, "method": "session/prompt", "params": prompt})
        client.send({"method": "session/cancel", "params": {"sessionId": session_id}})
        while (message := await client.receive()).get("id") != 5:
            assert message["method"] == "session/update", "nothing is asked"
        assert message["result"]["stopReason"] == "cancelled"
    assert not server.requests


async def test_end_of_the_input_stops_the_turn_and_stores_its_results(work, script):
    script(Reply(calls=[WRITE]), Reply("not reached"))
    editor = Editor("once")
    async with connected(work, editor=editor):
        session_id = await editor.open(work)

        async def leave():
            editor.writer.write_eof()
            await asyncio.Event().wait()

        editor.when_asked = leave
        assert await editor.prompt(session_id, "write") == "cancelled"
    async with connected(work, editor=Editor("once")) as later:
        await later.conn.initialize(protocol_version=1)
        await later.conn.load_session(cwd=str(work), session_id=session_id, mcp_servers=[])
        assert later.of("user_message_chunk")[0]["content"]["text"] == "write"
        assert [call["status"] for call in later.calls] == ["failed"]


def limit_cost(home, text: str) -> None:
    (home / "config.toml").write_text(text)


async def test_budget_that_is_reached_is_a_question_and_a_yes_continues(work, script, home):
    limit_cost(home, "[budget]\nsession = 0.000001\n")
    script(Reply("The answer."))
    async with connected(work, "once") as editor:
        assert await editor.prompt(await editor.open(work), "hi") == "end_turn"
    [asked] = editor.asked
    assert "budget" in str(asked)
    assert "The answer." in editor.text


async def test_budget_that_is_declined_stops_the_turn_and_is_shown(work, script, home):
    limit_cost(home, "[budget]\nsession = 0.000001\n")
    server = script(Reply("never"))
    async with connected(work, "deny") as editor:
        reason = await editor.prompt(await editor.open(work), "hi")
    assert server.requests == []
    assert reason == "max_turn_requests"
    assert "budget" in editor.text


async def test_budget_without_an_answer_sends_nothing(work, script, home):
    limit_cost(home, "[budget]\nsession = 0.000001\n")
    server = script(Reply("never"))
    async with connected(work, CANCELLED) as editor:
        await editor.prompt(await editor.open(work), "hi")
    assert server.requests == []
    assert "budget" in editor.text
