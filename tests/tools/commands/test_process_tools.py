import asyncio

import pytest

from tests.tools.contexts import answer, get_refusal
from tests.tools.test_background import wait_for
from yourtool.effects import Preview
from yourtool.errors import ToolFailure
from yourtool.tools import background
from yourtool.tools.commands.process_tools import process_input, process_output
from yourtool.tools.commands.shell import shell


async def wait_for_reader(process):
    """Wait until a process reads from its terminal."""
    async with asyncio.timeout(20):
        while not await process.find_input():
            await asyncio.sleep(0.01)


@pytest.fixture
async def context(contexts, monkeypatch):
    monkeypatch.setattr("yourtool.tools.commands.shell.FIRST_OUTPUT_SECONDS", 0.05)
    monkeypatch.setattr(background, "_POLL_SECONDS", 0.02)
    made = contexts()
    yield made
    await made.processes.close()


@pytest.mark.req("R-TOOL-17")
async def test_model_types_into_an_interpreter(context, monkeypatch):
    line = "while read -p '? ' x; do echo \"<$x>\"; done"
    await answer(shell, context, command=line, background=True, terminal=True)
    process = context.processes.get("p1")
    await wait_for(process, "? ")
    await wait_for_reader(process)
    process.read()
    monkeypatch.setattr(background, "_POLL_SECONDS", 0.3)
    said = await answer(process_input, context, id="p1", text="hello")
    assert said.startswith("hello\n<hello>\n? \n[p1: runs since ")
    assert "waits for input" in said


async def test_text_without_enter_is_a_key(context):
    line = "read -n 1 key; echo; echo key=$key"
    await answer(shell, context, command=line, background=True, terminal=True)
    process = context.processes.get("p1")
    await wait_for_reader(process)
    await answer(process_input, context, id="p1", text="q", enter=False)
    await process.wait_for_end()
    assert process.output.text() == "q\nkey=q\n"


async def test_process_without_a_terminal_takes_no_input(context):
    await answer(shell, context, command="sleep 100", background=True)
    await get_refusal(process_input, context, "`terminal`", id="p1", text="y")


async def test_ended_process_takes_no_input(context):
    await answer(shell, context, command="read x", background=True, terminal=True)
    process = context.processes.get("p1")
    await answer(process_input, context, id="p1", text="y")
    await process.wait_for_end()
    await get_refusal(process_input, context, "has ended", id="p1", text="y")
    assert (await answer(process_output, context, id="p1")).endswith("[p1: ended, exit code 0]")


@pytest.mark.req("R-TOOL-17")
async def test_question_shows_the_process_and_the_text(contexts, context):
    await answer(shell, context, command="cat", background=True, terminal=True)
    args = process_input.parse({"id": "p1", "text": "rm -r src"})
    shown = await process_input.preview(args, context)
    assert (shown.kind, shown.body) == ("command", "rm -r src")
    assert shown.surroundings == "the terminal of p1: cat; then Enter is pressed"
    agreed = contexts(processes=context.processes, approved=Preview(kind="command", body="ls"))
    await get_refusal(process_input, agreed, "that the user approved", id="p1", text="rm -r src")
    missing = process_input.parse({"id": "p9", "text": "x"})
    with pytest.raises(Exception, match="no process `p9`") as caught:
        await process_input.preview(missing, context)
    assert caught.value.failure is ToolFailure.NOT_FOUND
