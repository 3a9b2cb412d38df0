"""A plan is made, read to its end, and carried out in a new session, in a terminal."""

import os
import signal

import pytest

from tests.e2e.terminal import YOURTOOL, Terminal
from tests.provider_server import ProviderServer, Reply

pytestmark = pytest.mark.remaining

PLAN = "# Plan\n\n" + "\n".join(f"{number}. Step {number}" for number in range(1, 90))
SCRIPT = [Reply("I propose:", [("propose_plan", {"plan": PLAN})]), Reply("Carried out.")]


@pytest.mark.req("R-LOOP-13", "R-CONF-09")
def test_plan_is_carried_out_in_a_new_session_only_after_it_was_read(work, home):
    with ProviderServer(list(SCRIPT)) as server:
        env = {**home, **server.environment}
        with Terminal(YOURTOOL, cwd=work, env=env) as terminal:
            terminal.wait("sonnet")
            terminal.say("/plan")
            terminal.wait(" plan ")
            terminal.say("think")
            terminal.wait("Carry out this plan", "Step 1", r"\[f\] new session", "lines not shown")
            terminal.answer("f")
            terminal.wait("Page Down for more")
            assert len(server.requests) == 1
            for _ in range(10):
                terminal.send("\x1b[6~")
                terminal.read(0.1)
                if "not shown" not in terminal.text:
                    break
            terminal.wait("Step 89", "the end")
            terminal.answer("f")
            terminal.wait("Carried out", " ask ")
    sent = server.requests[-1][1]["messages"]
    assert [each["role"] for each in sent] == ["user"]
    assert "Carry out this plan:" in str(sent[0]) and "Step 89" in str(sent[0])
    assert "think" not in str(sent[0])


@pytest.mark.req("R-LOOP-13")
def test_plan_whose_question_was_open_when_the_program_was_killed_is_not_lost(work, home):
    with ProviderServer([SCRIPT[0], Reply("The turn is over.")]) as server:
        env = {**home, **server.environment}
        with Terminal(YOURTOOL, cwd=work, env=env) as terminal:
            terminal.wait("sonnet")
            terminal.say("/plan")
            terminal.wait(" plan ")
            terminal.say("think")
            terminal.wait("Carry out this plan", "Step 1", "lines not shown")
            os.killpg(terminal.process.pid, signal.SIGKILL)
        with Terminal((*YOURTOOL, "--continue"), cwd=work, env=env) as terminal:
            terminal.wait("I propose", "Propose a plan")
            terminal.say("and now")
            terminal.wait("The turn is over")
        *_, call, result = server.requests[-1][1]["messages"]
    assert [each["input"]["plan"] for each in call["content"] if each["type"] == "tool_use"] == [
        PLAN
    ]
    assert result["content"][0]["type"] == "tool_result"
    assert "and now" in str(result["content"])
