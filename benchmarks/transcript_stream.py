"""Stream a long reply into the transcript and into a minimal app, in a pseudo-terminal each.

    python benchmarks/transcript_stream.py [--tokens 20000] [--rate 0] [--rounds 3] [--limit FILE]

Prints JSON: per program CPU seconds, seconds and bytes while streaming, the time of a key's echo
with the whole reply on the screen, bytes and CPU while idle; and the ratios of ours to the limit.
The limit is a Python file with an app class `Mini` whose `tokens(prompt)` is replaced; without the
file only ours is measured.
"""

import argparse
import asyncio
import contextlib
import importlib.util
import json
import os
import pty
import select
import statistics
import struct
import subprocess
import sys
import tempfile
import termios
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from fcntl import ioctl
from pathlib import Path

ROOT = Path(__file__).parents[1]
KEYS = "etaoinshrdlucmfwypvbgkjqxz"

PARAGRAPH = (
    "The **parser** reads one line at a time and keeps `state` between calls, so that a block that"
    " is finished is never read again. This matters *most* for long replies, where the work for"
    " each new word must not depend on how many words came before it.\n\n"
)
LIST = "- first check the `input` for the obvious mistakes\n- then run **all** the tests\n" * 2
CODE = (
    '\n```python\ndef area(width: int, height: int) -> int:\n    """Return the area."""\n'
    "    # multiply both sides\n    return width * height\n```\n\n"
)
TABLE = "| name | value |\n|---|--:|\n| width | 12 |\n| height | 7 |\n\n"


def reply(tokens: int) -> list[str]:
    """Return a Markdown text in `count` pieces of four characters."""
    section = f"## A section\n\n{PARAGRAPH * 3}{LIST}{CODE}{PARAGRAPH}{TABLE}"
    text = section * (tokens * 4 // len(section) + 1)
    return [text[at : at + 4] for at in range(0, tokens * 4, 4)]


async def paced(tokens: int, rate: float) -> AsyncIterator[str]:
    """Yield the pieces, `rate` per second; 0: as fast as possible, in bursts as from a socket."""
    began = time.monotonic()
    for at, piece in enumerate(reply(tokens)):
        yield piece
        if rate:
            await asyncio.sleep(max(0.0, began + (at + 1) / rate - time.monotonic()))
        elif at % 64 == 63:
            await asyncio.sleep(0)


class Marks:
    """Marks of a run for the measuring process."""

    def __init__(self, path: str) -> None:
        self._path = Path(path)
        self._marks: dict[str, tuple[float, float]] = {}

    def set(self, name: str) -> None:
        """Record wall clock and CPU seconds, and notify the measuring process."""
        self._marks[name] = (time.monotonic(), time.process_time())
        partial = self._path.with_suffix(".part")
        partial.write_text(json.dumps(self._marks))
        partial.rename(self._path)


async def phases(marks: Marks, stream: Callable[[], Awaitable[None]]) -> None:
    """Stream, settle, idle, with a mark after each."""
    await asyncio.sleep(1.0)
    marks.set("begin")
    await stream()
    marks.set("fed")
    await asyncio.sleep(0.5)
    marks.set("end")
    await asyncio.sleep(2.0)
    marks.set("idle")


def run_ours(tokens: int, rate: float, marks: Marks) -> None:
    """Run an app with only the transcript and an input."""
    from textual.app import App
    from textual.widgets import Input

    from yourtool.events.deltas import MessageComplete, MessageStart, TextDelta, TokenUsage
    from yourtool.messages.blocks import TextBlock
    from yourtool.messages.metadata import StopReason
    from yourtool.tui.lines.highlight import get_highlighter
    from yourtool.tui.theme.output_filter import SanitizeFilter
    from yourtool.tui.transcript.transcript import Transcript

    class Ours(App[None]):
        CSS = "Transcript { height: 1fr; } Input { dock: bottom; }"
        ENABLE_COMMAND_PALETTE = False
        net = SanitizeFilter()

        def get_line_filters(self):
            return [*super().get_line_filters(), self.net]

        def compose(self):
            yield Transcript()
            prompt = Input(placeholder="READY")
            prompt.cursor_blink = False
            yield prompt

        def on_mount(self):
            self.query_one(Input).focus()
            self.query_one(Transcript).set_highlight(get_highlighter)
            self.run_worker(phases(marks, self.stream))

        async def stream(self):
            transcript = self.query_one(Transcript)
            transcript.apply(MessageStart(message_id="m", model="bench:m"))
            parts: list[str] = []
            async for piece in paced(tokens, rate):
                parts.append(piece)
                transcript.apply(TextDelta(message_id="m", content_block_index=0, text=piece))
            usage = TokenUsage(input_tokens=1, output_tokens=tokens)
            transcript.apply(
                MessageComplete(
                    message_id="m",
                    stop_reason=StopReason.END_TURN,
                    final_content=(TextBlock("".join(parts)),),
                    usage=usage,
                    latency_ms=1,
                )
            )

    Ours().run()


def run_limit(path: str, tokens: int, rate: float, marks: Marks) -> None:
    """Run the minimal app over the same pieces."""
    spec = importlib.util.spec_from_file_location("limit", path)
    assert spec is not None and spec.loader is not None
    limit = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(limit)

    class Limit(limit.Mini):
        def on_mount(self):
            super().on_mount()
            from textual.widgets import Input

            self.query_one(Input).cursor_blink = False
            self.run_worker(phases(marks, self.stream))

        async def stream(self):
            await self.lines("")

        async def tokens(self, prompt: str):
            async for piece in paced(tokens, rate):
                yield piece

    Limit().run()


class Terminal:
    """A child in a pseudo-terminal whose output is counted."""

    def __init__(self, arguments: list[str]) -> None:
        self._master, slave = pty.openpty()
        ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 40, 120, 0, 0))
        environ = {**os.environ, "TERM": "xterm-256color", "COLORTERM": "truecolor"}
        environ["PYTHONPATH"] = str(ROOT)
        self._child = subprocess.Popen(
            arguments, stdin=slave, stdout=slave, stderr=slave, env=environ, start_new_session=True
        )
        os.close(slave)
        self.output: list[tuple[float, int]] = []

    def read(self, seconds: float) -> int:
        """Read for a time; return the number of bytes."""
        if not select.select([self._master], [], [], seconds)[0]:
            return 0
        with contextlib.suppress(OSError):
            data = os.read(self._master, 1 << 16)
            self.output.append((time.monotonic(), len(data)))
            return len(data)
        return 0

    def echo(self, key: str) -> float:
        """Return the milliseconds from a key to the first output."""
        while self.read(0.1):
            pass
        began = time.monotonic()
        os.write(self._master, key.encode())
        self.read(2.0)
        return (time.monotonic() - began) * 1000

    def bytes_between(self, first: float, last: float) -> int:
        """Return the number of bytes written in a span of time."""
        return sum(size for at, size in self.output if first <= at < last)

    def stop(self) -> None:
        """End the child."""
        self._child.kill()
        self._child.wait()
        os.close(self._master)


def measure(arguments: list[str]) -> dict[str, float]:
    """Run one program once."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "marks.json"
        terminal = Terminal([sys.executable, __file__, *arguments, "--marks", str(path)])
        marks: dict[str, tuple[float, float]] = {}
        while "idle" not in marks:
            terminal.read(0.05)
            if path.exists():
                marks = json.loads(path.read_text())
        echoes = sorted(terminal.echo(key) for key in KEYS)
        terminal.stop()
    begin, fed, end, idle = (marks[name] for name in ("begin", "fed", "end", "idle"))
    return {
        "cpu_s": end[1] - begin[1],
        "fed_s": fed[0] - begin[0],
        "tty_kib": terminal.bytes_between(begin[0], end[0]) / 1024,
        "idle_cpu_percent": 100 * (idle[1] - end[1]) / (idle[0] - end[0]),
        "idle_tty_bytes": terminal.bytes_between(end[0] + 0.1, idle[0]),
        "key_echo_p50_ms": echoes[len(echoes) // 2],
        "key_echo_p95_ms": echoes[int(len(echoes) * 0.95)],
    }


def main() -> None:
    """Measure both programs, and print medians and ratios."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--tokens", type=int, default=20_000)
    options.add_argument("--rate", type=float, default=0)
    options.add_argument("--rounds", type=int, default=3)
    options.add_argument("--limit", default=str(ROOT / "benchmarks" / "limit.py"))
    options.add_argument("--marks", help=argparse.SUPPRESS)
    options.add_argument("--run", choices=["ours", "limit"], help=argparse.SUPPRESS)
    chosen = options.parse_args()
    if chosen.run == "ours":
        run_ours(chosen.tokens, chosen.rate, Marks(chosen.marks))
        return
    if chosen.run == "limit":
        run_limit(chosen.limit, chosen.tokens, chosen.rate, Marks(chosen.marks))
        return
    programs = ["ours", "limit"] if Path(chosen.limit).exists() else ["ours"]
    runs: dict[str, list[dict[str, float]]] = {name: [] for name in programs}
    for _ in range(chosen.rounds):
        for name in programs:
            settings = ["--tokens", str(chosen.tokens), "--rate", str(chosen.rate)]
            runs[name].append(measure(["--run", name, "--limit", chosen.limit, *settings]))
    medians = {
        name: {key: round(statistics.median(run[key] for run in of), 3) for key in of[0]}
        for name, of in runs.items()
    }
    result: dict[str, object] = {"tokens": chosen.tokens, "rate": chosen.rate, **medians}
    if "limit" in medians:
        result["ratio"] = {
            key: round(value / medians["limit"][key], 2)
            for key, value in medians["ours"].items()
            if medians["limit"][key]
        }
    print(json.dumps(result, indent=2))


if __name__ == "__main__":
    main()
