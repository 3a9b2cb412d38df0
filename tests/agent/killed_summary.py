"""Start to summarise a conversation, then wait in the call of the model until killed.

Usage: python -m tests.agent.killed_summary ROOT. Prints the id of the session during the call.
"""

import asyncio
import sys
from pathlib import Path

from tests.agent.harness import Bench, play
from tests.agent.turn.test_compaction import PARAGRAPH, is_summary_request
from yourtool.providers.scripted import Scripted, says


class Halting(Scripted):
    """Answers prompts, and waits when it is asked for a summary."""

    def __init__(self):
        super().__init__(lambda _: says(PARAGRAPH))
        self.session_id = ""

    async def stream(self, request):
        if is_summary_request(request):
            print(self.session_id, flush=True)  # noqa: T201 - this is what the parent reads
            await asyncio.Event().wait()
        async for event in super().stream(request):
            yield event


async def run(root: Path) -> None:
    model = Halting()
    session = await Bench(root).session(model)
    model.session_id = session.id
    for number in range(3):
        await play(session.send(f"Prompt {number}."))
    await play(session.compact())


if __name__ == "__main__":
    asyncio.run(run(Path(sys.argv[1])))
