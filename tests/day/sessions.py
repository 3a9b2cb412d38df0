"""A process that runs commands as a model does: one session for each, with every default.

Its argument is the workspace. It reads commands, each a string of JSON on a line, and writes a
`Run` for each. All questions are allowed, except for the one to leave the sandbox.
"""

import asyncio
import json
import os
import re
import sys
from contextlib import aclosing
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from tests.provider_server import ProviderServer, Reply
from yourtool.agent.runtime import Runtime
from yourtool.effects import OUTSIDE_SANDBOX, Confirmation, Decision, Verdict
from yourtool.events.catalog import Event
from yourtool.events.tools import ToolCompleted, ToolFailed
from yourtool.paths import require_data_directory, resolve_paths
from yourtool.settings.config import Mode, RunOptions
from yourtool.settings.first_files import install_defaults

_STATUS = re.compile(r"\[(exit code|ended by signal) (\d+)")


class Run(Struct, frozen=True):
    """A command that ran in a session."""

    code: int | None
    """Its exit code; negative for a signal; None if it did not run or did not end."""
    text: str
    """The text for the model."""
    questions: tuple[str, ...]
    """Why the user was asked."""


class _Model:
    """Asks for one command, and then is done."""

    def __init__(self) -> None:
        self.command: str | None = None

    def answer(self, _path: str, body: dict[str, Any]) -> Reply:
        """Return the reply to a request; one without tools is for a title."""
        command, self.command = self.command if body.get("tools") else None, None
        return Reply("Done.") if command is None else Reply(calls=[("shell", {"command": command})])


class _User:
    """Allows everything in the sandbox."""

    def __init__(self) -> None:
        self.questions: list[str] = []

    async def __call__(self, confirmation: Confirmation) -> Decision:
        self.questions.append(confirmation.reason or confirmation.title)
        surroundings = confirmation.preview.surroundings if confirmation.preview else ""
        leaves = surroundings.startswith(OUTSIDE_SANDBOX)
        return Decision(verdict=Verdict.DENY if leaves else Verdict.ALLOW)


async def _run(runtime: Runtime, model: _Model, command: str) -> Run:
    """Run a command in a new session."""
    model.command, user, run = command, _User(), Run(None, "the tool was not called", ())
    session = await runtime.new_session(user)
    async with aclosing(session.send("go")) as events:
        async for event in events:
            run = _read(event) or run
    await session.close()
    return replace(run, questions=tuple(user.questions))


def _read(event: Event) -> Run | None:
    if not isinstance(event, ToolCompleted | ToolFailed):
        return None
    blocks = event.message.content[0].content
    text = "\n".join(block.text for block in blocks)
    found = _STATUS.findall(text)
    kind, number = found[-1] if found else ("", "")
    code = int(number) if number else 0 if isinstance(event, ToolCompleted) else None
    return Run(-code if code and kind.startswith("ended") else code, text, ())


async def _serve(workspace: Path) -> None:
    model, paths = _Model(), resolve_paths()
    install_defaults(paths)
    require_data_directory(paths)
    with ProviderServer(answer=model.answer) as server:
        os.environ.update(server.environment)
        options = RunOptions(workspace=workspace, model="sonnet", mode=Mode.AUTO)
        runtime = await Runtime.open(paths, options)
        while line := await asyncio.to_thread(sys.stdin.readline):
            run = await _run(runtime, model, json.loads(line))
            sys.stdout.write(f"{msgspec.json.encode(run).decode()}\n")
            sys.stdout.flush()
        await runtime.close()


if __name__ == "__main__":
    asyncio.run(_serve(Path(sys.argv[1])))
