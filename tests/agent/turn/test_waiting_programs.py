"""A program that waits for input on its terminal: the user is asked, or it moves away."""

import sys
from pathlib import Path

import pytest
from msgspec.structs import replace

from tests.agent.harness import ALLOW, DENY, User, play
from yourtool.config import Mode
from yourtool.events.tools import ToolCompleted
from yourtool.providers.scripted import Scripted, calls, says

pytestmark = pytest.mark.skipif(
    not Path("/proc/self/syscall").exists(), reason="`/proc` shows which program waits"
)
PASSWORD = f"{sys.executable} -c \"import getpass; print(len(getpass.getpass('Secret: ')))\""


async def run(bench, command, *answers, interactive=True):
    user = User(*answers)
    script = Scripted([calls("shell", command=command, terminal=True), says("ok")])
    session = await bench.session(script, confirm=user, mode=Mode.AUTO, interactive=interactive)
    events = await play(session.send("go"))
    [end] = [each for each in events if isinstance(each, ToolCompleted)]
    text = "\n".join(part.text for part in end.message.content[0].content)
    facts = await bench.store.read(session.id)
    await session.close()
    return user, text, facts


@pytest.mark.req("R-TOOL-17")
async def test_user_types_what_a_program_waits_for(bench):
    answer = replace(ALLOW, typed="blue")
    user, text, _ = await run(bench, "read -p 'Colour? ' x; echo got $x", answer)
    [question] = user.asked
    assert question.kind == "input"
    assert "waits for input: Colour?" in question.title
    assert "got blue" in text


@pytest.mark.req("R-TOOL-17")
async def test_password_is_neither_shown_to_the_model_nor_stored(bench):
    user, text, facts = await run(bench, PASSWORD, replace(ALLOW, typed="hunter2hunter2"))
    assert [each.kind for each in user.asked] == ["password"]
    assert "14" in text
    assert "hunter2" not in text
    assert "hunter2" not in str(facts)


async def test_user_stops_a_program_that_waits(bench):
    _, text, _ = await run(bench, "read x", DENY)
    assert "the user stopped it, because it waits for input" in text


async def test_user_moves_a_program_that_waits_to_the_background(bench):
    _, text, _ = await run(bench, "read x", ALLOW)
    assert "moved it to the background as `p1`" in text


async def test_without_a_user_a_program_that_waits_moves_to_the_background(bench):
    user, text, _ = await run(bench, "read x", interactive=False)
    assert user.asked == []
    assert "waits for input, so it keeps running in the background as `p1`" in text
