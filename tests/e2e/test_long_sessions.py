"""A prompt in a session of 100,000 messages, and hours at one of 10,000, in separate processes."""

import os
import random
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.e2e.terminal import YOURTOOL, Terminal
from tests.provider_server import ProviderServer, Reply
from tests.store.turns import FactBuilder
from yourtool.messages.blocks import TextBlock
from yourtool.store.sqlite.database import Database
from yourtool.store.sqlite.store import SqliteStore

pytestmark = pytest.mark.remaining

long_sessions = pytest.importorskip("benchmarks.long_sessions", exc_type=ModuleNotFoundError)

MIB = 1024 * 1024
GROWTH = 5.5

UNLIMITED = """
[models."demo:file"]
max_context_tokens = 10_000_000
max_request_bytes = 1_000_000_000
"""

MEASURED = """
import resource, subprocess, sys
status = subprocess.run(sys.argv[1:], stdout=subprocess.DEVNULL).returncode
used = resource.getrusage(resource.RUSAGE_CHILDREN)
print(status, used.ru_utime + used.ru_stime, used.ru_maxrss * 1024)
"""


async def write_session(home: Path, workspace: Path, messages: int) -> None:
    database = Database(home / "data" / "sessions.db")
    builder, store = FactBuilder(workspace=str(workspace)), SqliteStore(database)
    await store.append(builder.session_start())
    for _ in range(messages // 1_000):
        facts = []
        for number in range(125):
            facts += builder.turn("a line of output\n" * 10)
            facts += [builder.turn_start(f"prompt {number}"), builder.route(), builder.request()]
            facts += [builder.reply(TextBlock("Some words. " * 10)), builder.turn_end()]
            facts += [
                builder.turn_start("again"),
                builder.reply(TextBlock("Yes.")),
                builder.turn_end(),
            ]
        await store.append(*facts)
    await database.close()


def measured(home: Path, workspace: Path, *arguments: str) -> tuple[float, int]:
    """Return CPU seconds and the largest resident size in bytes of one run of the program."""
    command = [sys.executable, "-c", MEASURED, sys.executable, "-m", "yourtool", *arguments]
    environment = {**os.environ, "YOURTOOL_HOME": str(home)}
    run = subprocess.run(
        command, cwd=workspace, env=environment, capture_output=True, text=True, check=True
    )
    status, cpu, size = run.stdout.split()
    assert status == "0", run.stderr
    return float(cpu), int(size)


@pytest.mark.soak
@pytest.mark.blocks_loop("the test waits for processes that it starts")
@pytest.mark.timeout(900)
async def test_a_prompt_in_a_session_of_100_000_messages_is_linear_and_small(tmp_path):
    script = tmp_path / "script.json"
    script.write_text('{"replies": [[{"say": "Done."}], [{"say": "Done."}], [{"say": "Done."}]]}')
    workspace = tmp_path / "workspace"
    workspace.mkdir()
    seconds, sizes = [], []
    for messages in (20_000, 100_000):
        home = tmp_path / str(messages)
        await write_session(home, workspace, messages)
        (home / "config.toml").write_text(f'[providers.demo]\nquirks = {{ script = "{script}" }}\n')
        (home / "models.toml").write_text(UNLIMITED)
        prompt = ("-p", "hello", "--continue", "-m", "demo:file")
        runs = [measured(home, workspace, *prompt) for _ in range(2)]
        seconds.append(min(cpu for cpu, _ in runs))
        sizes.append(max(size for _, size in runs))
    assert seconds[1] <= GROWTH * seconds[0]
    assert sizes[1] <= 200 * MIB


@pytest.mark.reliability
@pytest.mark.blocks_loop("the benchmark builds a session, and waits for the program")
@pytest.mark.timeout(1_800)
def test_session_of_100_000_messages_has_its_figures(figures):
    found = long_sessions.measure()
    slowest = max(value for name, value in found.items() if name.startswith("search"))
    value = (
        f"{found['end_shown_s']} s, {found['key_echoed_s']} s; {found['memory_complete_mib']} MiB;"
        f" {slowest} ms; {found['open_5000_ms']} ms (CPU: {found['open_5000_cpu_ms']} ms)"
    )
    figures("long sessions", value)
    assert found["memory_complete_mib"] <= 150


TURNS, WARM_UP_TURNS = 60, 20
GROWTH_OF_TURNS = 2 * MIB
"""Largest growth of the smallest size in 20 turns; a leak of 0.1 MiB a turn is about as large.

A request of 10,000 messages has 3 MiB, which the allocator returns or not, so sizes vary by that.
"""
WARM_UP_ROUNDS, ROUNDS = 30, 120
GROWTH_PER_ROUND = 4 * 1024
"""Largest slope in bytes; a leak of one frame of 100 columns and 30 rows is larger."""
SIZES = ((40, 12), (60, 30), (80, 24), (120, 40), (200, 50))
"""Textual caches styles and layouts by size, about 5 KiB each, so the storms repeat sizes."""
IDLE_SECONDS, IDLE_SHARE = 30, 0.002
FOCUS_IN, FOCUS_OUT, PAGE_UP, CTRL_END = "\x1b[I", "\x1b[O", "\x1b[5~", "\x1b[1;5F"


def family(pid: int) -> list[int]:
    """Return a process and all its descendants."""
    children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    return [pid, *(each for child in children for each in family(int(child)))]


def cpu_seconds(pids: list[int]) -> float:
    """Return the time that all threads of these processes ran."""
    files = [file for pid in pids for file in Path(f"/proc/{pid}/task").glob("*/schedstat")]
    return sum(int(file.read_text().split()[0]) for file in files) / 1e9


def private_bytes(pid: int) -> int:
    lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
    return 1024 * sum(int(line.split()[1]) for line in lines if line.startswith("Private_"))


def slope(values: list[int]) -> float:
    """Return the slope of the line with the least squares."""
    middle, mean = (len(values) - 1) / 2, sum(values) / len(values)
    above = sum((at - middle) * (value - mean) for at, value in enumerate(values))
    return above / sum((at - middle) ** 2 for at in range(len(values)))


def use(terminal: Terminal, number: int, chance: random.Random) -> None:
    """Resize many times, leave and enter the window, scroll, and type."""
    for _ in range(10):
        terminal.resize(*chance.choice(SIZES))
        terminal.read(chance.uniform(0, 0.02))
    terminal.resize(100, 30)
    for keys in (FOCUS_OUT, FOCUS_IN, PAGE_UP, PAGE_UP, CTRL_END):
        terminal.send(keys)
        terminal.read(0.01)
    terminal.send(f"typed {number}")
    terminal.wait(f"typed {number}")
    terminal.send("\x03")
    terminal.wait(lambda screen: f"typed {number}" not in screen)


@pytest.mark.soak
@pytest.mark.blocks_loop("the test waits for processes that it starts")
@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
@pytest.mark.timeout(3600)
async def test_memory_is_level_and_the_idle_cpu_is_zero_after_turns_and_resize_storms(
    tmp_path, work
):
    chance, after_turns, after_rounds = random.Random(1), list[int](), list[int]()
    home = tmp_path / "home"
    await write_session(home, work, 10_000)
    with ProviderServer([Reply(f"reply {each}.") for each in range(TURNS)]) as server:
        env = {"YOURTOOL_HOME": str(home), **server.environment}
        command = (*YOURTOOL, "--continue", "-m", "anthropic:claude-sonnet-4-6")
        with Terminal(command, cwd=work, env=env, watched=False) as terminal:
            terminal.wait("anthropic:", "Shift.Tab mode", "Yes\\.")
            pids = family(terminal.process.pid)
            for number in range(TURNS):
                terminal.say(f"message {number}")
                terminal.wait(rf"reply {number}\.", "Shift.Tab mode")
                after_turns.append(private_bytes(pids[-1]))
            for number in range(ROUNDS):
                use(terminal, number, chance)
                after_rounds.append(private_bytes(pids[-1]))
            terminal.read(3)
            ran, started = cpu_seconds(pids), time.monotonic()
            terminal.read(IDLE_SECONDS)
            share = (cpu_seconds(pids) - ran) / (time.monotonic() - started)
    middle, last = after_turns[WARM_UP_TURNS:-WARM_UP_TURNS], after_turns[-WARM_UP_TURNS:]
    assert min(last) - min(middle) <= GROWTH_OF_TURNS, [size >> 10 for size in after_turns]
    growth = slope(after_rounds[WARM_UP_ROUNDS:])
    assert growth <= GROWTH_PER_ROUND, [size >> 10 for size in after_rounds]
    assert share < IDLE_SHARE
