"""Delegate a task in a turn, and die before one fact is stored, or while a worker replies.

Usage: python -m tests.agent.killed_delegation HOME WORKSPACE FACT NUMBER. The process dies before
the given number of facts with this tag is stored. If FACT is `partial`, a worker of the worker
streams its reply, and the process dies when so many parts of it are stored.
"""

import asyncio
import os
import sys
from pathlib import Path

from tests.agent.harness import ALLOW, User, play
from tests.agent.workers.test_delegation import Script, delegates
from yourtool.agent.runtime import Runtime
from yourtool.paths import resolve_paths
from yourtool.providers.registry import Registry
from yourtool.providers.scripted import Scripted, calls, says
from yourtool.settings.config import RunOptions, config_file
from yourtool.store.sqlite.store import SqliteStore

PARTIAL = "partial"
SETTINGS = 'model = "anthropic:claude-sonnet-4-6"\n[delegation]\nmax_depth = 2\n'


class DyingStore(SqliteStore):
    """A store whose process dies before one fact."""

    tag, left = "", 0

    async def append(self, *facts):
        type(self).left -= sum(fact.__struct_config__.tag == self.tag for fact in facts)
        if self.left <= 0:
            os.kill(os.getpid(), 9)
        await super().append(*facts)

    async def save_partial(self, end):
        await super().save_partial(end)
        type(self).left -= self.tag == PARTIAL
        if self.left <= 0:
            os.kill(os.getpid(), 9)


async def run(workspace: Path) -> None:
    is_partial = DyingStore.tag == PARTIAL
    change = calls("write_file", path="new.txt", content="new\n")
    script = Script(
        delegates("a"),
        says("Ok."),
        a=[delegates("b") if is_partial else change, says("A.")],
        b=[says("I look at it. " * 200)],
    )
    adapter = Scripted(script, words_per_second=100 if is_partial else None)
    setattr(Registry, "configuration_problem", lambda *_: None)  # noqa: B010 - no key is needed
    setattr(Registry, "prepare", lambda *_: None)  # noqa: B010
    setattr(Registry, "adapter", lambda *_: adapter)  # noqa: B010
    paths = resolve_paths()
    config_file(paths).parent.mkdir(parents=True, exist_ok=True)
    config_file(paths).write_text(SETTINGS)
    runtime = await Runtime.open(paths, RunOptions(workspace=workspace))
    runtime.store.__class__ = DyingStore
    session = await runtime.new_session(User(ALLOW))
    print(session.id, flush=True)  # noqa: T201 - this is what the parent reads
    await play(session.send("Go."))


if __name__ == "__main__":
    os.environ["YOURTOOL_HOME"] = sys.argv[1]
    DyingStore.tag, DyingStore.left = sys.argv[3], int(sys.argv[4])
    asyncio.run(run(Path(sys.argv[2])))
