"""Repeat one turn in child processes, each of which is killed at another store write.

Usage: python -m tests.agent.killed_turns ROOT before|after. Prints the directory of each killed
process. With `ROOT once`, one turn that nothing here kills; prints the ids of the facts it shows.
"""

import asyncio
import base64
import os
import sys
from pathlib import Path

from tests.agent.harness import Bench, play
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


class DyingStore(SqliteStore):
    """A store whose process is killed around the nth write."""

    def __init__(self, database, deadly, when):
        super().__init__(database)
        self.left, self.when = deadly, when

    async def append(self, *facts):
        self.left -= 1
        if self.left == 0 and self.when == "before":
            os.kill(os.getpid(), 9)
        await super().append(*facts)
        if self.left == 0:
            os.kill(os.getpid(), 9)


async def run(root, deadly, when):
    bench = Bench(root)
    bench.store = DyingStore(bench.database, deadly, when)
    await play(await start(bench))


async def run_once(root):
    bench = Bench(root)
    async for event in await start(bench):
        if isinstance(event, Fact):
            os.write(1, f"{event.id}\n".encode())
    await bench.close()


async def start(bench):
    """Start the turn, with a message for after its first call."""
    (bench.workspace / "a.txt").write_text("a cat\n")
    session = await bench.session(Scripted(SCRIPT))
    waiting = [(TextBlock("also say hi"),)]

    async def steering():
        return waiting.pop() if waiting else None

    session.steer_with(steering)
    (bench.root / "session").write_text(session.id)
    return session.send(PROMPT)


def main():
    root, when = Path(sys.argv[1]), sys.argv[2]
    if when == "once":
        asyncio.run(run_once(root))
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
    main()
