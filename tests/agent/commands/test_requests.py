"""`/request`: a report and a file, with keys masked."""

import json

import pytest

from tests.agent.commands.test_handlers import open_conversation
from yourtool.agent.commands.base import Report
from yourtool.errors import UsageError

KEY = "sk-ant-canary-8831-do-not-show"


@pytest.fixture
async def talk(tmp_path, monkeypatch):
    monkeypatch.setenv("SOME_API_KEY", KEY)
    async with open_conversation(tmp_path, monkeypatch, prompt=f"hello, my key is {KEY}") as talk:
        yield talk


async def test_report_has_parts_cache_prompt_tools_and_messages_without_keys(talk):
    [report] = await talk.run("/request")
    assert isinstance(report, Report)
    assert report.title == "Request 1 of 1"
    sections = {each.title.partition(":")[0]: dict(each.rows) for each in report.sections}
    assert {"Request", "Parts", "Cache", "System prompt", "Tools", "Messages"} <= sections.keys()
    assert {"system prompt", "tools", "prompts"} <= sections["Parts"].keys()
    assert {"read", "written", "fresh", "breakpoint"} <= sections["Cache"].keys()
    assert "hello, my key is [hidden key]" in sections["Messages"]["1 prompt"]
    assert KEY not in str(report)


async def test_file_has_the_whole_request_without_keys(talk):
    [notice] = await talk.run("/request 1 sent.json")
    assert "sent.json" in notice.text
    text = (talk.work / "sent.json").read_text()
    assert KEY not in text
    found = json.loads(text)
    assert found["messages"][-1]["content"][0]["text"].startswith("hello, my key is")
    assert {"tools", "cache", "parts", "end", "request"} <= found.keys()
    with pytest.raises(UsageError, match="exists"):
        await talk.run("/request sent.json")


async def test_number_of_no_request_is_refused(talk):
    with pytest.raises(UsageError, match="1 to 1"):
        await talk.run("/request 9")
