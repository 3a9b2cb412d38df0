"""A kill while files are written or restored loses nothing, and `/undo` finishes."""

import asyncio
import sys
from pathlib import Path

import pytest

from tests.agent.harness import Bench, play
from tests.agent.killed_undo import NEW, OLD
from yourtool.providers.scripted import Scripted, says
from yourtool.settings.config import Mode


def read(workspace: Path) -> dict[str, str]:
    """Return the files, without temporary ones that a kill left."""
    return {
        str(path.relative_to(workspace)): path.read_text()
        for path in workspace.rglob("*")
        if path.is_file() and not path.name.startswith(".yourtool-")
    }


@pytest.mark.parametrize("phase", [pytest.param("write", marks=pytest.mark.soak), "patch", "undo"])
@pytest.mark.req("R-UNDO-01", "R-TOOL-15")
@pytest.mark.remaining
async def test_every_file_is_before_or_after_and_undo_finishes(tmp_path, phase):
    command = [sys.executable, "-m", "tests.agent.killed_undo", str(tmp_path), phase]
    process = await asyncio.create_subprocess_exec(*command, stdout=asyncio.subprocess.PIPE)
    output, _ = await process.communicate()
    places = [Path(line) for line in output.decode().splitlines()]
    assert len(places) >= 4
    for place in places:
        found = read(place / "work")
        for name in OLD.keys() | NEW.keys():
            assert found.get(name) in (OLD.get(name), NEW.get(name)), name
        bench = Bench(place)
        session = await bench.session(
            Scripted([says("hi")]), resume=(place / "session").read_text(), mode=Mode.AUTO
        )
        await play(session.files.undo())
        after = read(place / "work")
        await session.close()
        await bench.close()
        if phase != "write":
            assert after == OLD
        else:  # the command may have been killed, and its changes are not known then
            assert after["changed.txt"] == OLD["changed.txt"]
            assert not set(after) & {"d/created.txt", "e/f/more.txt"}
