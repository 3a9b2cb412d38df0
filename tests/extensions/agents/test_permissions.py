"""Permission requests of an agent: our question, the gate, and the journal."""

import asyncio
import json

import pytest

from tests.agent.harness import ALLOW, DENY, User, names, play
from yourtool.effects import Decision, Scope, SideEffects, Verdict
from yourtool.events.deltas import Notice
from yourtool.events.files import FilesChanged
from yourtool.events.model_calls import LlmCallFailed
from yourtool.events.tools import ToolCompleted, ToolFailed
from yourtool.extensions.agents.calls import read_options
from yourtool.messages.message import Role
from yourtool.settings.config import Mode

CALL = {"toolCallId": "c1", "title": "Run it", "kind": "execute", "rawInput": {"command": "make"}}
END = {"toolCallId": "c1", "status": "completed", "content": [
    {"type": "content", "content": {"type": "text", "text": "built"}}]}  # fmt: skip


def of(kind, events):
    return [each for each in events if isinstance(each, kind)]


def results(on):
    return [each.result for each in on.messages if each.role is Role.TOOL]


async def test_allowed_call_is_asked_once_and_has_the_result_of_the_agent(stage):
    steps = [{"ask": CALL, "allow_once": [{"tell": END, "as": "tool_call_update"}]}, {"say": "ok"}]
    async with stage(steps) as on:
        events = await on.send("build")
        (asked,) = on.user.asked
        assert asked.title == "agent_call" and asked.side_effects is SideEffects.EXECUTE
        assert "Run it" in asked.preview.body and "make" in asked.preview.body
        (result,) = results(on)
        assert result.content[0].text == "built" and not result.is_error
        (done,) = of(ToolCompleted, events)
        assert done.message.metadata.details == {"run_by": "acp:other"}
        assert on.messages[-1].text == "ok"
        assert len(on.prompts) == 1, "the result is no new prompt"


async def test_denied_call_is_refused_at_the_agent(stage):
    async with stage([{"ask": CALL, "reject_once": [{"say": "Then not."}]}], user=User(DENY)) as on:
        events = await on.send("build")
        (failed,) = of(ToolFailed, events)
        assert failed.error_class == "user_denied"
        assert on.messages[-1].text == "Then not."


async def test_lasting_grant_is_ours_and_never_the_agents(stage):
    always = Decision(verdict=Verdict.ALLOW, scope=Scope.SESSION)
    again = CALL | {"toolCallId": "c2"}
    steps = [{"ask": CALL, "allow_once": [{"tell": END}]}, {"ask": again, "allow_once": []}]
    async with stage(steps, user=User(always)) as on:
        await on.send("build")
        assert len(on.user.asked) == 1
        answers = [each["result"]["outcome"] for each in on.received if "result" in each]
        assert [each["optionId"] for each in answers] == ["allow_once", "allow_once"]


async def test_request_without_a_permission_for_one_call_gets_none(stage):
    steps = [{"ask": CALL, "options": ["allow_always", "reject_once"], "allow_always": [
        {"say": "BAD"}]}]  # fmt: skip
    async with stage(steps) as on:
        await on.send("build")
        assert results(on)[0].is_error
        assert "BAD" not in on.messages[-1].text


@pytest.mark.parametrize("kinds", [("allow_once", "allow_always"), ("allow_always", "reject_once")])
def test_answers_with_the_same_id_are_not_given(kinds):
    options = [{"optionId": "x", "kind": kind} for kind in kinds]
    other = {"optionId": "y", "kind": "allow_once"}
    assert [each.id for each in read_options([*options, other])] == ["y"]


async def test_accept_edits_still_asks_whatever_the_agent_claims(stage):
    steps = [{"ask": CALL | {"kind": "read"}, "allow_once": [{"tell": END}]}]
    async with stage(steps, mode=Mode.ACCEPT_EDITS) as on:
        await on.send("build")
        assert len(on.user.asked) == 1


async def test_deny_rule_beats_the_mode_auto(stage):
    async with stage(
        [{"ask": CALL, "reject_once": []}], mode=Mode.AUTO, deny=("agent_call",)
    ) as on:
        events = await on.send("build")
        assert not on.user.asked and of(ToolFailed, events)


async def test_claimed_protected_place_is_asked_in_the_mode_auto(stage, work):
    edit = CALL | {
        "content": [{"type": "diff", "path": str(work / ".git/hooks/x"), "newText": "y"}]
    }
    async with stage([{"ask": edit}], mode=Mode.AUTO) as on:
        await on.send("build")
        assert len(on.user.asked) == 1


async def test_plan_mode_refuses_an_agent(stage):
    async with stage([{"say": "x"}], mode=Mode.PLAN) as on:
        events = await on.send("plan")
        (failed,) = of(LlmCallFailed, events)
        assert "Plan mode is on" in failed.error_message_redacted
        assert not on.received


async def test_changes_of_an_allowed_call_can_be_undone(stage, work):
    steps = [
        {"ask": CALL, "allow_once": [{"write": [str(work / "a.txt"), "new\n"]}, {"tell": END}]}
    ]
    async with stage(steps) as on:
        events = await on.send("edit")
        (changed,) = of(FilesChanged, events)
        assert changed.changes[0].path == "a.txt"
        assert changed.tool_use_id == of(ToolCompleted, events)[0].tool_use_id
        assert not [each for each in of(Notice, events) if "without a question" in each.text]
        await play(on.session.files.undo())
        assert (work / "a.txt").read_text() == "one\ntwo\n"


async def test_file_that_the_agent_asks_us_to_write_is_shown_as_a_diff(stage, work):
    path = str(work / "a.txt")
    steps = [{"fs": "write_text_file", "path": path, "content": "three\n"}, {"say": "ok"}]
    async with stage(steps) as on:
        events = await on.send("edit")
        (asked,) = on.user.asked
        assert asked.title == "write_file" and "+three" in asked.preview.body
        assert asked.preview.editable is None
        assert (work / "a.txt").read_text() == "three\n"
        assert on.messages[-1].text == "{}ok"
        assert len(of(FilesChanged, events)) == 1
        await play(on.session.files.undo())
        assert (work / "a.txt").read_text() == "one\ntwo\n"


async def test_file_that_we_and_the_agent_write_is_recorded_once(stage, work):
    path = str(work / "b.txt")
    edit = CALL | {"kind": "edit", "content": [{"type": "diff", "path": path, "newText": "b\n"}]}
    steps = [{"ask": edit, "allow_once": [
        {"write": [path, "b\n"]},
        {"fs": "write_text_file", "path": path, "content": "b\n"},
        {"tell": END}]}]  # fmt: skip
    async with stage(steps) as on:
        events = await on.send("edit")
        (changed,) = of(FilesChanged, events)
        assert [each.path for each in changed.changes] == ["b.txt"]
        await play(on.session.files.undo())
        assert not (work / "b.txt").exists()


async def test_permission_for_a_file_lasts_until_the_call_ends(stage, work):
    path, other = str(work / "b.txt"), str(work / "c.txt")
    diff = {"type": "diff", "path": path, "newText": "b\n"}
    edit = CALL | {"kind": "edit", "content": [diff], "rawInput": {"file": "b.txt"}}
    steps = [{"ask": edit, "allow_once": [
        {"fs": "read_text_file", "path": str(work / "a.txt")},
        {"write": [path, "b\n"]},
        {"write": [other, "c\n"]},
        {"tell": END}]}]  # fmt: skip
    again = [{"write": [path, "evil\n"]}]
    async with stage(steps, again) as on:
        (told,) = of(Notice, await on.send("edit"))
        assert "without a question: `c.txt`." in told.text
        (told,) = of(Notice, await on.send("again"))
        assert "without a question: `b.txt`." in told.text


async def test_denied_write_is_an_error_for_the_agent(stage, work):
    path = str(work / "a.txt")
    steps = [{"fs": "write_text_file", "path": path, "content": "three\n"}]
    async with stage(steps, user=User(DENY)) as on:
        await on.send("edit")
        assert (work / "a.txt").read_text() == "one\ntwo\n"
        assert "declined" in on.messages[-1].text


async def test_agent_learns_that_a_file_does_not_exist(stage, work):
    steps = [{"fs": "read_text_file", "path": str(work / "none.txt")}]
    async with stage(steps) as on:
        await on.send("look")
        error = json.loads(on.messages[-1].text)
        assert error["code"] == -32002, "the code of the protocol for it"
        assert "none.txt` does not exist" in error["message"]
        assert results(on)[0].is_error and not on.user.asked


async def test_agent_learns_why_a_file_cannot_be_read(stage, work):
    (work / "b.bin").write_bytes(b"\x00\xff" * 50)
    async with stage([{"fs": "read_text_file", "path": str(work / "b.bin")}]) as on:
        await on.send("look")
        assert "is no text" in on.messages[-1].text


@pytest.mark.parametrize("name", ["../outside.txt", "/etc/passwd"])
async def test_files_outside_the_workspace_are_closed(stage, work, name):
    (work.parent / "outside.txt").write_text("private")
    path = str(work / name) if name.startswith("..") else name
    steps = [
        {"fs": "read_text_file", "path": path},
        {"fs": "write_text_file", "path": path, "content": "x"},
    ]
    async with stage(steps) as on:
        await on.send("look")
        assert "private" not in on.messages[-1].text and "root:" not in on.messages[-1].text
        assert all(each.is_error for each in results(on))
        assert (work.parent / "outside.txt").read_text() == "private"


async def test_file_is_read_from_a_line_on(stage, work):
    path = str(work / "a.txt")
    steps = [{"fs": "read_text_file", "path": path, "line": 2, "limit": 1}]
    async with stage(steps) as on:
        await on.send("look")
        assert on.messages[-1].text == '{"content": "two\\n"}'
        assert not on.user.asked


async def test_credentials_are_asked_about(stage, work):
    (work / ".env").write_text("KEY=1")
    async with stage([{"fs": "read_text_file", "path": str(work / ".env")}], user=User(DENY)) as on:
        await on.send("look")
        assert len(on.user.asked) == 1 and "KEY" not in on.messages[-1].text


async def test_call_inside_a_running_call_does_not_block(stage):
    inner = {"toolCallId": "c2", "title": "Inner", "kind": "execute"}
    steps = [
        {"ask": CALL, "allow_once": [
            {"ask": inner, "allow_once": [{"tell": {"toolCallId": "c2", "status": "completed"}}]},
            {"tell": END},
        ]},
        {"say": "done"},
    ]  # fmt: skip
    async with stage(steps) as on:
        await on.send("nested")
        texts = ["".join(part.text for part in each.content) for each in results(on)]
        assert "still running" in texts[0] and texts[1] == "Done." and texts[2] == "built"
        assert on.messages[-1].text == "done"


async def test_question_during_a_stop_is_cancelled_at_the_agent(stage):
    asked = asyncio.Event()

    class Waiting(User):
        async def __call__(self, confirmation):
            self.asked.append(confirmation)
            asked.set()
            await asyncio.Event().wait()
            return ALLOW

    async with stage([{"ask": CALL}], user=Waiting()) as on:
        playing = asyncio.create_task(on.send("build"))
        await asked.wait()
        on.session.cancel()
        events = await playing
        assert names(events)[-1] == "turn.cancelled"
        outcomes = [each["result"]["outcome"] for each in on.received if "result" in each]
        assert outcomes == [{"outcome": "cancelled"}]
