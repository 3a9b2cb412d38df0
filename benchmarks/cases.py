"""The cases that measure a running program; each returns its figures by name."""

import random
import statistics
import time
from itertools import pairwise

from benchmarks.programs import FILES, PATIENCE, PROBES, Program, erase, submit
from benchmarks.prose import reply
from benchmarks.provider import Provider, Turn
from benchmarks.terminal import Terminal

Figures = dict[str, float]
MIB = 1 << 20
TYPED = "abcdefghijklmnopqrst"
"""Letters that no key of the interface uses."""
_START_SECONDS = 2
"""Seconds after which a request has been sent and the screen shows only that the turn waits."""


def start(program: Program) -> Figures:
    """From the start to the first echoed letter, and until the program is quiet."""
    terminal, figures = program.start()
    terminal.settle(0.5, 4)
    figures["quiet_cpu_s"] = terminal.cpu()
    terminal.close()
    return figures


def first_request(program: Program, provider: Provider) -> Figures:
    """From the start to the first request, minus the time of typing."""
    turn = Turn(["Yes."])
    provider.will_say(turn)
    terminal, _ = program.start()
    began = time.monotonic()
    sent = submit(terminal)
    turn.over.wait(PATIENCE)
    terminal.close()
    return {"first_request_s": turn.asked - terminal.began - (sent - began)}


def print_mode(program: Program, provider: Provider) -> Figures:
    """From the start of `-p` to its request."""
    turn = Turn(["Yes."])
    provider.will_say(turn)
    began = program.answer("go")
    return {"first_request_s": turn.asked - began}


def typed_ahead(program: Program, provider: Provider) -> Figures:
    """Letters that are typed from the start on, and how many of them are lost."""
    turn, letters = Turn(["Yes."]), TYPED * 2
    provider.will_say(turn)
    terminal = program.spawn()
    for letter in letters:
        terminal.send(letter)
        time.sleep(0.015)
    terminal.wait_for_paint(PATIENCE)
    terminal.settle(0.5, 4)
    terminal.send("\r")
    turn.over.wait(PATIENCE)
    terminal.close()
    return {"lost": len(letters) - len(turn.prompt)}


def output(terminal: Terminal, megabytes: int) -> Figures:
    """A command of the user that writes many lines, until the screen is quiet."""
    end = _sign()
    terminal.settle(0.3, 2)
    mark, cpu = terminal.mark, terminal.cpu()
    line = "x" * 99
    command = f"!!yes {line} | head -c {megabytes}000000; echo {end[:4]}''{end[4:]}"
    sent = submit(terminal, command, gap=0.002)
    shown = _shown(terminal, end, mark)
    terminal.settle(0.5, 3)
    return {"cpu_s": terminal.cpu() - cpu, "wall_s": shown - sent}


def idle(terminal: Terminal, seconds: float) -> Figures:
    """CPU, memory and output of the idle program."""
    terminal.settle(1, 3)
    mark, cpu, began = terminal.mark, terminal.cpu(), time.monotonic()
    time.sleep(seconds)
    return {
        "cpu_percent": 100 * (terminal.cpu() - cpu) / (time.monotonic() - began),
        "tty_bytes": terminal.written(mark),
        "memory_mib": terminal.memory() / MIB,
    }


def waiting(terminal: Terminal, provider: Provider, seconds: float) -> Figures:
    """CPU and output while nothing of a reply arrives."""
    turn = Turn(["Yes."], delay=seconds + 2 * _START_SECONDS)
    provider.will_say(turn)
    submit(terminal)
    time.sleep(_START_SECONDS)
    mark, cpu, began = terminal.mark, terminal.cpu(), time.monotonic()
    time.sleep(seconds)
    figures = {
        "cpu_percent": 100 * (terminal.cpu() - cpu) / (time.monotonic() - began),
        "tty_bytes": terminal.written(mark) / seconds,
        "replied": float(turn.first_sent > 0),
    }
    turn.over.wait(PATIENCE)
    return figures


def keys(terminal: Terminal, count: int, gap: float) -> Figures:
    """From a key to its echo, in milliseconds; `gap` is about the seconds between two keys."""
    echoes: list[float] = []
    typed, rhythm, cpu = 0, random.Random(1), terminal.cpu()
    for _ in range(count):
        if typed == len(PROBES):
            erase(terminal, typed)
            terminal.settle(0.2, 2)
            typed = 0
        mark = terminal.mark
        pressed = terminal.send(PROBES[typed])
        shown = terminal.wait_for(PROBES[typed], mark, 3)
        typed += 1
        echoes.append(1000 * ((shown or time.monotonic()) - pressed))
        time.sleep(max(0.0, gap * rhythm.uniform(0.7, 1.3) - (time.monotonic() - pressed)))
    spent = terminal.cpu() - cpu
    erase(terminal, typed)
    return {
        "p50_ms": statistics.median(echoes),
        "p95_ms": statistics.quantiles(echoes, n=20)[-1],
        "cpu_ms": 1000 * spent / count,
    }


def keys_while_streaming(terminal: Terminal, provider: Provider, count: int = 30) -> Figures:
    """Keys and their echoes while a reply of 100 tokens a second arrives."""
    mark, end = terminal.mark, _sign()
    turn = Turn(reply(int(100 * (count * 0.15 + 2.5)), end), rate=100)
    provider.will_say(turn)
    submit(terminal)
    time.sleep(1)
    figures = keys(terminal, count, 0.15)
    figures["streaming"] = float(not turn.over.is_set())
    turn.over.wait(PATIENCE)
    _shown(terminal, end, mark)
    return figures


def stream(terminal: Terminal, provider: Provider, tokens: int, rate: float = 0) -> Figures:
    """A reply, from the request until the screen is quiet."""
    end = _sign()
    turn = Turn(reply(tokens, end), rate)
    provider.will_say(turn)
    terminal.settle(0.3, 2)
    mark, cpu = terminal.mark, terminal.cpu()
    sent = submit(terminal)
    turn.over.wait(PATIENCE + (tokens / rate if rate else 0))
    shown = _shown(terminal, end, mark)
    terminal.settle(0.5, 3)
    return {
        "cpu_s": terminal.cpu() - cpu,
        "lag_s": shown - turn.last_sent,
        "wall_s": shown - turn.asked,
        "tty_kib": terminal.written(mark) / 1024,
        "submit_ms": 1000 * (turn.asked - sent),
        "memory_mib": terminal.memory() / MIB,
    }


def tools(terminal: Terminal, provider: Provider) -> Figures:
    """From the end of a reply that reads a file to the next request."""
    end = _sign()
    trips = [Turn(["Step."], call=("read_file", {"path": f"f{n}.txt"})) for n in range(FILES)]
    turns = [*trips, Turn(reply(1, end))]
    provider.will_say(*turns)
    terminal.settle(0.3, 2)
    mark, cpu = terminal.mark, terminal.cpu()
    submit(terminal)
    turns[-1].over.wait(PATIENCE)
    _shown(terminal, end, mark)
    terminal.settle(0.5, 3)
    gaps = [1000 * (after.asked - before.last_sent) for before, after in pairwise(turns)]
    return {
        "p50_ms": statistics.median(gaps),
        "p95_ms": statistics.quantiles(gaps, n=20)[-1],
        "cpu_ms": 1000 * (terminal.cpu() - cpu) / len(trips),
        "tty_kib": terminal.written(mark) / 1024,
    }


def _sign() -> str:
    return f"ZQ{random.randrange(10_000, 99_999)}XK"


def _shown(terminal: Terminal, sign: str, since: int) -> float:
    at = terminal.wait_for([sign], since, PATIENCE)
    if at is None:
        raise RuntimeError(f"the end of the reply, `{sign}`, was never shown")
    return at
