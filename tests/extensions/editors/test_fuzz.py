"""A broken editor: no crash, one answer to each request, and no change without an answer."""

import asyncio
from contextlib import suppress

import pytest

from tests.extensions.editors.editor import raw_lines
from tests.extensions.editors.fuzz import Fuzzer
from tests.provider_server import ProviderServer, Reply
from yourtool.cli import main

WRITE = ("write_file", {"path": "b.txt", "content": "b\n"})


def reply(_path, body) -> Reply:
    """Change a file for each prompt, then end the turn."""
    is_result = "tool_result" in str(body["messages"][-1])
    return Reply("Over.") if is_result else Reply(calls=[WRITE])


async def fuzz(work, monkeypatch, count, seed, prompts) -> Fuzzer:
    with ProviderServer(answer=reply) as server:
        monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-ant-test-00000000")
        monkeypatch.setenv("ANTHROPIC_BASE_URL", server.url)
        async with raw_lines(work) as client:
            await client.ask("initialize", {"protocolVersion": 1})
            opened = await client.ask("session/new", {"cwd": str(work), "mcpServers": []}, 2)
            session_id = opened["result"]["sessionId"]
            fuzzer = Fuzzer(client, session_id, str(work), seed, prompts)
            reading = asyncio.create_task(fuzzer.read())
            await fuzzer.send(count)
            reading.cancel()
            with suppress(asyncio.CancelledError):
                await reading
    assert not (work / "b.txt").exists(), "nobody allowed it"
    assert {number for number, times in fuzzer.answers.items() if times > 1} == set()
    assert fuzzer.sent_ids <= fuzzer.answers.keys()
    checked = await asyncio.to_thread(main, ["sessions", "check"])
    assert checked == 0, "each stored call has a result"
    return fuzzer


async def test_broken_editor_changes_nothing_and_gets_one_answer_for_each_request(
    work, monkeypatch, own_logging
):
    fuzzer = await fuzz(work, monkeypatch, 150, 1, 0.05)
    assert fuzzer.questions


@pytest.mark.blocks_loop("the provider checks all requests at its end")
@pytest.mark.reliability
@pytest.mark.timeout(1800)
async def test_many_messages_of_a_broken_editor(work, monkeypatch, own_logging, figures):
    fuzzer = await fuzz(work, monkeypatch, 50_000, 2, 0.01)
    figures("doors", f"50,000 messages, {fuzzer.questions:,} questions: 0, 0, 0", part="ACP")
