import asyncio
import os
import random
import shutil
import sqlite3
import stat
import subprocess
import sys
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.fork_server import ForkServer, kill
from tests.providers.fakes import build_paths
from tests.store.turns import FactBuilder, changed
from tests.store.writer import FILES, LATER, PICTURE
from yourtool.errors import SessionBusyError, StoreError
from yourtool.events.catalog import AnyFact
from yourtool.messages.blobs import read_blob, reference_of, store_blob
from yourtool.messages.blocks import ImageBlock, ImageSource, TextBlock
from yourtool.messages.invariants import validate_session
from yourtool.providers.catalogue.discovery_cache import load_discoveries
from yourtool.settings.credentials import Credentials
from yourtool.store.exports import to_jsonl
from yourtool.store.forks import fork
from yourtool.store.sqlite.database import Database
from yourtool.store.sqlite.fulltext import stored_words
from yourtool.store.sqlite.leases import FileLease
from yourtool.store.sqlite.store import SqliteStore

pytestmark = pytest.mark.blocks_loop("the tests wait for processes that they start and kill")
ROOT = Path(__file__).parents[3]


def writer(*arguments: object) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-m", "tests.store.writer", *map(str, arguments)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        cwd=ROOT,
    )


async def sound(database: Database) -> None:
    """Check the invariants of every database after a crash."""

    def work(connection):
        return (
            connection.execute("PRAGMA integrity_check").fetchall(),
            connection.execute("PRAGMA foreign_key_check").fetchall(),
            connection.execute(
                "SELECT count(*) FROM messages WHERE id NOT IN"
                " (SELECT json_extract(payload_json, '$.message_id') FROM events"
                "  WHERE json_extract(payload_json, '$.message_id') IS NOT NULL)"
            ).fetchone(),
        )

    assert await database.read(work) == ([("ok",)], [], (0,))


async def has(store: SqliteStore, session_id: str, acknowledged: list[str]) -> None:
    """Check that a session has all acknowledged facts and at most one more."""
    facts = await store.read(session_id)
    ids = [fact.id for fact in facts]
    assert ids[: len(acknowledged)] == acknowledged
    assert len(ids) <= len(acknowledged) + 1
    messages = [fact.message for fact in facts if getattr(fact, "message", None) is not None]
    problems = validate_session(messages)
    assert all(problem.startswith("unanswered") for problem in problems)
    open_calls = [
        f"unanswered: `{call}` has no result" for call in await store.pending_call_ids(session_id)
    ]
    assert open_calls == problems


@pytest.mark.remaining
@pytest.mark.req("R-PER-02")
async def test_crash_before_any_statement_of_a_turn_loses_no_acknowledged_fact(tmp_path):
    with writer("sweep", tmp_path) as process:
        lines, _ = process.communicate()
    acknowledged: dict[str, list[tuple[str, str]]] = defaultdict(list)
    for line in lines.splitlines():
        statement, session_id, event_id = line.split()
        acknowledged[statement].append((session_id, event_id))
    directories = sorted(tmp_path.iterdir(), key=lambda directory: int(directory.name))
    assert len(directories) > 50
    assert len(acknowledged[directories[-1].name]) == 10, "the last one was not killed"
    for directory in directories:
        database = Database(directory / "sessions.db")
        await sound(database)
        if said := acknowledged[directory.name]:
            await has(SqliteStore(database), said[0][0], [event_id for _, event_id in said])
        await database.close()


@pytest.mark.req("R-PER-02")
async def test_crash_at_a_random_time_loses_no_acknowledged_fact(path):
    await check_random_kills(path, 5)


@pytest.mark.reliability
@pytest.mark.timeout(7_200)
@pytest.mark.parametrize("part", range(4))
async def test_two_thousand_crashes_lose_no_acknowledged_fact(tmp_path, figures, part):
    acknowledged = 0
    for number in range(part * 10, part * 10 + 10):
        place = tmp_path / str(number)
        place.mkdir()
        acknowledged += await check_random_kills(place / "sessions.db", 50, number)
        shutil.rmtree(place)
    value = f"500 kills, {acknowledged:,} acknowledged facts, 0 lost"
    figures("kills", value, part=f"part {part + 1} of 4")


async def check_random_kills(path, count, seed=11):
    """Kill writers of one database, and return how many facts they had acknowledged."""
    chance, acknowledged = random.Random(seed), 0
    output = path.with_name("acknowledged")
    path.parent.mkdir(exist_ok=True)
    os.mkfifo(output)
    with ForkServer("tests.store.writer") as server:
        for _ in range(count):
            process = server.start(output, "forever", path)
            with output.open() as printed:
                lines = [printed.readline() for _ in range(chance.randrange(1, 60))]
                kill(process)
                lines += printed.readlines()
            whole = [line.split() for line in lines if line.endswith("\n")]
            database = Database(path)
            await sound(database)
            await has(SqliteStore(database), whole[0][0], [event_id for _, event_id in whole])
            await database.close()
            acknowledged += len(whole)
    return acknowledged


@pytest.mark.remaining
async def test_crash_before_any_statement_of_an_upgrade_leaves_the_old_or_new_version(tmp_path):
    template, builder = tmp_path / "template.db", FactBuilder()
    database = Database(template)
    await SqliteStore(database).append(builder.session_start(), *builder.turn())
    facts = await SqliteStore(database).read(builder.session_id)
    await database.close()
    with writer("sweep-upgrade", template, tmp_path / "swept") as process:
        process.communicate()
    directories = list((tmp_path / "swept").iterdir())
    assert len(directories) > 10
    for directory in directories:
        database = Database(directory / "sessions.db", LATER)
        await sound(database)
        assert await SqliteStore(database).read(builder.session_id) == facts
        moods = await database.read(
            lambda connection: connection.execute("SELECT mood FROM sessions").fetchall()
        )
        assert moods == [("calm",)]
        await database.close()


async def indexed(database: Database) -> None:
    """Check that the index contains the words of every message and no others."""

    def work(connection):
        messages = connection.execute("SELECT id, content_json FROM messages").fetchall()
        found = connection.execute("SELECT message_id, words FROM message_words").fetchall()
        return messages, found

    messages, found = await database.read(work)
    words = {message_id: stored_words(content) for message_id, content in messages}
    assert len(found) == len(dict(found))
    assert {each: text for each, text in found if text} == {
        each: text for each, text in words.items() if text
    }


async def old_database(path: Path) -> tuple[str, tuple[AnyFact, ...]]:
    """Create a database of version 1 with a session of two turns."""
    database, builder = Database(path), FactBuilder()
    await SqliteStore(database).append(builder.session_start(), *builder.turn(), *builder.turn())
    facts = await SqliteStore(database).read(builder.session_id)
    await database.close()
    to_first_version(path)
    return builder.session_id, facts


def to_first_version(path: Path) -> None:
    """Downgrade a closed database to version 1."""
    connection = sqlite3.connect(path)
    connection.execute("DROP TABLE message_words")
    connection.execute("DROP INDEX idx_sessions_worker")
    for column in ("parent_session_id", "copied_through", "worker_of"):
        connection.execute(f"ALTER TABLE sessions DROP COLUMN {column}")
    connection.execute("PRAGMA user_version = 1")
    connection.close()


async def is_upgraded(path: Path, session_id: str, facts: tuple[AnyFact, ...]) -> None:
    database = Database(path)
    await sound(database)
    await indexed(database)
    assert await SqliteStore(database).read(session_id) == facts
    assert len(await SqliteStore(database).search("secret plan")) == 2
    fork_id = await fork(SqliteStore(database), session_id)
    assert len(await SqliteStore(database).read(fork_id)) == len(facts) + 1
    await database.close()


@pytest.mark.remaining
async def test_crash_in_the_upgrade_from_version_one_leaves_the_old_or_new_version(
    tmp_path,
):
    session_id, facts = await old_database(tmp_path / "template.db")
    with writer("sweep-first-upgrade", tmp_path / "template.db", tmp_path / "swept") as process:
        process.communicate()
    directories = list((tmp_path / "swept").iterdir())
    assert len(directories) > 10
    for directory in directories:
        await is_upgraded(directory / "sessions.db", session_id, facts)
        assert not list(directory.glob("*.part"))


@pytest.mark.remaining
async def test_concurrent_processes_upgrade_once(path):
    path.parent.mkdir()
    session_id, facts = await old_database(path)
    processes = [writer("upgrade", path) for _ in range(3)]
    assert [process.communicate()[0] for process in processes] == [""] * 3
    assert [process.returncode for process in processes] == [0] * 3
    await is_upgraded(path, session_id, facts)
    kept = path.with_name(f"{path.name}.v1")
    connection = sqlite3.connect(kept)
    assert connection.execute("PRAGMA user_version").fetchone() == (1,)
    connection.close()


@pytest.mark.remaining
@pytest.mark.req("R-PER-08")
async def test_crash_during_a_fork_leaves_a_complete_copy_or_none(tmp_path):
    database, builder = Database(tmp_path / "template.db"), FactBuilder()
    await SqliteStore(database).append(builder.session_start(), *builder.turn())
    facts = await SqliteStore(database).read(builder.session_id)
    await database.close()
    template = tmp_path / "template.db"
    with writer("sweep-copies", template, builder.session_id, tmp_path / "swept") as process:
        told = dict(line.split() for line in process.communicate()[0].splitlines())
    directories = list((tmp_path / "swept").iterdir())
    assert len(directories) > 30
    assert told
    for directory in directories:
        database = Database(directory / "sessions.db")
        await sound(database)
        await indexed(database)
        assert await SqliteStore(database).read(builder.session_id) == facts
        sessions = await database.read(
            lambda connection: connection.execute("SELECT id FROM sessions").fetchall()
        )
        copies = [each for (each,) in sessions if each != builder.session_id]
        assert len(copies) <= 1 and told.get(directory.name) in (None, *copies)
        for fork_id in copies:
            assert len(await SqliteStore(database).read(fork_id)) == len(facts) + 1
        await database.close()


@pytest.mark.req("D14")
@pytest.mark.remaining
async def test_crash_during_an_import_leaves_no_message_without_its_attachment(tmp_path):
    builder, here = FactBuilder(), tmp_path / "blobs"
    created, asked = builder.session_start(), builder.turn_start()
    source = ImageSource("file_ref", store_blob(here, PICTURE))
    content = (TextBlock("look"), ImageBlock(source, "image/png"))
    asked = changed(asked, message=changed(asked.message, content=content))
    export, swept = tmp_path / "a.jsonl", tmp_path / "swept"
    export.write_bytes(b"".join(to_jsonl([created, asked], str, here)))
    swept.mkdir()
    with writer("sweep-imports", export, swept) as process:
        told = dict(line.split() for line in process.communicate()[0].splitlines())
    directories = list(swept.iterdir())
    assert len(directories) > 60
    assert list(told.values()) == [builder.session_id]
    whole = 0
    for directory in directories:
        database = Database(directory / "sessions.db")
        await sound(database)
        await indexed(database)
        imported = await SqliteStore(database).last_used(str(directory))
        if imported is not None:
            whole += 1
            assert len(await SqliteStore(database).read(imported)) == 3
            assert read_blob(directory / "blobs", source.data) == PICTURE
        await database.close()
    assert 0 < whole < len(directories)


@pytest.mark.parametrize("name", FILES)
@pytest.mark.sample(3)
def test_crash_at_any_line_of_a_file_write_leaves_the_old_or_new_file(tmp_path, name):
    with writer("sweep-files", name, tmp_path) as process:
        process.communicate()
    assert process.returncode == 0
    places = [each for each in tmp_path.iterdir() if each.name != "first"]
    assert len(places) > 10
    found = set()
    for place in places:
        match name:
            case "blob":
                kept = [each for each in (place / "blobs").iterdir() if each.name[0] != "."]
                assert all(
                    f"sha256:{each.name}" == reference_of(each.read_bytes()) for each in kept
                )
                found.add("first" if len(kept) == 1 else "new")
            case "key":
                secret = Credentials(build_paths(place), {}).get("p")
                assert secret is not None
                assert stat.S_IMODE((place / "credentials.toml").stat().st_mode) == 0o600
                found.add(secret.reveal().replace(place.name, "new"))
            case _:
                [answer] = load_discoveries(place / "models.json")
                found.add(answer.origin.removeprefix("http://").replace(place.name, "new"))
        FILES[name][1](place)
    assert found == {"first", "new"}


@pytest.mark.req("R-PER-06")
@pytest.mark.remaining
async def test_processes_write_their_sessions_concurrently(path):
    await check_processes(path, 3, 15)


@pytest.mark.reliability
@pytest.mark.timeout(3_600)
async def test_eight_processes_write_many_turns_concurrently(path, figures):
    await check_processes(path, 8, 400)
    figures("processes", "8 × 400 turns, integrity ok, 0 lost")


async def check_processes(path, count, turns):
    """Check a database that several processes write at the same time."""
    database = Database(path)
    await SqliteStore(database).append(FactBuilder().session_start())
    processes = [writer("turns", path, turns) for _ in range(count)]
    while any(process.poll() is None for process in processes):
        await sound(database)
        await asyncio.sleep(0.02)
    sessions = [process.communicate()[0].strip() for process in processes]
    assert [process.returncode for process in processes] == [0] * count
    for session_id in sessions:
        assert len(await SqliteStore(database).read(session_id)) == 1 + turns * 9
        assert await SqliteStore(database).pending_call_ids(session_id) == ()
    await sound(database)
    await database.close()


@pytest.mark.req("R-PER-06")
def test_lease_error_names_the_process_that_writes_the_session(tmp_path):
    process = writer("hold", tmp_path, "sess_1")
    assert process.stdout.readline() == "held\n"
    with pytest.raises(SessionBusyError, match=rf"process {process.pid}\)\. Close it there first"):
        FileLease(tmp_path, "sess_1")
    process.kill()
    process.communicate()
    FileLease(tmp_path, "sess_1").release()


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    mounted = tmp_path / "disk"
    mounted.mkdir()
    mount, umount = shutil.which("mount"), shutil.which("umount")
    if os.geteuid() != 0 or mount is None or umount is None:
        pytest.skip("a small disk can only be mounted by root")
    made = subprocess.run(
        [mount, "-t", "tmpfs", "-o", "size=1m", "tmpfs", mounted], capture_output=True, text=True
    )
    if made.returncode != 0:
        pytest.skip(f"a small disk cannot be mounted here: {made.stderr.strip()}")
    yield mounted
    subprocess.run([umount, "-l", mounted], check=True)


def fill(directory: Path, leave: int) -> Path:
    """Fill the disk except for `leave` bytes."""
    ballast = directory / "ballast"
    ballast.write_bytes(bytes(max(shutil.disk_usage(directory).free - leave, 0)))
    return ballast


async def test_full_disk_is_reported_and_loses_no_stored_data(small_disk):
    failures = 0
    for pages in range(0, 48, 3):
        directory = small_disk / str(pages)
        database, builder = Database(directory / "sessions.db"), FactBuilder()
        store = SqliteStore(database)
        await store.append(builder.session_start())
        ballast, stored, facts = fill(small_disk, pages * 4096), 1, builder.turn("x" * 9000)
        try:
            for fact in facts:
                await store.append(fact)
                stored += 1
        except StoreError as error:
            failures += 1
            assert "the disk is full" in str(error)
        assert len(await store.read(builder.session_id)) == stored
        ballast.unlink()
        await store.append(*facts[stored - 1 :])
        assert len(await store.read(builder.session_id)) == 1 + len(facts)
        await sound(database)
        await database.close()
        shutil.rmtree(directory)
    assert failures > 5


@pytest.mark.parametrize("pages", [0, 1, 2, 5, 9, 14])
async def test_new_database_on_a_full_disk_is_reported_and_works_once_there_is_space(
    small_disk, pages
):
    ballast = fill(small_disk, pages * 4096)
    database, builder = Database(small_disk / "sessions.db"), FactBuilder()
    with pytest.raises(StoreError, match=r"disk|space"):
        await SqliteStore(database).append(builder.session_start())
    ballast.unlink()
    await SqliteStore(database).append(builder.session_start())
    await sound(database)
    await database.close()


@pytest.mark.parametrize("pages", [0, 2, 8, 20])
async def test_upgrade_on_a_full_disk_is_reported_and_leaves_the_old_version(small_disk, pages):
    path = small_disk / "sessions.db"
    session_id, facts = await old_database(path)
    ballast = fill(small_disk, pages * 4096)
    database = Database(path)
    with pytest.raises(StoreError, match=r"disk|space"):
        await SqliteStore(database).read(session_id)
    await database.close()
    assert not list(small_disk.glob("*.part"))
    ballast.unlink()
    connection = sqlite3.connect(path)
    assert connection.execute("PRAGMA user_version").fetchone() == (1,)
    connection.close()
    await is_upgraded(path, session_id, facts)
