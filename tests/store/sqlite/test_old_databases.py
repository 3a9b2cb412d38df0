"""Databases that every earlier version wrote are upgraded, complete and can be continued.

The files in `schemas` were written by the program of that time: a prompt, a file that was read, one
that was written, and a reply. Only the path of the workspace was changed.
"""

import gzip
import shutil
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from tests.agent.harness import Bench, Checked, play
from yourtool.messages.invariants import validate_session
from yourtool.providers.scripted import Scripted, says
from yourtool.store.sqlite.schema import MIGRATIONS

FILES = Path(__file__).parent / "schemas"
VERSIONS = range(1, len(MIGRATIONS))


@pytest.fixture(params=VERSIONS)
def old(request, tmp_path):
    """Return the version of a database, and the bench that has it."""
    file = tmp_path / "data" / "sessions.db"
    file.parent.mkdir()
    with gzip.open(FILES / f"{request.param}.db.gz") as packed, file.open("wb") as unpacked:
        shutil.copyfileobj(packed, unpacked)
    return request.param, Bench(tmp_path)


def read_version(file):
    with closing(sqlite3.connect(file)) as connection:
        return connection.execute("PRAGMA user_version").fetchone()[0]


def describe(messages):
    """Return what each message has: its role, its text and the names of its calls."""
    return [
        (str(each.role), each.text, [call.name for call in each.tool_uses]) for each in messages
    ]


def test_every_earlier_version_has_a_file():
    assert sorted(FILES.iterdir()) == [FILES / f"{number}.db.gz" for number in VERSIONS]


@pytest.mark.req("R-PER-02")
async def test_old_database_is_upgraded_and_its_copy_stays(old):
    version, bench = old
    file = bench.database.path
    assert read_version(file) == version
    [listed] = await bench.store.list()
    assert (listed.title, listed.workspace_path) == ("what is in a.py?", "/home/ada/tally")
    copy = file.with_name(f"sessions.db.v{version}")
    assert read_version(copy) == version
    assert await bench.store.find_damage(listed.id) == ()
    [hit] = await bench.store.search("lines")
    assert hit.session_id == listed.id
    await bench.close()
    assert read_version(file) == len(MIGRATIONS)


@pytest.mark.req("R-PER-04")
async def test_old_session_is_complete_and_can_be_continued(old):
    _, bench = old
    [listed] = await bench.store.list()
    adapter = Checked(Scripted([says("There is more.")]))
    session = await bench.session(adapter, resume=listed.id)
    assert describe(session.state.messages) == [
        ("user", "what is in a.py?", []),
        ("assistant", "I look.", ["read_file"]),
        ("tool", "", []),
        ("assistant", "", ["write_file"]),
        ("tool", "", []),
        ("assistant", "Two lines.", []),
    ]
    await play(session.send("go on"))
    assert [message.text for message in session.state.messages[-2:]] == ["go on", "There is more."]
    assert validate_session(session.state.messages) == []
    assert session.state.messages[0].id in {each.id for each in adapter.requests[-1].messages}
    await session.close()
    await bench.close()
