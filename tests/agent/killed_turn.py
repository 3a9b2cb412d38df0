"""Run a command in a turn, then wait between its result and the next request until killed.

Usage: python -m tests.agent.killed_turn ROOT. Prints the id of the session when the command ended.
"""

import asyncio
import sys
from pathlib import Path

from tests.agent.harness import Bench, play
from yourtool.providers.scripted import Scripted, calls, says
from yourtool.settings.config import Mode


async def run(root: Path) -> None:
    session = await Bench(root).session(
        Scripted([calls("shell", command="echo $((6 * 7))"), says("done")]), mode=Mode.AUTO
    )

    async def wait() -> None:
        print(session.id, flush=True)  # noqa: T201 - this is what the parent reads
        await asyncio.Event().wait()

    session.steer_with(wait)
    await play(session.send("go"))


if __name__ == "__main__":
    asyncio.run(run(Path(sys.argv[1])))
