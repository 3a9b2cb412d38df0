import asyncio
import os
import signal

import pytest

from tests.agent.harness import ALLOW, DENY, Checked, names, play
from yourtool.agent.commands.base import EditPrompt
from yourtool.agent.commands.processes import show_processes
from yourtool.events.tools import ProcessEnded, ProcessesReported
from yourtool.messages.invariants import validate_session
from yourtool.providers.scripted import Scripted, calls, says
from yourtool.settings.config import Mode


@pytest.fixture(autouse=True)
def _short_wait(monkeypatch):
    monkeypatch.setattr("yourtool.tools.commands.shell.FIRST_OUTPUT_SECONDS", 0.05)


SERVER = "echo $$ > pid; sleep 100"


def build_model(*steps):
    start = calls("shell", command=SERVER, background=True)
    return Checked(Scripted([start, says("started"), *steps, says("done")]))


def read_results(session):
    """Return the texts of all tool results, joined."""
    results = (each.result for each in session.state.messages if each.result is not None)
    return "\n".join(block.text for result in results for block in result.content)


async def kill(bench, session):
    """Kill the process from outside, and wait for the fact that it ended."""
    while not (file := bench.workspace / "pid").exists() or not file.read_text():
        await asyncio.sleep(0.01)
    os.kill(int(file.read_text()), signal.SIGKILL)
    while session.state.processes.running:
        await asyncio.sleep(0.01)


@pytest.mark.req("R-TOOL-17")
async def test_process_runs_on_after_the_turn_and_ends_with_the_session(bench):
    session = await bench.session(build_model(), mode=Mode.AUTO)
    events = await play(session.send("go"))
    assert "turn.completed" in names(events)
    assert session.processes.running_count == 1
    assert [each.command for each in session.state.processes.running.values()] == [SERVER]
    [process] = session.processes.all
    await session.close()
    assert not process.is_running
    ended = [each for each in session.state.facts if isinstance(each, ProcessEnded)]
    assert [(each.process_id, each.reason) for each in ended] == [("p1", "session_ended")]
    assert names(session.state.facts)[-2:] == ["process.ended", "session.ended"]


@pytest.mark.req("R-TOOL-17")
async def test_model_learns_of_an_end_between_turns_with_the_next_message(bench):
    adapter = build_model()
    session = await bench.session(adapter, mode=Mode.AUTO)
    shown = []
    session.processes.show_with(shown.append)
    await play(session.send("go"))
    requests = len(adapter.requests)
    await kill(bench, session)
    assert names(shown) == ["process.started", "process.ended"]
    assert len(adapter.requests) == requests
    events = await play(session.send("and now?"))
    [reported] = [each for each in events if isinstance(each, ProcessesReported)]
    assert "[Process p1 (`echo $$ > pid; sleep 100`) has ended: ended by signal 9." in (
        reported.message.text
    )
    assert any("Process p1" in each.text for each in adapter.requests[-1].messages)
    assert validate_session(session.state.messages) == []
    events = await play(session.send("again"))
    assert "process.reported" not in names(events)
    await session.close()


@pytest.mark.req("R-TOOL-17")
async def test_model_learns_of_an_end_during_a_turn_with_the_next_result(bench):
    wait = "while kill -0 $(cat pid) 2>&-; do sleep .01; done; sleep .1"
    kill_it = calls("shell", command=f"kill -9 $(cat pid); {wait}")
    session = await bench.session(build_model(kill_it), mode=Mode.AUTO)
    await play(session.send("go"))
    while not (bench.workspace / "pid").read_text():
        await asyncio.sleep(0.01)
    events = await play(session.send("kill it"))
    assert "process.reported" not in names(events)
    assert "[Process p1 (`echo $$ > pid; sleep 100`) has ended: ended by signal 9." in (
        read_results(session)
    )
    await session.close()


@pytest.mark.req("R-TOOL-17")
async def test_model_learns_of_an_end_with_the_result_of_a_failed_call(bench):
    async def confirm(question):
        if question.preview.body == SERVER:
            return ALLOW
        await kill(bench, session)
        return DENY

    model = build_model(calls("shell", command="rm *"))
    session = await bench.session(model, mode=Mode.ASK, confirm=confirm)
    await play(session.send("go"))
    events = await play(session.send("remove it"))
    assert "tool.failed" in names(events)
    assert read_results(session).count("has ended: ended by signal 9.") == 1
    assert "process.reported" not in names(await play(session.send("again")))
    await session.close()


@pytest.mark.req("R-TOOL-17")
async def test_model_learns_that_the_user_stopped_a_process(bench):
    session = await bench.session(build_model(), mode=Mode.AUTO)
    await play(session.send("go"))
    await session.processes.get("p1").stop()
    while session.state.processes.running:
        await asyncio.sleep(0.01)
    events = await play(session.send("and now?"))
    [reported] = [each for each in events if isinstance(each, ProcessesReported)]
    assert "has ended: the user stopped it." in reported.message.text
    await session.close()


@pytest.mark.req("R-TOOL-17")
async def test_processes_of_a_dead_program_are_named_when_the_session_is_resumed(bench):
    session = await bench.session(build_model(), mode=Mode.AUTO)
    await play(session.send("go"))
    [process] = session.processes.all
    session._lease.release()  # the program dies, and nothing ends its process
    adapter = Checked(Scripted([says("I see")]))
    resumed = await bench.session(adapter, resume=session.id, mode=Mode.AUTO)
    ended = [each for each in resumed.state.facts if isinstance(each, ProcessEnded)]
    assert [(each.process_id, each.reason) for each in ended] == [("p1", "program_died")]
    await process.wait_for_end()
    [listed] = [each async for each in show_processes(resumed, None, "")]
    assert [(each.value, each.cells[1]) for each in listed.choices] == [("p1", "died")]
    [prompt] = [each async for each in listed.then("p1")]
    assert prompt == EditPrompt(f"Start this command again in the background: {SERVER}")
    await play(resumed.send("what runs?"))
    assert list(resumed.state.processes.interrupted) == ["p1"]
    assert any("ended when the session was left" in m.text for m in adapter.requests[-1].messages)
    assert not resumed.state.processes.left
    await resumed.close()
    await session.processes.close()


async def test_ids_of_a_resumed_session_are_new(bench):
    session = await bench.session(build_model(), mode=Mode.AUTO)
    await play(session.send("go"))
    await session.close()
    resumed = await bench.session(build_model(), resume=session.id, mode=Mode.AUTO)
    await play(resumed.send("go"))
    assert [each.id for each in resumed.processes.all] == ["p2"]
    await resumed.close()


@pytest.mark.req("R-TOOL-17")
async def test_process_that_was_started_again_is_no_longer_listed_as_ended(bench):
    session = await bench.session(build_model(), mode=Mode.AUTO)
    await play(session.send("go"))
    await session.close()
    resumed = await bench.session(build_model(), resume=session.id, mode=Mode.AUTO)
    assert list(resumed.state.processes.interrupted) == ["p1"]
    await play(resumed.send("go"))
    assert not resumed.state.processes.interrupted
    await resumed.close()
