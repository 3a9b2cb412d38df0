"""A program that waits for input on its terminal: the user is asked, or it moves away."""

import asyncio
import itertools
import shutil
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

import pytest
from msgspec.structs import replace

from tests.agent.harness import ALLOW, DENY, Bench, User, play
from tests.tools.sandbox.levels import build_sandbox, find_reason
from yourtool.events.tools import ToolCompleted
from yourtool.providers.scripted import Scripted, calls, says
from yourtool.settings.config import Mode
from yourtool.settings.sandbox_config import SandboxLevel
from yourtool.tools import background

pytestmark = pytest.mark.skipif(
    not Path("/proc/self/syscall").exists(), reason="`/proc` shows which program waits"
)
PASSWORD = f"{sys.executable} -c \"import getpass; print(len(getpass.getpass('Secret: ')))\""


@pytest.fixture(autouse=True)
def quick(request, monkeypatch):
    """Notice waiting programs soon, unless it is measured how soon."""
    if request.node.get_closest_marker("craft") is None:
        monkeypatch.setattr(background, "_QUIET_SECONDS", 0.05)
        monkeypatch.setattr(background, "_POLL_SECONDS", 0.02)


SUDO = "sudo -k true" if shutil.which("sudo") else "su nobody -s /bin/sh -c 'su -c true'"
PROGRAMS = {
    "read": "read x",
    "sudo": SUDO,
    "git commit": "git -c core.editor=vi commit --allow-empty",
    "a pager": "less long",
    "a REPL": f"{sys.executable} -i",
}
MORE_PROGRAMS = {
    "read from the terminal": "(read x < /dev/tty)",
    "read after a pause": "sleep 1; read x",
    "password": PASSWORD,
    "passphrase": "ssh-keygen -q -f key",
    "menu": "select x in a b; do echo $x; done",
    "git add": "git add -N long; git add -p",
    "rm": "touch file; rm -i file",
    "more": "more long",
    "shell": "bash -i",
    "console": f"{sys.executable} -c 'import code; code.interact()'",
    "database": "sqlite3",
    "node": "node",
    "debugger": "gdb -q",
    "calculator": "bc",
    "process list": "top",
}


async def meet(root, command, level, *, terminal, interactive, seconds):
    """Run a program that waits, and return what became of it."""
    root.mkdir()
    bench = Bench(root)
    (bench.workspace / "long").write_text("line\n" * 999)
    await asyncio.to_thread(subprocess.run, ["git", "init", "-q", bench.workspace], check=True)
    user = User(DENY)
    shell = calls("shell", command=command, terminal=terminal, timeout_seconds=seconds)
    settings = {} if level is None else {"sandbox": build_sandbox(bench.workspace, level)}
    session = await bench.session(
        Scripted([shell, says("ok")]),
        confirm=user, mode=Mode.AUTO, interactive=interactive, settings=settings,
    )  # fmt: skip
    events = await play(session.send("go"))
    [end] = [each for each in events if isinstance(each, ToolCompleted)]
    await session.close()
    await bench.close()
    if "timed out" in end.message.content[0].content[0].text:
        return "was forgotten"
    if "process" in end.message.metadata.details:
        return "moved"
    kinds = {each.kind for each in user.asked}
    return "asked" if kinds & {"input", "password"} else "returned"


async def meet_all(root, programs, levels, *, at_once, seconds):
    """Meet programs in all ways; yield each with its way and what became of it."""
    numbers, places = itertools.count(), asyncio.Semaphore(at_once)

    async def meet_one(name, level, terminal, interactive):
        async with places:
            started = time.monotonic()
            end = await meet(
                root / str(next(numbers)), programs[name], level,
                terminal=terminal, interactive=interactive, seconds=seconds,
            )  # fmt: skip
            return name, (level, terminal, interactive), end, time.monotonic() - started

    ways = itertools.product(programs, levels, (True, False), (True, False))
    for meeting in asyncio.as_completed([meet_one(*each) for each in ways]):
        yield await meeting


@pytest.mark.req("R-TOOL-17")
@pytest.mark.remaining
async def test_no_program_waits_for_input_that_nobody_gives(tmp_path):
    async for name, way, end, _ in meet_all(tmp_path, PROGRAMS, [None], at_once=4, seconds=30):
        assert end != "was forgotten", (name, way)
        _, terminal, interactive = way
        if name == "read":
            assert end == ("returned" if not terminal else "asked" if interactive else "moved")


@pytest.mark.craft
async def test_programs_that_wait_return_or_ask_within_five_seconds(tmp_path, figures):
    reason = await asyncio.to_thread(find_reason, SandboxLevel.FULL)
    levels = [None, *([SandboxLevel.FULL] if reason is None else [])]  # below, each run is asked
    ends, late, slowest = Counter(), [], 0.0
    async for name, way, end, seconds in meet_all(
        tmp_path, PROGRAMS | MORE_PROGRAMS, levels, at_once=2, seconds=15
    ):
        ends[end] += 1
        slowest = max(slowest, seconds)
        if end == "was forgotten" or seconds > 5:
            late.append((name, way, end, seconds))
    counts = ", ".join(f"{count} {end}" for end, count in sorted(ends.items()))
    figures("waiting", f"{counts}; at most {slowest:.1f} s")
    assert late == []


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
    assert question.title.startswith("It waits for input: Colour? · read -p")
    assert "got blue" in text


@pytest.mark.req("R-TOOL-17")
async def test_password_is_neither_shown_to_the_model_nor_stored(bench):
    user, text, facts = await run(bench, PASSWORD, replace(ALLOW, typed="hunter2hunter2"))
    assert [each.kind for each in user.asked] == ["password"]
    assert "14" in text
    assert "hunter2" not in text
    assert "hunter2" not in str(facts)


async def test_password_that_the_program_prints_is_masked(bench):
    line = "read -s -p 'Secret: ' x; echo; echo $x; printf $x | base64"
    _, text, facts = await run(bench, line, replace(ALLOW, typed="hunter2hunter2"))
    assert "[hidden key]\n[hidden key]" in text
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


async def test_program_in_landlock_can_ask_on_its_terminal(bench):
    settings = {"sandbox": build_sandbox(bench.workspace, SandboxLevel.LANDLOCK)}
    command = calls("shell", command="echo asked > /dev/tty", terminal=True)
    session = await bench.session(
        Scripted([command, says("ok")]), mode=Mode.AUTO, settings=settings
    )
    events = await play(session.send("go"))
    [end] = [each for each in events if isinstance(each, ToolCompleted)]
    assert end.message.content[0].content[0].text == "asked\n[exit code 0]"
