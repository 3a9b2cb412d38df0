"""Repeat one turn in child processes, each of which is killed at another store write.

Usage: python -m tests.agent.killed_turns ROOT before|after. Prints the directory of each killed
process. With `ROOT once`, one turn that nothing here kills; prints the ids of the facts it shows,
and for each piece of a reply `text`, the id of the message, the length of its text so far, and the
time. With `ROOT streamed`, the replies of this turn take some seconds.
"""

import asyncio
import base64
import os
import sys
import time
from collections import Counter
from pathlib import Path

from tests.agent.harness import Bench, play
from yourtool.events.deltas import TextDelta
from yourtool.events.facts import Fact
from yourtool.messages.blocks import ImageBlock, ImageSource, TextBlock
from yourtool.providers.scripted import Scripted, calls, says
from yourtool.store.sqlite.store import SqliteStore

_PNG = base64.b64encode(b"\x89PNG\r\n\x1a\n a dot").decode()
PROMPT = (TextBlock("go"), ImageBlock(ImageSource("base64", _PNG), "image/png"))
"""A prompt with an image, which is stored before the prompt."""
SCRIPT = [
    says("I look.") + calls("read_file", path="a.txt") + calls("shell", command="echo hi"),
    calls("write_file", path="b.txt", content="b\n"),
    says("done"),
]
STREAMED_SCRIPT = [
    says("I look at it. " * 20) + SCRIPT[0],
    SCRIPT[1],
    says("This is what I found. " * 50),
]
WORDS_PER_SECOND = 80


class DyingStore(SqliteStore):
    """A store whose process is killed around the nth write."""

    def __init__(self, database, deadly, when):
        super().__init__(database)
        self.left, self.when = deadly, when

    async def append(self, *facts):
        self.left -= 1
        is_deadly = self.left == 0  # while this write waits, another one can begin
        if is_deadly and self.when == "before":
            os.kill(os.getpid(), 9)
        await super().append(*facts)
        if is_deadly:
            os.kill(os.getpid(), 9)


async def run(root, deadly, when):
    bench = Bench(root)
    bench.store = DyingStore(bench.database, deadly, when)
    await play(await start(bench, Scripted(SCRIPT)))


async def run_once(root):
    await show(root, Scripted(SCRIPT))


async def run_streamed(root):
    await show(root, Scripted(STREAMED_SCRIPT, words_per_second=WORDS_PER_SECOND))


async def show(root, adapter):
    bench, lengths = Bench(root), Counter()
    async for event in await start(bench, adapter):
        if isinstance(event, Fact):
            os.write(1, f"{event.id}\n".encode())
        elif isinstance(event, TextDelta):
            lengths[event.message_id] += len(event.text)
            line = f"text {event.message_id} {lengths[event.message_id]} {time.monotonic()}\n"
            os.write(1, line.encode())
    await bench.close()


async def start(bench, adapter):
    """Start the turn, with a message for after its first call."""
    (bench.workspace / "a.txt").write_text("a cat\n")
    session = await bench.session(adapter)
    waiting = [(TextBlock("also say hi"),)]

    async def steering():
        return waiting.pop() if waiting else None

    session.steer_with(steering)
    (bench.root / "session.part").write_text(session.id)
    (bench.root / "session.part").replace(bench.root / "session")  # whole after a kill, or missing
    return session.send(PROMPT)


def main(arguments):
    root, when = Path(arguments[0]), arguments[1]
    if when in ("once", "streamed"):
        asyncio.run(run_once(root) if when == "once" else run_streamed(root))
        return
    for deadly in range(1, 100):
        place = root / f"{when}-{deadly}"
        place.mkdir()
        if (pid := os.fork()) == 0:
            asyncio.run(run(place, deadly, when))
            os._exit(0)
        _, status = os.waitpid(pid, 0)
        if not os.WIFSIGNALED(status):
            break
        print(place, flush=True)  # noqa: T201 - this is what the parent reads


if __name__ == "__main__":
    main(sys.argv[1:])
