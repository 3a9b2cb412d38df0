"""Sessions that an editor opens, lists, loads and closes, and their settings."""

import asyncio

import pytest
from acp.exceptions import RequestError
from acp.schema import HttpMcpServer, McpServerStdio

from tests.extensions.editors.editor import READS, Editor, connected
from tests.provider_server import Reply
from yourtool.paths import resolve_paths
from yourtool.store.sqlite.database import Database
from yourtool.store.sqlite.store import SqliteStore

READ = ("read_file", {"path": "a.txt"})


async def test_stored_session_is_loaded_as_it_looked(work, script):
    plan = ("update_plan", {"steps": [{"text": "look", "status": "in_progress"}]})
    script(Reply(calls=[plan, READ]), Reply("done"))
    async with connected(work) as editor:
        session_id = await editor.open(work)
        await editor.prompt(session_id, "look")
    async with connected(work) as later:
        await later.conn.initialize(protocol_version=1)
        loaded = await later.conn.load_session(cwd=str(work), session_id=session_id, mcp_servers=[])
        assert loaded.modes.current_mode_id == "ask"
        assert later.of("user_message_chunk")[0]["content"]["text"] == "look"
        assert later.text == editor.text == "done"
        assert later.of("plan") == editor.of("plan") and later.of("plan")
        assert later.calls == editor.calls and len(later.calls) == 1
        with pytest.raises(RequestError, match="is open"):
            await later.conn.load_session(cwd=str(work), session_id=session_id, mcp_servers=[])


async def test_session_is_listed_closed_and_resumed(work, script, tmp_path):
    script(Reply("one"), Reply("two"))
    async with connected(work) as editor:
        session_id = await editor.open(work)
        await editor.prompt(session_id, "first prompt")
        [found] = (await editor.conn.list_sessions(cwd=str(work))).sessions
        assert (found.session_id, found.title, found.cwd) == (
            session_id, "first prompt", str(work)
        )  # fmt: skip
        assert (await editor.conn.list_sessions(cwd=str(tmp_path))).sessions == []
        assert len((await editor.conn.list_sessions()).sessions) == 1
        await editor.conn.close_session(session_id=session_id)
        with pytest.raises(RequestError, match="no open session"):
            await editor.prompt(session_id, "second prompt")
        before = len(editor.updates)
        await editor.conn.resume_session(cwd=str(work), session_id=session_id, mcp_servers=[])
        shown = editor.updates[before:]
        assert all(each["sessionUpdate"] == "available_commands_update" for each in shown)
        assert await editor.prompt(session_id, "second prompt") == "end_turn"
        assert editor.text == "onetwo"


async def test_session_is_opened_in_its_own_directory_only(work, script, tmp_path):
    script(Reply("one"))
    async with connected(work) as editor:
        session_id = await editor.open(work)
        await editor.prompt(session_id, "hi")
        await editor.conn.close_session(session_id=session_id)
        for _ in range(2):
            with pytest.raises(RequestError, match=f"belongs to `{work}`"):
                await editor.conn.load_session(
                    cwd=str(tmp_path), session_id=session_id, mcp_servers=[]
                )


async def test_session_that_is_opened_in_a_wrong_directory_is_not_changed(work, script, tmp_path):
    script(Reply("one"))
    server = McpServerStdio(
        name="theirs", command="touch", args=[str(tmp_path / "started")], env=[]
    )
    async with connected(work) as editor:
        session_id = await editor.open(work)
        await editor.prompt(session_id, "hi")
        await editor.conn.close_session(session_id=session_id)
        store = SqliteStore(Database(resolve_paths().database))
        before = await store.read(session_id)
        for opening in (editor.conn.load_session, editor.conn.resume_session):
            with pytest.raises(RequestError, match="belongs to"):
                await opening(cwd=str(tmp_path), session_id=session_id, mcp_servers=[server])
        assert await store.read(session_id) == before
        await store.close()
    assert not (tmp_path / "started").exists()


async def test_mode_and_settings_are_those_that_the_editor_selects(work, script):
    server = script(Reply(calls=[("write_file", {"path": "b.txt", "content": "b"})]), Reply("done"))
    async with connected(work) as editor:
        await editor.conn.initialize(protocol_version=1)
        session = await editor.conn.new_session(cwd=str(work), mcp_servers=[])
        session_id = session.session_id
        assert [each.id for each in session.modes.available_modes] == [
            "ask", "accept-edits", "plan", "auto"
        ]  # fmt: skip
        await editor.conn.set_session_mode(session_id=session_id, mode_id="accept-edits")
        [model, effort] = session.config_options
        assert (model.category, effort.category) == ("model", "thought_level")
        offered = [each.value for each in model.options if each.value != model.current_value]
        other = next(each for each in offered if each.startswith("anthropic:"))
        answer = await editor.conn.set_config_option(
            config_id="model", session_id=session_id, value=other
        )
        assert answer.config_options[0].current_value == other
        answer = await editor.conn.set_config_option(
            config_id="effort", session_id=session_id, value="high"
        )
        assert answer.config_options[1].current_value == "high"
        assert editor.of("config_option_update")
        await editor.prompt(session_id, "write")
        assert not editor.asked, "the mode accepts edits"
        assert other.endswith(str(server.requests[0][1]["model"]))
        for wrong in ({"config_id": "model", "value": "no such"}, {"config_id": "x", "value": "y"}):
            with pytest.raises(RequestError, match="`"):
                await editor.conn.set_config_option(session_id=session_id, **wrong)
        with pytest.raises(RequestError, match="choose one of `ask`"):
            await editor.conn.set_session_mode(session_id=session_id, mode_id="yolo")


async def test_unsaved_text_of_an_open_file_is_what_the_model_reads(work, script):
    server = script(Reply(calls=[READ]), Reply("done"))
    editor = Editor("once")
    editor.buffers[str(work / "a.txt")] = "typed but not saved\n"
    async with connected(work, editor=editor):
        await editor.prompt(await editor.open(work, client_capabilities=READS), "read")
    told = str(server.requests[1][1])
    assert "typed but not saved" in told and "not saved in the editor" in told
    assert (work / "a.txt").read_text() == "one\ntwo\nthree\n"


@pytest.mark.parametrize("text", [None, "one\r\ntwo\r\nthree\r\n"])
async def test_saved_file_is_read_from_the_disk(work, script, text):
    server = script(Reply(calls=[READ]), Reply("done"))
    editor = Editor("once")
    if text is not None:
        editor.buffers[str(work / "a.txt")] = text
    async with connected(work, editor=editor):
        await editor.prompt(await editor.open(work, client_capabilities=READS), "read")
    told = str(server.requests[1][1])
    assert "2\\ttwo" in told and "not saved" not in told


async def test_editor_without_the_capability_is_not_asked_for_files(work, script):
    server = script(Reply(calls=[READ]), Reply("done"))
    editor = Editor("once")
    editor.buffers[str(work / "a.txt")] = "typed but not saved\n"
    async with connected(work, editor=editor):
        await editor.prompt(await editor.open(work), "read")
    assert "typed" not in str(server.requests[1][1])


async def test_editor_is_not_asked_for_files_of_the_copy_in_which_the_demo_works(work, monkeypatch):
    monkeypatch.setenv("YOURTOOL_DEMO_PACE", "0")
    asked = list[str]()

    class Asked(Editor):
        async def read_text_file(self, session_id, path, **more):
            asked.append(path)
            return await super().read_text_file(session_id, path, **more)

    async with connected(work, editor=Asked("once")) as editor:
        await editor.prompt(await editor.open(work, client_capabilities=READS), "go on")
        assert "I read has 3 lines" in editor.text
    assert not asked


async def test_two_sessions_run_at_the_same_time(work, script, tmp_path):
    script(Reply("one two three four", pause=0.05), Reply("five six seven eight", pause=0.05))
    other = tmp_path / "other"
    other.mkdir()
    async with connected(work) as editor:
        first = await editor.open(work)
        second = (await editor.conn.new_session(cwd=str(other), mcp_servers=[])).session_id
        stops = await asyncio.gather(editor.prompt(first, "a"), editor.prompt(second, "b"))
    assert stops == ["end_turn", "end_turn"]


async def test_tool_servers_of_the_editor_are_those_of_its_session(work, script, tmp_path):
    script()
    stdio = McpServerStdio(name="of the editor", command="no-such-program", args=[], env=[])
    http = HttpMcpServer(type="http", name="remote", url="http://127.0.0.1:9/", headers=[])
    async with connected(work) as editor:
        first = await editor.conn.new_session(cwd=str(work), mcp_servers=[stdio, http])
        await editor.prompt(first.session_id, "/mcp")
        assert "of the editor" in editor.text and "remote" in editor.text
        editor.updates.clear()
        second = await editor.conn.new_session(cwd=str(tmp_path), mcp_servers=[])
        await editor.prompt(second.session_id, "/mcp")
        assert "of the editor" not in editor.text
        with pytest.raises(RequestError, match="two servers are named `remote`"):
            await editor.conn.new_session(cwd=str(work), mcp_servers=[http, http])
