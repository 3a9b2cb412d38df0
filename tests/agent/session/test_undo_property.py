"""Undo never changes a byte that the agent did not write, in any order of edits."""

import asyncio
import shutil
import tempfile
from contextlib import suppress
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from yourtool.agent.history.recorder import Recorder
from yourtool.agent.history.state import State
from yourtool.agent.session.file_restoring import FileRestoring
from yourtool.agent.turn.calls.change_journal import CallJournal
from yourtool.agent.turn.user_messages import build_prompt
from yourtool.errors import ToolError
from yourtool.events.turns import TurnStarted
from yourtool.foundation.masking import Mask
from yourtool.ids import new_id
from yourtool.messages.blocks import TextBlock
from yourtool.tools.base import ToolContext
from yourtool.tools.changes.workspace_watch import WorkspaceWatch
from yourtool.tools.edits.edit import WriteFile, write_file
from yourtool.tools.workspace.workspace import Workspace

pytestmark = pytest.mark.req("R-UNDO-01", "R-UNDO-02", "R-TOOL-15")

PATHS = ("a", "b", "d/x", "d/e/y", ".gitignore")
paths, contents = st.sampled_from(PATHS), st.sampled_from(["1\n", "2\n", "a\n", "", "d/\n"])
changes = st.one_of(
    st.tuples(st.just("write"), paths, contents),
    st.tuples(st.just("append"), paths, contents),
    st.tuples(st.just("delete"), paths, st.just("")),
    st.tuples(st.just("mode"), paths, st.sampled_from(["644", "755", "600"])),
    st.tuples(st.just("rename"), paths, paths),
    st.tuples(st.just("link"), paths, paths),
    st.tuples(st.just("remove tree"), st.just("d"), st.just("")),
    st.tuples(st.just("link directory"), st.just("d"), st.just("f")),
)
steps = st.one_of(
    st.tuples(st.just("tool"), paths, contents),
    st.tuples(st.just("command"), st.lists(changes, min_size=1, max_size=4)),
    st.tuples(st.just("user"), changes),
    st.just(("undo",)),
    st.just(("undo and redo",)),
    st.just(("redo",)),
    st.just(("rewind",)),
)
sequences = st.lists(steps, min_size=2, max_size=14)


def change(root: Path, kind: str, name: str, value: str) -> None:
    """Change a file as a command or a person would."""
    path = root / name
    with suppress(OSError):
        match kind:
            case "write" | "append":
                path.parent.mkdir(parents=True, exist_ok=True)
                with path.open("w" if kind == "write" else "a") as file:
                    file.write(value)
            case "delete":
                path.unlink()
            case "mode":
                path.chmod(int(value, 8))
            case "rename":
                (root / value).parent.mkdir(parents=True, exist_ok=True)
                path.rename(root / value)
            case "link":
                path.symlink_to(value)
            case "remove tree":
                shutil.rmtree(path)
            case _:
                path.rename(root / value)
                path.symlink_to(value)


def tree(root: Path, *, directories: bool = False) -> dict[str, Any]:
    """Return the state of every file."""
    found: dict[str, Any] = {}
    for path in root.rglob("*"):
        name = str(path.relative_to(root))
        if path.is_symlink():
            found[name] = ("link", str(path.readlink()))
        elif not path.is_dir():
            found[name] = (path.stat().st_mode, path.read_bytes())
        elif directories:
            found[name] = "directory"
    return found


class NoStore:
    """A log that stores nothing."""

    async def append(self, *facts: Any) -> None:
        del facts


class Agent:
    """What runs calls and takes them back, without a model."""

    def __init__(self, root: Path) -> None:
        self.root = root / "work"
        self.root.mkdir()
        self.workspace = Workspace(self.root)
        self.state = State()
        self.record = Recorder(NoStore(), "s", self.state)
        place: Any = SimpleNamespace(
            blobs=root / "blobs",
            workspace=self.workspace,
            watch=WorkspaceWatch(self.workspace),
            sandbox=None,
        )
        self._turn: Any = SimpleNamespace(env=SimpleNamespace(place=place), record=self.record)
        self._spill = root
        self.prompts: list[str] = []
        self.files = FileRestoring("s", self.state.files, self.record, place, lambda: False)

    async def _journal(self) -> CallJournal:
        """Start a turn."""
        self.record.turn_id = new_id()
        message = build_prompt("s", (TextBlock("go"),))
        self.prompts.append(message.id)
        await self.record(
            TurnStarted(
                user_message_hash="",
                estimated_input_tokens=0,
                has_images=False,
                has_tool_calls_in_history=False,
                message=message,
            )
        )
        return CallJournal(self._turn, "tu", "")

    async def write(self, path: str, content: str) -> None:
        context = ToolContext(
            workspace=self.workspace, tool_use_id="tu", spill=self._spill, mask=Mask(),
            emit=lambda _: None, journal=await self._journal(),
        )  # fmt: skip
        with suppress(ToolError):
            await write_file.run(WriteFile(path, content), context)

    async def run(self, changes: list[tuple[str, str, str]]) -> None:
        async with (await self._journal()).watching():
            for each in changes:
                change(self.root, *each)

    async def restore(self, kind: str) -> bool:
        """Return whether a file was restored."""
        count = len(self.state.facts)
        match kind:
            case "undo":
                events = self.files.undo()
            case "redo":
                events = self.files.redo()
            case _:
                prompt = self.prompts[len(self.prompts) // 2]
                if (plan := self.state.files.plan_rewind(prompt)) is None:
                    return False
                events = self.files.rewind(plan)
        async for _ in events:
            pass
        return len(self.state.facts) > count


async def check(sequence: list[Any], root: Path) -> None:
    """Play a sequence; after each restore, only states that the agent left have changed."""
    agent = Agent(root)
    left_by_agent: dict[str, Any] = {}

    async def restore(kind: str) -> None:
        before = tree(agent.root)
        await agent.restore(kind)
        after = tree(agent.root)
        for name in before.keys() | after.keys():
            if before.get(name) != after.get(name):
                assert left_by_agent.get(name, "never") == before.get(name), name
                left_by_agent[name] = after.get(name)

    for kind, *arguments in sequence:
        before = tree(agent.root)
        match kind:
            case "user":
                change(agent.root, *arguments[0])
            case "tool" | "command":
                await (agent.write if kind == "tool" else agent.run)(*arguments)
                after = tree(agent.root)
                changed = [n for n in before.keys() | after.keys() if before.get(n) != after.get(n)]
                left_by_agent |= {name: after.get(name) for name in changed}
            case "undo and redo":
                whole = tree(agent.root, directories=True)
                facts = len(agent.state.facts)
                await restore("undo")
                if len(agent.state.facts) > facts:
                    await restore("redo")
                assert tree(agent.root, directories=True) == whole
            case "rewind" if not agent.prompts:
                pass
            case _:
                await restore(kind)


def play(sequence: list[Any]) -> None:
    with tempfile.TemporaryDirectory(dir=_fast_directory()) as root:
        asyncio.run(check(sequence, Path(root)))


def _fast_directory() -> str | None:
    return "/dev/shm" if Path("/dev/shm").is_dir() else None


@pytest.mark.parametrize(
    "sequence",
    [
        [
            ("tool", "d/x", "1\n"),
            ("command", [("remove tree", "d", "")]),
            ("undo and redo",),
        ],
        [
            ("tool", "d/e/y", "1\n"),
            ("command", [("remove tree", "d", "")]),
            ("undo and redo",),
            ("user", ("rename", "a", "d/e/y")),
            ("undo and redo",),
        ],
    ],
)
def test_directories_are_as_before_after_an_undo_and_a_redo(sequence):
    play(sequence)


@given(sequences)
@settings(max_examples=40, deadline=None, suppress_health_check=list(HealthCheck))
def test_undo_changes_only_what_the_agent_left(sequence):
    play(sequence)


@pytest.mark.security
@pytest.mark.timeout(3_600)
def test_undo_changes_only_what_the_agent_left_in_10_000_sequences(figures):
    many = settings(max_examples=10_000, deadline=None, suppress_health_check=list(HealthCheck))
    many(given(sequences)(play))()
    figures("undo", "0 bytes in 10,000 sequences, identity")
