"""`/goal`: turns until a check passes, or a model judges that the goal is met."""

import asyncio
import json
from decimal import Decimal

import pytest

from tests.agent.harness import play
from tests.provider_server import Reply
from tests.sandbox_here import get_variables
from yourtool.agent.commands.base import Report, StartTurn
from yourtool.agent.commands.command_table import read_commands
from yourtool.errors import UsageError
from yourtool.events.branches import EntryAdded
from yourtool.events.turns import TurnStarted
from yourtool.extensions.asides.goal import find_goal
from yourtool.extensions.asides.goal_options import parse_goal
from yourtool.extensions.asides.goal_verdicts import Verdict
from yourtool.settings.config import Mode

CHECK = "cat done.txt"


def write(text="yes"):
    return Reply(calls=(("write_file", {"path": "done.txt", "content": text}),))


async def pursue(talk, argument):
    [started] = await talk.run(f"/goal {argument}")
    assert isinstance(started, StartTurn)
    return await play(started.events)


def entries(events):
    return [each.text for each in events if isinstance(each, EntryAdded)]


def count_turns(events):
    return sum(isinstance(each, TurnStarted) for each in events)


@pytest.fixture
def open_free(open_conversation):
    """Return what opens a conversation without a sandbox, in which edits need no question."""

    def opened(*replies, **fields):
        return open_conversation(*replies, mode=Mode.ACCEPT_EDITS, no_sandbox=True, **fields)

    return opened


async def test_goal_is_worked_on_until_its_check_passes(open_free):
    async with open_free(Reply("I look."), write(), Reply("Written.")) as talk:
        events = await pursue(talk, f"write it -- {CHECK}")
        assert count_turns(events) == 2
        assert entries(events)[-1].startswith("Goal met after 2 turns, $0.0")
        assert find_goal(talk.session).status == "met"
        prompts = [each.text for each in talk.session.state.prompts]
        assert prompts[0].startswith("write it") and CHECK in prompts[0]
        assert "done.txt: No such file" in prompts[1] and "exit code 1" in prompts[1]


async def test_reviewing_model_decides_about_a_goal_without_a_check(open_free):
    asked = [Reply('{"met": false, "reason": "nothing is written"}'), Reply('{"met": true}')]
    replies = (Reply("Done?"), asked[0], write(), Reply("Written."), asked[1])
    async with open_free(*replies) as talk:
        events = await pursue(talk, "write it")
        assert count_turns(events) == 2 and "Goal met after 2 turns" in entries(events)[-1]
        assert "nothing is written" in talk.session.state.prompts[1].text
        last = json.dumps(talk.bodies()[-1])
        assert "Decide whether the goal is met" in last and "write it" in last
        assert find_goal(talk.session).cost_usd == talk.session.state.cost_usd
        assert "Decide" not in "".join(each.text for each in talk.session.state.messages)


async def test_goal_without_progress_ends_after_three_turns(open_free):
    async with open_free(*[Reply("I think.")] * 9) as talk:
        events = await pursue(talk, f"write it -- {CHECK}")
        assert count_turns(events) == 3
        assert "Goal not met after 3 turns" in entries(events)[-1]
        assert "3 turns changed no file and not the output of the check" in entries(events)[-1]
        assert "Try another way" in talk.session.state.prompts[-1].text


async def test_changed_files_are_progress_until_the_turns_are_over(open_free):
    replies = [reply for at in range(5) for reply in (write(str(at)), Reply("So."))]
    async with open_free(*replies) as talk:
        events = await pursue(talk, "--turns 4 write it -- false")
        assert count_turns(events) == 4
        assert "its 4 turns are over" in entries(events)[-1]


async def test_goal_ends_at_its_cost(open_free):
    async with open_free(*[Reply("I think.")] * 9) as talk:
        events = await pursue(talk, "--cost 0.0001 write it -- false")
        assert count_turns(events) == 1 and "its limit" in entries(events)[-1]


async def test_goal_ends_when_its_time_is_over(open_free, monkeypatch):
    async with open_free(Reply("one two three " * 100, pause=0.01)) as talk:
        loop = asyncio.get_running_loop()
        later = loop.call_later
        monkeypatch.setattr(
            loop, "call_later", lambda s, f, *a, **k: later(0.05 if s == 60 else s, f, *a, **k)
        )
        events = await pursue(talk, "--minutes 1 write it -- false")
        assert entries(events)[-1].endswith("its 1 minute are over")


async def test_stop_ends_the_goal_and_its_turn(open_free):
    async with open_free(Reply("one two three " * 100, pause=0.01)) as talk:
        [started] = await talk.run("/goal write it -- false")
        events = []
        async for event in started.events:
            events.append(event)
            if isinstance(event, TurnStarted):
                [report] = await talk.run("/goal")
                assert ("state", "working") in report.sections[0].rows
                with pytest.raises(UsageError, match="A turn is running"):
                    await talk.run("/goal another")
                assert await talk.run("/goal stop") == []
        assert entries(events)[-1].startswith("Goal stopped after 1 turn")
        assert find_goal(talk.session).status == "stopped" and not talk.session.busy


async def test_goal_is_paused_after_a_resume_and_continues(open_free):
    async with open_free(Reply("one two three " * 100, pause=0.01)) as talk:
        [started] = await talk.run(f"/goal write it -- {CHECK}")
        async for event in started.events:
            if isinstance(event, TurnStarted):
                talk.session.cancel(is_leaving=True)  # as the interface at its exit
        session_id = talk.session.id
    async with open_free(write(), Reply("Written."), resume=session_id) as talk:
        _, warnings = await read_commands(talk.session, talk.runtime)
        assert any(
            each.startswith("A goal is paused: write it. `/goal resume`") for each in warnings
        )
        [report] = await talk.run("/goal")
        assert isinstance(report, Report)
        state = dict(report.sections[0].rows)["state"]
        assert state.startswith("paused; `/goal resume` continues it: ")
        [choice] = await talk.run("/goal resume")
        assert choice.title == f"Continue, and run `{CHECK}` after each turn?"
        [started] = [each async for each in choice.then("yes")]
        events = await play(started.events)
        assert count_turns(events) == 1 and "Goal met after 2 turns" in entries(events)[-1]
        assert find_goal(talk.session).cost_usd == talk.session.state.cost_usd


async def test_check_of_a_stored_goal_is_not_run_without_a_user(open_free):
    async with open_free(Reply("one two three " * 100, pause=0.01), interactive=False) as talk:
        [started] = await talk.run("/goal write it -- touch made")
        async for event in started.events:
            if isinstance(event, TurnStarted):
                talk.session.cancel(is_leaving=True)
        with pytest.raises(UsageError, match="Nobody is present to approve `touch made`"):
            await talk.run("/goal resume")


async def test_paused_goal_can_be_stopped(open_free):
    async with open_free(Reply("one two three " * 100, pause=0.01)) as talk:
        [started] = await talk.run("/goal write it -- false")
        async for event in started.events:
            if isinstance(event, TurnStarted):
                talk.session.cancel(is_leaving=True)
        [stopped] = await talk.run("/goal stop")
        assert stopped.text.startswith("Goal stopped")
        with pytest.raises(UsageError, match="no goal to stop"):
            await talk.run("/goal stop")


async def test_check_that_a_rule_forbids_is_not_run(open_free):
    async with open_free(Reply("Yes."), deny=("shell(touch *)",)) as talk:
        events = await pursue(talk, "write it -- touch forbidden")
        assert "The check was not run" in entries(events)[-1]
        assert not (talk.work / "forbidden").exists()


@pytest.mark.skipif(bool(get_variables()), reason="the full sandbox does not work here")
async def test_check_runs_in_the_sandbox(open_conversation):
    outside = open_conversation.work.parent / "outside"
    async with open_conversation(Reply("Yes.")) as talk:
        events = await pursue(talk, f"--turns 1 write it -- touch here && touch {outside}")
        assert "the check failed" in entries(events)[-1]
        assert (talk.work / "here").exists() and not outside.exists()


async def test_failed_turn_ends_the_goal(open_free):
    failed = Reply(status=400, body=b'{"error": {"type": "invalid_request_error", "message": "x"}}')
    async with open_free(failed) as talk:
        events = await pursue(talk, "write it -- false")
        assert "the turn failed" in entries(events)[-1] and count_turns(events) == 1


def test_options_and_check_are_read_from_the_argument():
    goal = parse_goal("--turns 3 --cost=$0.5 --minutes 9 make it\npass -- make -j2 -- x")
    assert (goal.turns, goal.cost_usd, goal.minutes) == (3, Decimal("0.5"), 9)
    assert (goal.text, goal.check) == ("make it\npass", "make -j2 -- x")
    assert parse_goal("a--b --turns").text == "a--b --turns"
    for wrong in (
        "--turns 0 x",
        "--turns 1.5 x",
        "--cost NaN x",
        "--minutes many x",
        "-- make",
        "",
    ):
        with pytest.raises(UsageError):
            parse_goal(wrong)


def test_times_and_counts_in_an_output_are_no_progress():
    one, two = (Verdict(False, "", f"{n} failed in 0.{n}3s at 0x7f{n}a") for n in (1, 2))
    assert one.signature == two.signature != Verdict(False, "", "error: b").signature


def test_exit_code_says_whether_the_goal_is_met(open_conversation, run):
    options = ("--mode", "accept-edits", "--no-sandbox")
    replies = [write(), Reply("Written.")]
    code, printed = run("-p", f"/goal write it -- {CHECK}", *options, replies=replies)
    assert code == 0 and printed.startswith("Goal met after 1 turn")
    replies = [Reply("I think.")] * 3
    code, printed = run(
        "-p", "/goal write it -- false", *options, "--output-format", "json", replies=replies
    )
    result = json.loads(printed)
    assert code == result["exit_code"] == 1 and result["data"]["status"] == "failed"
    assert "Goal not met after 3 turns" in result["error"]["message"]
