"""The session of a killed process is whole, and continues (R-PER-02)."""

import asyncio
import os
import random
import shutil
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.agent.harness import Bench, Checked, names, play
from tests.agent.test_faults import SCRIPT, problems, stored_attachments, turns_without_one_end
from tests.fork_server import ForkServer, kill
from tests.store.disk_writes import STRACE, needs_strace
from yourtool.events.catalog import message_of
from yourtool.events.turns import TurnSteered
from yourtool.providers.scripted import Scripted

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize("when", ["before", "after"])
@pytest.mark.remaining
def test_session_of_a_process_killed_at_any_write_can_be_resumed(tmp_path, when):
    """R-PER-02, with real processes and SIGKILL."""
    command = [sys.executable, "-m", "tests.agent.killed_turns", str(tmp_path), when]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    places = done.stdout.split()
    assert len(places) > 15

    for place in places:
        asyncio.run(check_resumed(place))


async def check_resumed(place, shown=()):
    """Resume the session of a killed process, and return how many seconds it took.

    `shown`: ids of the facts that it had shown.
    """
    bench = Bench(Path(place))
    session_file = bench.root / "session"
    if not session_file.exists():
        await bench.close()
        assert not shown
        return 0
    adapter, started = Checked(Scripted(SCRIPT[3:])), time.monotonic()
    session = await bench.session(adapter, resume=session_file.read_text())
    taken = time.monotonic() - started
    assert await bench.store.pending_call_ids(session.id) == ()
    assert set(shown) <= {fact.id for fact in session.state.facts}
    stored_attachments(bench, session.state.facts)
    call_count = sum(name == "tool.called" for name in names(session.state.facts))
    steered = [fact for fact in session.state.facts if isinstance(fact, TurnSteered)]
    await play(session.send("go on"))
    texts = [message.text for message in adapter.requests[-1].messages]
    assert texts.count("also say hi") == len(steered) <= 1
    assert problems(session) == []
    assert turns_without_one_end(session) == []
    assert sum(name == "tool.called" for name in names(session.state.facts)) == call_count
    await session.close()
    await bench.close()
    return taken


_STREAMING_SECONDS = 8
"""About the duration of a streamed turn."""


async def kill_at_random(server, place, seconds):
    """Kill a streamed turn after some seconds, check its session, and return figures.

    They are the number of shown facts, and the seconds of lost text and of resuming.
    """
    place.mkdir()
    output = place / "shown"
    pid = server.start(output, place, "streamed")
    await asyncio.sleep(seconds)
    killed = time.monotonic()
    kill(pid)
    lines = output.read_text().splitlines() if output.exists() else []
    facts = [line for line in lines if not line.startswith("text ")]
    pieces = [line.split()[1:] for line in lines if line.startswith("text ")]
    stored = await stored_lengths(place)
    lost = [
        killed - float(at)
        for message_id, length, at in pieces
        if int(length) > stored.get(message_id, 0)
    ]
    return len(facts), max(lost, default=0), await check_resumed(place, facts)


async def stored_lengths(place):
    """Return the length of the text of each stored message, and of the part of one, by id."""
    if not (place / "session").exists():
        return {}
    bench = Bench(place)
    session_id = (place / "session").read_text()
    facts = [*await bench.store.read(session_id), await bench.store.read_partial(session_id)]
    await bench.close()
    messages = [message_of(fact) for fact in facts if fact is not None]
    return {message.id: len(message.text) for message in messages if message is not None}


async def check_random_kills(place, count, together, seed):
    """Kill turns at random times, some at a time; return facts, and the largest seconds."""
    chance, facts, lost, resumed = random.Random(seed), 0, 0, 0
    with ForkServer("tests.agent.killed_turns") as server:
        for first in range(0, count, together):
            places = [place / str(first + each) for each in range(together)]
            times = [chance.uniform(0, _STREAMING_SECONDS) for _ in places]
            kills = map(kill_at_random, [server] * together, places, times)
            for found in await asyncio.gather(*kills):
                facts, lost, resumed = (
                    facts + found[0], max(lost, found[1]), max(resumed, found[2])
                )  # fmt: skip
            for each in places:
                shutil.rmtree(each)
    return facts, lost, resumed


needs_pidfd = pytest.mark.skipif(not hasattr(os, "pidfd_open"), reason="waits for other processes")


@pytest.mark.remaining
@pytest.mark.blocks_loop
@pytest.mark.req("R-PER-02")
@needs_pidfd
async def test_session_of_a_process_killed_at_a_random_time_can_be_resumed(tmp_path):
    assert (await check_random_kills(tmp_path, 8, 8, 3))[0] > 50


@pytest.mark.reliability
@pytest.mark.blocks_loop
@pytest.mark.timeout(7_200)
@needs_pidfd
async def test_two_thousand_turns_killed_at_random_times_can_be_resumed(tmp_path, figures):
    facts, lost, resumed = await check_random_kills(tmp_path, 2_000, 20, 5)
    figures(
        "kills",
        f"2,000 kills, {facts:,} shown facts, 0 lost, all valid; at most {lost:.1f} s of text"
        f" lost, resumed in at most {resumed * 1_000:.0f} ms",
        part="whole turns that stream",
    )
    assert lost < 4, "the goal is 2"


_PARTS = 4
"""Parts of the longest test, each of which takes some minutes."""
_WRITING_CALLS = "pwrite64,write,fdatasync,fsync,ftruncate,rename,unlink,mkdir"


def kill_at_call(place, number):
    """Kill a process in its nth system call that writes; return what it showed, or None."""
    place.mkdir()
    options = ["-f", "-o", "/dev/null", "-e", f"trace={_WRITING_CALLS}"]
    kill = ["-e", f"inject={_WRITING_CALLS}:signal=SIGKILL:when={number}"]
    command = [sys.executable, "-m", "tests.agent.killed_turns", str(place), "once"]
    done = subprocess.run([STRACE, *options, *kill, *command], cwd=ROOT, capture_output=True)
    if done.returncode == 0:
        return None
    return [line for line in done.stdout.decode().splitlines() if not line.startswith("text ")]


@pytest.mark.remaining
@pytest.mark.blocks_loop
@pytest.mark.req("R-PER-02")
@needs_strace
@pytest.mark.parametrize("number", [3, 90, 210, 340])
async def test_session_of_a_process_killed_in_a_system_call_can_be_resumed(tmp_path, number):
    shown = kill_at_call(tmp_path / "killed", number)
    assert shown is not None
    await check_resumed(tmp_path / "killed", shown)


@pytest.mark.reliability
@pytest.mark.blocks_loop
@pytest.mark.timeout(7_200)
@needs_strace
@pytest.mark.parametrize("part", range(_PARTS))
async def test_session_of_a_process_killed_in_any_system_call_can_be_resumed(
    tmp_path, figures, part
):
    facts, number = 0, part + 1
    while (shown := kill_at_call(place := tmp_path / str(number), number)) is not None:
        await check_resumed(place, shown)
        facts, number = facts + len(shown), number + _PARTS
    value = f"{number // _PARTS} calls, {facts:,} shown facts, 0 lost, all valid"
    figures("system calls", value, part=f"part {part + 1} of {_PARTS}")
    assert number >= 500
