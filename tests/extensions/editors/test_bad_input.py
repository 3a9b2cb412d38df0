"""Wrong messages and parameters: an error with a sentence, after which the connection works."""

import asyncio
import base64
import os
import random

import pytest
from acp import text_block
from acp.exceptions import RequestError
from acp.schema import ImageContentBlock

from tests.extensions.editors.editor import Editor, connected, raw_lines
from tests.extensions.editors.test_content import PNG
from tests.provider_server import Reply
from yourtool.paths import resolve_paths

NEW = {"mcpServers": []}


@pytest.mark.parametrize(
    ("method", "params", "code", "words"),
    [
        ("session/frob", {}, -32601, "There is no method `session/frob`."),
        ("_ours", {}, -32601, "There is no method"),
        ("initialize", None, -32602, "`protocolVersion`"),
        ("initialize", [1], -32602, "not valid"),
        ("initialize", {"protocolVersion": -1}, -32602, "`protocolVersion`"),
        ("authenticate", {"methodId": "x"}, -32602, "no authentication"),
        ("session/new", {**NEW}, -32602, "`cwd`: Field required"),
        ("session/new", {**NEW, "cwd": "work"}, -32602, "absolute"),
        ("session/new", {**NEW, "cwd": ""}, -32602, "absolute"),
        ("session/new", {**NEW, "cwd": "/no/such/place"}, -32602, "no directory"),
        ("session/new", {**NEW, "cwd": "/dev/null"}, -32602, "not a directory"),
        ("session/new", {**NEW, "cwd": "/a\0b"}, -32602, "absolute"),
        ("session/new", {**NEW, "cwd": "/" + "x" * 5_000}, -32602, "no directory"),
        ("session/load", {**NEW, "cwd": "/", "sessionId": "../x"}, -32002, "no session"),
        ("session/resume", {**NEW, "cwd": "/", "sessionId": "sess_0"}, -32002, "no session"),
        ("session/load", {**NEW, "cwd": "/", "sessionId": "a\0b"}, -32002, "no session"),
        ("session/load", {**NEW, "cwd": "/", "sessionId": "x" * 5_000}, -32002, "no session"),
        ("session/prompt", {"sessionId": "x", "prompt": []}, -32002, "no open session `x`"),
        ("session/prompt", {"sessionId": "x", "prompt": [{"type": "y"}]}, -32602, "prompt"),
        ("session/close", {"sessionId": "x"}, -32002, "no open session"),
        ("session/set_mode", {"sessionId": "x", "modeId": "y"}, -32002, "no open session"),
        ("session/list", {"cursor": "x"}, -32602, "`cursor`"),
    ],
)
async def test_wrong_request_is_answered_with_a_sentence(work, method, params, code, words):
    async with raw_lines(work) as client:
        error = (await client.ask(method, params))["error"]
        assert error["code"] == code and words in error["message"], error
        answer = await client.ask("initialize", {"protocolVersion": 1}, number=2)
        assert answer["result"]["protocolVersion"] == 1


@pytest.mark.parametrize(
    ("line", "code"),
    [
        (b"{", -32700),
        (b"hello", -32700),
        (b"\xff\xfe", -32700),
        (b"[" * 100_000, -32700),
        (b'{"jsonrpc": "2.0", "id": 1', -32700),
        (b"[]", -32600),
        (b"null", -32600),
        (b"{}", -32600),
        (b'{"id": {}, "method": "initialize"}', -32600),
        (b'{"id": 1.5, "method": "initialize"}', -32600),
        (b'{"id": true, "method": "initialize"}', -32600),
        (b'{"id": 1, "method": 5}', -32600),
        (b'{"id": 1, "method": ["initialize"]}', -32600),
    ],
)
async def test_broken_line_is_answered_and_the_next_one_read(work, line, code):
    async with raw_lines(work) as client:
        client.send(line)
        error = await client.receive()
        assert error["id"] is None and error["error"]["code"] == code
        assert (await client.ask("initialize", {"protocolVersion": 1}))["result"]


async def test_line_of_millions_of_values_is_refused_without_a_pause(work):
    async with raw_lines(work) as client:
        client.send(b'{"id": 1, "method": "initialize", "params": [' + b"[]," * 6_000_000 + b"1]}")
        error = await client.receive()
        assert error["error"]["message"] == "A message has more than 100,000 values."
        assert (await client.ask("initialize", {"protocolVersion": 1}))["result"]


async def test_answers_to_nothing_and_unknown_notifications_are_ignored(work):
    async with raw_lines(work) as client:
        for line in (
            b"", b"  ", b'{"id": 7, "result": {}}', b'{"id": 7, "error": "text"}',
            b'{"id": null, "error": {"code": 1, "message": "parse error"}}',
            b'{"method": "session/cancel", "params": {"sessionId": "x"}}',
            b'{"method": "session/cancel"}', b'{"method": "$/progress"}',
        ):  # fmt: skip
            client.send(line)
        assert (await client.ask("initialize", {"protocolVersion": 1}))["result"]


async def test_second_prompt_is_refused_while_one_runs(work, script):
    script(Reply("a slow reply of many words", pause=0.05, words_at_once=1))
    async with connected(work) as editor:
        session_id = await editor.open(work)
        first = asyncio.create_task(editor.prompt(session_id, "one"))
        while not editor.text:
            await asyncio.sleep(0.01)
        with pytest.raises(RequestError, match="A prompt is running"):
            await editor.prompt(session_id, "two")
        assert await first == "end_turn"


async def test_failed_turn_is_an_error_of_the_prompt(work, script):
    script(Reply(status=400, body=b'{"type":"error","error":{"type":"invalid_request_error",'
                                  b'"message":"no such thing"}}'), Reply("better"))  # fmt: skip
    async with connected(work) as editor:
        session_id = await editor.open(work)
        with pytest.raises(RequestError, match="no such thing") as raised:
            await editor.prompt(session_id, "hi")
        assert raised.value.data["status"] == 400
        assert await editor.prompt(session_id, "again") == "end_turn"


@pytest.mark.parametrize(
    "block",
    [
        text_block("  "),
        ImageContentBlock(type="image", data="@@", mime_type="image/png"),
        ImageContentBlock(type="image", data="", mime_type="image/png"),
    ],
)
async def test_content_that_cannot_be_sent_is_refused_and_nothing_is_stored(work, script, block):
    server = script()
    async with connected(work) as editor:
        session_id = await editor.open(work)
        with pytest.raises(RequestError) as raised:
            await editor.conn.prompt(session_id=session_id, prompt=[block])
        assert raised.value.code == -32602
    assert not server.requests


async def test_image_for_a_model_without_images_is_refused_and_the_connection_goes_on(work, script):
    server = script(Reply("done"))
    rows = resolve_paths().home / "models.toml"
    rows.write_text(
        '[models."anthropic:blind"]\nmax_context_tokens = 200000\nsupports_images = false\n'
    )
    async with connected(work, model="anthropic:blind") as editor:
        session_id = await editor.open(work)
        data = base64.b64encode(PNG).decode()
        image = ImageContentBlock(type="image", data=data, mime_type="image/png")
        with pytest.raises(RequestError, match="takes no images"):
            await editor.conn.prompt(session_id=session_id, prompt=[image])
        assert not server.requests
        assert await editor.prompt(session_id, "hi") == "end_turn"


async def test_wrong_answer_to_a_question_allows_nothing(work, script):
    call = ("write_file", {"path": "b.txt", "content": "b"})
    for answer in ({"result": {"outcome": 5}}, {"result": None}, {"error": 5}, {"error": {}}):
        script(Reply(calls=[call]), Reply("done"))
        async with raw_lines(work) as client:
            await client.ask("initialize", {"protocolVersion": 1})
            opened = await client.ask("session/new", {**NEW, "cwd": str(work)})
            session_id = opened["result"]["sessionId"]
            prompt = {"sessionId": session_id, "prompt": [{"type": "text", "text": "hi"}]}
            client.send({"id": 5, "method": "session/prompt", "params": prompt})
            while (message := await client.receive()).get("id") != 5 or "method" in message:
                if message.get("method") == "session/request_permission":
                    client.send({"id": message["id"], **answer})
            assert message["result"]["stopReason"] == "end_turn"
        assert not (work / "b.txt").exists()


async def test_client_that_leaves_in_a_turn_ends_the_server(work, script):
    script(Reply("a slow reply of many words", pause=0.05, words_at_once=1))
    async with raw_lines(work) as client:
        opened = await client.ask("session/new", {**NEW, "cwd": str(work)})
        session_id = opened["result"]["sessionId"]
        prompt = {"sessionId": session_id, "prompt": [{"type": "text", "text": "hi"}]}
        client.send({"id": 5, "method": "session/prompt", "params": prompt})
        await client.receive()
        client.writer.transport.abort()


@pytest.mark.parametrize("seed", range(20))
async def test_random_messages_get_one_answer_each_and_no_approval(work, seed):
    chance = random.Random(seed)
    methods = ["initialize", "session/new", "session/prompt", "session/list", "session/cancel",
               "session/set_mode", "session/load", "x", "", 5, None]  # fmt: skip
    values = [None, 0, -1, 2**70, "", "x", str(work), [], {}, [{"type": "text", "text": "/cost"}],
              "sess_01", True, 1.5]  # fmt: skip
    keys = ["cwd", "mcpServers", "sessionId", "prompt", "modeId", "protocolVersion", "_meta", "x"]
    asked = set[int]()
    async with raw_lines(work) as client:
        for number in range(10, 60):
            message = {"jsonrpc": "2.0", "method": chance.choice(methods)}
            params = {chance.choice(keys): chance.choice(values) for _ in range(4)}
            message["params"] = chance.choice([params, params, params, chance.choice(values)])
            message["id"] = number
            if isinstance(message["method"], str):
                asked.add(number)
            client.send(message)
            if not chance.randrange(5):
                client.send(os.urandom(20).replace(b"\n", b""))
        answered = list[int]()
        while len(answered) < len(asked):
            message = await client.receive()
            assert message.get("method") in (None, "session/update")
            if "method" not in message and message["id"] is not None:
                answered.append(message["id"])
        assert sorted(answered) == sorted(asked)


async def test_editor_can_end_while_a_session_opens(work):
    async with connected(work, editor=Editor("once")) as editor:
        opening = asyncio.create_task(editor.conn.new_session(cwd=str(work), mcp_servers=[]))
        await asyncio.sleep(0.02)
        editor.writer.write_eof()
        assert (await opening).session_id
