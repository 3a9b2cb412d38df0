"""Agents that break the rules: contained, named, and every change of theirs is reported."""

import asyncio
import os
import sys
from contextlib import suppress
from pathlib import Path

import pytest

from tests.agent.harness import User, names, play
from tests.provider_server import Reply
from yourtool.events.deltas import Notice
from yourtool.events.files import FilesChanged
from yourtool.events.model_calls import LlmCallFailed, LlmCallStarted
from yourtool.events.tools import ToolFailed
from yourtool.extensions.agents import adapter, agent
from yourtool.messages.message import Role
from yourtool.tools.processes import line_peer

CALL = {"toolCallId": "c1", "title": "Look", "kind": "read"}
END = {"toolCallId": "c1", "status": "completed"}


def notices(events):
    return [each.text for each in events if isinstance(each, Notice)]


def failure(events):
    (failed,) = [each for each in events if isinstance(each, LlmCallFailed)]
    return failed.error_message_redacted


def results(on):
    return [each.result for each in on.messages if each.role is Role.TOOL]


def changed_paths(events):
    facts = [each for each in events if isinstance(each, FilesChanged)]
    return [change.path for fact in facts for change in fact.changes]


async def test_file_that_is_written_without_a_question_is_told_and_undoable(stage, work):
    new = str(work / "new.txt")
    async with stage([{"write": [str(work / "a.txt"), "evil\n"]}, {"write": [new, "x"]}]) as on:
        events = await on.send("hi")
        assert sorted(changed_paths(events)) == ["a.txt", "new.txt"]
        (told,) = notices(events)
        assert "changed without a question: `a.txt`, `new.txt`" in told and "/undo" in told
        (result,) = results(on)
        assert result.is_error and "`a.txt`" in result.content[0].text
        assert not on.user.asked
        await play(on.session.files.undo())
        assert (work / "a.txt").read_text() == "one\ntwo\n"
        assert not (work / "new.txt").exists()


async def test_change_before_an_allowed_call_is_not_part_of_it(stage, work):
    steps = [
        {"write": [str(work / "a.txt"), "evil\n"]},
        {"ask": CALL, "allow_once": [{"write": [str(work / "b.txt"), "good\n"]}, {"tell": END}]},
    ]
    async with stage(steps) as on:
        events = await on.send("hi")
        assert changed_paths(events) == ["a.txt", "b.txt"]
        (told,) = notices(events)
        assert "`a.txt`" in told and "`b.txt`" not in told
        await play(on.session.files.undo())
        assert (work / "a.txt").read_text() == "one\ntwo\n"
        assert not (work / "b.txt").exists()


async def test_file_that_the_question_does_not_name_is_not_part_of_it(stage, work):
    diff = {"type": "diff", "path": str(work / "a.txt"), "oldText": "one\n", "newText": "good\n"}
    end = {"tell": END, "as": "tool_call_update"}
    steps = [
        {"ask": CALL | {"kind": "edit", "content": [diff]}, "allow_once": [
            {"write": [str(work / "a.txt"), "good\n"]},
            {"write": [str(work / "b.txt"), "evil\n"]},
            end]},
        {"say": "ok"},
    ]  # fmt: skip
    async with stage(steps) as on:
        events = await on.send("hi")
        assert sorted(changed_paths(events)) == ["a.txt", "b.txt"]
        (told,) = notices(events)
        assert "`b.txt`" in told and "`a.txt`" not in told
        assert "`b.txt`" in results(on)[0].content[-1].text
        await play(on.session.files.undo())
        assert (work / "a.txt").read_text() == "one\ntwo\n" and not (work / "b.txt").exists()


async def test_file_that_is_changed_twice_is_restored_to_its_start(stage, work):
    path = str(work / "a.txt")
    steps = [
        {"write": [path, "evil\n"]},
        {"ask": CALL, "allow_once": [{"write": [path, "good, longer\n"]}, {"tell": END}]},
        {"write": [path, "evil again\n"]},
    ]
    async with stage(steps) as on:
        await on.send("hi")
        await play(on.session.files.undo())
        assert (work / "a.txt").read_text() == "one\ntwo\n"


async def test_change_after_an_approved_write_of_the_same_file_is_undone_too(stage, work):
    path = str(work / "a.txt")
    steps = [
        {"fs": "write_text_file", "path": path, "content": "approved\n"},
        {"write": [path, "evil\n"]},
    ]
    async with stage(steps) as on:
        events = await on.send("hi")
        assert "`a.txt`" in notices(events)[0]
        await play(on.session.files.undo())
        assert (work / "a.txt").read_text() == "one\ntwo\n"


async def test_change_just_before_an_approved_write_of_the_same_file_is_undone_too(stage, work):
    new, changed = work / "new.txt", work / "a.txt"
    steps = []
    for path in map(str, (new, changed)):
        steps.append({"write": [path, "evil\n"]})
        steps.append({"fs": "write_text_file", "path": path, "content": "approved\n"})
    async with stage(steps) as on:
        await on.send("hi")
        assert new.read_text() == changed.read_text() == "approved\n"
        await play(on.session.files.undo())
        assert not new.exists()
        assert changed.read_text() == "one\ntwo\n"


async def test_change_is_found_when_the_turn_is_stopped(stage, work):
    steps = [{"write": [str(work / "a.txt"), "evil\n"]}, {"say": "wait"}, {"cancelled": []}]
    async with stage(steps) as on:
        events = await stop_after_text(on)
        assert names(events)[-1] == "turn.cancelled"
        assert changed_paths(events) == ["a.txt"]
        assert "without a question" in notices(events)[0]
        await play(on.session.files.undo())
        assert (work / "a.txt").read_text() == "one\ntwo\n"
        assert any(each.get("method") == "session/cancel" for each in on.received)


async def stop_after_text(on):
    """Return the events of a turn that is stopped at the first text."""
    events = []
    async for event in on.session.send("hi"):
        events.append(event)
        if type(event).__name__ == "TextDelta":
            on.session.cancel()
    return events


async def test_change_is_found_when_the_agent_dies(stage, work):
    async with stage([{"write": [str(work / "a.txt"), "evil\n"]}, {"die": 3}]) as on:
        events = await on.send("hi")
        assert failure(events) == (
            "`acp:other` ended with exit code 3; its last line: about to fail"
        )
        assert changed_paths(events) == ["a.txt"]
        await play(on.session.files.undo())
        assert (work / "a.txt").read_text() == "one\ntwo\n"


async def test_agent_that_died_is_started_again(stage):
    async with stage([{"say": "one"}, {"die": 3}], [{"echo": True}]) as on:
        await on.send("first")
        events = await on.send("second")
        assert names(events)[-1] == "turn.completed"
        assert "first" in on.prompts[-1] and on.prompts[-1].endswith("second")


async def test_call_of_an_agent_that_dies_has_one_result(stage):
    async with stage([{"ask": CALL, "allow_once": [{"die": 4}]}]) as on:
        events = await on.send("hi")
        (result,) = results(on)
        assert result.is_error and "no end" in result.content[0].text
        assert "exit code 4" in failure(events)


async def test_permission_that_is_asked_after_the_stop_is_refused_without_a_question(stage):
    late = {"ask": CALL, "cancelled": [], "allow_once": [{"say": "BAD"}]}
    async with stage([{"say": "wait"}, {"cancelled": [{"method": "x"}, late]}]) as on:
        events = await stop_after_text(on)
        assert names(events)[-1] == "turn.cancelled"
        assert not on.user.asked
        answers = [each for each in on.received if "result" in each]
        assert [each["result"]["outcome"] for each in answers] == [{"outcome": "cancelled"}]


async def test_agent_that_ignores_the_stop_is_ended(stage, monkeypatch):
    monkeypatch.setattr(agent, "CANCEL_SECONDS", 0.2)
    async with stage([{"say": "wait"}, {"sleep": 60}]) as on:
        events = await stop_after_text(on)
        assert names(events)[-1] == "turn.cancelled"
        assert any("its process was ended" in each for each in notices(events))


async def test_silent_agent_is_given_up(stage, monkeypatch):
    monkeypatch.setattr(adapter, "SILENCE_SECONDS", 0.3)
    monkeypatch.setattr(agent, "CANCEL_SECONDS", 0.2)
    async with stage([{"sleep": 60}]) as on:
        assert "sent nothing" in failure(await on.send("hi"))


@pytest.mark.parametrize(
    ("steps", "problem"),
    [
        (
            [{"print": "no JSON", "times": 300}, {"sleep": 5}],
            "prints text that is no JSON-RPC message",
        ),
        ([{"flood": 50 * 2**20}], "sent a message of over 8 MiB"),
        ([{"flood": 2**20}] * 70, "longer than"),
        ([{"print": f"[{'[],' * 2_000_000}1]"}], "sent a message with over 100,000 values"),
        ([{"fail": "out of credit\x1b[31m"}], "reports an error: out of credit"),
    ],
)
@pytest.mark.sample(5)
async def test_broken_agent_is_named_with_its_fault(stage, steps, problem):
    async with stage(steps) as on:
        message = failure(await on.send("hi"))
        assert message.startswith("`acp:other`") or "the reply is" in message
        assert problem in message and "\x1b" not in message


@pytest.mark.remaining
async def test_agent_that_asks_without_reading_is_ended(stage, monkeypatch):
    monkeypatch.setattr(line_peer, "SEND_SECONDS", 600)
    request = {"print": '{"jsonrpc": "2.0", "id": 1, "method": "x"}', "times": 20_000}
    async with stage([request, {"sleep": 600}]) as on:
        assert failure(await on.send("hi")) == "`acp:other` reads no messages"


async def test_lines_that_are_no_message_are_skipped(stage):
    steps = [
        {"print": "loading…"},
        {"print": "[1, 2]"},
        {"print": '{"jsonrpc": "2.0", "id": {}, "method": "x"}'},
        {"print": "[" * 100_000},
        {"print": '{"method": "session/update", "params": {"update": 3}}'},
        {"print": '{"id": 77, "result": {}}'},
        {"method": "terminal/create", "command": "rm"},
        {"method": "fs/read_text_file", "path": 3},
        {"say": "still here"},
    ]
    async with stage(steps) as on:
        await on.send("hi")
        assert on.messages[-1].text == "still here"
        errors = [each["error"]["code"] for each in on.received if "error" in each]
        assert errors == [-32601, -32602]


async def test_titles_cannot_drive_the_terminal(stage):
    call = CALL | {"title": "\x1b]0;evil\x07 Run\n\u202etxt", "status": "failed"}
    async with stage([{"tell": call}, {"ask": CALL | {"title": "\x1b[2Jx"}}]) as on:
        await on.send("hi")
        titles = [use.input["title"] for each in on.messages for use in each.tool_uses]
        assert not any(char in title for title in titles for char in "\x1b\x07\n\u202e")
        assert "\x1b" not in on.user.asked[0].preview.body


async def test_same_call_reported_twice_has_one_result(stage):
    async with stage([{"tell": CALL | END}, {"tell": END}, {"tell": END}, {"say": "x"}]) as on:
        await on.send("hi")
        assert len(results(on)) == 1


async def test_call_without_an_end_is_reported_with_the_end_of_the_prompt(stage):
    async with stage([{"tell": CALL}]) as on:
        events = await on.send("hi")
        (result,) = results(on)
        assert "reported no end" in result.content[0].text and result.is_error
        assert names(events)[-1] == "turn.completed"


@pytest.mark.skipif(sys.platform != "linux", reason="it reads /proc")
async def test_agent_gets_no_keys_and_ends_with_the_session(stage, monkeypatch):
    monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-ant-canary")
    async with stage([{"say": "x"}]) as on:
        await on.send("hi")
        running = [each for each in children() if "scripted_agent" in each[1]]
        (pid, _), *_ = running
        environment = await asyncio.to_thread(Path(f"/proc/{pid}/environ").read_text)
        assert "canary" not in environment and "YOURTOOL_CALL=acp-" in environment
        assert os.getpgid(pid) == pid, "it has a process group of its own"
    assert not [each for each in children() if "scripted_agent" in each[1]]


def children():
    """Return the ids and commands of our child processes."""
    found = []
    for entry in Path("/proc").iterdir():
        with suppress(OSError):
            if entry.name.isdigit():
                parent = int((entry / "stat").read_text().rpartition(")")[2].split()[1])
                if parent == os.getpid():
                    found.append((int(entry.name), (entry / "cmdline").read_text()))
    return found


async def test_unknown_agent_and_missing_program_are_named(stage):
    async with stage() as on:
        with pytest.raises(Exception, match=r"There is no agent `nobody`.*\[agents.nobody\]"):
            await on.select("acp:nobody")
        await on.select("acp:missing")
        assert "There is no program `no-such-agent`" in failure(await on.send("hi"))


async def test_stop_while_the_agent_starts_ends_it(stage):
    async with stage([{"say": "x"}]) as on:
        events = []
        async for event in on.session.send("hi"):
            events.append(event)
            if isinstance(event, LlmCallStarted):
                asyncio.get_running_loop().call_later(0.01, on.session.cancel)
        assert names(events)[-1] == "turn.cancelled"
        events = await on.send("again")
        assert names(events)[-1] == "turn.completed"


async def test_refused_call_of_a_vendor_with_the_name_of_an_agents_tool(stage, vendor):
    vendor(Reply(calls=[("agent_call", {"title": "x", "kind": "y"})]), Reply(text="ok"))
    async with stage(model="anthropic:claude-haiku-4-5", user=User()) as on:
        events = await on.send("hi")
        (failed,) = [each for each in events if isinstance(each, ToolFailed)]
        assert failed.error_class == "not_found"
