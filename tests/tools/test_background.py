import asyncio
import os
import signal
import sys
from pathlib import Path

import pytest

from tests.tools.contexts import answer, call, get_refusal
from yourtool.errors import ToolError, ToolFailure
from yourtool.foundation.masking import Mask
from yourtool.tools import background
from yourtool.tools.background import MAX_RUNNING, RunningCommand
from yourtool.tools.commands.process_tools import process_output, process_stop
from yourtool.tools.commands.shell import shell
from yourtool.tools.processes.output import HEAD_TAIL_BYTES, CommandOutput

linux_only = pytest.mark.skipif(sys.platform != "linux", reason="daemons are found in /proc")


def is_alive(pid):
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] not in "ZX"
    except OSError:
        return False


@pytest.fixture
async def context(contexts, monkeypatch):
    """A context whose processes end with the test; its calls wait shortly for first output."""
    monkeypatch.setattr("yourtool.tools.commands.shell.FIRST_OUTPUT_SECONDS", 0.05)
    monkeypatch.setattr(background, "_POLL_SECONDS", 0.02)
    made = contexts()
    yield made
    await made.processes.close()


async def wait_for(process, text):
    """Wait until the output of a process has a text."""
    async with asyncio.timeout(20):
        while text not in process.output.text():
            await asyncio.sleep(0.01)


@pytest.mark.req("R-TOOL-17")
async def test_background_command_runs_on_after_its_call(context):
    said = await answer(shell, context, command="echo $$; sleep 100", background=True)
    assert said.endswith("[runs in the background as `p1`]")
    [process] = context.processes.running
    await wait_for(process, "\n")
    pid = int(process.output.text())
    assert is_alive(pid)
    assert (process.id, process.last_line) == ("p1", str(pid))
    said = await answer(process_stop, context, id="p1")
    assert said.endswith("[p1: stopped]")
    assert not is_alive(pid)
    assert context.processes.running == ()


@pytest.mark.req("R-TOOL-17")
async def test_background_command_that_ends_at_once_has_a_usual_result(context, monkeypatch):
    monkeypatch.setattr("yourtool.tools.commands.shell.FIRST_OUTPUT_SECONDS", 20)
    said = await answer(shell, context, command="echo no such port; exit 3", background=True)
    assert said == "no such port\n[exit code 3]"
    assert context.processes.background == ()


@pytest.mark.req("R-TOOL-17")
async def test_output_of_a_process_is_returned_once(context, root):
    line = "echo one; while [ ! -e go ]; do sleep .01; done; echo two; exit 4"
    await answer(shell, context, command=line, background=True)
    process = context.processes.get("p1")
    await wait_for(process, "one")
    first = process.read()
    assert first in ("one\n", "")
    said = await answer(process_output, context, id="p1")
    assert said.startswith("(no new output)\n[p1: runs since ")
    (root / "go").touch()
    await process.wait_for_end()
    said = await answer(process_output, context, id="p1", wait_seconds=20)
    assert said == "two\n[p1: ended, exit code 4]"
    assert (await answer(process_output, context, id="p1")).startswith("(no new output)")


@pytest.mark.req("R-TOOL-17")
async def test_wait_for_output_ends_with_the_output(context, root):
    line = "while [ ! -e go ]; do sleep .01; done; echo ready; sleep 100"
    await answer(shell, context, command=line, background=True)
    waiting = asyncio.create_task(answer(process_output, context, id="p1", wait_seconds=50))
    await asyncio.sleep(0.01)
    (root / "go").touch()
    assert (await waiting).startswith("ready\n[p1: runs since")


@pytest.mark.req("R-TOOL-17")
async def test_long_new_output_names_what_is_omitted_and_the_file(context):
    await answer(shell, context, command="sleep .3; seq 1 60000; sleep 100", background=True)
    process = context.processes.get("p1")
    await wait_for(process, "\n60000\n")
    said = await answer(process_output, context, id="p1")
    assert "bytes are omitted here; read the full output in ranges" in said
    assert str(process.output.spill_path) in said
    assert len(said) < 3 * HEAD_TAIL_BYTES


async def test_unknown_process_is_an_error_with_the_processes(context):
    said = await get_refusal(
        process_output, context, "none", id="p7", failure=ToolFailure.NOT_FOUND
    )
    assert "`p7`" in said
    await answer(shell, context, command="sleep 100", background=True)
    await get_refusal(process_stop, context, "`p1`", id="7", failure=ToolFailure.NOT_FOUND)


@pytest.mark.req("R-TOOL-17")
async def test_user_moves_a_running_command_to_the_background(context):
    calling = asyncio.create_task(call(shell, context, command="echo early; sleep 100"))
    while "early" not in "".join(context.emit.__self__):
        await asyncio.sleep(0.01)
    assert context.processes.move_to_background() == 1
    output = await calling
    assert output.content[0].text == (
        "early\n[the user moved it to the background as `p1`, where it keeps running]"
    )
    assert context.processes.move_to_background() == 0
    assert [each.id for each in context.processes.running] == ["p1"]


async def test_moved_command_has_no_timeout_and_shows_nothing_in_its_card(context, root):
    line = "while [ ! -e go ]; do sleep .01; done; echo late; sleep 100"
    calling = asyncio.create_task(call(shell, context, command=line, timeout_seconds=1))
    await asyncio.sleep(0.02)
    context.processes.move_to_background()
    await calling
    (root / "go").touch()
    await wait_for(context.processes.get("p1"), "late")
    assert "late" not in "".join(context.emit.__self__)


@linux_only
@pytest.mark.req("R-TOOL-17")
async def test_no_process_of_a_session_outlives_it(context, root):
    line = "setsid sleep 100 & echo $! > pid; trap '' TERM; while :; do sleep .01; done"
    await answer(shell, context, command=line, background=True)
    while not (root / "pid").exists() or not (root / "pid").read_text():
        await asyncio.sleep(0.01)
    pid = int((root / "pid").read_text())
    foreground = asyncio.create_task(call(shell, context, command="sleep 100"))
    await asyncio.sleep(0.02)
    await context.processes.close()
    assert not is_alive(pid)
    await foreground
    await get_refusal(
        shell, context, "the session ends", command="true", failure=ToolFailure.CANCELLED
    )


async def test_stopped_call_ends_its_command_and_leaves_the_background(context, root):
    await answer(shell, context, command="sleep 100", background=True)
    calling = asyncio.create_task(call(shell, context, command="echo $$ > pid; sleep 100"))
    while not (root / "pid").exists() or not (root / "pid").read_text():
        await asyncio.sleep(0.01)
    calling.cancel()
    with pytest.raises(asyncio.CancelledError):
        await calling
    assert not is_alive(int((root / "pid").read_text()))
    assert len(context.processes.running) == 1


async def test_number_of_background_processes_is_limited(context):
    for _ in range(MAX_RUNNING):
        await answer(shell, context, command="sleep 100", background=True)
    await get_refusal(shell, context, "`process_stop`", command="sleep 1", background=True)


async def test_number_of_processes_is_limited_if_many_start_at_once(context):
    starts = (
        answer(shell, context, command="sleep 100", background=True) for _ in range(MAX_RUNNING + 3)
    )
    ends = await asyncio.gather(*starts, return_exceptions=True)
    assert sum(isinstance(each, ToolError) for each in ends) == 3
    assert len(context.processes.running) == MAX_RUNNING


async def test_command_that_waits_for_input_is_stopped_if_too_many_run(context, monkeypatch):
    monkeypatch.setattr(background, "MAX_RUNNING", 0)
    monkeypatch.setattr(background, "_QUIET_SECONDS", 0.05)
    await get_refusal(
        shell, context, "waits for input", "run already", command="read x", terminal=True
    )
    assert context.processes.background == ()


async def test_end_of_a_process_is_reported_once(context):
    ended = list[str]()

    async def note(process):
        ended.append(process.id)

    context.processes.on_end = note
    for _ in range(3):
        await answer(shell, context, command="echo $$; sleep 100", background=True)
    first, second, third = context.processes.running
    await wait_for(second, "\n")
    for process in (first, second):
        os.kill(int(process.output.text()), signal.SIGKILL)
        await process.wait_for_end()
    await answer(process_stop, context, id=third.id)
    while len(ended) < 3:
        await asyncio.sleep(0.01)
    await answer(process_output, context, id=second.id)
    assert [each.id for each in context.processes.take_ended()] == ["p1"]
    assert context.processes.take_ended() == ()


def test_last_line_is_the_last_state_of_a_progress_bar(tmp_path):
    output = CommandOutput(tmp_path, lambda _: None, Mask())
    process = RunningCommand("make", output)
    assert process.last_line == ""
    output.feed(b"start\n\x1b[32m10 %\r20 %\r\x1b[0m\n\n")
    assert process.last_line == "20 %"


def test_text_since_a_position_starts_with_a_character(tmp_path):
    output = CommandOutput(tmp_path, lambda _: None, Mask())
    output.feed("aé".encode()[:2])
    text, position = output.text_since(0)
    assert (text, position) == ("a", 1)
    output.feed("aé".encode()[2:])
    assert output.text_since(position) == ("é", 3)
