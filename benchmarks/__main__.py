"""Run all or some benchmarks; print tables and write the figures as JSON.

    python -m benchmarks [--only start,keys] [--rounds N] [--quick] [--out FILE]

Both programs are measured in turn in every round, and the ratio is the median over the rounds: the
speed of a machine changes within minutes, the ratio of consecutive runs hardly does.
"""

import argparse
import json
import os
import platform
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from benchmarks import (
    cases,
    completion_growth,
    decision_replay,
    decode_stream,
    imports,
    long_sessions,
    request_growth,
    route_replay,
    routing_latency,
    sandbox_overhead,
    search_growth,
    server_start,
    store_latency,
)
from benchmarks.programs import ROOT, Program
from benchmarks.provider import Provider
from benchmarks.report import LIMIT, OURS, imports_table, results, table
from benchmarks.terminal import raise_priority

MODULES = {OURS: "yourtool", LIMIT: "benchmarks.limit"}
BEFORE = ("start", "request", "print", "ahead")
RUNNING = ("idle", "waiting", "keys", "stream", "paced", "tools", "output")
SCREEN = (*BEFORE, *RUNNING)
ALONE: dict[str, Callable[[bool], dict[str, Any]]] = {
    "servers": lambda quick: server_start.measure(3 if quick else 15),
    "imports": lambda quick: imports.measure(3 if quick else 5),
    "decisions": lambda quick: decision_replay.measure(10_000 if quick else 100_000),
    "routes": lambda quick: route_replay.measure(10_000 if quick else 100_000),
    "sandbox": lambda quick: sandbox_overhead.measure(5 if quick else 25),
    "store": lambda quick: store_latency.measure(100 if quick else 300, 1_000 if quick else 10_000),
    "sessions": lambda quick: long_sessions.measure(5_000 if quick else 100_000),
    "routing": lambda _: routing_latency.measure(),
    "messages": lambda quick: request_growth.measure(request_growth.SIZES[: 3 if quick else 4]),
    "files": lambda quick: completion_growth.measure(completion_growth.SIZES[: 2 if quick else 3]),
    "search": lambda quick: search_growth.measure(search_growth.SIZES[: 2 if quick else 3]),
    "decode": lambda _: decode_stream.measure(),
}
"""The benchmarks without a terminal."""


class Bench:
    """Runs the chosen cases."""

    def __init__(self, chosen: set[str], *, quick: bool, provider: Provider) -> None:
        self._chosen = chosen
        self._quick = quick
        self._provider = provider

    def round(self, program: Program, number: int) -> dict[str, float]:
        """Measure one program once; the names of the figures are `case.name`."""
        found: dict[str, float] = {}

        def note(case: str, figures: dict[str, float]) -> None:
            found.update({f"{case}.{name}": value for name, value in figures.items()})

        if "request" in self._chosen:
            note("first_request", cases.first_request(program, self._provider))
        if program.name == OURS and "print" in self._chosen:
            note("print", cases.print_mode(program, self._provider))
        if program.name == OURS and "ahead" in self._chosen:
            note("ahead", cases.typed_ahead(program, self._provider))
        if self._chosen & set(RUNNING):
            terminal, _ = program.start()
            try:
                self._session(program, terminal, number, note)
            finally:
                terminal.close()
        return found

    def _session(self, program: Program, terminal: Any, number: int, note: Any) -> None:
        chosen, quick, provider = self._chosen, self._quick, self._provider
        if "idle" in chosen and number == 0:
            note("idle", cases.idle(terminal, 3 if quick else 10))
        if "keys" in chosen:
            terminal.settle(1, 5)  # it may still be starting below the early prompt
            note("keys_idle", cases.keys(terminal, 30, 0.08))
        cases.stream(terminal, provider, 50)  # warm-up
        if "waiting" in chosen and number == 0:
            note("waiting", cases.waiting(terminal, provider, 5 if quick else 30))
        if "stream" in chosen:
            note("stream_2k", cases.stream(terminal, provider, 2_000))
        if "paced" in chosen and number == 0 and not quick:
            note("paced_2k", cases.stream(terminal, provider, 2_000, 200))
        if "keys" in chosen:
            note("keys_stream", cases.keys_while_streaming(terminal, provider))
        if "tools" in chosen and program.name == OURS:
            note("tools", cases.tools(terminal, provider))
        if "output" in chosen and program.name == OURS and number == 0:
            for megabytes in (1, 10) if quick else (1, 10, 100):
                note(f"output_{megabytes}", cases.output(terminal, megabytes))
        if "stream" in chosen:
            note("stream_20k", cases.stream(terminal, provider, 20_000))
            if "keys" in chosen:
                note("keys_after", cases.keys(terminal, 30, 0.08))
            if "idle" in chosen and number == 0:
                note("idle_after", cases.idle(terminal, 3))


def measure(chosen: set[str], *, quick: bool, rounds: int) -> dict[str, list[dict[str, float]]]:
    """Return the figures of every round of both programs."""
    found: dict[str, list[dict[str, float]]] = {name: [] for name in MODULES}
    with tempfile.TemporaryDirectory() as folder, Provider() as provider:
        programs = [
            Program(name, module, provider, Path(folder)) for name, module in MODULES.items()
        ]
        bench = Bench(chosen, quick=quick, provider=provider)
        for program in programs:
            cases.start(program)  # the first one writes caches and settings
        starts = 3 if "start" in chosen else 0
        for number in range(rounds):
            tell(f"round {number + 1} of {rounds}")
            for at in range(starts):
                for program in _turned(programs, at + number):
                    figures = {f"start.{k}": v for k, v in cases.start(program).items()}
                    found[program.name].append(figures)
            for program in _turned(programs, number):
                found[program.name].append(bench.round(program, number))
    return found


def _turned(programs: list[Program], number: int) -> list[Program]:
    return programs[:: -1 if number % 2 else 1]


def tell(words: str) -> None:
    """Print the progress."""
    sys.stderr.write(f"{time.strftime('%H:%M:%S')}  {words}\n")


def main() -> None:
    """Run the command line."""
    options = argparse.ArgumentParser(
        prog="python -m benchmarks",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    names = ",".join((*SCREEN, *ALONE))
    options.add_argument("--only", default=names, help=f"some of {names}")
    options.add_argument("--rounds", type=int)
    options.add_argument("--quick", action="store_true", default=bool(os.environ.get("QUICK")))
    options.add_argument("--out", type=Path, help="default: benchmarks/results/TIME.json")
    given = options.parse_args()
    chosen = set(given.only.split(","))
    if unknown := chosen - {*SCREEN, *ALONE}:
        options.error(f"there is no {', '.join(sorted(unknown))}; there are {names}")
    raise_priority()
    report: dict[str, Any] = {
        "when": time.strftime("%Y-%m-%dT%H:%M:%S"),
        "python": platform.python_version(),
        "cpus": os.cpu_count(),
        "load": os.getloadavg()[0],
    }
    if chosen & set(SCREEN):
        rounds = measure(
            chosen, quick=given.quick, rounds=given.rounds or (1 if given.quick else 3)
        )
        found = results(rounds)
        print(table(found), end="\n\n")
        report["ratios"] = {one.row.figure: one.ratio for one in found if one.ratio is not None}
        report["rounds"] = rounds
    for name, work in ALONE.items():
        if name in chosen:
            tell(name)
            report[name] = work(given.quick)
            plain = f"{name}: {json.dumps(report[name])}"
            print(imports_table(report[name]) if name == "imports" else plain, end="\n\n")
    out = given.out or ROOT / "benchmarks" / "results" / time.strftime("%Y%m%d-%H%M%S.json")
    out.parent.mkdir(parents=True, exist_ok=True)
    out.write_text(json.dumps(report, indent=1))
    tell(f"figures: {out}")


if __name__ == "__main__":
    main()
